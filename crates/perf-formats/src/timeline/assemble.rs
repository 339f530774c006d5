//! [`assemble`]: combines the parts read from files into one trace.

use super::arguments::Argument;
use super::layout::{Copies, Layout, Placed, Scribe};
use super::links;
use super::locations::{Places, in_order};
use super::names::Texts;
use super::part::Part;
use super::rank_groups::RankGroups;
use super::ranks_and_clocks::{YEAR_2001, align, begin};
use super::row::{Row, RowKey};
use super::{Kind, duplicate_files, most_text, outliers, rules, xla_devices};
use crate::Result;
use crate::read_context::ReadContext;
use perf_core::{
    Attribute, AttributeId, Clock, Definitions, Diagnostics, Error, Event, EventId, Events, KindId,
    Link, LocationId, Merge, Paradigm, Place, Region, RegionId, SystemTree, TimeRange, Trace,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Combines parts into a trace, and returns it with the diagnostics of all parts.
pub(crate) fn assemble(
    mut parts: Vec<Part>,
    options: &ReadContext,
) -> Result<(Trace, Diagnostics)> {
    for part in &mut parts {
        part.pair_marks();
        xla_devices::find(part);
        outliers::remove(part);
    }
    let mut found = Diagnostics::default();
    duplicate_files::remove(&mut parts, &mut found);
    align(&mut parts);
    let origin = parts.iter().filter_map(begin).min().unwrap_or_default();
    let mut whole = Whole {
        options,
        origin,
        places: Places::default(),
        definitions: Definitions::default(),
        regions: HashMap::new(),
        formed: HashSet::new(),
        room: most_text(options.get_limits()),
        texts: Texts::default(),
        kinds: HashMap::new(),
        copies: HashMap::new(),
        attributes: Vec::new(),
        groups: RankGroups::default(),
        columns: Vec::new(),
        links: Vec::new(),
        found,
    };
    whole.definitions.clock = clock(&parts, origin);
    let attribute = |name: &str, description: &str| Attribute {
        name: name.into(),
        description: description.into(),
    };
    whole.definitions.attributes = vec![
        attribute(
            "correlation",
            "correlation id of a launch and its device work",
        ),
        attribute("bytes", "bytes moved or allocated"),
    ];
    let several = parts.iter().filter(|part| !part.is_helper).count() > 1;
    for part in parts {
        let prefix = match part.rank {
            Some(rank) => format!("rank {rank}, "),
            None => String::new(),
        };
        whole.part(part, &prefix, several)?;
    }
    whole.finish()
}

/// Returns the clock, on which the first event has time 0. The wall-clock time of the first event is known if the first
/// file contains a base time, or if times interpreted as nanoseconds since 1970 are after 2001.
fn clock(parts: &[Part], origin: i128) -> Clock {
    let mut clock = Clock::default();
    let tells = parts.first().is_some_and(|part| part.base.is_some());
    if tells || origin > YEAR_2001 {
        clock.realtime = u64::try_from(origin).ok();
    }
    clock
}

/// Maximum number of categories that are listed for a row.
const MAX_CATEGORIES: usize = 8;

/// Returns the most frequent categories of the calls of each row as text. Empty for a part with recognised device
/// activities, whose categories are known.
fn categories(part: &mut Part) -> HashMap<RowKey, String> {
    if part.has_work() {
        return HashMap::new();
    }
    let text = |of: Vec<(u64, &str)>| {
        let of = of.into_iter().take(MAX_CATEGORIES);
        let of = of.map(|(count, name)| match name {
            "" => format!("no category ({count})"),
            name => format!("{name} ({count})"),
        });
        of.collect::<Vec<_>>().join(", ")
    };
    let found = part.categories().into_iter();
    found.map(|(row, of)| (row, text(of))).collect()
}

/// Identity of a region: number of the name, number of the long form, kind and programming model.
type RegionKey = (u32, Option<u32>, Kind, Paradigm);

struct Whole<'a> {
    /// Options of the read operation.
    options: &'a ReadContext,
    /// Time of the file that becomes tick 0.
    origin: i128,
    /// System tree under construction.
    places: Places,
    /// Definitions under construction.
    definitions: Definitions,
    /// Regions by identity.
    regions: HashMap<RegionKey, RegionId>,
    /// Names of regions with long forms.
    formed: HashSet<u32>,
    /// Remaining budget in bytes for copies of texts of regions; see [`most_text`].
    room: u64,
    /// Texts of all parts.
    texts: Texts,
    /// Kinds of instants by text.
    kinds: HashMap<u32, KindId>,
    /// Copies of regions for nested activities, by original region and number of the copy.
    copies: HashMap<(RegionId, usize), RegionId>,
    /// Attributes for the arguments of calls.
    attributes: Vec<(Argument, AttributeId)>,
    /// Groups of ranks.
    groups: RankGroups,
    /// Events of each location.
    columns: Vec<Events>,
    /// Links of all parts.
    links: Vec<Link>,
    /// Diagnostics of all parts.
    found: Diagnostics,
}

