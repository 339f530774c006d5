//! [`Summary`]: size, duration, messages, repairs and top call paths of a trace, as text, JSON,
//! table, picture and page sections.

use super::severity_table::severity_table;
use crate::clocks;
use crate::failure::{Failure, Outcome, input};
use crate::findings::{self, Findings};
use crate::progress::Bar;
use crate::recording::Recording;
use crate::table::{self, counted, grouped};
use perfkit::core::{
    CallPathId, Clock, ClockViolations, Diagnostics, Nanos, Profile, Region, ReplayCounts, Table,
    Ticks, Unify, Value, match_messages,
};
use perfkit::view::{Bars, Scene, Section, Unit};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// Call path with its times and visits, summed over all locations.
#[derive(Clone, Debug)]
struct Path {
    /// Names of the regions of the call path.
    name: String,
    /// Exclusive time in nanoseconds.
    exclusive: u64,
    /// Inclusive time in nanoseconds.
    inclusive: u64,
    /// Number of visits.
    visits: u64,
}

/// Summary of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Name of the format.
    format: &'static str,
    /// Program that wrote the trace, if the trace names it.
    creator: Option<String>,
    /// Number of locations.
    locations: usize,
    /// Number of locations whose events are absent.
    absent_locations: usize,
    /// Number of location groups.
    groups: usize,
    /// Number of nodes.
    nodes: usize,
    /// Number of regions.
    regions: usize,
    /// Number of events.
    events: u64,
    /// Number of events of each kind.
    event_kinds: BTreeMap<String, u64>,
    /// Time of the first event; 0 without events.
    start_ns: Nanos,
    /// Time of the last event; 0 without events.
    end_ns: Nanos,
    /// Number of repairs.
    repairs: u64,
    /// Numbers of messages and collectives.
    messages: MessageCounts,
    /// Call paths, largest exclusive time first.
    #[serde(skip)]
    paths: Vec<Path>,
    /// Clock of the trace.
    #[serde(skip)]
    clock: Clock,
    /// Violations of the clock condition.
    #[serde(skip)]
    clocks: ClockViolations,
    /// Repairs and losses of the reader.
    #[serde(skip)]
    diagnostics: Diagnostics,
    /// Repairs of the replay.
    #[serde(skip)]
    counts: ReplayCounts,
    /// Profile of the calls.
    #[serde(skip)]
    profile: Profile,
    /// Regions of the profile with distinct names.
    #[serde(skip)]
    labelled: Vec<Region>,
}

/// Numbers of messages, collectives and unmatched ends.
#[derive(Clone, Debug, Serialize)]
struct MessageCounts {
    /// Number of matched messages.
    matched: usize,
    /// Number of collectives.
    collectives: usize,
    /// Number of remote memory accesses.
    remote_accesses: usize,
    /// Number of ends without a counterpart, by cause.
    unmatched: BTreeMap<String, usize>,
}

impl Summary {
    /// Summarises a recording.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if no profile of the trace can be computed.
    pub fn of(recording: &Recording) -> Result<Self, Failure> {
        Self::by(recording, Unify::default())
    }

    /// Summarises a recording. `unify` is the rule that decides which regions are one function.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if no profile of the trace can be computed.
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
            absent_locations: trace
                .events()
                .iter()
                .filter(|events| events.is_absent())
                .count(),
            regions: definitions.regions.len(),
            events: trace.len() as u64,
            event_kinds: kinds
                .into_iter()
                .map(|(name, count)| (name.to_string(), count))
                .collect(),
            // A recording without events has no duration.
            start_ns: start.unwrap_or_default(),
            end_ns: end.unwrap_or_default(),
            paths: paths(&profile, &labelled)?,
            messages: MessageCounts {
                matched: found.messages.len(),
                collectives: found.collectives.len(),
                remote_accesses: found.accesses.len(),
                unmatched: found
                    .causes()
                    .into_iter()
                    .map(|(cause, count)| (format!("{cause:?}"), count))
                    .collect(),
            },
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
    /// Returns [`Failure::Input`] if a row of the profile cannot be read.
    pub fn table(&self) -> Result<Table, Failure> {
        severity_table(&self.profile, &self.labelled)
    }

