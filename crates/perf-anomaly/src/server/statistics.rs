//! [`StepStats`], [`FunctionStats`]: calls, anomalies and time lost of a rank in a step, and of a
//! function, which clients send to the server.

use crate::calls::{Call, Calls};
use crate::detect::Loss;
use crate::format_version::{Reader, Writer};
use crate::{FunctionId, Judgement, Moments, Result, Sample};
use perf_core::{Merge, Nanos};

/// Calls, anomalies and time lost of a rank in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StepStats {
    /// Program.
    pub program: u32,
    /// Rank in the program.
    pub rank: u32,
    /// Step.
    pub step: u64,
    /// Time of the first entry of a call that was completed in the step.
    pub start: Nanos,
    /// Time of the last exit of a call that was completed in the step.
    pub end: Nanos,
    /// Calls, anomalies and time lost.
    pub loss: Loss,
    /// Scores of the anomalies.
    pub scores: Moments,
}

impl StepStats {
    /// Smallest encoded size in bytes.
    const LEAST: usize = 3 + 2 + Loss::LEAST + 1;

    /// Returns the statistics of each rank that completed calls in the last step; `judgements`
    /// holds one judgement for each call of the batch.
    pub fn of(calls: &Calls, judgements: &[Judgement]) -> Vec<StepStats> {
        let batch = calls.batch();
        let mut all: Vec<StepStats> = Vec::new();
        // Streams are ordered by program and rank.
        for (stream, rows) in batch.streams() {
            let key = calls.stream_key(*stream).unwrap_or_default();
            let is_same = |one: &StepStats| (one.program, one.rank) == (key.program, key.rank);
            if !all.last().is_some_and(is_same) {
                all.push(StepStats {
                    program: key.program,
                    rank: key.rank,
                    step: batch.step(),
                    start: Nanos(i64::MAX),
                    end: Nanos(i64::MIN),
                    ..StepStats::default()
                });
            }
            let Some(step) = all.last_mut() else {
                continue;
            };
            let of_stream = &batch.calls()[rows.clone()];
            let samples = &batch.samples()[rows.clone()];
            // An external detector may return fewer judgements than calls.
            let judgements = judgements.get(rows.clone()).unwrap_or_default();
            for ((call, sample), judgement) in of_stream.iter().zip(samples).zip(judgements) {
                step.start = step.start.min(call.entry);
                step.end = step.end.max(call.exit);
                step.loss
                    .add(sample, judgement, |function| calls.waits(function));
                if judgement.label.is_anomaly() {
                    step.scores.push(judgement.score);
                }
            }
        }
        all
    }

    /// Adds another part of the same step and rank.
    pub(super) fn add(&mut self, part: &StepStats) {
        self.start = self.start.min(part.start);
        self.end = self.end.max(part.end);
        self.loss.merge(&part.loss);
        self.scores.merge(&part.scores);
    }

    pub(super) fn write(all: &[StepStats], to: &mut Writer) {
        to.u32(all.len() as u32);
        for one in all {
            for number in [one.program.into(), one.rank.into(), one.step] {
                to.varint(number);
            }
            to.signed(one.start.0);
            to.signed(one.end.0);
            one.loss.encode(to);
            one.scores.encode(to);
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Vec<StepStats>> {
        let count = from.count(
            Self::LEAST,
            "a number of steps that fits the remaining bytes",
        )?;
        let step = |from: &mut Reader<'_>| {
            Ok(StepStats {
                program: from.varint32("a program")?,
                rank: from.varint32("a rank")?,
                step: read_step(from)?,
                start: Nanos(from.signed("a time")?),
                end: Nanos(from.signed("a time")?),
                loss: Loss::decode(from)?,
                scores: Moments::decode(from)?,
            })
        };
        (0..count).map(|_| step(from)).collect()
    }
}

/// Calls, anomalies and time lost of a function, on one rank or on all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FunctionStats {
    /// Calls, anomalies and time lost.
    pub loss: Loss,
    /// Exclusive run times in nanoseconds.
    pub exclusive: Moments,
    /// Inclusive run times in nanoseconds.
    pub inclusive: Moments,
    /// Scores of the anomalies.
    pub scores: Moments,
    /// Severities of the anomalies in nanoseconds.
    pub severities: Moments,
    /// First and last step with an anomaly; `None` without anomalies.
    pub steps: Option<(u64, u64)>,
}

