//! Resolution of OTF2 regions, with equal ones unified, of calling contexts and of metrics.

use super::forest::{cut_cycles, parents_first};
use super::{Resolved, Resolver, Row};
use crate::Result;
use crate::otf2::codes;
use crate::otf2::definitions::id_maps::IdMap;
use crate::otf2::rules;
use crate::otf2::schema::Space;
use perf_core::{
    CallPath, CallPathId, LocationId, Metric, MetricId, MetricSet, Paradigm, Region, RegionId,
    Unify, ValueType,
};
use std::collections::HashMap;

impl<'a> Resolver<'a> {
    pub(super) fn regions(&mut self, unify: Unify, resolved: &mut Resolved) {
        let regions = &mut resolved.definitions.regions;
        let mut known: HashMap<Key, u32> = HashMap::new();
        let mut ids = Vec::new();
        for (id, row) in self.take(Space::Region) {
            let region = self.region(&row);
            let dense = regions.len() as u32;
            if let Some(key) = key(unify, &region) {
                let first = *known.entry(key).or_insert(dense);
                ids.push((id, first));
                if first != dense {
                    self.note(rules::UNIFIED_REGIONS, row.offset, || {
                        format!("Region {id}")
                    });
                    continue;
                }
            } else {
                ids.push((id, dense));
            }
            regions.push(region);
        }
        resolved.maps.regions = IdMap::new(&ids);
    }

    fn region(&mut self, row: &Row<'a>) -> Region {
        let name = self.text(row, 1);
        let canonical = self.text(row, 7);
        let lines = (row.id(5), row.id(6));
        let line = |line: Option<u64>| {
            let line = u32::try_from(line?).ok()?;
            Some(line).filter(|line| *line != 0 && *line != u32::MAX)
        };
        let file = self.text(row, 4);
        let (role, paradigm) = match row.number(8) {
            Some(role) => (role as u8, row.byte(9)),
            None => codes::old_region(row.byte(3)).unwrap_or_else(|| {
                self.unknown(row, row.byte(3));
                Default::default()
            }),
        };
        // Highest codes of role and paradigm in versions up to 3.1.
        for (code, highest) in [(role, 38), (paradigm, 24)] {
            if code > highest {
                self.unknown(row, code);
            }
        }
        Region {
            canonical: if canonical.is_empty() {
                name.clone()
            } else {
                canonical
            },
            name,
            paradigm: codes::paradigm(paradigm),
            role: codes::role(role),
            file: Some(file).filter(|file| !file.is_empty()),
            lines: line(lines.0).zip(line(lines.1).or(line(lines.0))),
        }
    }

    pub(super) fn contexts(&mut self, resolved: &mut Resolved) -> Result<()> {
        let table = self.take(Space::CallingContext);
        let rows: Vec<(u64, &Row<'a>)> = table.iter().map(|(id, row)| (*id, row)).collect();
        let numbers: Vec<(u64, u32)> = rows.iter().map(|(id, _)| *id).zip(0..).collect();
        let numbers = IdMap::new(&numbers);
        let mut parents = Vec::new();
        for (_, row) in &rows {
            let parent = self.refer(row, 3, &numbers);
            parents.push(parent.map(|at| at as usize));
        }
        for at in cut_cycles(&mut parents, self.limits.depth) {
            if let Some((id, row)) = rows.get(at) {
                self.note(rules::CYCLE, row.offset, || format!("CallingContext {id}"));
            }
        }
        // In a call tree, a parent must have a lower id than its children, regardless of the order
        // in the file.
        let mut paths: Vec<Option<CallPathId>> = vec![None; rows.len()];
        let mut ids = Vec::new();
        for at in parents_first(&parents) {
            let Some((id, row)) = rows.get(at) else {
                continue;
            };
            let region = match self.refer(row, 1, &resolved.maps.regions) {
                Some(region) => region,
                None => {
                    let missing = row.get(1);
                    resolved.add_placeholder(Space::Region, missing)?
                }
            };
            let parent = parents.get(at).copied().flatten();
            let path = CallPath {
                region: RegionId(region),
                parent: parent.and_then(|at| paths.get(at).copied().flatten()),
            };
            let dense = resolved.definitions.contexts.push(path)?;
            resolved.maps.context_regions.push(region);
            if let Some(slot) = paths.get_mut(at) {
                *slot = Some(dense);
            }
            ids.push((*id, dense.0));
        }
        ids.sort_unstable();
        resolved.maps.contexts = IdMap::new(&ids);
        Ok(())
    }

    pub(super) fn metrics(&mut self, resolved: &mut Resolved) {
        let mut members = Vec::new();
        for (id, row) in self.take(Space::MetricMember) {
            members.push((id, resolved.definitions.metrics.len() as u32));
            let metric = self.metric(&row);
            resolved.definitions.metrics.push(metric);
        }
        let members = IdMap::new(&members);
        let table = self.take(Space::Metric);
        let mut ids = Vec::new();
        for (id, row) in &table {
            let (class, scope, is_shared) = match row.record.name {
                "MetricInstance" => {
                    let class = row.id(1).and_then(|class| table.get(&class));
                    let class = class.filter(|class| class.record.name == "MetricClass");
                    match class {
                        Some(class) => self.forward(row, class),
                        None => self.note(rules::UNRESOLVED_DEFINITION, row.offset, || {
                            format!("MetricInstance {id}")
                        }),
                    }
                    let about_location = row.byte(3) == 0;
                    let scope = row.number(4).filter(|_| about_location);
                    (class, scope, !about_location)
                }
                _ => (Some(row), None, false),
            };
            let mut set = MetricSet {
                is_shared,
                ..MetricSet::default()
            };
            for member in class.map_or_else(Vec::new, |class| class.list(1)) {
                let dense = members.get(member);
                if dense.is_none() {
                    self.note(rules::UNRESOLVED_DEFINITION, row.offset, || {
                        format!("{} {id}", row.record.name)
                    });
                }
                // A gap would shift the values of events, so an unknown member ends the set.
                let Some(dense) = dense else { break };
                set.members.push(MetricId(dense));
            }
            set.scope = scope.and_then(|key| resolved.maps.locations.get(key).map(LocationId));
            ids.push((*id, resolved.definitions.metric_sets.len() as u32));
            resolved.definitions.metric_sets.push(set);
        }
        resolved.maps.metrics = IdMap::new(&ids);
    }

    fn metric(&mut self, row: &Row<'a>) -> Metric {
        let unit = self.text(row, 8);
        let exponent = row.get(7).cast_signed();
        let base = if row.byte(6) == 0 { 2 } else { 10 };
        Metric {
            name: self.text(row, 1),
            description: self.text(row, 2),
            // Values are kept as recorded; their scale becomes part of the unit.
            unit: match exponent {
                0 => unit,
                _ => format!("{base}^{exponent} {unit}"),
            },
            value_type: match row.byte(5) {
                5..=8 => ValueType::I64,
                9 | 10 => ValueType::F64,
                _ => ValueType::U64,
            },
            mode: codes::metric_mode(row.byte(4)),
            parent: None,
        }
    }
}

/// Mangled name and paradigm; source file and first line if the rule of unification uses them.
type Key = (String, Paradigm, Option<String>, Option<u32>);

/// Returns the key that equal regions share, or `None` if each definition is a region of its own.
fn key(unify: Unify, region: &Region) -> Option<Key> {
    let (file, line) = match unify {
        Unify::Never => return None,
        Unify::Name => (None, None),
        _ => (region.file.clone(), region.lines.map(|lines| lines.0)),
    };
    Some((region.canonical.clone(), region.paradigm, file, line))
}
