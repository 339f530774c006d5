//! [`Names`]: event types and values for the elements of an exported trace, and the `.pcf` that names them.

use crate::paraver::names;
use crate::paraver::pcf::{COUNTERS, Pcf};
use perf_core::{Definitions, KindId, MetricId, Region, RegionId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Representation of a region in Paraver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    State(u32),
    /// Type, value and state of an MPI call.
    Call(u32, u64, u32),
    Function,
}

/// Event types and values of all elements. Records which of them are used, for the `.pcf`.
#[derive(Debug)]
pub(super) struct Names<'a> {
    /// Definitions of the trace.
    pub(super) definitions: &'a Definitions,
    /// Representation of each region.
    is: Vec<Is>,
    /// Type of each metric.
    metrics: Vec<u32>,
    /// Type of each kind of generic events; `None` if the kind was not read from Paraver.
    kinds: Vec<Option<u32>>,
    /// Names of the values in use, by type and value.
    used: BTreeMap<u32, BTreeMap<u64, String>>,
    /// States in use.
    states: BTreeSet<u32>,
}

/// First value for MPI calls without a standard value.
const UNUSUAL: u64 = 1_000;
/// First type for metrics without a standard type, in the range of native counters.
const METRICS: u32 = 44_000_000;

impl<'a> Names<'a> {
    pub(super) fn new(definitions: &'a Definitions) -> Self {
        let states: HashMap<&str, u32> = (0..)
            .zip(names::STATES)
            .map(|(state, name)| (name, state))
            .collect();
        let is = (0_u64..).zip(&definitions.regions).map(|(index, region)| {
            match states.get(region.name.as_str()) {
                Some(state) => Is::State(*state),
                None if region.is_mpi() => {
                    let (kind, value) = names::mpi_call(&region.name, region.role);
                    let state = names::mpi_state(&region.name, kind);
                    Is::Call(kind, value.unwrap_or(UNUSUAL + index), state)
                }
                None => Is::Function,
            }
        });
        let mut types = BTreeSet::new();
        let metrics = (METRICS..).zip(&definitions.metrics).map(|(next, metric)| {
            // Two metrics of the same name get different types.
            let usual = names::papi_type(&metric.name);
            usual.filter(|kind| types.insert(*kind)).unwrap_or(next)
        });
        let kinds = definitions.kinds.iter().map(|name| type_of(name));
        Names {
            definitions,
            is: is.collect(),
            metrics: metrics.collect(),
            kinds: kinds.collect(),
            used: BTreeMap::new(),
            states: BTreeSet::from([0, names::RUNNING]),
        }
    }

    /// Returns the role of a region. Regions without a definition are functions.
    pub(super) fn is(&self, region: RegionId) -> Is {
        self.is.get(region.index()).copied().unwrap_or(Is::Function)
    }

    /// Registers a state as used and returns it.
    pub(super) fn state(&mut self, state: u32) -> u32 {
        self.states.insert(state);
        state
    }

    /// Registers a value as used and returns it.
    pub(super) fn value(&mut self, kind: u32, value: u64, region: RegionId) -> u64 {
        let of_kind = self.used.entry(kind).or_default();
        if value != 0 && !of_kind.contains_key(&value) {
            let name = self.definitions.region_name(region).into_owned();
            of_kind.insert(value, name);
        }
        value
    }

    /// Returns the value of a function in the type `kind`, and the value of its line in the type `line`
    /// if the line or file is known. Registers both as used.
    pub(super) fn code(&mut self, kind: u32, line: u32, region: RegionId) -> (u64, Option<u64>) {
        let value = self.value(kind, u64::from(region.0) + 1, region);
        let of = self.definitions.regions.get(region.index());
        let label = of.and_then(line_label);
        let at_line = label.map(|label| {
            let lines = self.used.entry(line).or_default();
            lines.entry(value).or_insert(label);
            value
        });
        (value, at_line)
    }

    pub(super) fn metric(&self, metric: MetricId) -> Option<u32> {
        self.metrics.get(metric.index()).copied()
    }

    /// Returns the type of a kind of events that was read from Paraver.
    pub(super) fn kind(&self, kind: KindId) -> Option<u32> {
        self.kinds.get(kind.index()).copied().flatten()
    }

    /// Registers a type without named values and returns it.
    pub(super) fn bare(&mut self, kind: u32) -> u32 {
        self.used.entry(kind).or_default();
        kind
    }

