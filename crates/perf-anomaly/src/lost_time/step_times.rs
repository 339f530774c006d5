//! [`StepTimes`]: sums of run times by step, function and rank, which [`Peers`](super::Peers)
//! compares and ranks send to a server.

use super::modes::RunCall;
use super::own_speed::at_own_speed;
use crate::calls::Calls;
use crate::detect::Functions;
use crate::format_version::{Reader, Writer};
use crate::{FunctionId, Judgement, Label, Result, Sample};
use perf_core::{Merge, Nanos};
use std::collections::btree_map::Entry::{Occupied, Vacant};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Calls of a function on a rank in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cell {
    /// Number of calls.
    pub(super) calls: u64,
    /// Sum of run times in nanoseconds.
    pub(super) time: u64,
    /// Sum of squares.
    squares: u128,
    /// Number of alarms among the calls, which take as long as the other calls of their rank.
    pub(super) alarms: u64,
    /// Time lost by the alarms.
    pub(super) alarmed: u64,
}

impl Cell {
    #[inline]
    fn add(&mut self, time: u64) {
        self.calls += 1;
        self.time = self.time.saturating_add(time);
        let square = u128::from(time) * u128::from(time);
        self.squares = self.squares.saturating_add(square);
    }

    /// Adds a call, with the time that it lost if it is an alarm.
    #[inline]
    pub(super) fn add_call(&mut self, time: Nanos, alarmed: Option<i64>) {
        self.add(u64::try_from(time.0).unwrap_or_default());
        self.alarms += u64::from(alarmed.is_some());
        let lost = u64::try_from(alarmed.unwrap_or(0)).unwrap_or_default();
        self.alarmed = self.alarmed.saturating_add(lost);
    }

    /// Takes a call back.
    pub(super) fn remove(&mut self, time: u64) {
        self.calls = self.calls.saturating_sub(1);
        self.time = self.time.saturating_sub(time);
        let square = u128::from(time) * u128::from(time);
        self.squares = self.squares.saturating_sub(square);
    }

    pub(super) fn mean(&self) -> f64 {
        self.time as f64 / self.calls.max(1) as f64
    }

    /// Returns the variance of the sum of run times.
    pub(super) fn variance(&self) -> f64 {
        let calls = self.calls.max(1) as f64;
        let about = self.squares as f64 - self.time as f64 * self.mean();
        about.max(0.0) * calls / (calls - 1.0).max(1.0)
    }
}

impl Merge for Cell {
    fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.time = self.time.saturating_add(other.time);
        self.squares = self.squares.saturating_add(other.squares);
        self.alarms = self.alarms.saturating_add(other.alarms);
        self.alarmed = self.alarmed.saturating_add(other.alarmed);
    }
}

/// Cells of a step by function and rank, which is given by program and number.
pub(super) type Step = BTreeMap<(FunctionId, (u32, u32)), Cell>;

/// Returns the cells of calls of a rank in a step: those that are not abnormal, first or ignored
/// calls, without those at the indices `skipped`, which are in ascending order. Abnormal calls that take as
/// long as the other calls of their rank are included.
pub(super) fn cells(
    (samples, judgements): (&[Sample], &[Judgement]),
    skipped: &[usize],
) -> Functions<Cell> {
    let mut skipped = skipped.iter().peekable();
    let at_own_speed = at_own_speed(samples, judgements);
    let mut included = at_own_speed.iter().peekable();
    let mut cells: Functions<Cell> = Functions::default();
    for (at, (sample, judgement)) in samples.iter().zip(judgements).enumerate() {
        let is_included = included.next_if(|index| **index == at).is_some();
        if skipped.next_if(|skip| **skip == at).is_some()
            || sample.first
            || judgement.label == Label::Ignored
            || (judgement.label.is_anomaly() && !is_included)
        {
            continue;
        }
        let cell = cells.entry(sample.function, Cell::default);
        let is_alarm = judgement.label.is_anomaly();
        let alarmed = is_alarm.then(|| judgement.severity(sample).0);
        cell.add_call(sample.runtime, alarmed);
    }
    cells
}

