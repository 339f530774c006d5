//! [`Watched`]: iterator, made by [`Job::watch`], that reports its items as progress of a job and
//! ends when the job is cancelled.

use crate::{CancellationChecks, Job};

/// Iterator that ends when its job is cancelled, and reports the items as progress.
///
/// [`Job::watch`] creates this type.
#[derive(Debug)]
pub struct Watched<'a, I> {
    /// Job that is checked.
    job: &'a Job,
    /// Phase of the progress.
    phase: &'static str,
    /// Number of items of the phase, or 0 if it is unknown.
    total: u64,
    /// Number of items since the last report.
    passed: usize,
    /// Items.
    items: I,
}

impl Job {
    /// Passes `items` on until the job is cancelled, and reports each as a unit of `phase`, see
    /// [`advance`](Self::advance). Because the items may end early, make a [check](Self::check) after the last one.
    ///
    /// ```
    /// use perf_core::{Cancelled, Column, Job};
    /// let column = |job: &Job| {
    ///     let cells = job.watch("cells", 200_000, 0..200_000_u64);
    ///     let column = Column::unsigned("number", "", cells);
    ///     job.check()?;
    ///     Ok(column)
    /// };
    /// assert_eq!(column(&Job::default()).map(|column| column.values().len()), Ok(200_000));
    /// assert_eq!(column(&Job::stopping_after(1)).map(|_| ()), Err(Cancelled));
    /// ```
    pub fn watch<I: IntoIterator>(
        &self,
        phase: &'static str,
        total: u64,
        items: I,
    ) -> Watched<'_, I::IntoIter> {
        Watched {
            job: self,
            phase,
            total,
            passed: 0,
            items: items.into_iter(),
        }
    }
}

impl<I: Iterator> Watched<'_, I> {
    /// Reports the passed items.
    #[cold]
    fn report(&mut self) {
        let passed = std::mem::take(&mut self.passed);
        self.job.advance(self.phase, passed as u64, self.total);
    }
}

impl<I: Iterator> Iterator for Watched<'_, I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        if self.passed == CancellationChecks::EACH {
            self.report();
            if self.job.is_cancelled() {
                return None;
            }
        }
        let item = self.items.next();
        match item {
            Some(_) => self.passed += 1,
            None => self.report(),
        }
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let (_, most) = self.items.size_hint();
        (0, most)
    }
}
