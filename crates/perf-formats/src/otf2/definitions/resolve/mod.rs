//! [`resolve()`]: converts the global definition file to the types of `perf-core`, [`Resolved`],
//! with placeholders for ids that events use without a definition.
//!
//! All records are read before any reference is resolved, because some tools write them in
//! arbitrary order. If an id is defined twice, the last definition is used, with one exception:
//! EZTrace gives the group of all communicating locations and the group of its first communicator
//! the same id, so the former is stored separately.

mod communicators;
mod forest;
mod regions;
mod system;

use super::id_maps::{IdMap, Maps, NONE, Unresolved};
use super::{DefinitionFile, Row};
use crate::otf2::archive::anchor::Anchor;
use crate::otf2::rules;
use crate::otf2::schema::{self, Kind, Space};
use crate::{Error, Result};
use perf_core::{
    Attribute, CallPath, Clock, Communicator, Definitions, Diagnostics, Limits, MetricSet, Place,
    Region, RegionId, Rule, Ticks, Unify, Window,
};
use std::collections::BTreeMap;

/// Resolved global definitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolved {
    /// Definitions of the trace.
    pub(crate) definitions: Definitions,
    /// Maps from ids of the file to dense ids.
    pub(crate) maps: Maps,
    /// Declared number of events by `LocationId`.
    pub(crate) declared: Vec<Option<u64>>,
    /// First tick and length in ticks, from the clock properties.
    pub(crate) span: Option<(u64, u64)>,
    /// Number of placeholders. It also counts those shared by all further ids of a space.
    placeholders: usize,
    /// Number of undefined ids so far.
    pub(crate) undefined: u64,
    /// Number of undefined ids when the tables of ids were last settled.
    settled: u64,
    /// Shared placeholder of each space.
    shared: BTreeMap<Space, u32>,
}

/// Maximum number of placeholders for a single id each. A damaged file can use a new id in every
/// event, and a placeholder takes far more memory than an event.
const PLACEHOLDERS: usize = 1 << 16;

type Table<'a> = BTreeMap<u64, Row<'a>>;

pub(super) struct Resolver<'a> {
    /// Definition file.
    file: &'a DefinitionFile,
    /// Limits on resources.
    limits: &'a Limits,
    /// Diagnostics of the definitions.
    found: &'a mut Diagnostics,
    /// Text and offset of each string id.
    strings: BTreeMap<u64, (&'a [u8], u64)>,
    /// Definitions of each space.
    tables: BTreeMap<Space, Table<'a>>,
    /// Properties, domains and coordinates, which have no id.
    loose: Vec<Row<'a>>,
    /// Clock properties.
    clock: Option<Row<'a>>,
    /// The communicating locations, by paradigm.
    comm_locations: BTreeMap<u8, Vec<u64>>,
    /// Bytes of names that may still be copied: many definitions can share one long string.
    text_left: u64,
    /// Number of ranks that communicators may still list: many of them can share one long group.
    members_left: u64,
}

/// Resolves a definition file. `keys` are the locations with files, ascending.
pub(crate) fn resolve(
    file: &DefinitionFile,
    anchor: &Anchor,
    keys: &[u64],
    unify: Unify,
    limits: &Limits,
    found: &mut Diagnostics,
) -> Result<Resolved> {
    let mut resolver = Resolver {
        file,
        limits,
        found,
        strings: BTreeMap::new(),
        tables: BTreeMap::new(),
        loose: Vec::new(),
        clock: None,
        comm_locations: BTreeMap::new(),
        text_left: (64 << 20) + 32 * file.size() as u64,
        members_left: u64::from(limits.definitions),
    };
    resolver.collect()?;
    let mut resolved = Resolved::default();
    resolver.properties(anchor, &mut resolved);
    resolver.clock(&mut resolved);
    resolver.system(keys, anchor, &mut resolved)?;
    resolver.regions(unify, &mut resolved);
    resolver.metrics(&mut resolved);
    resolver.comms(&mut resolved);
    resolver.windows(&mut resolved);
    resolver.attributes(&mut resolved);
    resolver.contexts(&mut resolved)?;
    resolver.topologies(&mut resolved);
    Ok(resolved)
}

