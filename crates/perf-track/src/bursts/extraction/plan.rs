//! [`Plan`]: extraction of bursts prepared for one recording, with classified regions and metrics resolved to ids.

use super::counters::Feed;
use super::params::{Delimiter, Extract};
use crate::bursts::formula::{Fold, Formula};
use crate::{Error, Result};
use perf_core::{
    Definitions, KindId, LocationId, MetricId, Paradigm, Region, RegionId, RegionRole, ValueType,
    fits,
};

/// Classification of a region by the extraction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Class {
    /// `true` if calls of the region are bursts.
    pub(super) is_burst: bool,
    /// `true` if a call of the region ends a burst, and the end of the call begins the next burst.
    pub(super) divides: bool,
    /// `true` if calls of the region are communication calls, whose callers and bytes are
    /// collected.
    pub(super) talks: bool,
    /// `true` if the region is a function of the program, which does not divide a state.
    pub(super) is_code: bool,
    /// `true` if the region is a function that a team of threads executes.
    pub(super) is_parallel: bool,
}

/// Rule for the begin and end of bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Calls are bursts.
    Calls,
    /// Bursts lie between calls.
    Between,
    /// The value of a metric delimits bursts.
    Value,
}

/// Source of the value of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Slot of a counter.
    Slot(usize),
    /// Quotient of two slots.
    Ratio(usize, usize),
    /// Metric requested before.
    Column(usize),
    /// Duration of the burst.
    Duration,
    /// Bytes sent by the call before.
    SentBefore,
    /// Bytes received by the call before.
    ReceivedBefore,
    /// Bytes sent by the call after.
    SentAfter,
    /// Bytes received by the call after.
    ReceivedAfter,
}

/// Metric of the bursts.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// Formula of the metric.
    pub(super) formula: Formula,
    /// Source of each name.
    pub(super) sources: Vec<Source>,
    /// Unit of the metric.
    pub(super) unit: String,
    /// `true` if the metric is required.
    pub(super) is_needed: bool,
}

/// Metrics whose values delimit bursts, for each metric set: index and type.
type Marks = Vec<Vec<(usize, ValueType)>>;

/// Extraction for one recording.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// Definitions of the recording.
    pub(super) definitions: &'a Definitions,
    /// Rule for the begin and end of bursts.
    pub(super) mode: Mode,
    /// `true` if bursts are states, which continue while functions begin and end within them.
    pub(super) is_states: bool,
    /// Class of each region.
    classes: Vec<Class>,
    /// Destinations of the metrics of each set.
    feeds: Vec<Vec<Feed>>,
    /// Metrics that delimit bursts.
    marks: Marks,
    /// Kind of event that delimits bursts.
    pub(super) mark_kind: Option<KindId>,
    /// Reduction of each slot.
    pub(super) folds: Vec<Fold>,
    /// Name of each slot.
    pub(super) slot_names: Vec<String>,
    /// Metrics of the bursts.
    pub(super) columns: Vec<Planned>,
}

const INSTRUCTIONS: [&str; 5] = [
    "PAPI_TOT_INS",
    "instructions",
    "perf::INSTRUCTIONS",
    "perf::PERF_COUNT_HW_INSTRUCTIONS",
    "INST_RETIRED",
];
const CYCLES: [&str; 6] = [
    "PAPI_TOT_CYC",
    "cycles",
    "perf::CYCLES",
    "perf::CPU-CYCLES",
    "perf::PERF_COUNT_HW_CPU_CYCLES",
    "CPU_CLK_UNHALTED",
];
const BUILT_IN: [(&str, Source); 5] = [
    ("duration", Source::Duration),
    ("sent_before", Source::SentBefore),
    ("received_before", Source::ReceivedBefore),
    ("sent_after", Source::SentAfter),
    ("received_after", Source::ReceivedAfter),
];

/// Name of the state in which a thread computes.
const RUNNING: &str = "Running";

fn is_code(region: &Region) -> bool {
    use RegionRole::{Function, Loop, Task, Wrapper};
    // MPI calls without communication are functions by their role.
    matches!(region.role, Function | Loop | Task | Wrapper) && !talks(region)
}

fn talks(region: &Region) -> bool {
    use RegionRole::{Collective, PointToPoint, Rma};
    region.is_mpi()
        || region.paradigm == Paradigm::Shmem
        || matches!(region.role, Collective | PointToPoint | Rma)
}

fn is_parallel(region: &Region) -> bool {
    is_code(region) && region.paradigm == Paradigm::OpenMp && region.role != RegionRole::Task
}

fn synchronises(region: &Region) -> bool {
    region.paradigm == Paradigm::OpenMp && region.role == RegionRole::Barrier
}

