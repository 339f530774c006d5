//! [`profile`]: builds a [`Profile`] from the [`Tables`] of TAU: regions and call paths from names
//! such as `main => solve`, and hosts, processes and threads.

use super::rules;
use super::tables::{Key, Tables, Thread};
use crate::read_context::ReadContext;
use crate::{Error, Result};
use perf_core::{
    CallPathId, CallTree, Diagnostics, Location, LocationGroup, LocationGroupId, LocationId,
    Metric, MetricId, Paradigm, Place, Profile, ProfileMetric, Region, RegionId, Scope, SparseRows,
    SystemNode, SystemNodeId, SystemTree, Value, ValueType,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Builds the profile; errors call the recording `name`.
pub(super) fn profile(
    tables: &Tables,
    name: &str,
    options: &ReadContext,
    found: &mut Diagnostics,
) -> Result<Profile> {
    let mut paths = Paths::default();
    let mut ids = Vec::with_capacity(tables.functions.len());
    for function in &tables.functions {
        let names: Vec<&str> = if function.is_call_path() {
            function.name.split(" => ").map(str::trim).collect()
        } else {
            vec![function.name.trim()]
        };
        let depth = options.get_limits().depth;
        if names.len() > depth as usize {
            return Err(Error::Limit {
                place: Place::file(name).record(function.name.clone()),
                what: "depth of a call path",
                got: names.len() as u64,
                limit: depth.into(),
            });
        }
        let is_mpi = function.groups.iter().any(|group| group == "MPI");
        ids.push(paths.add(&names, is_mpi)?);
    }
    let metrics = metrics(&tables.metrics);
    let types = vec![ValueType::F64; metrics.len()];
    let mut rows = SparseRows::new(tables.threads.len(), types);
    let mut events = 0;
    let mut used = BTreeSet::new();
    for (thread, at) in tables.threads.iter().zip(0u32..) {
        events += thread.events.len() as u64;
        for (path, values) in sums(thread, tables, &ids, &paths, found) {
            used.insert(path);
            for (value, metric) in values.into_iter().zip(0u32..) {
                rows.push(MetricId(metric), path, LocationId(at), Value::F64(value));
            }
        }
    }
    found.add_many(rules::USER_EVENTS, events, Place::file("user events"));
    // Roots of truncated call paths: their own values all belong to paths elsewhere, while paths
    // begin at them.
    let is_cut = |root: &CallPathId| {
        let mut below = paths.calls.subtree(*root).into_iter().skip(1);
        !used.contains(root) && below.any(|path| used.contains(&path))
    };
    for root in paths.calls.children(None).filter(is_cut) {
        let name = paths.calls.name(root, &paths.regions);
        let place = Place::file("call paths").record(name);
        found.add(rules::CUT_PATHS, place);
    }
    add_missing_ranks(&tables.threads, found);
    let mut properties = tables.metadata.clone();
    let common = common(&tables.threads);
    properties.extend(common.iter().cloned());
    let system = system(&tables.threads, &common, options)?;
    let rows = Arc::new(rows.finish(paths.calls.paths().len(), &options.job)?);
    let profile = Profile::new(system, paths.regions, paths.calls, metrics, rows)?;
    Ok(profile.with_properties(properties))
}

/// Creates the metrics: inclusive and exclusive for each metric, then calls and subroutines.
fn metrics(names: &[String]) -> Vec<ProfileMetric> {
    let metric = |name: String, unit: &str, description: &str, scope, counterpart| ProfileMetric {
        metric: Metric {
            name,
            unit: unit.into(),
            description: description.into(),
            value_type: ValueType::F64,
            ..Metric::default()
        },
        scope,
        counterpart,
        ..ProfileMetric::default()
    };
    let mut metrics = Vec::new();
    for (name, at) in names.iter().zip(0u32..) {
        let [inclusive, exclusive] = [at * 2, at * 2 + 1].map(MetricId);
        let unit = if name.to_ascii_lowercase().contains("time") {
            "usec"
        } else {
            "#"
        };
        metrics.push(metric(
            name.clone(),
            unit,
            "in a call path and below",
            Scope::Inclusive,
            Some(exclusive),
        ));
        metrics.push(metric(
            format!("exclusive {name}"),
            unit,
            "in a call path, not below",
            Scope::Exclusive,
            Some(inclusive),
        ));
    }
    for (name, description) in [
        ("calls", "number of visits of a call path"),
        ("subroutines", "number of calls from a call path"),
    ] {
        metrics.push(metric(
            name.into(),
            "#",
            description,
            Scope::Exclusive,
            None,
        ));
    }
    metrics
}

/// Regions and call paths by name.
#[derive(Debug, Default)]
struct Paths {
    /// Regions so far.
    regions: Vec<Region>,
    /// Regions by name.
    by_name: HashMap<String, RegionId>,
    /// Call paths so far.
    calls: CallTree,
}

impl Paths {
    fn add(&mut self, names: &[&str], is_mpi: bool) -> Result<CallPathId> {
        let mut at = None;
        for (depth, name) in names.iter().enumerate() {
            // The groups of a call path are those of its last function.
            let is_mpi = is_mpi && depth + 1 == names.len();
            let region = self.region(name, is_mpi)?;
            at = Some(self.calls.child(at, region)?);
        }
        at.ok_or_else(|| Error::Usage {
            what: "a call path without a function".into(),
        })
    }

    fn region(&mut self, name: &str, is_mpi: bool) -> Result<RegionId> {
        if let Some(id) = self.by_name.get(name) {
            if is_mpi {
                self.regions[id.index()].paradigm = Paradigm::Mpi;
            }
            return Ok(*id);
        }
        let id = RegionId::from_index(self.regions.len()).ok_or_else(|| Error::Usage {
            what: "more than 2^32 regions".into(),
        })?;
        let mut region = described(name);
        if is_mpi {
            region.paradigm = Paradigm::Mpi;
        }
        self.regions.push(region);
        self.by_name.insert(name.into(), id);
        Ok(id)
    }
}

/// Parses a region from a name such as `main [{matmult.c} {134,1}-{207,1}]`.
fn described(full: &str) -> Region {
    let mut region = Region::named(full);
    let Some((name, source)) = full.rsplit_once(" [{") else {
        return region;
    };
    let Some((file, lines)) = source.trim_end_matches(']').split_once('}') else {
        return region;
    };
    let line = |text: &str| {
        let digits = text.trim().trim_start_matches('{');
        digits.split([',', '}']).next()?.parse::<u32>().ok()
    };
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    region.name = name.trim().into();
    region.file = Some(file.into());
    region.lines = line(first).zip(line(last));
    region
}

/// Returns the values of a thread by call path: inclusive and exclusive for each metric, then calls
/// and subroutines.
fn sums(
    thread: &Thread,
    tables: &Tables,
    ids: &[CallPathId],
    paths: &Paths,
    found: &mut Diagnostics,
) -> BTreeMap<CallPathId, Vec<f64>> {
    let metrics = tables.metrics.len();
    let width = metrics * 2 + 2;
    let mut sums: BTreeMap<CallPathId, Vec<f64>> = BTreeMap::new();
    // Sums over the call paths that end in a function.
    let mut covered: HashMap<RegionId, Vec<f64>> = HashMap::new();
    for (at, entry) in thread.entries.iter().enumerate() {
        let values = thread.values.iter().skip(at * metrics).take(metrics);
        let values = values.flat_map(|(exclusive, inclusive)| [*inclusive, *exclusive]);
        let values: Vec<f64> = values.chain([entry.calls, entry.subroutines]).collect();
        let id = ids[entry.function as usize];
        let function = &tables.functions[entry.function as usize];
        if function.is_call_path()
            && let Some(path) = paths.calls.get(id)
        {
            let sum = covered
                .entry(path.region)
                .or_insert_with(|| vec![0.0; width]);
            sum.iter_mut()
                .zip(&values)
                .for_each(|(sum, value)| *sum += value);
        }
        if let Some(sum) = sums.get_mut(&id) {
            let key = thread.key;
            let place = Place::file(format!(
                "profile.{}.{}.{}",
                key.node, key.context, key.thread
            ));
            found.add(rules::DUPLICATE, place.record(function.name.clone()));
            sum.iter_mut()
                .zip(&values)
                .for_each(|(sum, value)| *sum += value);
        } else {
            sums.insert(id, values);
        }
    }
    // The values of a function repeat those of its call paths; the remainder belongs to a root.
    for (region, covered) in covered {
        let Some(root) = paths.calls.find(None, region) else {
            continue;
        };
        let Some(sum) = sums.get_mut(&root) else {
            continue;
        };
        let mut rest = sum.clone();
        for (rest, part) in rest.iter_mut().zip(&covered) {
            *rest = (*rest - part).max(0.0);
        }
        // The call paths of a recursive function count its inclusive values more than once.
        for metric in 0..metrics {
            rest[metric * 2] = rest[metric * 2].max(rest[metric * 2 + 1]);
        }
        // The rounding in files leaves less than a millionth.
        let is_left = |at: usize| rest[at] > 1e-6 * sum[at];
        let exclusive = (0..metrics).map(|metric| metric * 2 + 1);
        if exclusive.chain([metrics * 2]).any(is_left) {
            let name = paths.regions[region.index()].name.clone();
            found.add(rules::UNCOVERED, Place::file("functions").record(name));
            *sum = rest;
        } else {
            sums.remove(&root);
        }
    }
    sums
}

/// Counts the numbers of nodes, and of the threads of a process, that are below the largest one and have no
/// profile.
fn add_missing_ranks(threads: &[Thread], found: &mut Diagnostics) {
    let mut add = |numbers: &BTreeSet<u32>, file: &dyn Fn(u32) -> String| {
        let mut next = 0;
        for number in numbers {
            let missing = number.saturating_sub(next);
            found.add_many(rules::MISSING_RANK, missing.into(), Place::file(file(next)));
            next = number.saturating_add(1);
        }
    };
    let mut of_process: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
    for Key {
        node,
        context,
        thread,
    } in threads.iter().map(|thread| thread.key)
    {
        of_process
            .entry((node, context))
            .or_default()
            .insert(thread);
    }
    let nodes = of_process.keys().map(|(node, _)| *node).collect();
    add(&nodes, &|node| format!("profile.{node}.0.0"));
    for ((node, context), own) in &of_process {
        add(own, &|thread| format!("profile.{node}.{context}.{thread}"));
    }
}

/// Returns the metadata that all threads share.
fn common(threads: &[Thread]) -> Vec<(String, String)> {
    let Some((first, rest)) = threads.split_first() else {
        return Vec::new();
    };
    let mut common = first.metadata.clone();
    for thread in rest {
        let facts: HashMap<&str, &str> = thread
            .metadata
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        common.retain(|(name, value)| facts.get(name.as_str()) == Some(&value.as_str()));
    }
    common
}

/// Creates hosts, processes and threads.
fn system(
    threads: &[Thread],
    common: &[(String, String)],
    options: &ReadContext,
) -> Result<SystemTree> {
    let mut hosts: Vec<SystemNode> = Vec::new();
    let mut host_ids: HashMap<String, SystemNodeId> = HashMap::new();
    let mut groups: Vec<LocationGroup> = Vec::new();
    let mut group_ids = HashMap::new();
    let mut locations = Vec::new();
    let common: HashMap<&str, &str> = common
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    // Pack node, context and thread into one number, if they fit.
    let packed = |key: Key| {
        let upper = u64::from(key.node) << 8 | u64::from(key.context);
        upper << 32 | u64::from(key.thread)
    };
    let fits = |key: Key| key.node < 1 << 24 && key.context < 1 << 8;
    let fits = threads.iter().all(|thread| fits(thread.key));
    for (thread, at) in threads.iter().zip(0u64..) {
        let key = thread.key;
        let host = thread.metadata.iter().find(|(name, _)| name == "Hostname");
        let parent = host.map(|(_, host)| {
            let id = host_ids.entry(host.clone()).or_insert_with(|| {
                hosts.push(SystemNode {
                    name: host.clone(),
                    class: "node".into(),
                    ..SystemNode::default()
                });
                SystemNodeId(hosts.len() as u32 - 1)
            });
            *id
        });
        let group = *group_ids.entry((key.node, key.context)).or_insert_with(|| {
            let name = match key.context {
                0 => format!("node {}", key.node),
                context => format!("node {}, context {context}", key.node),
            };
            groups.push(LocationGroup {
                name,
                parent,
                properties: [("rank", key.node.to_string())].into(),
                ..LocationGroup::default()
            });
            LocationGroupId(groups.len() as u32 - 1)
        });
        let own = thread.metadata.iter();
        let own = own.filter(|(name, value)| common.get(name.as_str()) != Some(&value.as_str()));
        let properties = own.cloned().collect();
        locations.push(Location {
            name: format!("thread {}", key.thread),
            group: Some(group),
            key: if fits { packed(key) } else { at },
            properties,
            ..Location::default()
        });
    }
    Ok(SystemTree::new(
        hosts,
        groups,
        locations,
        options.get_limits(),
    )?)
}
