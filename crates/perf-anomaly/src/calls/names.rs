//! [`Names`]: ids of regions and counters by name, limited in number, and the purpose of each
//! counter ([`CounterKind`]).

use super::nature::Nature;
use super::params::CallsParams;
use super::stream::paths::Mix;
use perf_core::{MetricId, MetricMode, Region, RegionId};
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// Purpose of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CounterKind {
    /// Describes the call in which it was taken.
    OfCall,
    /// Connects work on an accelerator to its launch.
    Correlation,
    /// Describes the node.
    OfNode,
}

/// Regions by program and name, and counters by name. Beyond the limit, all further regions share
/// one id, and so do counters.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Program and name of each region.
    regions: Vec<(u32, Arc<str>)>,
    /// Nature of each region.
    natures: Vec<Nature>,
    /// Region of which each region is a size class, and the least number of bytes of the class; the region
    /// itself and 0 for all others.
    wholes: Vec<(u32, u64)>,
    /// `true` for each region with size classes; regions beyond the end have none.
    with_sizes: Vec<bool>,
    /// Ids of size classes by region and class.
    sizes: HashMap<(u32, u32), u32, BuildHasherDefault<Mix>>,
    /// `true` if a region stands for unknown functions.
    pub(super) has_unknown: bool,
    /// Ids of the regions by program and name.
    region_ids: HashMap<u32, HashMap<Arc<str>, u32>>,
    /// Name, purpose and node field of each counter.
    counters: Vec<(Arc<str>, CounterKind, Arc<str>)>,
    /// Ids of the counters by name.
    counter_ids: HashMap<Arc<str>, u32>,
    /// Units of counters by id, as far as they are known.
    units: BTreeMap<u32, Arc<str>>,
    /// Declared modes of counters by id: `true` for accumulated and `false` for absolute values.
    accumulates: BTreeMap<u32, bool>,
}

/// Begin of the names of events of the hardware, as PAPI names them.
const EVENTS: &str = "PAPI_";
/// Size classes are this number of powers of two wide, a factor of four.
const CLASS_BITS: u32 = 2;
/// Number of the class of calls without bytes.
const NO_BYTES: u32 = u32::MAX;

/// Returns a power of two as a number of bytes with its unit.
fn size_text(bits: u32) -> String {
    let unit = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = unit.get(bits as usize / 10).copied().unwrap_or_default();
    format!("{} {unit}", 1 << (bits % 10))
}

/// Units of plain counts.
const COUNTS: [&str; 5] = ["", "#", "occ", "1", "count"];

/// Common name of all regions beyond the limit.
const OTHER: &str = "(other)";

impl Names {
    /// Returns the id of a region, and `true` if it is the shared id.
    pub(super) fn region(&mut self, program: u32, name: &str, limit: usize) -> (RegionId, bool) {
        if let Some(id) = self.region_id(program, name) {
            return (id, false);
        }
        let is_other = self.regions.len() >= limit;
        let (program, name) = if is_other {
            (u32::MAX, OTHER)
        } else {
            (program, name)
        };
        if is_other && let Some(id) = self.region_id(program, name) {
            return (id, true);
        }
        let id = self.regions.len() as u32;
        let name: Arc<str> = name.into();
        self.natures.push(Nature::of_name(&name));
        self.wholes.push((id, 0));
        self.regions.push((program, Arc::clone(&name)));
        self.region_ids.entry(program).or_default().insert(name, id);
        (RegionId(id), is_other)
    }

    /// Returns the id of the size class of calls of a region that transfer `bytes`; that of the region
    /// itself before the first call with bytes, beyond the limit, and if the function does not communicate.
    #[inline]
    pub(super) fn sized(&mut self, region: u32, bytes: u64, limit: usize) -> u32 {
        let at = region as usize;
        if bytes == 0 && self.with_sizes.get(at) != Some(&true) {
            return region;
        }
        let class = bytes.checked_ilog2().map(|bits| bits / CLASS_BITS);
        match self.sizes.get(&(region, class.unwrap_or(NO_BYTES))) {
            Some(known) => *known,
            None => self.new_size(region, class, limit),
        }
    }

    #[cold]
    fn new_size(&mut self, region: u32, class: Option<u32>, limit: usize) -> u32 {
        let nature = self.nature(RegionId(region));
        let Some((program, name)) = self.region_name(RegionId(region)) else {
            return region;
        };
        if self.regions.len() >= limit || !matches!(nature, Some(Nature::Waits | Nature::Local)) {
            return region;
        }
        let (bytes, size) = match class.map(|class| class * CLASS_BITS) {
            None => (0, "0 B".into()),
            Some(bits) => (
                1 << bits,
                format!("{} to {}", size_text(bits), size_text(bits + CLASS_BITS)),
            ),
        };
        let sized = format!("{name} of {size}").into();
        let id = self.regions.len() as u32;
        self.regions.push((program, sized));
        self.natures.push(nature.unwrap_or_default());
        self.wholes.push((region, bytes));
        self.sizes.insert((region, class.unwrap_or(NO_BYTES)), id);
        let at = region as usize;
        if self.with_sizes.len() <= at {
            self.with_sizes.resize(at + 1, false);
        }
        self.with_sizes[at] = true;
        id
    }

