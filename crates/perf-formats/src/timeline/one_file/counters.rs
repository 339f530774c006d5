//! [`Counters`]: samples of the counters of one file, and the metrics and metric sets that they
//! become.

use super::row::Sym;
use perf_core::{Metric, MetricId, MetricMode, MetricSet, MetricSetId, Value, ValueType};
use std::collections::HashMap;

/// One sample of a process.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Process of the sample.
    process: Sym,
    /// Time in nanoseconds.
    at: i64,
    /// Metric set of the sample.
    set: u32,
    /// Index of the first value of the sample. The metric set determines the number of values.
    values: usize,
}

/// The counters of one file.
#[derive(Debug, Default)]
pub(in crate::timeline) struct Counters {
    /// Names of the counters.
    names: Vec<String>,
    /// Counters by name.
    ids: HashMap<String, u32>,
    /// Members of the metric sets.
    sets: Vec<Vec<u32>>,
    /// Metric sets by their members.
    set_ids: HashMap<Vec<u32>, u32>,
    /// Samples in the order of the file.
    samples: Vec<Sample>,
    /// Values of all samples.
    values: Vec<Value>,
    /// Total length of all names in bytes.
    text: u64,
}

/// Limits on the names of counters.
#[derive(Clone, Copy, Debug)]
pub(in crate::timeline) struct Room {
    /// Maximum number of names.
    pub(in crate::timeline) names: u32,
    /// Maximum total length of all names in bytes.
    pub(in crate::timeline) text: u64,
}

impl Counters {
    /// Adds a sample. Returns the number of values that were dropped because the limits allow no further names.
    pub(in crate::timeline) fn add(
        &mut self,
        process: Sym,
        at: i64,
        values: &[(String, Value)],
        room: Room,
    ) -> u64 {
        let mut members = Vec::with_capacity(values.len());
        let mut kept = Vec::with_capacity(values.len());
        for (name, value) in values {
            if let Some(id) = self.id(name, room) {
                members.push(id);
                kept.push(*value);
            }
        }
        let left_out = values.len() - kept.len();
        let set = match self.set_ids.get(&members) {
            Some(set) => *set,
            None => {
                let set = self.sets.len() as u32;
                self.sets.push(members.clone());
                self.set_ids.insert(members, set);
                set
            }
        };
        self.samples.push(Sample {
            process,
            at,
            set,
            values: self.values.len(),
        });
        self.values.append(&mut kept);
        left_out as u64
    }

    /// Iterates over the times of all samples.
    pub(in crate::timeline) fn times(&self) -> impl Iterator<Item = i64> {
        self.samples.iter().map(|sample| sample.at)
    }

    /// Drops the samples whose time `is_kept` rejects; returns their number.
    pub(in crate::timeline) fn retain(&mut self, is_kept: impl Fn(i64) -> bool) -> u64 {
        let before = self.samples.len();
        self.samples.retain(|sample| is_kept(sample.at));
        (before - self.samples.len()) as u64
    }

    /// Returns the number of a name, which is assigned on first use. `None` if the limits allow no further names.
    fn id(&mut self, name: &str, room: Room) -> Option<u32> {
        if let Some(id) = self.ids.get(name) {
            return Some(*id);
        }
        let id = u32::try_from(self.names.len()).ok()?;
        let text = self.text + name.len() as u64;
        if id >= room.names || text > room.text {
            return None;
        }
        self.text = text;
        self.names.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        Some(id)
    }

    /// Appends the metrics and metric sets to existing ones. Returns the value type of each metric and the index of the
    /// first new set.
    pub(in crate::timeline) fn define(
        &self,
        metrics: &mut Vec<Metric>,
        sets: &mut Vec<MetricSet>,
    ) -> (Vec<ValueType>, u32) {
        let types = self.types();
        let (first, first_set) = (metrics.len() as u32, sets.len() as u32);
        metrics.extend(self.names.iter().zip(&types).map(|(name, kind)| Metric {
            name: name.clone(),
            value_type: *kind,
            mode: MetricMode::Absolute,
            ..Metric::default()
        }));
        sets.extend(self.sets.iter().map(|members| MetricSet {
            members: members.iter().map(|id| MetricId(first + id)).collect(),
            ..MetricSet::default()
        }));
        (types, first_set)
    }

    /// Returns the value type of each metric: an integer type if all values are integers, otherwise
    /// floating point.
    fn types(&self) -> Vec<ValueType> {
        let mut types = vec![ValueType::U64; self.names.len()];
        for (member, value) in self.all() {
            if let Some(kind) = types.get_mut(member as usize) {
                *kind = match (*kind, value) {
                    (ValueType::F64, _) | (_, Value::F64(_)) => ValueType::F64,
                    (ValueType::I64, _) | (_, Value::I64(_)) => ValueType::I64,
                    (kind, _) => kind,
                };
            }
        }
        types
    }

    /// Iterates over all values with their metrics.
    fn all(&self) -> impl Iterator<Item = (u32, Value)> + '_ {
        self.samples.iter().flat_map(|sample| {
            let members = self.sets.get(sample.set as usize);
            let values = &self.values[sample.values..];
            let members = members.into_iter().flatten().copied();
            members.zip(values.iter().copied())
        })
    }

    /// Returns the earliest time.
    pub(in crate::timeline) fn first(&self) -> Option<i64> {
        self.samples.iter().map(|sample| sample.at).min()
    }

    /// Groups the samples by process, keeping their order, as [`of`](Self::of) requires.
    pub(in crate::timeline) fn sort(&mut self) {
        self.samples.sort_by_key(|sample| sample.process);
    }

    /// Returns the approximate memory of the values and names in bytes.
    pub(in crate::timeline) fn memory(&self) -> usize {
        // Names count because they are stored twice and few bytes of a file can compose many long names.
        let names = usize::try_from(2 * self.text).unwrap_or(usize::MAX);
        (size_of_val(&*self.samples) + size_of_val(&*self.values)).saturating_add(names)
    }

    /// Returns the samples of a process in order of time, each with its metric set and the bits of its values. Requires
    /// [`sort`](Self::sort).
    pub(in crate::timeline) fn of(
        &self,
        process: Sym,
        types: &[ValueType],
        first_set: u32,
    ) -> Vec<(i64, MetricSetId, Vec<u64>)> {
        let from = self.samples.partition_point(|it| it.process < process);
        let own = &self.samples[from..];
        let own = own.iter().take_while(|it| it.process == process);
        let mut all: Vec<_> = own
            .map(|sample| {
                let members = self.sets.get(sample.set as usize);
                let members = members.map_or(&[][..], Vec::as_slice);
                let values = &self.values[sample.values..];
                let bits = members.iter().zip(values).map(|(member, value)| {
                    match (types.get(*member as usize), value) {
                        (Some(ValueType::F64), value) => value.as_f64().to_bits(),
                        (_, value) => value.to_bits(),
                    }
                });
                (
                    sample.at,
                    MetricSetId(first_set + sample.set),
                    bits.collect(),
                )
            })
            .collect();
        all.sort_by_key(|(at, ..)| *at);
        all
    }
}
