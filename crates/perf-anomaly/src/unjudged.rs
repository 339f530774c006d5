//! [`Unjudged`]: the longest calls of which a detector said nothing.

use crate::calls::Calls;
use crate::detect::Functions;
use crate::{FunctionId, Judgement, Label, Sample};
use perf_core::{Nanos, StreamKey};

/// The longest call of a function that was [`Label::NotEnoughData`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct UnjudgedCall {
    /// The function or call path.
    pub function: FunctionId,
    /// Program, rank and thread of the call.
    pub stream: StreamKey,
    /// The step in which the call was completed.
    pub step: u64,
    /// The time of its entry.
    pub entry: Nanos,
    /// The run time that was to be judged.
    pub runtime: Nanos,
    /// Calls of the function that were seen before it.
    pub known: u64,
    /// Whether it is the first call of the function on its thread, which is not compared with others.
    pub is_first: bool,
}

/// For each function the longest call that was not judged.
///
/// A detector needs some calls of a function before it says anything. A long call among the first ones is
/// neither normal nor abnormal, but is worth a look.
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
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Unjudged(Functions<Known>);

#[derive(Clone, Debug, Default)]
struct Known {
    calls: u64,
    longest: Option<UnjudgedCall>,
}

impl Unjudged {
    /// Adds the calls of the last batch, with one judgement a call.
    pub(crate) fn add(&mut self, calls: &Calls, judgements: &[Judgement]) {
        let batch = calls.batch();
        for (stream, rows) in batch.streams() {
            let rows = rows.clone();
            let own = &batch.calls()[rows.clone()];
            let samples = &batch.samples()[rows.clone()];
            let judgements = judgements.get(rows).unwrap_or_default();
            for ((call, sample), judgement) in own.iter().zip(samples).zip(judgements) {
                let known = self.0.entry(sample.function, Known::default);
                let before = known.calls;
                known.calls += 1;
                if judgement.label == Label::NotEnoughData && known.is_longer(sample) {
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

    /// Returns at most `most` calls, one a function, the longest first.
    pub fn longest(&self, most: usize) -> Vec<UnjudgedCall> {
        let mut all: Vec<_> = self
            .0
            .iter()
            .filter_map(|(_, known)| known.longest)
            .collect();
        // Stable: equally long ones stay in the order of their functions.
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
