//! [`ReadContext`]: options and job of one read operation, which readers pass from their entry
//! point to each part.

use crate::{OpenOptions, Result};
use perf_core::Job;

/// Options and job of one read operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadContext {
    /// Options for opening the recording.
    options: OpenOptions,
    /// Job of the read operation.
    pub(crate) job: Job,
}

impl ReadContext {
    pub(crate) fn new(options: &OpenOptions, job: &Job) -> Self {
        ReadContext {
            options: options.clone(),
            job: job.clone(),
        }
    }

    /// Replaces the set of locations to read; see [`OpenOptions::locations`].
    #[cfg(feature = "otf2")]
    pub(crate) fn locations(mut self, keys: impl Into<Option<Vec<u64>>>) -> Self {
        self.options = self.options.locations(keys);
        self
    }

    /// Reports that `amount` more of `total` bytes were read, 0 for an unknown total, and makes a cancellation check.
    pub(crate) fn advance(&self, amount: u64, total: u64) -> Result<()> {
        self.job.advance("read", amount, total);
        Ok(self.job.check()?)
    }
}

impl std::ops::Deref for ReadContext {
    type Target = OpenOptions;

    fn deref(&self) -> &OpenOptions {
        &self.options
    }
}
