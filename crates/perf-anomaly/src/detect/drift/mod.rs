//! [`Drift`]: which functions became slower or faster for good, and when.

mod params;
mod state;
mod test;

pub use params::{DriftChecked, DriftParams};

use super::Functions;
use crate::encode::{Reader, Writer};
use crate::{FunctionId, Judgement, Label, Result, Sample};
use perf_core::{Merge, Nanos};
use state::State;

/// First bytes of an encoded drift.
const MAGIC: u32 = u32::from_le_bytes(*b"PKAC");
const VERSION: u16 = 1;

/// A function has other run times from a step on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Change {
    /// The function.
    pub function: FunctionId,
    /// The step in which the window began in which it changed.
    pub step: u64,
    /// Its usual run time before: the geometric mean, within 0.8 %.
    pub from: Nanos,
    /// Its usual run time since.
    pub to: Nanos,
    /// Calls that the run time before is of.
    pub calls: u64,
    /// How far apart both are, in standard deviations of the rank sum; above 0 if it became slower.
    pub score: f64,
}

impl Change {
    /// Whether it became slower.
    pub fn is_slower(&self) -> bool {
        self.to > self.from
    }

    /// How changes are ordered: by step, then by function.
    fn key(&self) -> (u64, FunctionId, Nanos, Nanos, u64, u64) {
        let score = self.score.to_bits();
        (
            self.step,
            self.function,
            self.from,
            self.to,
            self.calls,
            score,
        )
    }
}

/// Change points of the run times of each function.
///
/// A detector tells calls that are unusual for their function; a drift tells when what is usual
/// changes, once for each change. The calls of a function come in windows of
/// [`window`](DriftParams::window). Each is compared with all calls since the last change by the rank
/// sum of Wilcoxon, Mann and Whitney: with `n` calls in the window, `m` before and
/// `U = #{x > y} + #{x = y} / 2` over all pairs,
///
/// ```text
/// z = (U - n m / 2) / sqrt(n m / 12 (N + 1 - sum(t^3 - t) / (N (N - 1)))),   N = n + m
/// ```
///
/// where `t` calls share a bucket of the [`Sketch`](super::Sketch). No form of the distribution is
/// assumed, so that several modes and long tails do no harm. Two windows in a row, both with `z` past
/// the bound of [`false_alarms`](DriftParams::false_alarms) on the same side and a run time that differs by
/// [`least`](DriftParams::least), are a change: from the first of them on, the function is compared with what it
/// is since. A single window like that was a disturbance, and counts as the past.
///
/// Of a million windows of a function that goes on as before at most `false_alarms` are expected to be a
/// change; the second window makes it far fewer: the test `nothing_changes_where_nothing_changes` finds none
/// in 20,000 windows of each of eight distributions, also where 1,000 are allowed. That is of calls that do not depend on each
/// other: a function with phases that last for hundreds of calls has a change at each end of them.
///
/// [`Merge`] adds counts: exact, and any order gives the same.
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
///     drift.add(step, &calls, &[Judgement::default(); 100]);
/// }
/// let [change] = drift.changes() else { panic!("one change") };
/// assert_eq!((change.step, change.is_slower()), (24, true));
/// assert!((change.from.0 - 100_500).abs() < 2_000 && (change.to.0 - 150_500).abs() < 2_000);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Drift {
    params: DriftChecked,
    functions: Functions<State>,
    /// In order, at most as many as the parameters say.
    changes: Vec<Change>,
    count: u64,
}

impl Default for Drift {
    /// Returns a drift with the default parameters that has seen nothing.
    fn default() -> Self {
        Drift::new(DriftChecked::default())
    }
}

impl Drift {
    /// Parameters with their defaults.
    pub fn params() -> DriftParams {
        DriftParams::default()
    }

    /// One that has seen nothing.
    pub fn new(params: DriftChecked) -> Self {
        Drift {
            params,
            functions: Functions::default(),
            changes: Vec::new(),
            count: 0,
        }
    }

