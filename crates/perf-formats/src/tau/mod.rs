//! TAU profiles: text, one file a thread (`profile.NODE.CONTEXT.THREAD`), with a folder
//! `MULTI__METRIC` for each of several metrics; and packed ones of ParaProf (`.ppk`).
//!
//! [`Tau`] opens either.
//!
//! # Limits
//! | what | how far it goes |
//! |---|---|
//! | file | held in memory while it is read; a `.ppk` unpacked up to 4 GiB, or what [`Limits::memory`](perf_core::Limits::memory) says |
//! | functions, user events, threads | [`Limits::definitions`](perf_core::Limits::definitions) of each |
//! | depth of a call path | [`Limits::depth`](perf_core::Limits::depth) |
//! | line of a text | [`Limits::string`](perf_core::Limits::string) bytes |
//! | user events, aggregates | user events are kept beside the profile, [`Tau::threads`]; aggregates are skipped |
//! | call paths | those that TAU measured; functions without any are roots. Paths that a limit of depth cut begin at their first function and are counted ([`rules::CUT_PATHS`]) |
//! | inclusive, exclusive values | those of the file, in either scope; none is derived |
//! | metric | its name is what the first file says, else that of its folder; unit and meaning are not in the format, times are taken to be microseconds |
//! | snapshots, derived metrics of ParaProf, phases as such | not read |
//! | writing | no |

mod build;
mod format;
mod packed;
mod read;
pub mod rules;
mod text;

pub use format::FORMAT;
pub use read::{Entry, EventEntry, Function, Key, Tau, Thread};