    /// Returns the `.pcf` with the states, types and values in use.
    pub(super) fn pcf(&self) -> Pcf {
        let mut text = String::from(
            "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n\
             LOOK_BACK           100\nSPEED               1\nFLAG_ICONS          ENABLED\n\
             NUM_OF_STATE_COLORS 1000\nYMAX_SCALE          37\n\n\n\
             DEFAULT_SEMANTIC\n\nTHREAD_FUNC          State As Is\n\n\nSTATES\n",
        );
        for state in &self.states {
            let name = names::STATES.get(*state as usize).copied();
            text.push_str(&format!("{state}    {}\n", name.unwrap_or("State")));
        }
        text.push_str("\n\nSTATES_COLOR\n");
        for state in &self.states {
            if let Some([red, green, blue]) = names::COLOURS.get(*state as usize) {
                text.push_str(&format!("{state}    {{{red},{green},{blue}}}\n"));
            }
        }
        text.push_str("\n\n");
        // Types with the same values share a block.
        let shared = |kind: u32| match kind {
            names::SAMPLED..names::SAMPLED_LINE => names::SAMPLED,
            names::SAMPLED_LINE..=30_000_199 => names::SAMPLED_LINE,
            70_000_001..=70_000_099 => 70_000_001,
            80_000_001..=80_000_099 => 80_000_001,
            _ => kind,
        };
        let mut block: Option<u32> = None;
        let mut pending: BTreeMap<u64, &str> = BTreeMap::new();
        let close = |text: &mut String, pending: &mut BTreeMap<u64, &str>, zero: &str| {
            if !pending.is_empty() {
                text.push_str("VALUES\n");
                text.push_str(&format!("0      {zero}\n"));
                for (value, name) in std::mem::take(pending) {
                    text.push_str(&format!("{value}      {}\n", one_line(name)));
                }
            }
            text.push_str("\n\n");
        };
        for (kind, values) in &self.used {
            if block != Some(shared(*kind)) {
                if let Some(last) = block {
                    close(&mut text, &mut pending, zero(last));
                }
                text.push_str("EVENT_TYPE\n");
                block = Some(shared(*kind));
            }
            let (gradient, label) = self.label(*kind);
            text.push_str(&format!("{gradient}    {kind}    {}\n", one_line(&label)));
            pending.extend(values.iter().map(|(value, name)| (*value, name.as_str())));
        }
        if let Some(last) = block {
            close(&mut text, &mut pending, zero(last));
        }
        if !self.metrics.is_empty() {
            text.push_str("EVENT_TYPE\n");
            for (kind, metric) in self.metrics.iter().zip(&self.definitions.metrics) {
                let name = one_line(&metric.name).replace(' ', "_");
                let about = if metric.description.is_empty() {
                    String::new()
                } else {
                    format!(" [{}]", one_line(&metric.description))
                };
                text.push_str(&format!("{COUNTERS}    {kind}    {name}{about}\n"));
            }
            text.push_str("\n\n");
        }
        Pcf::parse(text.as_bytes())
    }

    fn label(&self, kind: u32) -> (u32, String) {
        let of_calls = [
            "Point-to-point",
            "Collective Comm",
            "Other",
            "One-sided",
            "I/O",
        ];
        match kind {
            50_000_001..=50_000_005 => {
                let name = of_calls.get((kind - 50_000_001) as usize);
                (9, format!("MPI {}", name.copied().unwrap_or_default()))
            }
            50_100_001 => (1, "Send Size in MPI Global OP".into()),
            50_100_002 => (1, "Recv Size in MPI Global OP".into()),
            50_100_003 => (1, "Root in MPI Global OP".into()),
            50_100_004 => (1, "Communicator in MPI Global OP".into()),
            names::FUNCTION => (0, "User function".into()),
            60_000_119 => (0, "User function line".into()),
            names::FLUSH => (6, "Flushing Traces".into()),
            names::TRACING => (6, "Tracing".into()),
            names::SAMPLED..names::SAMPLED_LINE => (
                0,
                format!("Sampled functions (depth {})", kind - names::SAMPLED),
            ),
            names::SAMPLED_LINE..=30_000_199 => {
                let depth = kind - names::SAMPLED_LINE;
                (0, format!("Sampled line functions (depth {depth})"))
            }
            70_000_001..=70_000_099 => (0, format!("Caller at level {}", kind - names::CALLER)),
            80_000_001..=80_000_099 => {
                let level = kind - names::CALLER_LINE;
                (0, format!("Caller line at level {level}"))
            }
            _ => {
                let at = self.kinds.iter().position(|known| *known == Some(kind));
                let name = at.and_then(|at| self.definitions.kinds.get(at));
                let name = name.and_then(|name| name.rsplit_once(" ("));
                (6, name.map_or("Event", |(label, _)| label).to_string())
            }
        }
    }
}

fn one_line(name: &str) -> String {
    name.replace(['\n', '\r'], " ")
}

/// Returns the name of the value 0 of a type.
fn zero(kind: u32) -> &'static str {
    if names::CALLS.contains(&kind) {
        "Outside MPI"
    } else {
        "End"
    }
}

/// Returns the type at the end of the name of a kind: `Executing CPU (40000033)`.
fn type_of(name: &str) -> Option<u32> {
    let (_, number) = name.strip_suffix(')')?.rsplit_once(" (")?;
    number.parse().ok()
}

/// Formats line and file of a region like Extrae; `None` if neither is known.
fn line_label(region: &Region) -> Option<String> {
    let line = region.lines.map_or(0, |(first, _)| first);
    match (&region.file, line) {
        (None, 0) => None,
        (file, line) => Some(format!("{line} ({})", file.as_deref().unwrap_or("."))),
    }
}
