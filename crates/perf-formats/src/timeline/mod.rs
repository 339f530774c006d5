//! Conversion of unordered intervals to a [`Trace`](perf_core::Trace), shared by the readers of GPU recordings.
//!
//! A [`Part`] contains the data of one file or of one process in it, row by row. [`assemble`] combines parts:
//!
//! * The activities of each device stream are on a separate location, identified by rank, device, context and stream.
//!   Activities may overlap. An activity that lies inside another one of the same region gets a second region with the
//!   same name, so that [`intervals`](perf_core::intervals()) returns the correct durations.
//! * Calls of a thread nest. A call that overlaps another call without nesting is moved to an additional lane, which is
//!   a location next to that of the thread, so that [`replay`](perf_core::replay()) needs no repairs.
//! * A launch and its activity have the same correlation id within a rank and become a [`Link`](perf_core::Link). Ids
//!   that several processes of a rank use are kept separate.

use perf_core::Limits;

mod assemble;
mod duplicate_files;
mod layout;
mod links;
mod locations;
mod one_file;
mod rank_groups;
mod ranks_and_clocks;
pub(crate) mod rules;
mod several_files;
mod xla_devices;

use one_file::{arguments, memory_budget, names, outliers, part, row};

#[cfg(feature = "chrome")]
pub(crate) use arguments::Argument;
use assemble::assemble;
pub(crate) use memory_budget::MemoryBudget;
pub(crate) use names::Kind;
pub(crate) use part::Part;
use ranks_and_clocks::rank_of;
#[cfg(any(feature = "chrome", feature = "nsys"))]
pub(crate) use row::Edge;
pub(crate) use row::{Extra, Role, RowKey, Sym};
#[cfg(feature = "chrome")]
pub(crate) use row::{FlowEnd, Tag};
pub(crate) use several_files::{longest, open_file, open_files};

/// Returns the maximum number of bytes of composed texts, which is 256 strings of maximum length. Without this limit, a
/// file that repeats one text often could require far more memory than its size.
pub(crate) fn most_text(limits: &Limits) -> u64 {
    u64::from(limits.string) * 256
}
