//! [`Granted`]: limits that all parts of a recording have together.

use crate::{Error, Result};
use perf_core::{Limits, Place};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What all parts of a recording, of a file or of several, may take together. Those of several files are read at
/// the same time: whether they are granted their memory does not depend on how many threads there are, but
/// which of them asked for too much does.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    limits: Limits,
    /// Bytes that the parts of all clones take.
    taken: Arc<AtomicU64>,
}

impl Granted {
    pub(crate) fn new(limits: &Limits) -> Self {
        Granted {
            limits: *limits,
            taken: Arc::default(),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Takes so many bytes more for `what`.
    ///
    /// # Errors
    /// [`Error::Limit`] where that is more than is granted.
    pub(crate) fn take(
        &self,
        what: &'static str,
        more: u64,
        place: impl FnOnce() -> Place,
    ) -> Result<()> {
        let got = self.taken.fetch_add(more, Ordering::Relaxed) + more;
        match got > self.limits.memory {
            true => Err(Error::Limit {
                place: place(),
                what,
                got,
                limit: self.limits.memory,
            }),
            false => Ok(()),
        }
    }
}