impl<'a> Plan<'a> {
    pub(super) fn new(extract: &Extract, definitions: &'a Definitions) -> Result<Self> {
        let mut plan = Plan {
            definitions,
            mode: Mode::Between,
            is_states: false,
            classes: vec![Class::default(); definitions.regions.len()],
            feeds: vec![Vec::new(); definitions.metric_sets.len()],
            marks: Vec::new(),
            mark_kind: None,
            folds: Vec::new(),
            slot_names: Vec::new(),
            columns: Vec::new(),
        };
        plan.classify(&extract.delimiter)?;
        let mut slots: Vec<(MetricId, usize)> = Vec::new();
        for requested in &extract.requested {
            plan.add(&requested.formula, requested.is_needed, &mut slots)?;
        }
        if extract.all_counters {
            for name in plan.counters() {
                if plan.columns.iter().all(|c| c.formula.name() != name) {
                    plan.add(&Formula::plain(name), false, &mut slots)?;
                }
            }
        }
        for limits in &extract.ranges {
            let known = plan
                .columns
                .iter()
                .any(|c| c.formula.name() == limits.metric);
            if !known && limits.metric != "duration" {
                return Err(plan.unknown(&limits.metric));
            }
        }
        plan.feed(&slots);
        Ok(plan)
    }

    pub(super) fn class(&self, region: RegionId) -> Class {
        self.classes
            .get(region.index())
            .copied()
            .unwrap_or_default()
    }

    pub(super) fn feeds(&self, set: usize) -> &[Feed] {
        self.feeds.get(set).map_or(&[], Vec::as_slice)
    }

    /// Returns `true` if the samples of a set describe only the location that recorded them.
    pub(super) fn is_own(&self, set: usize, location: LocationId) -> bool {
        let set = self.definitions.metric_sets.get(set);
        set.is_none_or(|set| !set.is_shared && set.scope.is_none_or(|about| about == location))
    }

    pub(super) fn marks(&self, set: usize) -> &[(usize, ValueType)] {
        self.marks.get(set).map_or(&[], Vec::as_slice)
    }

    fn classify(&mut self, delimiter: &Delimiter) -> Result<()> {
        let regions = &self.definitions.regions;
        let patterns = match delimiter {
            Delimiter::Auto => regions
                .iter()
                .find(|region| region.name.eq_ignore_ascii_case(RUNNING))
                .map(|region| vec![region.name.clone()]),
            Delimiter::Calls(patterns) | Delimiter::Between(patterns) => Some(patterns.clone()),
            _ => None,
        };
        let patterns = patterns.unwrap_or_default();
        for pattern in &patterns {
            if !regions.iter().any(|region| fits(pattern, &region.name)) {
                return Err(Error::NoRegion {
                    pattern: pattern.clone(),
                });
            }
        }
        let is_asked = |region: &Region| patterns.iter().any(|p| fits(p, &region.name));
        let of: Box<dyn Fn(&Region) -> Class> = match delimiter {
            Delimiter::Calls(_) => Box::new(|region| Class {
                is_burst: is_asked(region),
                talks: talks(region),
                is_code: is_code(region) && !is_asked(region),
                is_parallel: is_parallel(region) && !is_asked(region),
                ..Class::default()
            }),
            Delimiter::Auto if !patterns.is_empty() => Box::new(|region| Class {
                is_burst: is_asked(region),
                talks: talks(region),
                is_code: is_code(region),
                is_parallel: is_parallel(region),
                ..Class::default()
            }),
            Delimiter::Between(_) => Box::new(|region| Class {
                divides: is_asked(region),
                talks: is_asked(region),
                ..Class::default()
            }),
            Delimiter::Auto | Delimiter::Communication => Box::new(|region| Class {
                divides: talks(region) || synchronises(region),
                talks: talks(region),
                ..Class::default()
            }),
            Delimiter::Value(_) => Box::new(|region| Class {
                talks: talks(region),
                is_code: is_code(region),
                is_parallel: is_parallel(region),
                ..Class::default()
            }),
        };
        self.classes = regions.iter().map(of).collect();
        self.is_states = *delimiter == Delimiter::Auto && !patterns.is_empty();
        self.mode = match delimiter {
            Delimiter::Calls(_) => Mode::Calls,
            Delimiter::Auto if !patterns.is_empty() => Mode::Calls,
            Delimiter::Value(name) => {
                self.mark(name)?;
                Mode::Value
            }
            _ => Mode::Between,
        };
        Ok(())
    }

    fn mark(&mut self, name: &str) -> Result<()> {
        let definitions = self.definitions;
        let is_asked = |id: &MetricId| {
            let metric = definitions.metrics.get(id.index());
            metric.filter(|metric| is_called(&metric.name, name))
        };
        let of_set = |set: &perf_core::MetricSet| {
            let members = set.members.iter().enumerate();
            let found = members.filter_map(|(at, id)| Some((at, is_asked(id)?.value_type)));
            found.collect::<Vec<_>>()
        };
        self.marks = definitions.metric_sets.iter().map(of_set).collect();
        let kind = definitions.kinds.iter().position(|kind| kind == name);
        self.mark_kind = kind.and_then(KindId::from_index);
        if self.mark_kind.is_some() || self.marks.iter().any(|of_set| !of_set.is_empty()) {
            Ok(())
        } else {
            Err(self.unknown(name))
        }
    }

