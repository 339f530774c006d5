//! [`TrainingJob::without`]: replays the steps of a training job without the time that locations lost.

use super::TrainingJob;
use crate::Result;
use crate::graph::Schedule;
use crate::whatif::{Answer, Excess, WithoutExcess, distribute};
use perf_core::{Job, LocationId, Nanos};

impl TrainingJob {
    /// Returns the time that the operations of a location take longer than their ideal durations in a window, such as
    /// a step; 0 for jobs that [`of_trace`](Self::of_trace) did not make.
    pub fn excess(&self, location: LocationId, from: Nanos, to: Nanos) -> Nanos {
        let recorded = |at: usize| self.operations[at].duration;
        let parts = self.parts(location, (from, to), recorded);
        Nanos(parts.map(|(_, part)| part).sum())
    }

    /// Returns the operations of a location that overlap with a window, each with the part of it that exceeds the ideal
    /// duration, of these durations.
    fn parts(
        &self,
        location: LocationId,
        (from, to): (Nanos, Nanos),
        duration: impl Fn(usize) -> Nanos,
    ) -> impl Iterator<Item = (usize, i64)> {
        let own = self.locations.get(&location).map_or(&[][..], Vec::as_slice);
        let earliest = from.saturating_sub(self.longest);
        let before = |end| own.partition_point(|at| self.operations[*at].start < end);
        let range = before(earliest)..before(to);
        let own = own.get(range).unwrap_or_default();
        own.iter().filter_map(move |at| {
            let it = self.operations.get(*at)?;
            let end = it.start.saturating_add(it.duration);
            let overlap = end.min(to).saturating_sub(it.start.max(from)).0;
            let excess = duration(*at).saturating_sub(*self.ideal.get(*at)?).0;
            (overlap > 0 && excess > 0).then_some((*at, overlap.min(excess)))
        })
    }

    /// Replays the steps without lost time. The operations in each window are shortened in proportion to their excess
    /// over the ideal durations, and at most by that. Run times are sums over the steps. Jobs that
    /// [`of_trace`](Self::of_trace) did not make have no locations, so that nothing is shortened.
    ///
    /// ```
    /// use perf_core::{Job, Nanos};
    /// use perf_wait::training::{Operation, OperationKind, TrainingJob};
    /// let operation = Operation {
    ///     kind: OperationKind::ForwardCompute,
    ///     step: 0,
    ///     data_rank: 0,
    ///     stage: 0,
    ///     sequence: 0,
    ///     chunk: None,
    ///     start: Nanos(0),
    ///     duration: Nanos(30),
    /// };
    /// let training = TrainingJob::of(vec![operation], &Job::default())?;
    /// let answer = training.without(&[], &Job::default())?.answer;
    /// assert_eq!((answer.runtime, answer.saved()), (Nanos(30), Nanos(0)));
    /// # Ok::<(), perf_wait::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn without(&self, lost: &[Excess], job: &Job) -> Result<WithoutExcess> {
        let recorded: Vec<Nanos> = self.operations.iter().map(|it| it.duration).collect();
        let mut durations = recorded.clone();
        let mut omitted = 0_i64;
        let mut checks = job.checks();
        for excess in lost {
            let window = (excess.from, excess.to);
            let parts = self.parts(excess.location, window, |at| durations[at]);
            let parts = distribute(parts.collect(), excess.time);
            checks.next(1 + parts.len())?;
            for (at, less) in parts {
                omitted = omitted.saturating_add(less);
                durations[at] = durations[at].saturating_sub(Nanos(less));
            }
        }
        let mut times = Schedule::default();
        let mut sum = |durations: &[Nanos]| -> Result<Nanos> {
            let steps = self.step_times(durations, &mut times, job)?;
            let add = |sum: Nanos, (_, time): (u64, Nanos)| sum.saturating_add(time);
            Ok(steps.into_iter().fold(Nanos(0), add))
        };
        let ranges = self.recorded_steps();
        let lengths = ranges.values().map(|(from, to)| to.saturating_sub(*from));
        Ok(WithoutExcess {
            answer: Answer {
                recorded: lengths.fold(Nanos(0), Nanos::saturating_add),
                identity: sum(&recorded)?,
                runtime: sum(&durations)?,
            },
            computed: Nanos(omitted),
        })
    }
}
