//! What is in a recording, as text and as JSON.

use super::severity_table::severity_table;
use crate::failure::{Failure, Outcome, input};
use crate::findings::{self, Found};
use crate::progress::Bar;
use crate::recording::Recording;
use crate::table::{self, counted, grouped, shortened};
use perfkit::core::{
    CallPathId, Clock, ClockViolations, Column, Diagnostics, Nanos, Profile, Region, ReplayCounts,
    Table, Ticks, Unify, Value, match_messages,
};
use perfkit::view::{Bars, Scene, Section, Unit};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// A call path with its times and visits, summed over all locations.
#[derive(Clone, Debug)]
struct Path {
    name: String,
    exclusive: u64,
    inclusive: u64,
    visits: u64,
}

/// What is in a recording.
#[derive(Clone, Debug)]
pub struct Summary {
    format: &'static str,
    creator: Option<String>,
    locations: usize,
    groups: usize,
    nodes: usize,
    absent: usize,
    regions: usize,
    events: u64,
    kinds: BTreeMap<String, u64>,
    start: Nanos,
    end: Nanos,
    paths: Vec<Path>,
    messages: usize,
    collectives: usize,
    accesses: usize,
    unmatched: Vec<(String, usize)>,
    clock: Clock,
    clocks: ClockViolations,
    diagnostics: Diagnostics,
    counts: ReplayCounts,
    repairs: u64,
    profile: Profile,
    /// Regions of the profile, named apart.
    labelled: Vec<Region>,
}

impl Summary {
    /// Looks at a whole recording.
    ///
    /// # Errors
    /// [`Failure::Input`] if the trace makes no profile.
    pub fn of(recording: &Recording) -> Result<Self, Failure> {
        Self::by(recording, Unify::default())
    }

    /// Looks at a whole recording, with a rule that decides which regions are one function.
    ///
    /// # Errors
    /// [`Failure::Input`] if the trace makes no profile.
    pub fn by(recording: &Recording, unify: Unify) -> Result<Self, Failure> {
        let trace = &recording.trace;
        let definitions = trace.definitions();
        let job = Bar::job();
        let (profile, counts) = Profile::from_trace_by(trace.view(), unify, &job).map_err(input)?;
        let labelled = labelled(&profile, unify);
        let mut kinds = BTreeMap::new();
        for location in trace.view().locations() {
            for (_, event) in location.iter() {
                *kinds.entry(definitions.event_name(event)).or_insert(0) += 1;
            }
        }
        let found = match_messages(trace.view(), &job).map_err(input)?;
        let clock = definitions.clock;
        let range = trace.range();
        // The end of a recording is its last event.
        let start = range.and_then(|range| clock.nanos(range.start));
        let end = range.and_then(|range| clock.nanos(Ticks(range.end.0 - 1)));
        let diagnostics = &recording.diagnostics;
        let creator = definitions
            .properties
            .iter()
            .find(|(key, _)| key == "otf2.creator");
        let creator = creator.and_then(|(_, creator)| creator.lines().next());
        Ok(Summary {
            format: recording.format,
            creator: creator.filter(|name| !name.is_empty()).map(str::to_string),
            locations: definitions.system.locations().len(),
            groups: definitions.system.groups().len(),
            nodes: definitions.system.nodes().len(),
            absent: trace
                .events()
                .iter()
                .filter(|events| events.is_absent())
                .count(),
            regions: definitions.regions.len(),
            events: trace.len() as u64,
            kinds: kinds
                .into_iter()
                .map(|(name, count)| (name.to_string(), count))
                .collect(),
            start: start.unwrap_or_default(),
            end: end.unwrap_or_default(),
            paths: paths(&profile, &labelled)?,
            messages: found.messages.len(),
            collectives: found.collectives.len(),
            accesses: found.accesses.len(),
            unmatched: found
                .causes()
                .into_iter()
                .map(|(cause, count)| (format!("{cause:?}"), count))
                .collect(),
            clock,
            clocks: found.clock_violations(),
            diagnostics: diagnostics.clone(),
            counts,
            repairs: diagnostics.repairs() + counts.repairs(),
            profile,
            labelled,
        })
    }

