//! Helpers for tests of GPU recordings: the facts of the corpus, and a simple independent
//! evaluation of devices.

#![allow(dead_code, reason = "each test uses some of it")]

use perf_core::{Job, LinkKind, LocationKind, RegionRole, Trace, intervals};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Returns the folder of the recordings and their facts, if the corpus is available.
pub(crate) fn facts() -> Option<(PathBuf, Vec<serde_json::Value>)> {
    let folder = perf_testdata::corpus::corpus("gpu")?;
    let text = std::fs::read_to_string(folder.join("facts.json")).unwrap();
    let facts: serde_json::Value = serde_json::from_str(&text).unwrap();
    Some((folder, facts["traces"].as_array().unwrap().clone()))
}

/// Activities of a device.
#[derive(Debug, Default)]
pub(crate) struct Device {
    pub(crate) events: u64,
    pub(crate) kernels: u64,
    pub(crate) copies: u64,
    pub(crate) fills: u64,
    pub(crate) empty: u64,
    pub(crate) names: BTreeSet<String>,
    /// Begin and end of all activities, by stream number.
    pub(crate) streams: BTreeMap<String, Vec<(u64, u64)>>,
}

impl Device {
    fn sorted(&self) -> Vec<(u64, u64)> {
        let mut all: Vec<_> = self.streams.values().flatten().copied().collect();
        all.sort_unstable();
        all
    }

    /// Returns the length of the union of all activities.
    pub(crate) fn busy(&self) -> u64 {
        union(&self.sorted())
    }

    /// Returns the time from the first begin to the last end.
    pub(crate) fn span(&self) -> u64 {
        let all = self.sorted();
        let last = all.iter().map(|span| span.1).max().unwrap_or(0);
        last - all.first().map_or(last, |span| span.0)
    }
}

/// Returns the length of the union of sorted spans.
pub(crate) fn union(spans: &[(u64, u64)]) -> u64 {
    let (mut busy, mut until) = (0, 0);
    for (start, end) in spans {
        busy += (*end).max(until) - (*start).max(until);
        until = until.max(*end);
    }
    busy
}

/// Returns a property of a recording.
pub(crate) fn stated<'a>(properties: &'a [(String, String)], key: &str) -> Option<&'a str> {
    let found = properties.iter().find(|(name, _)| name == key);
    found.map(|(_, value)| value.as_str())
}

/// Returns the devices of a trace by number, of all ranks.
pub(crate) fn devices(trace: &Trace) -> BTreeMap<String, Device> {
    let definitions = trace.definitions();
    let mut devices: BTreeMap<String, Device> = BTreeMap::new();
    for view in trace.view().locations() {
        let location = definitions.system.location(view.id()).unwrap();
        if location.kind != LocationKind::AcceleratorStream {
            continue;
        }
        let number = location.properties.get("device").unwrap();
        let device = devices.entry(number.to_owned()).or_default();
        let number = location.properties.get("stream").unwrap();
        let spans = device.streams.entry(number.to_owned()).or_default();
        let mut all = Vec::new();
        intervals(view, |call| all.push(call), &Job::default()).unwrap();
        for call in all {
            let region = &definitions.regions[call.region.index()];
            let (start, end) = (call.start.0, call.end.0);
            spans.push((start, end));
            device.events += 1;
            device.empty += u64::from(start == end);
            match region.role {
                RegionRole::Function => {
                    device.kernels += 1;
                    device.names.insert(region.name.clone());
                }
                _ if region.name.starts_with("Memset") => device.fills += 1,
                _ => device.copies += 1,
            }
        }
    }
    devices
}

/// Returns the number of device activities with a link.
pub(crate) fn links_to_work(trace: &Trace) -> u64 {
    let launches = trace
        .links()
        .iter()
        .filter(|it| it.kind == LinkKind::Launch);
    let work: BTreeSet<_> = launches.map(|link| link.to).collect();
    work.len() as u64
}