impl<'a> Resolver<'a> {
    fn collect(&mut self) -> Result<()> {
        let mut counts = [0_u32; 256];
        for record in self.file.records() {
            let Some(known) = schema::definition(record.id) else {
                self.note(rules::UNKNOWN_RECORD, record.offset, || {
                    format!("record {}", record.id)
                });
                continue;
            };
            if let Some(count) = counts.get_mut(usize::from(record.id)) {
                *count += 1;
                let limit = self.limits.definitions;
                if *count > limit {
                    return Err(Error::Limit {
                        place: self.file.place(record.offset).record(known.name),
                        what: "the number of definitions of one kind",
                        got: u64::from(*count),
                        limit: u64::from(limit),
                    });
                }
            }
            match Row::parse(record, known, self.file.byte_order()) {
                Ok(row) => self.keep(row),
                Err(_) => {
                    self.note(rules::DAMAGED_RECORD, record.offset, || known.name.into());
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, row: Row<'a>) {
        let own = row.record.fields.first();
        let space = match own.map(|field| (field.name, field.kind)) {
            Some(("self", Kind::Id(space))) => space,
            _ => {
                match row.record.name {
                    "ClockProperties" => {
                        if self.clock.is_some() {
                            self.note(rules::DUPLICATE_DEFINITION, row.offset, || {
                                row.record.name.into()
                            });
                        }
                        self.clock = Some(row);
                    }
                    "SystemTreeNodeProperty" | "SystemTreeNodeDomain" | "CartCoordinate" => {
                        self.loose.push(row);
                    }
                    _ => {}
                }
                return;
            }
        };
        let (id, offset, name) = (row.get(0), row.offset, row.record.name);
        let twice = match space {
            Space::String => self.strings.insert(id, (row.text(1), offset)).is_some(),
            _ => {
                if space == Space::Group
                    && communicators::group_type(&row) == communicators::COMM_LOCATIONS
                {
                    let paradigm = communicators::group_paradigm(&row);
                    self.comm_locations.insert(paradigm, row.list(3));
                }
                let table = self.tables.entry(space).or_default();
                table.insert(id, row).is_some()
            }
        };
        if twice {
            self.note(rules::DUPLICATE_DEFINITION, offset, || {
                format!("{name} {id}")
            });
        }
    }

    fn note(&mut self, rule: Rule, offset: u64, record: impl FnOnce() -> String) {
        let place = self.file.place(offset).record(record());
        self.found.add(rule, place);
    }

    /// Removes the definitions of a space from the resolver and returns them by ascending id.
    fn take(&mut self, space: Space) -> Table<'a> {
        self.tables.remove(&space).unwrap_or_default()
    }

    /// Returns the text for the string id in a field, or an empty string if it is undefined.
    fn text(&mut self, row: &Row<'a>, field: usize) -> String {
        let Some(id) = row.id(field) else {
            return String::new();
        };
        self.string(id, row)
    }

    fn string(&mut self, id: u64, row: &Row<'a>) -> String {
        let about = || format!("{} {}", row.record.name, row.get(0));
        let Some((bytes, offset)) = self.strings.get(&id).copied() else {
            self.note(rules::UNRESOLVED_DEFINITION, row.offset, about);
            return format!("string {id}");
        };
        if offset > row.offset {
            self.note(rules::FORWARD_REFERENCE, row.offset, about);
        }
        let most = u64::from(self.limits.string).min(self.text_left);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let cut = bytes.get(..most).unwrap_or(bytes);
        if cut.len() < bytes.len() {
            self.note(rules::LONG_TEXT, offset, || format!("String {id}"));
            if self.text_left < bytes.len() as u64 {
                // The text budget is used up; numbered names keep the definitions distinct.
                return format!("string {id}");
            }
        }
        self.text_left = self.text_left.saturating_sub(cut.len() as u64);
        let text = String::from_utf8_lossy(cut);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            self.note(rules::BAD_TEXT, offset, || format!("String {id}"));
        }
        text.into_owned()
    }

    /// Returns the dense id that a field refers to. A dangling reference is dropped and counted.
    fn refer(&mut self, row: &Row<'a>, field: usize, map: &IdMap) -> Option<u32> {
        let id = row.id(field)?;
        let dense = map.get(id);
        if dense.is_none() {
            self.note(rules::UNRESOLVED_DEFINITION, row.offset, || {
                format!("{} {}", row.record.name, row.get(0))
            });
        }
        dense
    }

    fn forward(&mut self, row: &Row<'a>, target: &Row<'a>) {
        if target.offset > row.offset {
            self.note(rules::FORWARD_REFERENCE, row.offset, || {
                format!("{} {}", row.record.name, row.get(0))
            });
        }
    }

    fn properties(&mut self, anchor: &Anchor, resolved: &mut Resolved) {
        let (major, minor, bugfix) = anchor.version;
        let properties = &mut resolved.definitions.properties;
        let mut add = |key: &str, value: String| {
            if !value.is_empty() {
                properties.push((key.to_string(), value));
            }
        };
        add("otf2.version", format!("{major}.{minor}.{bugfix}"));
        add("otf2.creator", anchor.creator.clone());
        add("otf2.machine", anchor.machine.clone());
        add("otf2.description", anchor.description.clone());
        if let Some(id) = anchor.trace_id {
            add("otf2.trace_id", format!("{id:016x}"));
        }
        properties.extend(anchor.properties.iter().cloned());
    }

    fn clock(&mut self, resolved: &mut Resolved) {
        let Some(row) = self.clock.take() else {
            if !self.file.is_empty() {
                self.found.add(rules::CLOCK, self.file.place(0));
            }
            return;
        };
        let (offset, length) = (row.get(1), row.get(2));
        resolved.span = Some((offset, length));
        let clock = Clock::new(row.get(0), Ticks(offset));
        if clock.is_none() {
            self.note(rules::CLOCK, row.offset, || "ClockProperties".into());
        }
        let nanos = Clock::new(1_000_000_000, Ticks(offset)).unwrap_or_default();
        resolved.definitions.clock = clock.unwrap_or(nanos);
        resolved.definitions.clock.realtime = row.number(3).filter(|time| *time != u64::MAX);
    }

    fn attributes(&mut self, resolved: &mut Resolved) {
        let mut ids = Vec::new();
        for (id, row) in self.take(Space::Attribute) {
            ids.push((id, resolved.definitions.attributes.len() as u32));
            let name = self.text(&row, 1);
            let description = self.text(&row, 3);
            let attributes = &mut resolved.definitions.attributes;
            attributes.push(Attribute { name, description });
        }
        resolved.maps.attributes = IdMap::new(&ids);
    }
}

impl Resolved {
    /// Returns the number of definitions of a space.
    pub(crate) fn count(&self, space: Space) -> u32 {
        let definitions = &self.definitions;
        let count = match space {
            Space::Region => definitions.regions.len(),
            Space::Comm => definitions.comms.len(),
            Space::Metric => definitions.metric_sets.len(),
            Space::RmaWin => definitions.windows.len(),
            Space::Attribute => definitions.attributes.len(),
            Space::CallingContext => definitions.contexts.paths().len(),
            _ => 0,
        };
        u32::try_from(count).unwrap_or(NONE)
    }

