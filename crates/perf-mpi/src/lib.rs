#![doc = include_str!("lib.md")]
#![doc(html_root_url = "../")]

mod archive;
mod blocks;
mod clusters;
mod correlation;
mod error;
mod exchange;
mod fold;
mod profile;
mod ranks;
mod reduce;
mod scale;
mod tree;
mod waits;
mod wire;

pub use archive::{Part, read};
pub use clusters::{SharedScan, cluster, durations_first};
pub use correlation::Shard;
pub use error::{Error, Result};
pub use exchange::{Background, Finished, Lockstep, Mailbox, Pace, Polled};
pub use fold::{Folded, FoldedRow, fold};
/// MPI bindings that this crate uses, for the MPI library of the system.
pub use mpi;
pub use profile::profile;
pub use ranks::Ranks;
pub use scale::{Axis, Space, fit};
pub use waits::{Waits, efficiencies, waits};
pub use wire::{Reader, Wire};
