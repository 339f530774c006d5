//! [`Drift`]: detects functions that become permanently slower or faster, and keeps each such
//! [`Change`]; its byte encoding and merging.

mod params;
mod rank_sum;
mod ranks;
mod sentences;
mod windows;

pub use params::{DriftChecked, DriftParams};
pub use sentences::describe_changes;

use super::Functions;
use crate::format_version::{Reader, Writer};
use crate::{FunctionId, Judgement, Label, Result, Sample};
use perf_core::{Merge, Nanos};
use windows::State;

/// First bytes of an encoded drift.
const MAGIC: u32 = u32::from_le_bytes(*b"PKAC");
const VERSION: u16 = 2;
/// Earlier version without run times by rank.
const WITHOUT_RANKS: u16 = 1;

/// Permanent change of the run time of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Change {
    /// Function.
    pub function: FunctionId,
    /// Step in which the window with the change began.
    pub step: u64,
    /// Step in which the next window confirmed the change.
    pub until: u64,
    /// Usual run time before the change: the geometric mean of the ranks that have calls before and since,
    /// within 0.8 %.
    pub from: Nanos,
    /// Usual run time of the same ranks since the change: the geometric mean, within 0.8 %.
    pub to: Nanos,
    /// Number of calls from which `from` was computed.
    pub calls: u64,
    /// Number of ranks that called the function before the change.
    pub ranks: u64,
    /// Difference in standard deviations of the rank sum; positive if the function became slower.
    pub score: f64,
}

impl Change {
    /// Returns `true` if the function became slower.
    pub fn is_slower(&self) -> bool {
        self.to > self.from
    }

    /// Returns the sort key: step, then function, then all other fields.
    pub(crate) fn key(&self) -> (u64, FunctionId, Nanos, Nanos, [u64; 4]) {
        let rest = [self.until, self.calls, self.ranks, self.score.to_bits()];
        (self.step, self.function, self.from, self.to, rest)
    }

    /// Smallest encoded size in bytes.
    pub(crate) const LEAST: usize = 29;

    pub(crate) fn write(&self, to: &mut Writer) {
        to.varint(self.function.0.into());
        to.varint(self.step);
        to.i64(self.from.0);
        to.i64(self.to.0);
        to.varint(self.calls);
        to.varint(self.ranks);
        to.varint(self.until);
        to.f64(self.score);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
        Change::read_version(from, true)
    }

    fn read_version(from: &mut Reader<'_>, has_ranks: bool) -> Result<Self> {
        let function = from.varint("a function")?;
        let function = u32::try_from(function).map_err(|_| from.error(1, "a function"))?;
        let mut change = Change {
            function: FunctionId(function),
            step: from.varint("a step")?,
            from: Nanos(from.i64("a time")?),
            to: Nanos(from.i64("a time")?),
            calls: from.varint("a number of calls")?,
            ..Change::default()
        };
        (change.ranks, change.until) = if has_ranks {
            (from.varint("a number of ranks")?, from.varint("a step")?)
        } else {
            (1, change.step)
        };
        change.score = from.f64("a score")?;
        if change.score.is_finite() {
            Ok(change)
        } else {
            Err(from.error(8, "a finite score").into())
        }
    }
}

impl AsRef<Change> for Change {
    fn as_ref(&self) -> &Change {
        self
    }
}