    /// Creates placeholders, named by their id, for undefined ids.
    pub(crate) fn add_placeholders(&mut self, unresolved: &Unresolved) -> Result<()> {
        self.undefined += unresolved.len() as u64;
        for (space, id) in unresolved.ids() {
            self.add_placeholder(space, id)?;
        }
        // Settling visits all ids, so it waits until their number has doubled.
        if self.undefined < 2 * self.settled {
            return Ok(());
        }
        self.settled = self.undefined;
        for space in Space::MAPPED {
            if let Some(map) = self.maps.of_mut(space) {
                map.settle();
            }
        }
        Ok(())
    }

    pub(crate) fn add_placeholder(&mut self, space: Space, id: u64) -> Result<u32> {
        let is_shared = self.placeholders >= PLACEHOLDERS;
        if is_shared && let Some(dense) = self.shared.get(&space).copied() {
            if let Some(map) = self.maps.of_mut(space) {
                map.insert(id, dense);
            }
            return Ok(dense);
        }
        let dense = self.count(space);
        let name = if is_shared {
            self.shared.insert(space, dense);
            format!("{} {id} and others", space.noun())
        } else {
            self.placeholders += 1;
            format!("{} {id}", space.noun())
        };
        let definitions = &mut self.definitions;
        match space {
            Space::Region => definitions.regions.push(Region::named(name)),
            Space::Comm => definitions.comms.push(Communicator {
                name,
                ..Communicator::default()
            }),
            Space::Metric => definitions.metric_sets.push(MetricSet::default()),
            Space::RmaWin => definitions.windows.push(Window { name, comm: None }),
            Space::Attribute => definitions.attributes.push(Attribute {
                name,
                description: String::new(),
            }),
            Space::CallingContext => {
                let region = definitions.regions.len() as u32;
                definitions.regions.push(Region::named(name));
                definitions.contexts.push(CallPath {
                    region: RegionId(region),
                    parent: None,
                })?;
                self.maps.context_regions.push(region);
            }
            _ => {}
        }
        if let Some(map) = self.maps.of_mut(space) {
            map.insert(id, dense);
        }
        Ok(dense)
    }
}

/// Returns the place of an undefined id in an event file, for diagnostics.
pub(crate) fn unresolved_place(file: &str, space: Space, id: u64) -> Place {
    Place::file(file).record(format!("{} {id}", space.noun()))
}
