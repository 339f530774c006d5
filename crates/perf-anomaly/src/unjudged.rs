//! [`Unjudged`]: longest call of each function that the detector could not judge, as an
//! [`UnjudgedCall`].

use crate::calls::Calls;
use crate::detect::Functions;
use crate::{FunctionId, Judgement, Label, Sample};
use perf_core::{Nanos, StreamKey};

/// Longest call of a function with [`Label::NotEnoughData`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct UnjudgedCall {
    /// Function or call path.
    pub function: FunctionId,
    /// Program, rank and thread of the call.
    pub stream: StreamKey,
    /// Step in which the call was completed.
    pub step: u64,
    /// Time of the enter.
    pub entry: Nanos,
    /// Run time, exclusive or inclusive as it would be judged.
    pub runtime: Nanos,
    /// Number of earlier calls of the function.
    pub known: u64,
    /// `true` for the first call of the function on its thread, which by default is not judged.
    pub is_first: bool,
}

/// Longest call of each function that was not judged.
///
/// A detector needs some calls of a function before it can judge. A long call among the first calls
/// is labelled neither normal nor abnormal, but deserves attention.
///
/// ```
/// use perf_anomaly::{Monitor, Tail, Watch, calls::Calls};
/// use perf_core::Nanos;
/// let calls = Calls::default();
/// let mut watch = Watch::new(Monitor::new(calls, Box::new(Tail::default())), 0, 3);
/// let load = watch.region("load");
/// for (at, length) in [(0, 50), (1000, 700), (2000, 60)] {
///     watch.enter(0, load, Nanos(at));
///     watch.exit(0, load, Nanos(at + length));
/// }
/// let report = watch.into_sink().finish()?;
/// let [longest] = report.unjudged.longest(5)[..] else { panic!("one function") };
/// assert_eq!((longest.runtime, longest.known, longest.stream.rank), (Nanos(700), 1, 3));
/// assert_eq!(report.unjudged.time(), Nanos(810));
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Unjudged(Functions<Known>);

#[derive(Clone, Debug, Default)]
struct Known {
    /// Number of calls so far.
    calls: u64,
    /// Run time of the calls that were not judged.
    time: Nanos,
    /// Longest call that was not judged.
    longest: Option<UnjudgedCall>,
}

impl Unjudged {
    /// Adds the calls of the last batch, with one judgement for each call.
    pub(crate) fn add(&mut self, calls: &Calls, judgements: &[Judgement]) {
        let batch = calls.batch();
        for (stream, rows) in batch.streams() {
            let rows = rows.clone();
            let own = &batch.calls()[rows.clone()];
            let samples = &batch.samples()[rows.clone()];
            // An external detector may return fewer judgements than calls.
            let judgements = judgements.get(rows).unwrap_or_default();
            for ((call, sample), judgement) in own.iter().zip(samples).zip(judgements) {
                let known = self.0.entry(sample.function, Known::default);
                let before = known.calls;
                known.calls += 1;
                if judgement.label != Label::NotEnoughData {
                    continue;
                }
                known.time.0 = known.time.0.saturating_add(sample.runtime.0.max(0));
                if known.is_longer(sample) {
                    known.longest = Some(UnjudgedCall {
                        function: sample.function,
                        stream: calls.stream_key(*stream).unwrap_or_default(),
                        step: batch.step(),
                        entry: call.entry,
                        runtime: sample.runtime,
                        known: before,
                        is_first: sample.first,
                    });
                }
            }
        }
    }

    /// Returns the run time of all calls that were not judged, first calls included.
    /// [`Unjudged`] has an example.
    pub fn time(&self) -> Nanos {
        self.0.iter().fold(Nanos(0), |sum, (_, known)| {
            Nanos(sum.0.saturating_add(known.time.0))
        })
    }

    /// Returns at most `most` calls, one for each function, the longest first.
    pub fn longest(&self, most: usize) -> Vec<UnjudgedCall> {
        let mut all: Vec<_> = self
            .0
            .iter()
            .filter_map(|(_, known)| known.longest)
            .collect();
        // The sort is stable, so calls of equal length stay in the order of their functions.
        all.sort_by_key(|one| std::cmp::Reverse(one.runtime));
        all.truncate(most);
        all
    }
}

impl Known {
    fn is_longer(&self, sample: &Sample) -> bool {
        self.longest.is_none_or(|one| sample.runtime > one.runtime)
    }
}