/// Detection of the steps in which the run time of a function changes permanently.
///
/// A detector finds calls that are unusual for their function. A drift finds the steps in which the
/// usual run time changes, once for each change. The calls of a function are grouped in windows of
/// [`window`](DriftParams::window) calls. Each window is compared with all calls since the last
/// change by the rank sum of Wilcoxon, Mann and Whitney. With `n` calls `x` in the window, `m`
/// earlier calls `y`, and `U = #{x > y} + #{x = y} / 2` over all pairs, the score is
///
/// ```text
/// z = (U - n m / 2) / sqrt(n m / 12 (N + 1 - sum(t^3 - t) / (N (N - 1)))),   N = n + m
/// ```
///
/// where `t` calls share a bucket of the [`Sketch`](super::Sketch). No form of the distribution is
/// assumed, so several modes and long tails do no harm.
///
/// A change requires two consecutive windows on the same side, both slower or both faster. In each,
/// `z` must exceed the bound that follows from [`false_alarms`](DriftParams::false_alarms), and the
/// run time must differ by the fraction [`least`](DriftParams::least) within ranks. For that, the calls of each
/// rank are compared with earlier calls of the same rank: their geometric means must differ on average by this
/// fraction, in the direction of `z`, and by three standard errors. If fast ranks end before slow ones, or ranks
/// begin later, the mix of ranks changes, but no rank does. The change begins with the
/// first of the two windows; later windows are compared with the second. The second one begins in a later step, because
/// the calls of a step are in no order, and up to 64 windows of the step of a change contain calls before and after it;
/// [`end`](Self::end) returns the changes of the last step. If only one window
/// deviates, it is a disturbance, and its calls are added to the earlier calls.
///
/// Of a million windows of an unchanged function, at most `false_alarms` are expected to deviate.
/// Since a second window must confirm a change, false changes are far rarer. The test
/// `nothing_changes_where_nothing_changes` finds none in 20,000 windows of each of eight
/// distributions, even with `false_alarms` of 1,000. This holds for independent calls: a function
/// with phases of hundreds of calls has a change at each end of a phase.
///
/// [`Merge`] adds counts, so it is exact and independent of the order.
///
/// ```
/// use perf_anomaly::{Drift, FunctionId, Judgement, Sample};
/// use perf_core::Nanos;
/// let mut drift = Drift::default();
/// for step in 0..40_u64 {
///     let usual = if step < 25 { 100_000 } else { 150_000 };
///     let calls: Vec<Sample> = (0..100)
///         .map(|call| Sample {
///             function: FunctionId(0),
///             runtime: Nanos(usual + call * 37 % 1000),
///             first: false,
///         })
///         .collect();
///     drift.add(step, &calls, &[Judgement::default(); 100], |_| 0);
/// }
/// let [change] = drift.changes() else { panic!("one change") };
/// assert_eq!((change.step, change.is_slower()), (25, true));
/// assert!((change.from.0 - 100_500).abs() < 2_000 && (change.to.0 - 150_500).abs() < 2_000);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Drift {
    /// Parameters.
    params: DriftChecked,
    /// State of each function.
    functions: Functions<State>,
    /// First changes by step and function, at most [`DriftParams::most`].
    changes: Vec<Change>,
    /// Number of changes found, kept or not.
    count: u64,
}

impl Default for Drift {
    /// Returns an empty drift with the default parameters.
    fn default() -> Self {
        Drift::new(DriftChecked::default())
    }
}

impl Drift {
    /// Returns parameters with their default values.
    pub fn params() -> DriftParams {
        DriftParams::default()
    }

    /// Creates an empty drift.
    pub fn new(params: DriftChecked) -> Self {
        Drift {
            params,
            functions: Functions::default(),
            changes: Vec::new(),
            count: 0,
        }
    }

    /// Adds the calls of a step, or of a part of a step, and returns the changes that they
    /// complete. A batch contains one stream after the other; its calls are added in an interleaved
    /// order, so that a slower rank does not look like a change. `rank` returns the rank of
    /// a call by its index. [Ignored](Label::Ignored) calls and first calls of a function on a stream are skipped.
    pub fn add(
        &mut self,
        step: u64,
        samples: &[Sample],
        judgements: &[Judgement],
        rank: impl Fn(usize) -> u32,
    ) -> Vec<Change> {
        let mut found = Vec::new();
        for at in strides(samples.len().min(judgements.len())) {
            let (Some(sample), Some(judgement)) = (samples.get(at), judgements.get(at)) else {
                continue;
            };
            if sample.first || judgement.label == Label::Ignored {
                continue;
            }
            let params = &self.params;
            let state = self
                .functions
                .entry(sample.function, || State::new(params.resolution()));
            if let Some(change) = state.add((step, rank(at)), sample.runtime, params) {
                found.push(Change {
                    function: sample.function,
                    ..change
                });
            }
        }
        found.iter().for_each(|change| self.insert(*change));
        found
    }

    /// Ends the run, and returns the changes of the last step, which no later step confirms.
    ///
    /// ```
    /// use perf_anomaly::{Drift, FunctionId, Judgement, Sample};
    /// use perf_core::Nanos;
    /// let mut drift = Drift::default();
    /// for (step, usual) in [100_000, 150_000].into_iter().enumerate() {
    ///     let calls: Vec<Sample> = (0..1000)
    ///         .map(|call| Sample {
    ///             function: FunctionId(0),
    ///             runtime: Nanos(usual + call * 37 % 1000),
    ///             first: false,
    ///         })
    ///         .collect();
    ///     drift.add(step as u64, &calls, &[Judgement::default(); 1000], |_| 0);
    /// }
    /// assert_eq!(drift.changes(), []);
    /// assert_eq!(drift.end()[0].step, 1);
    /// ```
    pub fn end(&mut self) -> Vec<Change> {
        let params = &self.params;
        let states = self.functions.entries_mut();
        let found = states.filter_map(|(function, state)| {
            let change = state.end(params)?;
            Some(Change { function, ..change })
        });
        let found: Vec<Change> = found.collect();
        found.iter().for_each(|change| self.insert(*change));
        found
    }

