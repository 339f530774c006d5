//! [`Class`]: meaning of an event type; [`Tables`]: definitions of regions, metrics, kinds and call
//! paths, created on first use by an event.

use crate::Result;
use crate::paraver::names;
use crate::paraver::pcf::{COUNTERS, Pcf};
use crate::paraver::record::Pair;
use perf_core::{
    CallPathId, CallTree, KindId, Limits, Metric, MetricId, MetricMode, MetricSet, MetricSetId,
    Paradigm, Region, RegionId, RegionRole, ValueType,
};
use std::collections::HashMap;

/// Meaning of an event type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Counter(MetricId),
    /// MPI call.
    Call,
    /// Function frame, with its type.
    Function,
    /// Line of a function frame.
    FunctionLine,
    /// Level of a caller, and `true` for its line.
    Caller(u32, bool),
    /// Depth of a sampled frame, and `true` for its line.
    Sampled(u32, bool),
    Collective,
    Flush,
    Tracing,
    Other(KindId),
}

/// Identity of a region.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    State(u32),
    Call(u32, u64),
    Code(String, Option<String>, Option<u32>, bool),
}

/// Stack frame as in the events: value of the function and value of the line.
pub(super) type Frame = (u64, u64);

/// Definitions that grow while a trace is read.
#[derive(Debug)]
pub(super) struct Tables<'a> {
    /// Names of the trace.
    pcf: &'a Pcf,
    /// Regions so far.
    pub(super) regions: Vec<Region>,
    /// Regions by identity.
    region_ids: HashMap<Key, RegionId>,
    /// Regions of states.
    states: HashMap<u32, RegionId>,
    /// Regions of MPI calls.
    calls: HashMap<(u32, u64), RegionId>,
    /// Regions of function frames.
    functions: HashMap<(u32, u64, u64), RegionId>,
    /// Metrics so far.
    pub(super) metrics: Vec<Metric>,
    /// For each counter, `true` if it has negative values, and `true` if it has values above the
    /// signed range.
    signs: Vec<(bool, bool)>,
    /// Metric sets so far.
    pub(super) sets: Vec<MetricSet>,
    /// Sets by their members.
    set_ids: HashMap<Vec<MetricId>, MetricSetId>,
    /// Names of the kinds so far.
    pub(super) kinds: Vec<String>,
    /// Meaning of each event type.
    classes: HashMap<u32, Class>,
    /// Cache of recent classes, indexed by the low bits of the type.
    cache: Vec<Option<(u32, Class)>>,
    /// Call paths so far.
    pub(super) contexts: CallTree,
    /// Regions of caller frames or sampled frames.
    frames: HashMap<(bool, Frame), RegionId>,
    /// Results of [`kept`](Self::kept).
    kept_ids: HashMap<u32, KindId>,
    /// Remaining budget in bytes for names of functions and files. It is needed because one label with many lines
    /// yields many regions, each with a copy of the name.
    text_left: u64,
    /// Number of functions with a number in place of a name.
    pub(super) unnamed: u64,
}

const CACHE: u32 = 512;

impl<'a> Tables<'a> {
    pub(super) fn new(pcf: &'a Pcf, limits: &Limits) -> Self {
        Tables {
            pcf,
            regions: Vec::new(),
            region_ids: HashMap::new(),
            states: HashMap::new(),
            calls: HashMap::new(),
            functions: HashMap::new(),
            metrics: Vec::new(),
            signs: Vec::new(),
            sets: Vec::new(),
            set_ids: HashMap::new(),
            kinds: Vec::new(),
            classes: HashMap::new(),
            cache: vec![None; CACHE as usize],
            contexts: CallTree::default(),
            frames: HashMap::new(),
            kept_ids: HashMap::new(),
            text_left: u64::from(limits.string) * 256,
            unnamed: 0,
        }
    }

    #[inline]
    pub(super) fn class(&mut self, kind: u32) -> Class {
        let slot = (kind ^ (kind >> 9) ^ (kind >> 18)) % CACHE;
        match self.cache.get(slot as usize) {
            Some(Some((cached, class))) if *cached == kind => *class,
            _ => self.look_up(kind, slot),
        }
    }

    #[cold]
    fn look_up(&mut self, kind: u32, slot: u32) -> Class {
        let class = match self.classes.get(&kind) {
            Some(class) => *class,
            None => {
                let class = self.classify(kind);
                self.classes.insert(kind, class);
                class
            }
        };
        if let Some(entry) = self.cache.get_mut(slot as usize) {
            *entry = Some((kind, class));
        }
        class
    }