/// Sums of the run times of normal calls by step, function and rank. Sums of several ranks are merged
/// in any order. Clones share each step until it changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepTimes {
    /// Sums by number of the step, or of the group of steps.
    pub(super) steps: BTreeMap<u64, Arc<Step>>,
    /// Number of steps that are compared as one; 0 is 1.
    pub(super) group: u64,
    /// Functions that do different work in other steps, of which only ranks are compared.
    pub(super) without_phases: BTreeSet<FunctionId>,
}

impl StepTimes {
    /// Smallest encoded size of a cell in bytes.
    const LEAST: usize = 8;

    /// Returns empty sums that are compared in the same way.
    fn emptied(&self) -> Self {
        StepTimes {
            group: self.group,
            ..StepTimes::default()
        }
    }

    /// Returns the number of steps that are compared as one.
    pub(crate) fn group(&self) -> u64 {
        self.group.max(1)
    }

    /// Sets the number of steps that are compared as one, before the first step.
    pub(crate) fn set_group(&mut self, steps: u64) {
        if self.steps.is_empty() {
            self.group = steps;
        }
    }

    /// Doubles the number of steps that are compared as one.
    pub(super) fn coarsen(&mut self) {
        self.group = self.group().saturating_mul(2);
        let before = std::mem::take(&mut self.steps);
        for (number, cells) in before {
            match self.steps.entry(number / 2) {
                Vacant(step) => {
                    step.insert(cells);
                }
                Occupied(mut step) => {
                    let step = Arc::make_mut(step.get_mut());
                    for (key, cell) in &*cells {
                        step.entry(*key).or_default().merge(cell);
                    }
                }
            }
        }
    }

    /// Compares at least as many steps as one as in other sums, which are added next.
    pub(super) fn regroup(&mut self, other: &Self) {
        self.set_group(other.group);
        while self.group() < other.group() {
            self.coarsen();
        }
    }

    /// Returns the sums of a step for modification.
    pub(super) fn step(&mut self, step: u64) -> &mut Step {
        Arc::make_mut(self.steps.entry(step).or_default())
    }

    /// Adds other sums from a step, or a group of steps, on. Other groups of steps are added to those of
    /// these sums.
    pub(super) fn add_from(&mut self, other: &Self, first: u64) {
        self.without_phases.extend(&other.without_phases);
        let (group, of_other) = (self.group(), other.group());
        for (step, cells) in other.steps.range(first..) {
            let open = self.step(step.saturating_mul(of_other) / group);
            for (key, cell) in &**cells {
                open.entry(*key).or_default().merge(cell);
            }
        }
    }

    /// Returns `true` if there are no calls.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the number of sums.
    pub fn len(&self) -> usize {
        self.steps.values().map(|step| step.len()).sum()
    }

    /// Returns all sums as those of one rank, given by program and number, and of later steps. A
    /// simulation of many ranks with the calls of one uses it.
    pub fn moved(&self, rank: (u32, u32), later: u64) -> Self {
        let mut all = self.emptied();
        all.without_phases.clone_from(&self.without_phases);
        for (step, cells) in &self.steps {
            let step = all.step(step.saturating_add(later / self.group()));
            for ((function, _), cell) in &**cells {
                step.entry((*function, rank)).or_default().merge(cell);
            }
        }
        all
    }

    /// Adds the calls of a rank in a step, without those at the indices `skipped`, which are in ascending
    /// order.
    pub(crate) fn add(
        &mut self,
        rank: (u32, u32),
        step: u64,
        judged: (&[Sample], &[Judgement]),
        skipped: &[usize],
        calls: &Calls,
    ) {
        let step = step / self.group();
        for (function, cell) in cells(judged, skipped).unordered() {
            if calls.computes(function) {
                let open = self.step(step);
                open.entry((function, rank)).or_default().merge(cell);
                if calls.is_unknown(function) {
                    self.without_phases.insert(function);
                }
            }
        }
    }

