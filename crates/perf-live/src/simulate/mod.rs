//! As many ranks as one likes, from a recording of a few: how a server bears them.
//!
//! A [`Tape`] has what each rank of a recording would tell a server, step by step. [`run`] lets any number
//! of ranks play it, each as a client of its own, over few connections, and counts what was told and
//! answered, so that it can be compared with what the server has.

mod pipe;
mod play;
mod run;
mod tape;
mod turn;

pub use run::{Figures, Load, run};
pub use tape::Tape;
