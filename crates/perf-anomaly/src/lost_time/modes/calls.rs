//! [`ModeCalls`]: calls of a new mode on a rank, which clients send to a server; [`merged`]: the modes of all
//! clients.

use super::new_mode::{NewMode, SlowCall, edge};
use crate::format_version::{Reader, Writer};
use crate::lost_time::slowness::SlowAlarms;
use crate::{FunctionId, Result};
use perf_core::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Calls of a new mode on a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModeCalls {
    /// Number of calls; 0 if the mode was accepted as normal. Alarms of a mode that a rule accepts remain.
    pub(in crate::lost_time) calls: u64,
    /// Step of the first call.
    pub(in crate::lost_time) first: u64,
    /// Step of the last call.
    last: u64,
    /// Sum of run times.
    pub(in crate::lost_time) time: Nanos,
    /// Time lost.
    pub(in crate::lost_time) lost: Nanos,
    /// Number of the calls that are alarms by themselves.
    pub(in crate::lost_time) alarms: u64,
    /// Time lost by these.
    pub(in crate::lost_time) alarmed: Nanos,
    /// End of the bins of the mode.
    until: u32,
    /// Number of calls of the function before the mode, on all ranks of the client.
    before: u64,
    /// Number of calls of the function until its last call, on all ranks of the client.
    of: u64,
}

impl ModeCalls {
    /// Smallest encoded size in bytes, with the function and the mode.
    pub(in crate::lost_time) const LEAST: usize = 12;

    pub(in crate::lost_time) fn of(call: &SlowCall) -> Self {
        ModeCalls {
            calls: 1,
            first: call.step,
            last: call.step,
            time: Nanos(call.time),
            lost: Nanos(call.lost),
            alarms: u64::from(call.alarmed.is_some()),
            alarmed: Nanos(call.alarmed.unwrap_or(0)),
            ..ModeCalls::default()
        }
    }

    /// Returns the calls with the properties of their mode.
    pub(in crate::lost_time) fn of_mode(&self, mode: &NewMode, until: usize) -> Self {
        ModeCalls {
            until: until as u32,
            before: mode.before,
            of: mode.of,
            ..*self
        }
    }

    /// Returns the calls as those of a mode that ends at a bin.
    pub(in crate::lost_time) fn ending(&self, until: u32) -> Self {
        ModeCalls { until, ..*self }
    }

    /// Returns the calls with the number of calls of the function before them and until the last one.
    pub(in crate::lost_time) fn of_calls(&self, before: u64, of: u64) -> Self {
        ModeCalls {
            before,
            of,
            ..*self
        }
    }

    /// Returns the end of the bins of the mode.
    pub(in crate::lost_time) fn until(&self) -> u32 {
        self.until
    }

    /// Adds an alarm to a mode that a rule accepts.
    pub(in crate::lost_time) fn add_alarm(&mut self, alarmed: i64) {
        self.alarms = self.alarms.saturating_add(1);
        self.alarmed.0 = self.alarmed.0.saturating_add(alarmed);
    }

    /// Returns the alarms of a mode that a rule accepts.
    pub(in crate::lost_time) fn accepted(&self) -> Self {
        ModeCalls {
            alarms: self.alarms,
            alarmed: self.alarmed,
            ..ModeCalls::default()
        }
    }

    /// Adds calls of the same mode.
    pub(in crate::lost_time) fn add(&mut self, other: &Self) {
        let sum = |one: Nanos, other: Nanos| Nanos(one.0.saturating_add(other.0));
        let alarms = self.alarms.saturating_add(other.alarms);
        let alarmed = sum(self.alarmed, other.alarmed);
        if self.calls == 0 {
            *self = ModeCalls {
                alarms,
                alarmed,
                ..*other
            };
            return;
        }
        *self = ModeCalls {
            calls: self.calls.saturating_add(other.calls),
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            time: sum(self.time, other.time),
            lost: sum(self.lost, other.lost),
            alarms,
            alarmed,
            until: self.until.max(other.until),
            before: self.before.saturating_add(other.before),
            of: self.of.saturating_add(other.of),
        };
    }

    /// Removes a call. Returns it, or all that is left if it is the last one.
    pub(in crate::lost_time) fn remove(&mut self, call: &Self) -> Self {
        if self.calls <= 1 {
            return std::mem::take(self);
        }
        let less = |one: Nanos, other: Nanos| Nanos(one.0.saturating_sub(other.0));
        self.calls -= 1;
        self.time = less(self.time, call.time);
        self.lost = less(self.lost, call.lost);
        self.alarms = self.alarms.saturating_sub(call.alarms);
        self.alarmed = less(self.alarmed, call.alarmed);
        *call
    }

