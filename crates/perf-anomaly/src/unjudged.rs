//! [`Unjudged`]: longest call of each function that the detector could not judge, as an [`UnjudgedCall`], time that
//! was not judged by function and [`UnjudgedReason`], and calls far longer than all earlier ones ([`LongCall`]).

use crate::calls::Calls;
use crate::detect::Functions;
use crate::{FunctionId, Judgement, Label, Sample};
use perf_core::text::counted;
use perf_core::{Nanos, StreamKey};

/// Longest call of a function with [`Label::NotEnoughData`], without the first calls on a thread.
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
}

/// Call without an alarm that is far longer than all earlier calls of its function.
///
/// It takes at least ten times as long as the longest of at least ten earlier calls, but the earlier calls are too few to exclude a call
/// that long at the stated rate of false alarms. First calls of a function on a thread are neither listed nor compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LongCall {
    /// Call.
    pub call: UnjudgedCall,
    /// Longest of the calls with which it is compared.
    pub longest: Nanos,
    /// Number of these calls.
    pub of: u64,
}

/// Reason for which calls were not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum UnjudgedReason {
    /// They are the first calls of the function on their threads, which often take longer.
    FirstCalls,
    /// The function had too few calls before.
    FewCalls,
    /// The recording does not name the functions that were called.
    UnknownFunction,
    /// The earlier calls do not exclude calls that long, or recent ones were as slow.
    Uncertain,
}

/// Time of a function that was not judged for a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct UnjudgedTime {
    /// Function or call path.
    pub function: FunctionId,
    /// Reason.
    pub reason: UnjudgedReason,
    /// Number of calls.
    pub calls: u64,
    /// Sum of their run times.
    pub time: Nanos,
}

impl UnjudgedTime {
    /// Describes the number of calls and the reason, such as `64 first calls on a thread`.
    ///
    /// ```
    /// use perf_anomaly::{Monitor, Watch};
    /// use perf_core::Nanos;
    /// let mut watch = Watch::new(Monitor::default(), 0, 0);
    /// let load = watch.region("load");
    /// watch.enter(0, load, Nanos(0));
    /// watch.exit(0, load, Nanos(50));
    /// let report = watch.into_sink().finish()?;
    /// assert_eq!(report.unjudged.times()[0].reason(), "1 first call on a thread");
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn reason(&self) -> String {
        let calls = self.calls as usize;
        match self.reason {
            UnjudgedReason::FirstCalls => format!("{} on a thread", counted(calls, "first call")),
            UnjudgedReason::FewCalls => {
                format!("{} after too few others", counted(calls, "call"))
            }
            UnjudgedReason::UnknownFunction => {
                format!("{} of functions without a name", counted(calls, "call"))
            }
            UnjudgedReason::Uncertain => counted(calls, "uncertain call"),
        }
    }
}

/// Reasons, in the order of the sums of a function.
const REASONS: [UnjudgedReason; 4] = [
    UnjudgedReason::FirstCalls,
    UnjudgedReason::FewCalls,
    UnjudgedReason::UnknownFunction,
    UnjudgedReason::Uncertain,
];

/// Largest number of long calls. Only the longest ones are kept.
const LONG_CALLS: usize = 64;
/// Factor to the longest earlier call above which a call is long.
const LONG: i64 = 10;
/// Fewest earlier calls with which a call is compared. A call of `c` times the longest of `n` calls occurs with a
/// probability of at most `1 / ((n + 1) c)`, so that less than one call in 100 is listed by chance.
const COMPARED: u64 = 10;
/// Shortest time with which calls are compared, because clocks have ticks of up to a microsecond.
const TICK: i64 = 1000;

