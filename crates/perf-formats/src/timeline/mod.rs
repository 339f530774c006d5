//! From rows of intervals, in any order, to a [`Trace`](perf_core::Trace): what the readers of
//! GPU recordings share.
//!
//! A [`Part`] is what one file, that is one rank, says. [`assemble`] puts parts together:
//!
//! * Work of a device stream becomes a location of its own, keyed by rank, device, context and
//!   stream. Its calls may overlap; where one lies wholly within another of the same region it is of a
//!   second region of that name, so that [`intervals`](perf_core::intervals()) gives back each length.
//! * Calls of a thread nest. One that overlaps another without lying in it goes to a further
//!   lane: a location beside that of the thread, so that [`replay`](perf_core::replay()) has nothing to mend.
//! * A launch and the work it started share a correlation id within a rank, and become a
//!   [`Link`](perf_core::Link). Ids that several processes of a rank use are kept apart.

use perf_core::Limits;

mod arguments;
mod assemble;
mod clock;
mod counters;
mod granted;
mod lay;
mod links;
mod marks;
mod names;
mod open;
mod outliers;
mod part;
mod places;
mod planes;
mod rank_groups;
mod row;
pub(crate) mod rules;
mod twins;

#[cfg(feature = "chrome")]
pub(crate) use arguments::Argument;
use assemble::assemble;
use clock::rank_of;
pub(crate) use granted::Granted;
pub(crate) use names::Kind;
pub(crate) use open::{longest, open_file, open_files};
pub(crate) use part::Part;
#[cfg(any(feature = "chrome", feature = "nsys"))]
pub(crate) use row::Edge;
pub(crate) use row::{Extra, Role, RowKey, Sym};
#[cfg(feature = "chrome")]
pub(crate) use row::{FlowEnd, Tag};

/// Most bytes of texts that are put together from others, where a file that names one text often would make
/// far more than it has: 256 of the longest strings.
pub(crate) fn most_text(limits: &Limits) -> u64 {
    u64::from(limits.string) * 256
}