    /// Returns the times and visits of each call path on each location.
    ///
    /// # Errors
    /// [`Failure::Input`] if a row of the profile cannot be read.
    pub fn table(&self) -> Result<Table, Failure> {
        severity_table(&self.profile, &self.labelled)
    }

    /// The summary as one object, with `top` call paths.
    pub fn json(&self, top: usize) -> serde_json::Value {
        let paths = self.paths.iter().take(top);
        json!({
            "format": self.format,
            "creator": self.creator,
            "locations": self.locations,
            "absent_locations": self.absent,
            "groups": self.groups,
            "nodes": self.nodes,
            "regions": self.regions,
            "events": self.events,
            "event_kinds": self.kinds,
            "start_ns": self.start.0,
            "end_ns": self.end.0,
            "repairs": self.repairs,
            "findings": findings::json(&self.diagnostics),
            "mended_frames": findings::mended_json(&self.counts),
            "messages": {
                "matched": self.messages,
                "collectives": self.collectives,
                "remote_accesses": self.accesses,
                "unmatched": self.unmatched.iter().cloned().collect::<BTreeMap<_, _>>(),
            },
            "clocks": findings::clocks_json(&self.clocks, self.clock),
            "call_paths": paths
                .map(|path| json!({
                    "path": path.name,
                    "exclusive_ns": path.exclusive,
                    "inclusive_ns": path.inclusive,
                    "visits": path.visits,
                }))
                .collect::<Vec<_>>(),
        })
    }

