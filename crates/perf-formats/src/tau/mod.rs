//! Reader of TAU profiles: text, one file for each thread and metric, and packed profiles of
//! ParaProf (`.ppk`).
//!
//! [`Tau`] opens both forms. Text files are named `profile.NODE.CONTEXT.THREAD`; each of several metrics has a folder
//! `MULTI__METRIC`.
//!
//! # Limits
//!
//! | subject | limit |
//! |---|---|
//! | file | held in memory while it is read; a `.ppk` up to 4 GiB uncompressed, or [`Limits::memory`](perf_core::Limits::memory) |
//! | functions, user events, threads | [`Limits::definitions`](perf_core::Limits::definitions) of each |
//! | depth of a call path | [`Limits::depth`](perf_core::Limits::depth) |
//! | line of a text | [`Limits::string`](perf_core::Limits::string) bytes |
//! | user events, aggregates | user events are kept outside the profile, [`Tau::threads`]; aggregates are skipped |
//! | call paths | those that TAU measured; functions without any are roots. Paths truncated by a depth limit begin at their first function and are counted ([`rules::CUT_PATHS`]) |
//! | inclusive, exclusive values | those of the file, in both scopes; none is derived |
//! | metric | its name is taken from the first file, or else from its folder; the format has neither unit nor meaning, times are assumed to be microseconds |
//! | snapshots, derived metrics of ParaProf, phases as such | not read |
//! | writing | not supported |

mod format;
mod packed;
mod profile_builder;
pub mod rules;
mod tables;
mod text;

pub use format::FORMAT;
pub use tables::{Entry, EventEntry, Function, Key, Tau, Thread};