    /// Returns the summary for `--json`, with `top` call paths.
    pub fn json(&self, top: usize) -> impl Serialize {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            summary: &'a Summary,
            #[serde(flatten)]
            findings: Findings,
            clocks: Table,
            call_paths: Table,
        }
        Document {
            summary: self,
            findings: Findings::new(&self.diagnostics, self.counts),
            clocks: self.clocks.table(self.clock),
            call_paths: self.call_paths(top),
        }
    }

    /// Returns the `top` call paths.
    fn call_paths(&self, top: usize) -> Table {
        let paths = || self.paths.iter().take(top);
        let time = |time: u64| Nanos(time as i64);
        let total: u64 = self.paths.iter().map(|path| path.exclusive).sum();
        let share = |path: &Path| 100.0 * path.exclusive as f64 / total as f64;
        let words = "Most exclusive time first, summed over locations.";
        Table::new("call paths", words)
            .text("call path", paths().map(|it| it.name.as_str()))
            .times("exclusive", paths().map(|it| time(it.exclusive)))
            .floats("share", "%", paths().map(share))
            .times("inclusive", paths().map(|it| time(it.inclusive)))
            .unsigned("visits", "", paths().map(|it| it.visits))
    }

    /// Writes the summary as text, with `top` call paths.
    ///
    /// # Errors
    /// Returns the write errors of `out`.
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
        let absent = match self.absent_locations {
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
            .event_kinds
            .iter()
            .map(|(name, count)| format!("{} {name}", grouped(*count)));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        writeln!(out, "  events      {}: {kinds}", grouped(self.events))?;
        let duration = Nanos(self.end_ns.0.saturating_sub(self.start_ns.0));
        writeln!(
            out,
            "  duration    {duration}, from {} to {}",
            self.start_ns, self.end_ns
        )?;
        let MessageCounts {
            matched,
            collectives,
            remote_accesses,
            unmatched,
        } = &self.messages;
        writeln!(
            out,
            "  messages    {matched} matched, {}, {}",
            counted(*collectives, "collective"),
            counted(*remote_accesses, "remote transfer")
        )?;
        for (cause, count) in unmatched {
            writeln!(out, "              {count} unmatched: {cause}")?;
        }
        let clocks = clocks::sentences(&self.clocks, self.clock, self.profile.system());
        for (line, head) in clocks.iter().zip(["clocks", ""]) {
            writeln!(out, "  {head:<11} {line}")?;
        }
        findings::write_entries(&self.diagnostics, &self.counts, out)?;
        if !self.paths.is_empty() {
            writeln!(
                out,
                "  top call paths by exclusive time, summed over locations"
            )?;
            table::print(out, &self.call_paths(top), 60)?;
        }
        Ok(())
    }
}

impl Summary {
    /// Returns the summary and the top call paths as sections of a page.
    pub fn sections(&self, top: usize) -> Vec<Section> {
        let facts = [
            ("format", self.format.to_string()),
            ("written by", self.creator.clone().unwrap_or_default()),
            ("locations", grouped(self.locations as u64)),
            ("processes and devices", grouped(self.groups as u64)),
            ("nodes", grouped(self.nodes as u64)),
            ("regions", grouped(self.regions as u64)),
            ("events", grouped(self.events)),
            ("from", self.start_ns.to_string()),
            ("to", self.end_ns.to_string()),
            ("messages", grouped(self.messages.matched as u64)),
            ("collectives", grouped(self.messages.collectives as u64)),
            ("repairs", grouped(self.repairs)),
        ];
        let clocks = clocks::sentences(&self.clocks, self.clock, self.profile.system());
        let clocks = clocks.into_iter().map(|line| ("clocks", line));
        let facts = facts.into_iter().chain(clocks);
        let (names, values): (Vec<_>, Vec<_>) = facts.unzip();
        let facts = Table::new("facts", "")
            .text("fact", names)
            .text("value", values);
        vec![
            Section::table("facts", "Contents", &facts).half(),
            Section::table(
                "paths",
                "Exclusive time by call path",
                &self.call_paths(top),
            )
            .half(),
        ]
    }

    /// Draws the top call paths as bars of exclusive time.
    pub fn bars(&self, top: usize, title: &str) -> Scene {
        let mut bars = Bars::new(Unit::Nanos).titled(title);
        for path in self.paths.iter().take(top) {
            bars.push(&path.name, path.exclusive as f64);
        }
        bars.scene()
    }
}

/// Returns all call paths, largest exclusive time first.
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

/// Returns the regions of a profile with names that distinguish all regions with call paths.
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
