//! [`PendingCounters`]: statistics of counters that a client has not sent yet.

use super::Counters;
use crate::calls::Calls;
use perf_core::Merge;

/// Statistics of counters that a client has not sent yet, with the counter numbers of the detector.
///
/// Values of a rank wait until it completes a call. They are then sent with the step of this call, so that a client that
/// starts again and does not send this step again does not send them again either.
#[derive(Debug, Default)]
pub(crate) struct PendingCounters {
    /// Values since the last completed call of their rank.
    waiting: Counters,
    /// Values before that call.
    counted: Counters,
}

impl PendingCounters {
    /// Adds the values of the batch, except those of the ranks `merged`, which the server has already.
    pub(crate) fn add(&mut self, calls: &Calls, merged: &[(u32, u32)]) {
        calls.add_counters(&mut self.waiting);
        if self.waiting.is_empty() {
            return;
        }
        let streams = calls.batch().streams().iter();
        for (stream, _) in streams {
            let key = calls.stream_key(*stream).unwrap_or_default();
            let rank = (key.program, key.rank);
            if merged.contains(&rank) {
                Counters::default().take_rank(&mut self.waiting, rank);
            } else {
                self.counted.take_rank(&mut self.waiting, rank);
            }
        }
        if merged.is_empty() {
            self.counted.take_rest(&mut self.waiting);
        }
    }

    /// Ends the stream, so that all values are sent.
    pub(crate) fn finish(&mut self) {
        self.counted.merge(&std::mem::take(&mut self.waiting));
    }

    /// Returns the values that can be sent, and removes them.
    pub(crate) fn take(&mut self) -> Counters {
        std::mem::take(&mut self.counted)
    }
}
