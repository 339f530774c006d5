//! [`Places`]: process and thread numbers for the locations of a written Chrome trace; also the
//! categories of calls, and the grouping of metrics into series of counters.

use crate::json::encode;
use perf_core::{
    Definitions, GroupKind, Location, LocationId, LocationKind, Paradigm, Region, RegionRole,
};
use std::collections::HashMap;

/// Process and thread.
pub(super) type Thread = (u64, u64);

/// Process and thread of each location.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Number and name of each process or device.
    pub(super) processes: Vec<(u64, String)>,
    /// Process, thread and properties of each location.
    locations: Vec<One>,
}

#[derive(Clone, Debug, Default)]
struct One {
    /// Number of the process.
    pid: u64,
    /// `args` that identify the device and the stream.
    args: Vec<(&'static str, String)>,
    /// `true` for a location next to a stream.
    is_beside: bool,
    /// Offset added to correlation ids, so that those of different ranks are distinct.
    correlations: i128,
}

impl Places {
    pub(super) fn new(definitions: &Definitions) -> Self {
        let system = &definitions.system;
        let groups = system.groups();
        let mut ranks: HashMap<&str, usize> = HashMap::new();
        let mut devices: HashMap<&str, usize> = HashMap::new();
        for group in groups {
            if let Some(rank) = group.properties.get("rank") {
                let next = ranks.len();
                ranks.entry(rank).or_insert(next);
            }
            if let Some(device) = device(group) {
                *devices.entry(device).or_default() += 1;
            }
        }
        let locations = (0..).zip(system.locations());
        let locations = locations.map(|(number, location): (u32, &Location)| {
            let group = location.group.and_then(|id| Some((id, system.group(id)?)));
            // Processes are numbered from 1, because several viewers hide process 0.
            let pid = group.map_or(0, |(id, _)| u64::from(id.0) + 1);
            let is_device = group.is_some_and(|(_, group)| group.kind == GroupKind::Accelerator);
            let mut args = Vec::new();
            if location.kind == LocationKind::AcceleratorStream || is_device {
                let own = group.and_then(|(_, group)| device(group));
                let own = own.filter(|own| devices.get(own) == Some(&1));
                args.push(("device", own.map_or(pid.to_string(), str::to_owned)));
                let said = |name| location.properties.get(name).map(word);
                // Lanes of a stream are threads of their own, so their number is not that of the
                // stream.
                let stream = said("stream").unwrap_or_else(|| number.to_string());
                args.push(("stream", stream));
                // A queue of AMD devices distinguishes streams like a context.
                let context = said("context").or_else(|| said("queue"));
                args.extend(context.map(|context| ("context", context)));
            }
            let rank = group.and_then(|(_, group)| group.properties.get("rank"));
            let rank = rank.and_then(|rank| ranks.get(rank)).copied();
            One {
                pid,
                args,
                is_beside: is_device && location.kind != LocationKind::AcceleratorStream,
                correlations: (rank.unwrap_or(0) as i128) << 40,
            }
        });
        let locations: Vec<One> = locations.collect();
        let names = groups
            .iter()
            .zip(1..)
            .map(|(group, pid)| (pid, group.name.clone()));
        let mut processes: Vec<_> = names.collect();
        if locations.iter().any(|one| one.pid == 0) {
            processes.push((0, "no process".into()));
        }
        Places {
            processes,
            locations,
        }
    }

    fn one(&self, location: LocationId) -> Option<&One> {
        self.locations.get(location.index())
    }

    /// Returns process and thread of a location.
    pub(super) fn of(&self, location: LocationId) -> Thread {
        let pid = self.one(location).map_or(0, |one| one.pid);
        (pid, u64::from(location.0))
    }

    /// Returns the number of locations; higher thread numbers are free.
    pub(super) fn len(&self) -> usize {
        self.locations.len()
    }

    pub(super) fn args(&self, location: LocationId) -> Vec<(&'static str, String)> {
        self.one(location)
            .map_or_else(Vec::new, |one| one.args.clone())
    }

    pub(super) fn is_beside(&self, location: LocationId) -> bool {
        self.one(location).is_some_and(|one| one.is_beside)
    }

    pub(super) fn correlations(&self, location: LocationId) -> i128 {
        self.one(location).map_or(0, |one| one.correlations)
    }
}

/// Formats a number verbatim and anything else as text.
fn word(value: &str) -> String {
    if value.parse::<i64>().is_ok() {
        return value.to_owned();
    }
    let mut text = Vec::new();
    encode(value, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns the number of a device, if the group is one.
fn device(group: &perf_core::LocationGroup) -> Option<&str> {
    let is_device = group.kind == GroupKind::Accelerator;
    let value = group.properties.get("device").filter(|_| is_device);
    value.filter(|value| value.parse::<i64>().is_ok())
}

/// Returns the category of a call.
pub(super) fn category(
    location: Option<&Location>,
    region: Option<&Region>,
    name: &str,
    is_beside: bool,
) -> &'static str {
    let paradigm = region.map(|region| region.paradigm).unwrap_or_default();
    let role = region.map(|region| region.role).unwrap_or_default();
    if location.is_some_and(|location| location.kind == LocationKind::AcceleratorStream) {
        return match role {
            RegionRole::DataTransfer if name.starts_with("Memset") => "gpu_memset",
            RegionRole::DataTransfer => "gpu_memcpy",
            _ => "kernel",
        };
    }
    match (is_beside, paradigm) {
        (true, Paradigm::Cuda | Paradigm::Hip) => "cuda_sync",
        (true, _) => "gpu_user_annotation",
        (_, Paradigm::Cuda) => "cuda_runtime",
        (_, Paradigm::Hip) => "hip_runtime",
        (_, Paradigm::User) => "user_annotation",
        (_, Paradigm::Measurement) => "overhead",
        (_, Paradigm::Mpi) => "mpi",
        (_, Paradigm::OpenMp) => "openmp",
        _ => "function",
    }
}

/// Groups metrics by counter: names with the same part before `: ` are series of one counter. Each
/// series has the index of its metric.
pub(super) fn series<'a>(names: &[&'a str]) -> Vec<(&'a str, Vec<(usize, &'a str)>)> {
    let mut counters: Vec<(&str, Vec<(usize, &str)>)> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let (counter, series) = name.rsplit_once(": ").unwrap_or((name, "value"));
        match counters.last_mut() {
            Some((last, all)) if *last == counter => all.push((index, series)),
            _ => counters.push((counter, vec![(index, series)])),
        }
    }
    counters
}