    /// Returns the region of which a region is a size class, and the least number of bytes of the class; the
    /// region itself and 0 for all others.
    pub(super) fn whole(&self, region: u32) -> (u32, u64) {
        let known = self.wholes.get(region as usize);
        known.copied().unwrap_or((region, 0))
    }

    /// Returns `true` if there are size classes.
    pub(super) fn has_sizes(&self) -> bool {
        !self.sizes.is_empty()
    }

    /// Sets the properties of a region.
    pub(super) fn describe(&mut self, id: RegionId, properties: &Region) {
        if let Some(nature) = self.natures.get_mut(id.index()) {
            *nature = Nature::of(properties);
            self.has_unknown |= *nature == Nature::UnknownFunctions;
        }
    }

    pub(super) fn nature(&self, id: RegionId) -> Option<Nature> {
        self.natures.get(id.index()).copied()
    }

    fn region_id(&self, program: u32, name: &str) -> Option<RegionId> {
        let of_program = self.region_ids.get(&program)?;
        of_program.get(name).copied().map(RegionId)
    }

    /// Returns the id of a counter, and `true` if it is the shared id.
    pub(super) fn counter(&mut self, name: &str, params: &CallsParams) -> (MetricId, bool) {
        if let Some(id) = self.counter_ids.get(name) {
            return (MetricId(*id), false);
        }
        let is_other = self.counters.len() >= params.names;
        let name = if is_other { OTHER } else { name };
        if is_other && let Some(id) = self.counter_ids.get(name) {
            return (MetricId(*id), true);
        }
        let watched = params.watched.iter().find(|(counter, _)| counter == name);
        let mut prefixes = params.monitoring.iter();
        let field = match watched {
            Some((_, field)) => Some(field.as_str()),
            None => prefixes.find_map(|prefix| name.strip_prefix(prefix.as_str())),
        };
        let kind = match field {
            Some(_) => CounterKind::OfNode,
            None if name == params.correlation => CounterKind::Correlation,
            None => CounterKind::OfCall,
        };
        let id = self.counters.len() as u32;
        let name: Arc<str> = name.into();
        self.counters
            .push((Arc::clone(&name), kind, field.unwrap_or_default().into()));
        self.counter_ids.insert(name, id);
        (MetricId(id), is_other)
    }

    pub(super) fn len(&self) -> usize {
        self.regions.len()
    }

    pub(super) fn region_name(&self, id: RegionId) -> Option<(u32, &str)> {
        let (program, name) = self.regions.get(id.index())?;
        Some((*program, name))
    }

    pub(super) fn counter_name(&self, id: MetricId) -> Option<&str> {
        self.counters.get(id.index()).map(|(name, _, _)| &**name)
    }

    /// Sets the unit and the mode of a counter. Units of plain counts are not stored.
    pub(super) fn describe_counter(&mut self, id: MetricId, unit: &str, mode: MetricMode) {
        if id.index() >= self.counters.len() {
            return;
        }
        if !COUNTS.contains(&unit) {
            self.units.insert(id.0, unit.into());
        }
        match mode {
            MetricMode::Accumulated => drop(self.accumulates.insert(id.0, true)),
            MetricMode::Absolute => drop(self.accumulates.insert(id.0, false)),
            _ => {}
        }
    }

    /// Returns `true` for a counter that is declared to accumulate, and `false` for one declared to be absolute.
    pub(super) fn accumulates(&self, counter: u32) -> Option<bool> {
        self.accumulates.get(&counter).copied()
    }

    /// Returns `true` for a counter of events of the hardware, which cannot be negative.
    pub(super) fn counts_events(&self, counter: MetricId) -> bool {
        let name = self.counter_name(counter);
        name.is_some_and(|name| name.starts_with(EVENTS))
    }

    /// Returns the name of a counter with its unit, unless the name contains it.
    pub(super) fn counter_label(&self, id: MetricId) -> Option<String> {
        let name = self.counter_name(id)?;
        Some(match self.units.get(&id.0) {
            Some(unit) if !name.contains(&**unit) => format!("{name} ({unit})"),
            _ => name.into(),
        })
    }

    pub(super) fn field(&self, id: MetricId) -> Option<&str> {
        let (_, kind, field) = self.counters.get(id.index())?;
        (*kind == CounterKind::OfNode).then_some(field)
    }

    #[inline]
    pub(super) fn kind(&self, id: MetricId) -> Option<CounterKind> {
        self.counters.get(id.index()).map(|(_, kind, _)| *kind)
    }
}
