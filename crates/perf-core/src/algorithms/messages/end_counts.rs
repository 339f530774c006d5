//! [`EndCounts`]: number of ends of messages, collectives and remote accesses in a trace, and the
//! memory that matching needs for them.

use super::collectives::{self, CollectiveInstance, CollectiveMember};
use super::{Message, RemoteAccess, Unmatched, point_to_point};
use crate::parallel::current_threads;
use crate::trace::RecordCounts;
use crate::{CancellationChecks, Trace};

/// Number of ends of each kind in a trace.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EndCounts {
    /// Number of records of each kind.
    pub(super) counts: RecordCounts,
    /// Number of locations. Each location takes part in a collective at most once.
    locations: usize,
    /// Largest number of receives of a location.
    most_receives: usize,
}

impl EndCounts {
    /// Counts the records of all locations.
    pub(super) fn of(trace: &Trace) -> Self {
        let mut counts = RecordCounts::default();
        let mut most_receives = 0;
        for events in trace.events() {
            let own = events.record_counts();
            most_receives = most_receives.max(own.receives);
            counts.sends += own.sends;
            counts.receives += own.receives;
            counts.collectives += own.collectives;
            counts.accesses += own.accesses;
        }
        EndCounts {
            counts,
            locations: trace.events().len(),
            most_receives,
        }
    }

    /// Returns the memory in bytes of the step that uses most.
    pub(super) fn memory(&self) -> usize {
        let RecordCounts {
            sends,
            receives,
            collectives,
            accesses,
        } = self.counts;
        // Sorting more entries than fit in one run needs a second copy.
        let sorted = |count: usize, size: usize| {
            if count > CancellationChecks::EACH {
                count * size
            } else {
                0
            }
        };
        let (both, alone) = (sends.min(receives), sends.abs_diff(receives));
        let ended = collectives * collectives::ENDED;
        let accesses = accesses * size_of::<RemoteAccess>();
        let messages = both * size_of::<Message>();
        let found = messages + alone * size_of::<Unmatched>();
        let ends = (sends + receives) * point_to_point::END + sends * size_of::<(u32, u32)>();
        // Sends and receives of the processes that are being sorted, and messages of the processes of a batch.
        let of = |processes: usize| both.min(processes.saturating_mul(self.most_receives));
        let processes = of(current_threads()) * 2 * point_to_point::SORTED_END
            + of(current_threads() * point_to_point::BATCH) * size_of::<Message>();
        let instances = collectives * size_of::<CollectiveMember>()
            + collectives / self.locations.max(1) * size_of::<CollectiveInstance>();
        let steps = [
            ended + accesses + ends + found + processes,
            found + accesses + ended + sorted(collectives, collectives::ENDED),
            found + accesses + ended + instances,
            found + accesses + instances + sorted(both, size_of::<Message>()),
        ];
        steps.into_iter().max().unwrap_or_default()
    }
}