    fn classify(&mut self, kind: u32) -> Class {
        use names::{CALLER, CALLER_LINE, LEVELS, SAMPLED, SAMPLED_LINE};
        let level = |first: u32| kind.checked_sub(first).filter(|level| *level <= LEVELS);
        let of_counters = self
            .pcf
            .kind(kind)
            .is_some_and(|of| of.gradient == COUNTERS);
        match kind {
            names::COUNTER_SET => self.other(kind),
            _ if names::CALLS.contains(&kind) => Class::Call,
            _ if names::COLLECTIVE_FACTS.contains(&kind) => Class::Collective,
            names::FUNCTION | names::OUTLINED | names::TASK => Class::Function,
            names::FLUSH => Class::Flush,
            names::TRACING => Class::Tracing,
            _ if names::is_counter(kind) || of_counters => self.counter(kind),
            _ => match kind.checked_sub(names::TO_LINE) {
                Some(names::FUNCTION | names::OUTLINED | names::TASK) => Class::FunctionLine,
                _ => match (
                    level(CALLER),
                    level(CALLER_LINE),
                    level(SAMPLED_LINE),
                    level(SAMPLED),
                ) {
                    (Some(level @ 1..), ..) => Class::Caller(level, false),
                    (_, Some(level @ 1..), ..) => Class::Caller(level, true),
                    (_, _, Some(level), _) => Class::Sampled(level, true),
                    (_, _, _, Some(level)) => Class::Sampled(level, false),
                    _ => self.other(kind),
                },
            },
        }
    }

    fn counter(&mut self, kind: u32) -> Class {
        let (name, description) = self.pcf.described(kind);
        let Some(id) = MetricId::from_index(self.metrics.len()) else {
            return self.other(kind);
        };
        self.metrics.push(Metric {
            name,
            description: description.into(),
            unit: "#".into(),
            value_type: ValueType::U64,
            mode: MetricMode::Relative,
            parent: None,
        });
        self.signs.push((false, false));
        Class::Counter(id)
    }

    /// Records the sign of a counter value.
    #[inline]
    pub(super) fn sign(&mut self, metric: MetricId, pair: Pair) {
        if pair.value() < 0
            && let Some(sign) = self.signs.get_mut(metric.index())
        {
            if pair.is_negative() {
                sign.0 = true
            } else {
                sign.1 = true
            }
        }
    }

    /// Assigns a signed type to counters with negative values. Returns the number of such counters that also have
    /// values above the signed range.
    pub(super) fn settle(&mut self) -> u64 {
        let mut mixed = 0;
        for (metric, (negative, large)) in self.metrics.iter_mut().zip(&self.signs) {
            if *negative {
                metric.value_type = ValueType::I64;
                mixed += u64::from(*large);
            }
        }
        mixed
    }

    /// Returns the set of metrics that were read together.
    pub(super) fn set(&mut self, members: &[MetricId]) -> Result<MetricSetId> {
        if let Some(id) = self.set_ids.get(members) {
            return Ok(*id);
        }
        let id = MetricSetId::from_index(self.sets.len()).ok_or(too_many("metric sets"))?;
        self.set_ids.insert(members.to_vec(), id);
        self.sets.push(MetricSet {
            members: members.to_vec(),
            scope: None,
            is_shared: false,
        });
        Ok(id)
    }

    /// Returns the class for generic events. The name of the kind is the label with the type in
    /// parentheses.
    pub(super) fn other(&mut self, kind: u32) -> Class {
        if let Some(Class::Other(id)) = self.classes.get(&kind) {
            return Class::Other(*id);
        }
        let label = self.pcf.kind(kind).map_or("event", |of| of.label.as_str());
        // There are at most 2^32 types, so the number fits.
        let id = KindId(self.kinds.len() as u32);
        self.kinds.push(format!("{label} ({kind})"));
        Class::Other(id)
    }

    /// Returns the kind for events that are kept as generic events although their type has a meaning.
    pub(super) fn kept(&mut self, kind: u32) -> KindId {
        if let Some(id) = self.kept_ids.get(&kind) {
            return *id;
        }
        let name = format!(" ({kind})");
        let id = match self.kinds.iter().position(|known| known.ends_with(&name)) {
            Some(at) => KindId(at as u32),
            None => {
                let id = KindId(self.kinds.len() as u32);
                let label = self.pcf.kind(kind).map_or("event", |of| of.label.as_str());
                self.kinds.push(format!("{label}{name}"));
                id
            }
        };
        self.kept_ids.insert(kind, id);
        id
    }

    pub(super) fn state(&mut self, state: u32) -> Result<RegionId> {
        if let Some(id) = self.states.get(&state) {
            return Ok(*id);
        }
        let usual = names::STATES.get(state as usize).copied();
        let name = match self.pcf.state(state).filter(|name| !name.is_empty()) {
            Some(name) => name.to_string(),
            None => usual.map_or_else(|| format!("state {state}"), str::to_string),
        };
        let (paradigm, role) = names::nature(state);
        let region = Region {
            paradigm,
            role,
            ..Region::named(name)
        };
        let id = self.region(Key::State(state), || region)?;
        self.states.insert(state, id);
        Ok(id)
    }