    /// Adds slow calls of computing functions that are the speed of their rank, and were not part of the sums.
    pub(crate) fn add_run<'a>(&mut self, calls: impl Iterator<Item = &'a RunCall>) {
        for one in calls.filter(|one| !one.in_means) {
            let step = self.step(one.call.step / self.group());
            let cell = step.entry((one.call.function, one.call.rank)).or_default();
            cell.add_call(one.call.time, one.alarmed);
        }
    }

    /// Compares more steps as one while there are more than `most` sums of several steps.
    pub(crate) fn limit(&mut self, most: usize) {
        while self.len() > most && self.steps.len() > 1 {
            self.coarsen();
        }
    }

    /// Returns the numbers of the functions with calls, each at least once.
    pub(crate) fn functions(&self) -> impl Iterator<Item = FunctionId> {
        let all = self.steps.values().flat_map(|step| step.keys());
        let all = all.map(|(function, _)| *function);
        all.chain(self.without_phases.iter().copied())
    }

    /// Returns `true` if the numbers of all functions are below `end`.
    pub(crate) fn is_below(&self, end: u64) -> bool {
        self.functions().all(|one| u64::from(one.0) < end)
    }

    /// Returns the same sums with other numbers of functions, without the functions for which `number`
    /// returns `None`.
    pub(crate) fn renumbered(&self, number: impl Fn(FunctionId) -> Option<FunctionId>) -> Self {
        let mut all = self.emptied();
        let known = self.without_phases.iter();
        all.without_phases = known.filter_map(|one| number(*one)).collect();
        for (step, cells) in &self.steps {
            for ((function, rank), cell) in &**cells {
                if let Some(function) = number(*function) {
                    let step = all.step(*step);
                    step.entry((function, *rank)).or_default().merge(cell);
                }
            }
        }
        all
    }

    /// Returns the sums of each program, with other numbers of functions.
    pub(crate) fn by_program(
        &self,
        number: impl Fn(FunctionId) -> Option<FunctionId>,
    ) -> BTreeMap<u32, StepTimes> {
        let mut programs: BTreeMap<u32, StepTimes> = BTreeMap::new();
        for (step, cells) in &self.steps {
            for ((known, rank), cell) in &**cells {
                if let Some(function) = number(*known) {
                    let program = programs.entry(rank.0).or_insert_with(|| self.emptied());
                    if self.without_phases.contains(known) {
                        program.without_phases.insert(function);
                    }
                    let step = program.step(*step);
                    step.entry((function, *rank)).or_default().merge(cell);
                }
            }
        }
        programs
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        to.u32(self.len() as u32);
        for (step, cells) in &self.steps {
            for ((function, (program, rank)), cell) in &**cells {
                to.varint(*step);
                to.varint(function.0.into());
                to.varint((*program).into());
                to.varint((*rank).into());
                to.varint(cell.calls);
                to.varint(cell.time);
                to.varint(cell.squares as u64);
                to.varint((cell.squares >> 64) as u64);
                to.varint(cell.alarms);
                to.varint(cell.alarmed);
            }
        }
        to.varint(self.group);
        to.u32(self.without_phases.len() as u32);
        for function in &self.without_phases {
            to.varint(function.0.into());
        }
    }

    /// Reads run times from a message, which is empty in versions without them.
    pub(crate) fn read_if_present(from: &mut Reader<'_>) -> Result<Self> {
        if from.context.has_times {
            StepTimes::read(from)
        } else {
            Ok(StepTimes::default())
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let count = from.count(
            Self::LEAST,
            "a number of run times that fits the remaining bytes",
        )?;
        let mut all = StepTimes::default();
        for _ in 0..count {
            let step = from.varint("a step")?;
            let function = FunctionId(from.varint32("a function")?);
            let rank = (from.varint32("a program")?, from.varint32("a rank")?);
            let [calls, time, low, high] = [0; 4].map(|_| from.varint("a sum of run times"));
            let mut alarms = [0; 2];
            if from.context.has_modes {
                for sum in &mut alarms {
                    *sum = from.varint("a sum of alarms")?;
                }
            }
            let cell = Cell {
                calls: calls?,
                time: time?,
                squares: u128::from(low?) | u128::from(high?) << 64,
                alarms: alarms[0],
                alarmed: alarms[1],
            };
            let step = all.step(step);
            step.entry((function, rank)).or_default().merge(&cell);
        }
        if from.context.has_modes {
            all.group = from.varint("a number of steps")?;
            for _ in 0..from.count(1, "a number of functions that fits the remaining bytes")? {
                let function = FunctionId(from.varint32("a function")?);
                all.without_phases.insert(function);
            }
        }
        Ok(all)
    }
}

impl Merge for StepTimes {
    fn merge(&mut self, other: &Self) {
        self.regroup(other);
        self.add_from(other, 0);
    }
}
