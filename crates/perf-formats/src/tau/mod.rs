//! TAU profiles: text, one file a thread (`profile.NODE.CONTEXT.THREAD`), with a folder
//! `MULTI__METRIC` for each of several metrics; and packed ones of ParaProf (`.ppk`).
//!
//! [`Tau`] opens either.

mod build;
mod format;
mod packed;
mod read;
pub mod rules;
mod text;

pub use format::FORMAT;
pub use read::{Entry, EventEntry, Function, Key, Tau, Thread};