    pub(super) fn call(&mut self, kind: u32, value: u64) -> Result<RegionId> {
        if let Some(id) = self.calls.get(&(kind, value)) {
            return Ok(*id);
        }
        let name = match self.pcf.value(kind, value).filter(|name| !name.is_empty()) {
            Some(name) => name.to_string(),
            None => names::mpi_name(value).unwrap_or_else(|| format!("MPI call {kind}:{value}")),
        };
        let region = Region {
            paradigm: Paradigm::Mpi,
            role: names::role_of(kind, &name),
            ..Region::named(name)
        };
        let id = self.region(Key::Call(kind, value), || region)?;
        self.calls.insert((kind, value), id);
        Ok(id)
    }

    /// Returns the region for a function frame of one of the function types.
    pub(super) fn function(&mut self, kind: u32, value: u64, line: u64) -> Result<RegionId> {
        if let Some(id) = self.functions.get(&(kind, value, line)) {
            return Ok(*id);
        }
        let (name, at, file) = self.code((kind, value), (kind + names::TO_LINE, line));
        let (paradigm, role) = match kind {
            names::FUNCTION => (Paradigm::User, RegionRole::Function),
            names::TASK => (Paradigm::OpenMp, RegionRole::Task),
            _ => (Paradigm::OpenMp, RegionRole::Function),
        };
        let is_openmp = paradigm == Paradigm::OpenMp;
        let key = Key::Code(name.clone(), file.clone(), at, is_openmp);
        let id = self.region(key, || Region {
            paradigm,
            role,
            file,
            lines: at.map(|at| (at, at)),
            ..Region::named(name)
        })?;
        self.functions.insert((kind, value, line), id);
        Ok(id)
    }

    /// Returns name, line and file for the values of a function type and a line type.
    fn code(
        &mut self,
        (kind, value): (u32, u64),
        (line_kind, line): (u32, u64),
    ) -> (String, Option<u32>, Option<String>) {
        let label = self.pcf.value(kind, value).filter(|name| !name.is_empty());
        let name = label.map(names::full_label);
        let line_label = self.pcf.value(line_kind, line);
        let (at, file) = line_label.map_or((None, None), names::line_and_file);
        let length = name.map_or(0, str::len) + file.map_or(0, str::len);
        let is_within_budget = length as u64 <= self.text_left;
        self.unnamed += u64::from(!is_within_budget);
        let (name, file) = if is_within_budget {
            (name, file)
        } else {
            (None, None)
        };
        let name = match (name, line_label) {
            (Some(name), _) => name.to_string(),
            // The number of the line still separates the calls of a function.
            (None, None) if line != 0 => format!("function {value} (line number {line})"),
            (None, _) => format!("function {value}"),
        };
        (name, at, file.map(str::to_string))
    }

    fn region(&mut self, key: Key, make: impl FnOnce() -> Region) -> Result<RegionId> {
        if let Some(id) = self.region_ids.get(&key) {
            return Ok(*id);
        }
        let id = RegionId::from_index(self.regions.len()).ok_or(too_many("regions"))?;
        let region = make();
        let length = region.name.len() + region.file.as_ref().map_or(0, String::len);
        self.text_left = self.text_left.saturating_sub(length as u64);
        self.regions.push(region);
        self.region_ids.insert(key, id);
        Ok(id)
    }

    /// Returns the call path for the stack frames of callers or of a sample, outermost first.
    ///
    /// Call paths are looked up in their tree. A separate table of whole call paths, each with its own allocation, took
    /// 0.2 s to free for a million call paths.
    pub(super) fn context(&mut self, is_sampled: bool, frames: &[Frame]) -> Result<CallPathId> {
        let mut path = None;
        for frame in frames {
            let region = match self.frames.get(&(is_sampled, *frame)) {
                Some(region) => *region,
                None => self.frame(is_sampled, *frame)?,
            };
            path = Some(self.contexts.child(path, region)?);
        }
        path.ok_or_else(|| crate::Error::Usage {
            what: "a call path has at least one frame".into(),
        })
    }

    /// Creates the region for a new frame.
    fn frame(&mut self, is_sampled: bool, frame: Frame) -> Result<RegionId> {
        // The types of all levels share the names of the first level.
        let (functions, lines) = if is_sampled {
            (names::SAMPLED, names::SAMPLED_LINE)
        } else {
            (names::CALLER + 1, names::CALLER_LINE + 1)
        };
        let (name, at, file) = self.code((functions, frame.0), (lines, frame.1));
        let of = Key::Code(name.clone(), file.clone(), at, false);
        let region = self.region(of, || Region {
            paradigm: Paradigm::User,
            role: RegionRole::Function,
            file,
            lines: at.map(|at| (at, at)),
            ..Region::named(name)
        })?;
        self.frames.insert((is_sampled, frame), region);
        Ok(region)
    }
}

fn too_many(what: &'static str) -> perf_core::Error {
    perf_core::Error::TooMany {
        what,
        limit: u64::from(u32::MAX),
    }
}
