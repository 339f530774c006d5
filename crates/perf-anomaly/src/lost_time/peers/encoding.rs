//! Byte encoding of [`Peers`], for a server that continues after a restart, and the memory in bytes
//! that they take.

use super::spells::{ENTRIES, Entry, OfFunction, Series};
use super::{FunctionTimes, Peers, add_rank};
use crate::format_version::{Reader, Writer};
use crate::lost_time::own_speed::AlarmSum;
use crate::lost_time::step_times::{Cell, StepTimes};
use crate::server::tree;
use crate::{FunctionId, Result};

/// Number that stands for no function.
const NO_FUNCTION: FunctionId = FunctionId(u32::MAX);

impl Series {
    fn write(&self, to: &mut Writer) {
        to.u8(self.level as u8);
        to.u32(self.entries.len() as u32);
        for entry in &self.entries {
            to.varint(entry.first);
            to.varint(entry.last);
            for value in [entry.expected, entry.lost, entry.variance] {
                to.f64(value);
            }
            let worst = entry.worst.unwrap_or(OfFunction {
                function: NO_FUNCTION,
                expected: 0.0,
                lost: 0.0,
            });
            to.varint(worst.function.0.into());
            to.f64(worst.expected);
            to.f64(worst.lost);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let level = from.u8("the level of a series")?;
        if level > 63 {
            return Err(from.error(1, "the level of a series, at most 63").into());
        }
        let count = from.count(26, "a number of steps that fits the remaining bytes")?;
        let mut series = Series {
            entries: Vec::new(),
            level: level.into(),
        };
        for _ in 0..count {
            let (first, last) = (from.varint("a step")?, from.varint("a step")?);
            let [expected, lost, variance] = [0; 3].map(|_| from.f64("a sum of run times"));
            let mut entry = Entry {
                first,
                last,
                expected: expected?,
                lost: lost?,
                variance: variance?,
                worst: None,
            };
            if from.context.has_worst_functions {
                let function = FunctionId(from.varint32("a function")?);
                let expected = if from.context.has_worst_times {
                    Some(from.f64("an expected time")?)
                } else {
                    None
                };
                let lost = from.f64("a time lost")?;
                let worst = OfFunction {
                    function,
                    // The factor of the rank, in versions without that of the function.
                    expected: expected.unwrap_or(entry.expected * lost / entry.lost),
                    lost,
                };
                entry.worst = (function != NO_FUNCTION).then_some(worst);
            }
            series.push(entry, ENTRIES);
        }
        Ok(series)
    }

    fn memory(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }
}

impl Peers {
    pub(crate) fn write(&self, to: &mut Writer) {
        self.open.write(to);
        to.varint(self.closed);
        to.varint(self.late);
        to.u32(self.ranks.len() as u32);
        for ((program, rank), series) in &self.ranks {
            to.varint((*program).into());
            to.varint((*rank).into());
            series.write(to);
        }
        to.u32(self.functions.len() as u32);
        for (function, times) in &self.functions {
            to.varint(function.0.into());
            times.series.write(to);
            to.u32(times.ranks.len() as u32);
            for (program, rank) in &times.ranks {
                to.varint((*program).into());
                to.varint((*rank).into());
            }
        }
        to.u32(self.own_alarms.len() as u32);
        for ((program, rank), step, function, (calls, lost)) in self.own_alarms.iter() {
            to.varint(program.into());
            to.varint(rank.into());
            to.varint(step);
            to.varint(function.0.into());
            to.varint(calls);
            to.signed(lost);
        }
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let mut peers = Peers {
            open: StepTimes::read(from)?,
            closed: from.varint("a step")?,
            ..Peers::default()
        };
        if !from.context.has_modes {
            peers.open.group = from.varint("a number of steps")?;
        }
        peers.late = from.varint("a number of calls")?;
        for _ in 0..from.count(7, "a number of ranks that fits the remaining bytes")? {
            let rank = (from.varint32("a program")?, from.varint32("a rank")?);
            let series = Series::read(from)?;
            if !from.context.has_worst_functions {
                // An earlier version had the time lost by function in the whole run.
                for _ in 0..from.count(9, "a number of functions that fits the remaining bytes")? {
                    from.varint32("a function")?;
                    from.f64("a time lost")?;
                }
            }
            peers.ranks.insert(rank, series.into());
        }
        for _ in 0..from.count(10, "a number of functions that fits the remaining bytes")? {
            let function = FunctionId(from.varint32("a function")?);
            let mut times = FunctionTimes {
                series: Series::read(from)?,
                ..FunctionTimes::default()
            };
            for _ in 0..from.count(2, "a number of ranks that fits the remaining bytes")? {
                let rank = (from.varint32("a program")?, from.varint32("a rank")?);
                times.ranks.insert(rank);
            }
            peers.functions.insert(function, times.into());
        }
        if from.context.has_modes {
            for _ in 0..from.count(6, "a number of alarms that fits the remaining bytes")? {
                let rank = (from.varint32("a program")?, from.varint32("a rank")?);
                let step = from.varint("a step")?;
                let function = FunctionId(from.varint32("a function")?);
                let calls = from.varint("a number of alarms")?;
                let lost = from.signed("a time lost")?;
                peers.own_alarms.add(rank, step, function, (calls, lost));
            }
        }
        peers.pairs = peers.functions.values().map(|one| one.ranks.len()).sum();
        // Servers of earlier versions have the ranks of closed steps only.
        for cells in peers.open.steps.values() {
            for (function, rank) in cells.keys() {
                add_rank((&mut peers.functions, &mut peers.pairs), *function, *rank);
            }
        }
        Ok(peers)
    }

    /// Returns the memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        let cell = size_of::<((FunctionId, (u32, u32)), Cell)>();
        let ranks = self.ranks.values().map(|series| series.memory());
        let functions = self
            .functions
            .values()
            .map(|one| one.series.memory() + tree(one.ranks.len(), size_of::<(u32, u32)>()));
        let alarm = size_of::<((u64, FunctionId), AlarmSum)>();
        let single = self.single.as_ref().map_or(0, StepTimes::len);
        tree(self.open.len() + single, cell)
            + tree(self.own_alarms.len(), alarm)
            + tree(self.ranks.len(), size_of::<((u32, u32), Series)>())
            + ranks.sum::<usize>()
            + tree(
                self.functions.len(),
                size_of::<(FunctionId, FunctionTimes)>(),
            )
            + functions.sum::<usize>()
    }
}