/// Calls that were not judged: the longest one of each function, time by function and reason, and calls far longer than
/// all earlier ones.
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
pub struct Unjudged {
    /// Calls of each function.
    functions: Functions<Known>,
    /// Longest of the long calls, in no order.
    long: Vec<LongCall>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    /// Number of calls so far.
    calls: u64,
    /// Number of these calls without the first ones of threads.
    compared: u64,
    /// Longest of these.
    longest_compared: i64,
    /// Number and run time of the calls that were not judged, for each of the [`REASONS`].
    sums: [(u64, Nanos); 4],
    /// Longest call that was not judged and is no first call.
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
                let known = self.functions.entry(sample.function, Known::default);
                if judgement.label == Label::NotEnoughData {
                    let reason = reason(calls, sample, judgement);
                    let unjudged = || UnjudgedCall {
                        function: sample.function,
                        stream: calls.stream_key(*stream).unwrap_or_default(),
                        step: batch.step(),
                        entry: call.entry,
                        runtime: sample.runtime,
                        known: known.calls,
                    };
                    if known.is_exceeded(sample.runtime, reason) {
                        let long = LongCall {
                            call: unjudged(),
                            longest: Nanos(known.longest_compared),
                            of: known.compared,
                        };
                        keep_longest(&mut self.long, long);
                    }
                    let longest = known.is_longer(sample).then(unjudged);
                    known.longest = longest.or(known.longest);
                    let (count, time) = &mut known.sums[reason as usize];
                    *count += 1;
                    time.0 = time.0.saturating_add(sample.runtime.0.max(0));
                }
                known.calls += 1;
                if !sample.first {
                    known.compared += 1;
                    known.longest_compared = known.longest_compared.max(sample.runtime.0);
                }
            }
        }
    }

    /// Takes a call back that is abnormal after all.
    pub(crate) fn withdraw(&mut self, sample: &Sample, entry: Nanos) {
        let is_same = |one: &UnjudgedCall| {
            (one.function, one.entry, one.runtime) == (sample.function, entry, sample.runtime)
        };
        let long = self.long.len();
        self.long.retain(|one| !is_same(&one.call));
        let Some(known) = self.functions.get_mut(sample.function) else {
            return;
        };
        let was_longest = known.longest.take_if(|one| is_same(one)).is_some();
        let (calls, time) = &mut known.sums[UnjudgedReason::Uncertain as usize];
        if was_longest || long > self.long.len() {
            *calls = calls.saturating_sub(1);
            time.0 = time.0.saturating_sub(sample.runtime.0.max(0)).max(0);
        }
    }

    /// Returns the run time of all calls that were not judged, first calls included.
    /// [`Unjudged`] has an example.
    pub fn time(&self) -> Nanos {
        let times = self.functions.iter().flat_map(|(_, known)| known.sums);
        times.fold(Nanos(0), |sum, (_, time)| {
            Nanos(sum.0.saturating_add(time.0))
        })
    }

    /// Returns the time that was not judged by function and reason, the most time first.
    pub fn times(&self) -> Vec<UnjudgedTime> {
        let all = self.functions.iter().flat_map(|(function, known)| {
            let sums = REASONS.into_iter().zip(known.sums);
            sums.map(move |(reason, (calls, time))| UnjudgedTime {
                function,
                reason,
                calls,
                time,
            })
        });
        let mut all: Vec<UnjudgedTime> = all.filter(|one| one.calls > 0).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.time));
        all
    }

    /// Returns the calls without an alarm that are far longer than all earlier ones of their function, the longest
    /// first. At most 64 are known.
    ///
    /// ```
    /// use perf_anomaly::{Monitor, Watch};
    /// use perf_core::Nanos;
    /// let mut watch = Watch::new(Monitor::default(), 0, 3);
    /// let solve = watch.region("solve");
    /// for at in 0..58 {
    ///     watch.enter(0, solve, Nanos(10_000_000 * at));
    ///     let length = if at == 20 { 1_000_000 } else { 5_000 + 50 * (at % 7) };
    ///     watch.exit(0, solve, Nanos(10_000_000 * at + length));
    /// }
    /// let report = watch.into_sink().finish()?;
    /// assert_eq!(report.losses.total().anomalies(), 0);
    /// let [long] = report.unjudged.long_calls()[..] else { panic!("one long call") };
    /// assert_eq!((long.call.runtime, long.longest, long.of), (Nanos(1_000_000), Nanos(5_300), 19));
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn long_calls(&self) -> Vec<LongCall> {
        let mut all = self.long.clone();
        all.sort_by_key(|one| std::cmp::Reverse(one.call.runtime));
        all
    }

    /// Returns at most `most` calls, one for each function, the longest first. First calls of a function on a thread are
    /// not listed, only [counted](Self::times): most of them load, connect or initialize.
    pub fn longest(&self, most: usize) -> Vec<UnjudgedCall> {
        let mut all: Vec<_> = self
            .functions
            .iter()
            .filter_map(|(_, known)| known.longest)
            .collect();
        // The sort is stable, so calls of equal length stay in the order of their functions.
        all.sort_by_key(|one| std::cmp::Reverse(one.runtime));
        all.truncate(most);
        all
    }
}

/// Returns the reason for which a call was not judged.
fn reason(calls: &Calls, sample: &Sample, judgement: &Judgement) -> UnjudgedReason {
    if sample.first {
        UnjudgedReason::FirstCalls
    } else if judgement.expected.is_some() {
        UnjudgedReason::Uncertain
    } else if calls.is_unknown(sample.function) {
        UnjudgedReason::UnknownFunction
    } else {
        UnjudgedReason::FewCalls
    }
}

/// Adds a call, in place of the shortest one if there are too many.
fn keep_longest(all: &mut Vec<LongCall>, long: LongCall) {
    if all.len() < LONG_CALLS {
        return all.push(long);
    }
    let shortest = all.iter_mut().min_by_key(|one| one.call.runtime);
    if let Some(shortest) = shortest.filter(|one| one.call.runtime < long.call.runtime) {
        *shortest = long;
    }
}

impl Known {
    fn is_longer(&self, sample: &Sample) -> bool {
        !sample.first && self.longest.is_none_or(|one| sample.runtime > one.runtime)
    }

    /// Returns `true` if a call is far longer than all earlier ones that are compared.
    fn is_exceeded(&self, time: Nanos, reason: UnjudgedReason) -> bool {
        let is_compared = matches!(reason, UnjudgedReason::FewCalls | UnjudgedReason::Uncertain);
        is_compared && self.compared >= COMPARED && time.0 / LONG >= self.longest_compared.max(TICK)
    }
}