    /// Takes the calls of a step, or of a part of one, and gives the changes that they show. The calls of a
    /// step are taken as they come to lie when all are mixed, since a batch has one stream after the other:
    /// that a rank is slower than another one is no change. Calls that are [ignored](Label::Ignored), and the first ones of a stream, are left out.
    pub fn add(&mut self, step: u64, samples: &[Sample], judgements: &[Judgement]) -> Vec<Change> {
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
            if let Some(change) = state.add(step, sample.runtime, params) {
                found.push(Change {
                    function: sample.function,
                    ..change
                });
            }
        }
        found.iter().for_each(|change| self.insert(*change));
        found
    }

    fn insert(&mut self, change: Change) {
        self.count = (self.count + 1).min(MOST);
        let key = change.key();
        let at = self.changes.partition_point(|one| one.key() < key);
        self.changes.insert(at, change);
        self.changes.truncate(self.params.most());
    }

    /// The changes so far, by step and function; of too many the first ones.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Changes that were found, but [not kept](DriftParams::most).
    pub fn left_out(&self) -> u64 {
        self.count.saturating_sub(self.changes.len() as u64)
    }

    /// The usual run time of a function since its last change; `None` if too few calls were seen.
    pub fn usual(&self, function: FunctionId) -> Option<Nanos> {
        self.functions.get(function)?.usual(&self.params)
    }

    /// As bytes: a magic number, a version, and the fields in order. The parameters are not among them.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.u32(MAGIC);
        to.u16(VERSION);
        to.varint(self.count);
        to.u32(self.changes.len() as u32);
        for change in &self.changes {
            to.varint(change.function.0.into());
            to.varint(change.step);
            to.i64(change.from.0);
            to.i64(change.to.0);
            to.varint(change.calls);
            to.f64(change.score);
        }
        self.functions.write(&mut to, State::encode);
        to.0
    }

    /// From the bytes of [`encode`](Self::encode), to go on with these parameters.
    ///
    /// # Errors
    /// [`Error::Decode`](crate::Error::Decode) with the place of what is wrong.
    pub fn decode(params: DriftChecked, bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes);
        if from.u32("a drift")? != MAGIC {
            return Err(from.error(4, "a drift").into());
        }
        if from.u16("a version")? != VERSION {
            return Err(from.error(2, "version 1 of a drift").into());
        }
        let mut drift = Drift::new(params);
        let before = from;
        let count = from.varint("a number of changes")?;
        if count > MOST {
            return Err(before.error(0, "less than 2^53 changes").into());
        }
        for _ in 0..from.count(27, "as many changes as there are")? {
            let change = read_change(&mut from)?;
            drift.insert(change);
        }
        if count < drift.count {
            return Err(from
                .error(0, "at least as many changes as there are")
                .into());
        }
        drift.count = count;
        drift.functions = Functions::read(&mut from, State::LEAST, State::decode)?;
        from.end()?;
        Ok(drift)
    }
}

/// Most changes that are counted, as calls are.
const MOST: u64 = (1 << 53) - 1;

/// The numbers below `count` in strides of about the golden section of them, so that any part of them is
/// spread over all.
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

fn read_change(from: &mut Reader<'_>) -> Result<Change> {
    let function = from.varint("a function")?;
    let function = u32::try_from(function).map_err(|_| from.error(1, "a function"))?;
    let change = Change {
        function: FunctionId(function),
        step: from.varint("a step")?,
        from: Nanos(from.i64("a time")?),
        to: Nanos(from.i64("a time")?),
        calls: from.varint("a number of calls")?,
        score: from.f64("a score")?,
    };
    match change.score.is_finite() {
        true => Ok(change),
        false => Err(from.error(8, "a finite score").into()),
    }
}

impl Drift {
    /// Adds what another one saw of other calls, such as those of another rank. Functions must have the
    /// same numbers.
    pub fn merge(&mut self, other: &Self) {
        self.functions.merge(&other.functions);
        let count = self.count.saturating_add(other.count).min(MOST);
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
