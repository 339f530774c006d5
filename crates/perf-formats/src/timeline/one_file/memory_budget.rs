//! [`MemoryBudget`]: the memory budget shared by all parts of a recording.

use crate::{Error, Result};
use perf_core::{Limits, Place};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory budget of all parts of a recording in one or several files. Files are read in parallel. The
/// number of threads does not decide if reading exceeds the budget, but it may decide which file the error names.
#[derive(Clone, Debug)]
pub(crate) struct MemoryBudget {
    /// Limits on resources.
    limits: Limits,
    /// Bytes allocated through this budget and all its clones.
    taken: Arc<AtomicU64>,
}

impl MemoryBudget {
    pub(crate) fn new(limits: &Limits) -> Self {
        MemoryBudget {
            limits: *limits,
            taken: Arc::default(),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Counts `more` bytes for `what` against the budget.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Limit`] if the budget is exceeded.
    pub(crate) fn take(
        &self,
        what: &'static str,
        more: u64,
        place: impl FnOnce() -> Place,
    ) -> Result<()> {
        let got = self.taken.fetch_add(more, Ordering::Relaxed) + more;
        if got > self.limits.memory {
            Err(Error::Limit {
                place: place(),
                what,
                got,
                limit: self.limits.memory,
            })
        } else {
            Ok(())
        }
    }
}