impl FunctionStats {
    /// Smallest encoded size in bytes.
    pub(super) const LEAST: usize = Loss::LEAST + 1 + 1;

    /// Counts a call; `waits` returns `true` for functions that wait for others.
    pub(super) fn add(
        &mut self,
        (call, sample): (&Call, &Sample),
        judgement: &Judgement,
        step: u64,
        waits: impl Fn(FunctionId) -> bool,
    ) {
        self.loss.add(sample, judgement, waits);
        self.exclusive.push(call.exclusive.0 as f64);
        self.inclusive.push(call.inclusive().0 as f64);
        if judgement.label.is_anomaly() {
            self.scores.push(judgement.score);
            self.severities.push(judgement.severity(sample).0 as f64);
            let (first, last) = self.steps.unwrap_or((step, step));
            self.steps = Some((first.min(step), last.max(step)));
        }
    }

    /// Encodes the statistics. Inclusive run times are omitted if they equal the exclusive ones, as
    /// for a function without callees. Statistics of anomalies are omitted if there are none.
    pub(super) fn write(&self, to: &mut Writer) {
        self.loss.encode(to);
        let is_leaf = self.inclusive == self.exclusive;
        let is_abnormal = self.scores.count() > 0 || self.severities.count() > 0;
        let flags = [
            (is_leaf, LEAF),
            (is_abnormal, ABNORMAL),
            (self.steps.is_some(), STEPS),
        ];
        to.u8(flags
            .iter()
            .map(|(is, flag)| if *is { *flag } else { 0 })
            .sum());
        self.exclusive.encode(to);
        if !is_leaf {
            self.inclusive.encode(to);
        }
        if is_abnormal {
            self.scores.encode(to);
            self.severities.encode(to);
        }
        if let Some((first, last)) = self.steps {
            to.varint(first);
            to.varint(last);
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let loss = Loss::decode(from)?;
        let flags = from.u8("the flags of a function")?;
        if flags & !(LEAF | ABNORMAL | STEPS) != 0 {
            return Err(from.error(1, "the flags of a function").into());
        }
        let exclusive = Moments::decode(from)?;
        let mut stats = FunctionStats {
            loss,
            exclusive,
            inclusive: exclusive,
            ..FunctionStats::default()
        };
        if flags & LEAF == 0 {
            stats.inclusive = Moments::decode(from)?;
        }
        if flags & ABNORMAL != 0 {
            stats.scores = Moments::decode(from)?;
            stats.severities = Moments::decode(from)?;
        }
        if flags & STEPS != 0 {
            stats.steps = Some((read_step(from)?, read_step(from)?));
        }
        Ok(stats)
    }
}

/// Reads the number of a step, at most 2^63.
fn read_step(from: &mut Reader<'_>) -> Result<u64> {
    let before = *from;
    match from.varint("a step")? {
        step if step <= 1 << 63 => Ok(step),
        _ => Err(before.error(0, "a step up to 2^63").into()),
    }
}

/// Flags of the optional fields of a function.
const LEAF: u8 = 1;
const ABNORMAL: u8 = 2;
const STEPS: u8 = 4;

impl Merge for FunctionStats {
    fn merge(&mut self, other: &Self) {
        self.loss.merge(&other.loss);
        // Most functions have no callees, so that both run times are equal.
        let is_leaf = self.inclusive == self.exclusive && other.inclusive == other.exclusive;
        self.exclusive.merge(&other.exclusive);
        if is_leaf {
            self.inclusive = self.exclusive;
        } else {
            self.inclusive.merge(&other.inclusive);
        }
        self.scores.merge(&other.scores);
        self.severities.merge(&other.severities);
        self.steps = match (self.steps, other.steps) {
            (Some(mine), Some(theirs)) => Some((mine.0.min(theirs.0), mine.1.max(theirs.1))),
            (mine, theirs) => mine.or(theirs),
        };
    }
}