    /// The summary as text, with `top` call paths.
    ///
    /// # Errors
    /// What `out` fails with.
    pub fn text(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let creator = self
            .creator
            .as_ref()
            .map(|creator| format!(", written by {creator}"));
        writeln!(
            out,
            "  format      {}{}",
            self.format,
            creator.unwrap_or_default()
        )?;
        let absent = match self.absent {
            0 => String::new(),
            absent => format!("; {absent} without events"),
        };
        let (locations, regions) = (self.locations, self.regions);
        let groups = counted(self.groups, "group");
        let nodes = counted(self.nodes, "node");
        writeln!(
            out,
            "  locations   {locations} in {groups} (processes, devices) on {nodes}{absent}"
        )?;
        writeln!(out, "  regions     {regions}")?;
        let kinds = self
            .kinds
            .iter()
            .map(|(name, count)| format!("{} {name}", grouped(*count)));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        writeln!(out, "  events      {}: {kinds}", grouped(self.events))?;
        let duration = Nanos(self.end.0.saturating_sub(self.start.0));
        writeln!(
            out,
            "  duration    {duration}, from {} to {}",
            self.start, self.end
        )?;
        let Summary {
            messages,
            collectives,
            accesses,
            ..
        } = self;
        writeln!(
            out,
            "  messages    {messages} matched, {}, {}",
            counted(*collectives, "collective"),
            counted(*accesses, "remote transfer")
        )?;
        for (cause, count) in &self.unmatched {
            writeln!(out, "              {count} unmatched: {cause}")?;
        }
        let clocks = findings::clocks(&self.clocks, self.clock);
        for (line, head) in clocks.iter().zip(["clocks", ""]) {
            writeln!(out, "  {head:<11} {line}")?;
        }
        writeln!(out, "  repairs     {}", grouped(self.repairs))?;
        let (repaired, noted): (Vec<_>, Vec<_>) = findings::found(&self.diagnostics)
            .into_iter()
            .partition(Found::is_repair);
        for found in repaired {
            writeln!(out, "              {found}")?;
        }
        for (what, count) in findings::mended(&self.counts) {
            if count > 0 {
                writeln!(out, "              {} x {what}", grouped(count))?;
            }
        }
        let notes = noted.iter().map(|found| found.count).sum();
        writeln!(out, "  notes       {}", grouped(notes))?;
        for found in noted {
            writeln!(out, "              {found}")?;
        }
        if !self.paths.is_empty() {
            writeln!(
                out,
                "  top call paths by exclusive time, summed over locations"
            )?;
            let total: u64 = self.paths.iter().map(|path| path.exclusive).sum();
            let rows = self.paths.iter().take(top).map(|path| {
                vec![
                    format!("  {}", shortened(&path.name, 60)),
                    Nanos(path.exclusive as i64).to_string(),
                    format!(
                        "{:.1} %",
                        100.0 * path.exclusive as f64 / total.max(1) as f64
                    ),
                    Nanos(path.inclusive as i64).to_string(),
                    grouped(path.visits),
                ]
            });
            let head = ["  call path", "exclusive", "share", "inclusive", "visits"];
            table::write(out, &head, &rows.collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

impl Summary {
    /// What is in the recording, and its top call paths, as parts of a page.
    pub fn sections(&self, top: usize) -> Vec<Section> {
        let facts = [
            ("format", self.format.to_string()),
            ("written by", self.creator.clone().unwrap_or_default()),
            ("locations", grouped(self.locations as u64)),
            ("processes and devices", grouped(self.groups as u64)),
            ("nodes", grouped(self.nodes as u64)),
            ("regions", grouped(self.regions as u64)),
            ("events", grouped(self.events)),
            ("from", self.start.to_string()),
            ("to", self.end.to_string()),
            ("messages", grouped(self.messages as u64)),
            ("collectives", grouped(self.collectives as u64)),
            ("repairs", grouped(self.repairs)),
        ];
        let clocks = findings::clocks(&self.clocks, self.clock);
        let clocks = clocks.into_iter().map(|line| ("clocks", line));
        let facts = facts.into_iter().chain(clocks);
        let (names, values): (Vec<_>, Vec<_>) = facts.unzip();
        let facts = Table::new("facts", "")
            .with(Column::text("fact", names))
            .with(Column::text("value", values));
        let paths = || self.paths.iter().take(top);
        let time = |time: u64| Nanos(time as i64);
        let words = "Most exclusive time first, summed over locations.";
        let paths = Table::new("call paths", words)
            .with(Column::text(
                "call path",
                paths().map(|it| it.name.as_str()),
            ))
            .with(Column::times(
                "exclusive",
                paths().map(|it| time(it.exclusive)),
            ))
            .with(Column::times(
                "inclusive",
                paths().map(|it| time(it.inclusive)),
            ))
            .with(Column::unsigned("visits", "", paths().map(|it| it.visits)));
        vec![
            Section::table("facts", "What is in it", &facts),
            Section::table("paths", "Where the time goes", &paths),
        ]
    }

    /// The top call paths as bars of exclusive time.
    pub fn bars(&self, top: usize, title: &str) -> Scene {
        let mut bars = Bars::new(Unit::Nanos).titled(title);
        for path in self.paths.iter().take(top) {
            bars.push(&path.name, path.exclusive as f64);
        }
        bars.scene()
    }
}

/// All call paths, the one with most exclusive time first.
fn paths(profile: &Profile, regions: &[Region]) -> Result<Vec<Path>, Failure> {
    let total = |metric: &str, path: CallPathId| -> Result<u64, Failure> {
        let Some(metric) = profile.metric(metric) else {
            return Ok(0);
        };
        match profile.total(metric, path).map_err(input)? {
            Value::U64(total) => Ok(total),
            _ => Ok(0),
        }
    };
    let mut paths = Vec::new();
    for path in (0..profile.calls().paths().len()).filter_map(CallPathId::from_index) {
        paths.push((total("exclusive time", path)?, path));
    }
    paths.sort_by_key(|(exclusive, path)| (std::cmp::Reverse(*exclusive), *path));
    let named = paths.into_iter().map(|(exclusive, path)| {
        Ok(Path {
            name: profile.calls().name(path, regions),
            exclusive,
            inclusive: total("time", path)?,
            visits: total("visits", path)?,
        })
    });
    named.collect()
}

/// The regions of a profile, named so that those that have call paths are told apart.
fn labelled(profile: &Profile, unify: Unify) -> Vec<Region> {
    let mut regions = profile.regions().to_vec();
    let used = profile.calls().paths().iter();
    let used: BTreeSet<_> = used.map(|path| path.region).collect();
    let known = used
        .iter()
        .filter_map(|id| regions.get(id.index()).cloned());
    let known: Vec<_> = known.collect();
    for (id, label) in used.into_iter().zip(unify.labels(&known)) {
        if let Some(region) = regions.get_mut(id.index()) {
            region.name = label.into_owned();
        }
    }
    regions
}