    /// Returns the names of the sampled metrics, each once, in order of their ids.
    fn counters(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let sampled: std::collections::HashSet<MetricId> = self
            .definitions
            .metric_sets
            .iter()
            .flat_map(|set| set.members.iter().copied())
            .collect();
        for (index, metric) in self.definitions.metrics.iter().enumerate() {
            let id = MetricId::from_index(index);
            if id.is_some_and(|id| sampled.contains(&id)) && seen.insert(metric.name.as_str()) {
                names.push(&metric.name);
            }
        }
        names
    }

    fn unknown(&self, name: &str) -> Error {
        let columns = self.columns.iter().map(|column| column.formula.name());
        let built_in = BUILT_IN.iter().map(|(name, _)| *name);
        let mut known: Vec<&str> = columns.collect();
        for name in self.counters().into_iter().chain(built_in) {
            if !known.contains(&name) {
                known.push(name);
            }
        }
        Error::UnknownMetric {
            name: name.to_owned(),
            known: known.join(", "),
        }
    }

    fn add(
        &mut self,
        formula: &Formula,
        is_needed: bool,
        slots: &mut Vec<(MetricId, usize)>,
    ) -> Result<()> {
        let mut sources = Vec::new();
        for (name, fold) in formula.requested() {
            sources.push(self.source(name, *fold, slots)?);
        }
        let unit = match (sources.first(), formula.is_plain()) {
            (Some(Source::Slot(slot)), true) => {
                let of_slot = slots.iter().find(|(_, to)| to == slot);
                let metric = of_slot.and_then(|(id, _)| self.definitions.metrics.get(id.index()));
                metric.map_or_else(String::new, |metric| metric.unit.clone())
            }
            (Some(Source::Column(column)), true) => {
                let column = self.columns.get(*column);
                column.map_or_else(String::new, |column| column.unit.clone())
            }
            (Some(Source::Duration), true) => "ns".into(),
            (Some(Source::Ratio(..)), true) | (_, false) | (None, _) => String::new(),
            _ => "bytes".into(),
        };
        self.columns.push(Planned {
            formula: formula.clone(),
            sources,
            unit,
            is_needed,
        });
        Ok(())
    }

    fn source(
        &mut self,
        name: &str,
        fold: Fold,
        slots: &mut Vec<(MetricId, usize)>,
    ) -> Result<Source> {
        if fold == Fold::Natural {
            let mut columns = self.columns.iter();
            if let Some(column) = columns.position(|column| column.formula.name() == name) {
                return Ok(Source::Column(column));
            }
            if let Some((_, source)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
                return Ok(*source);
            }
        }
        if let Some(slot) = self.slot(name, fold, slots) {
            return Ok(Source::Slot(slot));
        }
        let mut alias = |names: &[&str]| names.iter().find_map(|n| self.slot(n, fold, slots));
        let found = match name {
            "instructions" => alias(&INSTRUCTIONS).map(Source::Slot),
            "cycles" => alias(&CYCLES).map(Source::Slot),
            "ipc" => alias(&INSTRUCTIONS)
                .zip(alias(&CYCLES))
                .map(|(instructions, cycles)| Source::Ratio(instructions, cycles)),
            _ => None,
        };
        found.ok_or_else(|| self.unknown(name))
    }

    /// Returns the slot of a metric of the recording, or `None` if there is no such metric. Several
    /// metrics with the same name, as in recordings of many processes, share one slot.
    fn slot(
        &mut self,
        name: &str,
        fold: Fold,
        slots: &mut Vec<(MetricId, usize)>,
    ) -> Option<usize> {
        let mut known = self.slot_names.iter().zip(&self.folds);
        if let Some(slot) = known.position(|(known, of)| known == name && *of == fold) {
            return Some(slot);
        }
        let metrics = &self.definitions.metrics;
        let exact = metrics.iter().any(|metric| metric.name == name);
        let slot = self.folds.len();
        let before = slots.len();
        for (index, metric) in metrics.iter().enumerate() {
            let is_asked = if exact {
                metric.name == name
            } else {
                is_called(&metric.name, name)
            };
            if let (true, Some(id)) = (is_asked, MetricId::from_index(index)) {
                slots.push((id, slot));
            }
        }
        if slots.len() == before {
            return None;
        }
        self.folds.push(fold);
        self.slot_names.push(name.to_owned());
        Some(slot)
    }

    fn feed(&mut self, slots: &[(MetricId, usize)]) {
        for (set, feeds) in self.definitions.metric_sets.iter().zip(&mut self.feeds) {
            for (member, id) in set.members.iter().enumerate() {
                let Some(metric) = self.definitions.metrics.get(id.index()) else {
                    continue;
                };
                for (_, slot) in slots.iter().filter(|(of, _)| of == id) {
                    feeds.push(Feed {
                        member,
                        slot: *slot,
                        kind: metric.value_type,
                        mode: metric.mode,
                    });
                }
            }
        }
    }
}

/// Returns `true` if `metric` is `name`, or a label whose first word is `name`, such as
/// `PAPI_TOT_INS [Instr completed]`.
fn is_called(metric: &str, name: &str) -> bool {
    metric == name || metric.split_whitespace().next() == Some(name)
}