    fn insert(&mut self, change: Change) {
        self.count = (self.count + 1).min(MAX_COUNT);
        let key = change.key();
        let at = self.changes.partition_point(|one| one.key() < key);
        self.changes.insert(at, change);
        self.changes.truncate(self.params.most());
    }

    /// Returns the changes so far by step and function, at most the first
    /// [`most`](DriftParams::most).
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns the number of changes that were found but [not kept](DriftParams::most).
    pub fn left_out(&self) -> u64 {
        self.count.saturating_sub(self.changes.len() as u64)
    }

    /// Returns the usual run time of a function since its last change, a geometric mean; `None`
    /// before its first full window.
    pub fn usual(&self, function: FunctionId) -> Option<Nanos> {
        self.functions.get(function)?.usual(&self.params)
    }

    /// Encodes the drift: a magic number, a version, and the changes and states of functions. The
    /// parameters are not encoded.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.u32(MAGIC);
        to.u16(VERSION);
        to.varint(self.count);
        to.u32(self.changes.len() as u32);
        for change in &self.changes {
            change.write(&mut to);
        }
        self.functions.write(&mut to, State::encode);
        to.0
    }

    /// Decodes the bytes of [`encode`](Self::encode), to continue with these parameters.
    ///
    /// # Errors
    /// Returns [`Error::Decode`](crate::Error::Decode) with the offset of the invalid bytes.
    pub fn decode(params: DriftChecked, bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes);
        if from.u32("the signature of a drift detector")? != MAGIC {
            return Err(from.error(4, "the signature of a drift detector").into());
        }
        let version = from.u16("a version")?;
        if !(WITHOUT_RANKS..=VERSION).contains(&version) {
            return Err(from.error(2, "version 1 or 2 of a drift").into());
        }
        let has_ranks = version > WITHOUT_RANKS;
        let mut drift = Drift::new(params);
        let before = from;
        let count = from.varint("a number of changes")?;
        if count > MAX_COUNT {
            return Err(before.error(0, "less than 2^53 changes").into());
        }
        for _ in 0..from.count(27, "a number of changes that fits the remaining bytes")? {
            let change = Change::read_version(&mut from, has_ranks)?;
            drift.insert(change);
        }
        if count < drift.count {
            return Err(from
                .error(0, "a number of changes that covers the listed ones")
                .into());
        }
        drift.count = count;
        let least = if has_ranks {
            State::LEAST_WITH_RANKS
        } else {
            State::LEAST
        };
        let read = |from: &mut Reader<'_>| State::decode(from, has_ranks);
        drift.functions = Functions::read(&mut from, least, read)?;
        from.end()?;
        Ok(drift)
    }
}

/// Largest number to which changes are counted.
const MAX_COUNT: u64 = (1 << 53) - 1;

/// Returns the numbers below `count`, each once, in strides of about the golden section, so that
/// any part of the sequence is spread over all numbers.
fn strides(count: usize) -> impl Iterator<Item = usize> {
    fn common(one: usize, other: usize) -> usize {
        match other {
            0 => one,
            other => common(other, one % other),
        }
    }
    let golden = (count as f64 * 0.618_033_988_749_895) as usize;
    let stride = (golden.max(1)..).find(|stride| common(*stride, count) == 1);
    let stride = stride.unwrap_or(1);
    let mut at = 0_usize;
    (0..count).map(move |_| {
        let now = at;
        at = (at + stride) % count;
        now
    })
}

impl Drift {
    /// Adds the counts and changes of another drift for other calls, such as the calls of another
    /// rank. Functions must have the same numbers in both.
    pub fn merge(&mut self, other: &Self) {
        self.functions.merge(&other.functions);
        let count = self.count.saturating_add(other.count).min(MAX_COUNT);
        other.changes.iter().for_each(|one| self.insert(*one));
        self.count = count;
    }
}

impl PartialEq for Drift {
    fn eq(&self, other: &Self) -> bool {
        (self.count, &self.changes) == (other.count, &other.changes)
            && self.functions == other.functions
    }
}
