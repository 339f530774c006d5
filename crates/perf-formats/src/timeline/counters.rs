//! Values of counters.

use super::row::Sym;
use perf_core::{Metric, MetricId, MetricMode, MetricSet, MetricSetId, Value, ValueType};
use std::collections::HashMap;

/// One sample of a process.
#[derive(Clone, Copy, Debug)]
struct Sample {
    process: Sym,
    at: i64,
    set: u32,
    /// Where its values begin; there are as many as the set has members.
    values: usize,
}

/// The counters of one file.
#[derive(Debug, Default)]
pub(super) struct Counters {
    names: Vec<String>,
    ids: HashMap<String, u32>,
    sets: Vec<Vec<u32>>,
    set_ids: HashMap<Vec<u32>, u32>,
    samples: Vec<Sample>,
    values: Vec<Value>,
}

impl Counters {
    pub(super) fn add(&mut self, process: Sym, at: i64, values: &[(String, Value)]) {
        let mut members = Vec::with_capacity(values.len());
        for (name, _) in values {
            let id = match self.ids.get(name) {
                Some(id) => *id,
                None => {
                    let id = self.names.len() as u32;
                    self.names.push(name.clone());
                    self.ids.insert(name.clone(), id);
                    id
                }
            };
            members.push(id);
        }
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
        self.values.extend(values.iter().map(|(_, value)| *value));
    }

    /// The metrics and sets, after those there are already: how far the numbers of this file move.
    pub(super) fn define(
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

    /// Whole numbers where all values are, floating point otherwise.
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

    /// Each value with its metric.
    fn all(&self) -> impl Iterator<Item = (u32, Value)> + '_ {
        self.samples.iter().flat_map(|sample| {
            let members = self.sets.get(sample.set as usize);
            let values = self.values.get(sample.values..).unwrap_or_default();
            let members = members.into_iter().flatten().copied();
            members.zip(values.iter().copied())
        })
    }

    /// The samples of a process by time, with the bits of their values.
    pub(super) fn of(
        &self,
        process: Sym,
        types: &[ValueType],
        first_set: u32,
    ) -> Vec<(i64, MetricSetId, Vec<u64>)> {
        let own = self.samples.iter().filter(|it| it.process == process);
        let mut all: Vec<_> = own
            .map(|sample| {
                let members = self.sets.get(sample.set as usize);
                let members = members.map_or(&[][..], Vec::as_slice);
                let values = self.values.get(sample.values..).unwrap_or_default();
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