    /// Returns calls whose steps are later. A simulation that repeats a recording uses it.
    pub(in crate::lost_time) fn moved(&self, later: u64) -> Self {
        ModeCalls {
            first: self.first.saturating_add(later),
            last: self.last.saturating_add(later),
            ..*self
        }
    }

    pub(in crate::lost_time) fn write(&self, to: &mut Writer) {
        to.varint(self.calls);
        to.varint(self.first);
        to.varint(self.last.saturating_sub(self.first));
        for time in [self.time, self.lost, self.alarmed] {
            to.signed(time.0);
        }
        for number in [self.alarms, self.until.into(), self.before, self.of] {
            to.varint(number);
        }
    }

    pub(in crate::lost_time) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let calls = from.varint("a number of calls")?;
        let first = from.varint("a step")?;
        let last = first.saturating_add(from.varint("a number of steps")?);
        let [time, lost, alarmed] = [0; 3].map(|_| from.signed("a time").map(Nanos));
        Ok(ModeCalls {
            calls,
            first,
            last,
            time: time?,
            lost: lost?,
            alarmed: alarmed?,
            alarms: from.varint("a number of alarms")?,
            until: from.varint32("a bin")?,
            before: from.varint("a number of calls")?,
            of: from.varint("a number of calls")?,
        })
    }
}

/// Calls of a mode on a rank of a client.
pub(crate) struct OfClient {
    pub(crate) client: u64,
    /// Program and number of the rank.
    pub(crate) rank: (u32, u32),
    pub(crate) function: FunctionId,
    /// First bin of the mode.
    pub(crate) from: u32,
    pub(crate) calls: ModeCalls,
}

impl OfClient {
    /// Returns the alarms if a rule accepts the mode.
    pub(crate) fn accepted(&self) -> Option<SlowAlarms> {
        let is_accepted = self.calls.calls == 0 && self.calls.alarms > 0;
        is_accepted.then_some(SlowAlarms {
            function: self.function,
            calls: self.calls.alarms,
            lost: self.calls.alarmed,
        })
    }
}

/// Returns the modes of all clients, the one with the most time lost first. Modes of different clients are one if
/// their run times overlap.
pub(crate) fn merged(all: impl Iterator<Item = OfClient>) -> Vec<NewMode> {
    let mut all: Vec<OfClient> = all.filter(|one| one.calls.calls > 0).collect();
    all.sort_by_key(|one| (one.function, one.from, one.client, one.rank));
    let mut modes = Vec::new();
    let mut rest = all.as_slice();
    while let Some(first) = rest.first() {
        let mut until = first.calls.until;
        let mut modes_of = BTreeMap::new();
        let end = rest.iter().position(|one| {
            let is_apart = one.function != first.function
                || (one.from != first.from && one.from >= until)
                || *modes_of.entry(one.client).or_insert(one.from) != one.from;
            until = until.max(one.calls.until);
            is_apart
        });
        let (own, others) = rest.split_at(end.unwrap_or(rest.len()));
        modes.push(mode(own));
        rest = others;
    }
    modes.sort_by_key(|mode| std::cmp::Reverse(mode.lost));
    modes
}

/// Returns the mode of calls of one function.
fn mode(own: &[OfClient]) -> NewMode {
    let mut sum = ModeCalls::default();
    // All ranks of a client have the same number of calls of the function, apart from later ones.
    let mut of_clients: BTreeMap<(u64, u32), (u64, u64)> = BTreeMap::new();
    let mut ranks = BTreeSet::new();
    for one in own {
        sum.add(&one.calls);
        ranks.insert(one.rank);
        let numbers = of_clients.entry((one.client, one.from));
        let (before, of) = numbers.or_insert((one.calls.before, one.calls.of));
        *before = one.calls.before.min(*before);
        *of = one.calls.of.max(*of);
    }
    let numbers = of_clients.values();
    let (before, of) = numbers.fold((0_u64, 0_u64), |sum, one| {
        (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
    });
    let usual = sum.time.0.saturating_sub(sum.lost.0);
    let from = own.first().map_or(0, |one| one.from);
    NewMode {
        function: own.first().map_or(FunctionId(0), |one| one.function),
        from: Nanos(edge(from as usize)),
        to: Nanos(edge(sum.until as usize)),
        usual: Nanos(usual / i64::try_from(sum.calls.max(1)).unwrap_or(i64::MAX)),
        first: sum.first,
        before,
        of,
        last: sum.last,
        calls: sum.calls,
        time: sum.time,
        alarms: sum.alarms,
        lost: sum.lost,
        alarmed: sum.alarmed,
        ranks: ranks.len(),
        accepted: None,
    }
}