impl Whole<'_> {
    fn part(&mut self, mut part: Part, prefix: &str, several: bool) -> Result<()> {
        part.counters.sort();
        let regions = self.regions(&mut part)?;
        let kinds = self.kinds(&part);
        self.attributes(&part);
        let groups_of_ranks = self.groups.of(&mut self.definitions.comms, &part);
        let (types, first_set) = part.counters.define(
            &mut self.definitions.metrics,
            &mut self.definitions.metric_sets,
        );
        let order = in_order(&part);
        self.places.categories = categories(&mut part);
        let groups = self.places.groups(&part, &order, prefix);
        let points = flow_points(&part);
        let shift = i128::from(part.base.unwrap_or(0)) - self.origin;
        let window = Some(self.options.get_window()).filter(|window| *window != TimeRange::ALL);
        let (mut overlapping, mut trimmed, mut left_out) = (0, 0, 0);
        for number in order {
            self.options.advance(0, 0)?;
            let Some(mut row) = part.rows.get_mut(number as usize).map(take) else {
                continue;
            };
            let scribe = Scribe {
                shift,
                window,
                regions: &regions,
                kinds: &kinds,
                extras: &part.extras,
                arguments: &part.arguments,
                attributes: &self.attributes,
                groups: &groups_of_ranks,
            };
            let layout = match row.key {
                RowKey::Work { .. } => {
                    let mut copies = Copies {
                        regions: &mut self.definitions.regions,
                        known: &mut self.copies,
                        room: &mut self.room,
                        left_out: &mut left_out,
                        ends: HashMap::new(),
                    };
                    scribe.stream(&mut row.calls, &mut copies)?
                }
                RowKey::Counters { process } => {
                    let mut events = Events::default();
                    for (at, set, values) in part.counters.of(process, &types, first_set) {
                        let values = &values;
                        scribe.push(&mut events, at, Event::Metric { set, values }, 0)?;
                    }
                    Layout {
                        lanes: vec![events],
                        ..Layout::default()
                    }
                }
                _ => scribe.nest(&mut row.calls, &mut row.instants)?,
            };
            overlapping += layout.overlapping;
            trimmed += layout.trimmed;
            let own = points.get(&number).map_or(&[][..], Vec::as_slice);
            self.row(&mut part, &groups, &row, layout, own);
        }
        let place = || Place::file(Arc::clone(&part.file));
        self.found.add_many(rules::OVERLAP, overlapping, place());
        self.found.add_many(rules::TRIMMED, trimmed, place());
        self.found.add_many(rules::DEFINITIONS, left_out, place());
        let spots = links::Spots {
            locations: &self.places.locations,
            columns: &self.columns,
        };
        let linked = links::link(&part.extras, &mut part.flows, spots);
        self.found.add_many(rules::SHARED, linked.shared, place());
        self.found
            .add_many(rules::UNLINKED, linked.unlinked, place());
        self.found.add_many(rules::FLOW, linked.loose, place());
        self.links.extend(linked.links);
        self.found.merge(&part.found);
        let named = |(name, value): (String, String)| {
            if several {
                (format!("{prefix}{name}"), value)
            } else {
                (name, value)
            }
        };
        let properties = part.properties.into_iter().map(named);
        self.definitions.properties.extend(properties);
        Ok(())
    }

    /// Creates a location for each lane of a row, and resolves the positions of its events.
    fn row(
        &mut self,
        part: &mut Part,
        groups: &super::locations::Groups,
        row: &Row,
        mut layout: Layout,
        points: &[u32],
    ) {
        let first = self.columns.len() as u32;
        for (lane, events) in layout.lanes.iter_mut().enumerate() {
            self.places.location(part, groups, row.key, lane);
            let key = self.columns.len() as u64;
            self.columns.push(if self.options.wants(key) {
                events.shrink_to_fit();
                std::mem::take(events)
            } else {
                Events::absent()
            });
        }
        let wanted = |lane: u32| self.options.wants(u64::from(first + lane));
        let at = |placed: Placed| {
            let location = LocationId(first + placed.lane);
            let index = placed.index().filter(|_| wanted(placed.lane))?;
            Some(EventId { location, index })
        };
        let calls = row.calls.iter().zip(&layout.enters);
        let calls = calls.map(|(call, enter)| (call.extra, *enter));
        let instants = row.instants.iter().zip(&layout.instants);
        let instants = instants.map(|(it, placed)| (it.extra, *placed));
        for (extra, place) in calls.chain(instants) {
            let extra = (extra as usize).checked_sub(1);
            if let Some(extra) = extra.and_then(|extra| part.extras.get_mut(extra)) {
                extra.put(at(place));
            }
        }
        if !points.is_empty() {
            let calls = row.calls.iter().zip(&layout.enters);
            let calls: Vec<_> = calls
                .map(|(call, enter)| (call.start, call.end, at(*enter)))
                .collect();
            links::bind(&mut part.flows, points, &calls);
        }
    }

    /// Returns the regions of a part, indexed by their numbers in the part.
    fn regions(&mut self, part: &mut Part) -> Result<Vec<RegionId>> {
        let mut left_out = 0;
        let regions = (0..).zip(&part.names.regions);
        let own = regions.map(|(number, (text, kind))| {
            let name = part.names.get(*text);
            let form = part.names.long(number);
            let device = match kind {
                Kind::Host | Kind::User | Kind::Overhead => Paradigm::Unknown,
                Kind::Runtime | Kind::Kernel | Kind::Copy => part.paradigm(),
            };
            let number = self.texts.number(&name);
            let numbered = form.map(|form| (self.texts.number(&form), form));
            let mut form = numbered.filter(|(form, _)| *form != number);
            let key = |form: &Option<(u32, _)>| {
                let form = form.as_ref().map(|(form, _)| *form);
                (number, form, *kind, device)
            };
            if let Some(known) = self.regions.get(&key(&form)) {
                return Ok(*known);
            }
            if form
                .as_ref()
                .is_some_and(|(_, form)| !self.has_room(number, &name, form))
            {
                left_out += 1;
                form = None;
                if let Some(known) = self.regions.get(&key(&form)) {
                    return Ok(*known);
                }
            }
            let regions = &mut self.definitions.regions;
            let id = RegionId::from_index(regions.len()).filter(|id| id.0 <= Events::MAX_ID);
            let id = id.ok_or(Error::TooMany {
                what: "regions",
                limit: u64::from(Events::MAX_ID),
            })?;
            let mut region: Region = kind.region(&name, device);
            if let Some((_, form)) = &form {
                region.canonical = form.as_ref().to_owned();
            }
            regions.push(region);
            self.regions.insert(key(&form), id);
            Ok(id)
        });
        let own = own.collect();
        let place = Place::file(Arc::clone(&part.file));
        part.found.add_many(rules::DEFINITIONS, left_out, place);
        own
    }

    /// Deducts the texts of a region with a long form from the budget. Returns `false` if the budget is used up. Many
    /// regions may share a form or a name, but each region stores a copy of the text.
    fn has_room(&mut self, number: u32, name: &str, form: &str) -> bool {
        let again = if self.formed.contains(&number) {
            name.len()
        } else {
            0
        };
        let Some(rest) = self.room.checked_sub((form.len() + again) as u64) else {
            return false;
        };
        self.room = rest;
        self.formed.insert(number);
        true
    }

    /// Defines attributes for the additional arguments of a part.
    fn attributes(&mut self, part: &Part) {
        for name in part.arguments.names() {
            if self.attributes.iter().all(|it| it.0 != name) {
                let attributes = &mut self.definitions.attributes;
                let id = AttributeId(attributes.len() as u32);
                attributes.push(name.attribute());
                self.attributes.push((name, id));
            }
        }
    }

    /// Returns the event kinds of the instants of a part, by the numbers of their texts.
    fn kinds(&mut self, part: &Part) -> HashMap<u32, KindId> {
        let mut own = HashMap::new();
        for instant in part.rows.iter().flat_map(|row| &row.instants) {
            own.entry(instant.name).or_insert_with(|| {
                let name = part.names.get(instant.name);
                let kinds = &mut self.definitions.kinds;
                let known = self.kinds.entry(self.texts.number(&name));
                *known.or_insert_with(|| {
                    kinds.push(name.as_ref().to_owned());
                    KindId(kinds.len() as u32 - 1)
                })
            });
        }
        own
    }

    fn finish(self) -> Result<(Trace, Diagnostics)> {
        let mut definitions = self.definitions;
        self.groups
            .find_members(&mut definitions.comms, &self.places.locations);
        definitions.system = SystemTree::new(
            self.places.nodes,
            self.places.groups,
            self.places.locations,
            self.options.get_limits(),
        )?;
        let trace = Trace::new(definitions, self.columns)?;
        Ok((trace.with_links(self.links)?, self.found))
    }
}

fn take(row: &mut Row) -> Row {
    Row {
        key: row.key,
        calls: std::mem::take(&mut row.calls),
        instants: std::mem::take(&mut row.instants),
        marks: Vec::new(),
    }
}

/// Returns for each row the flow points that may bind to calls of the row.
fn flow_points(part: &Part) -> HashMap<u32, Vec<u32>> {
    let mut points: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut threads: HashMap<_, u32> = HashMap::new();
    for (number, row) in part.rows.iter().enumerate() {
        if let RowKey::Thread { process, thread } = row.key {
            threads.insert((process, thread), number as u32);
        }
    }
    for (index, flow) in part.flows.iter().enumerate() {
        let key = (flow.process, flow.thread);
        let work = part.shown.get(&key).into_iter().flatten();
        for row in work.chain(threads.get(&key)) {
            points.entry(*row).or_default().push(index as u32);
        }
    }
    points
}
