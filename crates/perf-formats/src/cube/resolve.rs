//! From what an anchor says to the nouns: ids become indices, references are checked.

use super::anchor::{Anchor, Cart, Item, Metric, Space, Whose};
use super::dtype::DataType;
use super::names::{self, property};
use super::order::{Forest, Order};
use super::rules;
use crate::{Error, OpenOptions, Result};
use perf_core::{
    CallPath, CallPathId, CallTree, CartDimension, CartMembers, CartTopology, Combine, Diagnostics,
    Location, LocationGroup, LocationGroupId, MetricId, Place, ProfileMetric, Region, RegionId,
    Scope, SystemNode, SystemNodeId, SystemTree, ValueType,
};
use std::sync::Arc;

/// The definitions of a profile, and what its rows need.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    pub(super) system: SystemTree,
    pub(super) regions: Vec<Region>,
    pub(super) calls: CallTree,
    pub(super) metrics: Vec<ProfileMetric>,
    pub(super) topologies: Vec<CartTopology>,
    pub(super) properties: Vec<(String, String)>,
    /// Siblings in the order of the document.
    pub(super) forest: Forest,
    /// Ids of the file, by call path.
    pub(super) cnodes: Vec<u64>,
    /// Layout, numbering and members, by metric.
    pub(super) stored: Vec<Stored>,
}

/// How the rows of a metric are stored.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) id: u64,
    pub(super) kind: DataType,
    pub(super) order: Order,
    /// Name of its members, without extension.
    pub(super) member: String,
    /// Whether it may have rows: derived metrics and those of no values have none.
    pub(super) has_rows: bool,
}

/// From ids of the file to indices: ids with their indices, by ascending id.
struct Ids<K>(Vec<(K, u32)>);

impl<K: Ord> Ids<K> {
    fn get(&self, id: &K) -> Option<u32> {
        let at = self.0.binary_search_by(|(own, _)| own.cmp(id)).ok()?;
        self.0.get(at).map(|(_, index)| *index)
    }
}

pub(super) struct Resolver<'a> {
    pub(super) file: &'a Arc<str>,
    pub(super) options: &'a OpenOptions<'a>,
    pub(super) found: &'a mut Diagnostics,
    /// Whether rows are text, as in Cube3, so that types of metrics mean nothing.
    pub(super) is_text: bool,
}

impl Resolver<'_> {
    pub(super) fn resolve(&mut self, anchor: Anchor) -> Result<Resolved> {
        let mut resolved = Resolved {
            properties: anchor.attributes,
            ..Resolved::default()
        };
        self.metrics(anchor.metrics, &mut resolved)?;
        let mut regions = anchor.regions;
        let region_ids = self.ids(&mut regions, "region", |region| (region.id, region.at))?;
        resolved.regions = regions.into_iter().map(region).collect();
        self.calls(anchor.cnodes, &region_ids, &mut resolved)?;
        self.system(
            anchor.nodes,
            anchor.groups,
            anchor.locations,
            anchor.carts,
            &mut resolved,
        )?;
        let clustering = ("CLUSTERING".to_string(), "ON".to_string());
        if resolved.properties.contains(&clustering) {
            self.found.add(rules::CLUSTERING, self.place(0));
        }
        Ok(resolved)
    }

    fn place(&self, at: usize) -> Place {
        Place::file(Arc::clone(self.file)).at(at as u64)
    }

    /// Sorts things by id, so that an index is the rank of an id. An id that is used twice is an
    /// error: which one is meant cannot be told.
    fn ids<T, K: Copy + Ord + std::fmt::Debug>(
        &self,
        things: &mut [T],
        what: &str,
        key: impl Fn(&T) -> (K, usize),
    ) -> Result<Ids<K>> {
        things.sort_by_key(|thing| key(thing).0);
        let mut ids: Vec<(K, u32)> = Vec::with_capacity(things.len());
        for (thing, index) in things.iter().zip(0u32..) {
            let (id, at) = key(thing);
            if ids.last().is_some_and(|(last, _)| *last == id) {
                return Err(Error::Malformed {
                    place: self.place(at),
                    expected: format!("each {what} to have an id of its own"),
                    got: format!("{id:?} twice"),
                });
            }
            ids.push((id, index));
        }
        Ok(Ids(ids))
    }

    fn unresolved(&mut self, at: usize, what: String) {
        let place = self.place(at).record(what);
        self.found.add(rules::UNRESOLVED, place);
    }

    fn metrics(&mut self, metrics: Vec<Metric>, resolved: &mut Resolved) -> Result<()> {
        // Parents are places in the document, so that those are noted before sorting.
        let parents: Vec<_> = metrics.iter().map(|metric| metric.id).collect();
        let mut metrics = metrics;
        let ids = self.ids(&mut metrics, "metric", |metric| (metric.id, metric.at))?;
        for mut metric in metrics {
            let parent = metric.parent.and_then(|at| ids.get(parents.get(at)?));
            let parent = parent.map(MetricId);
            // Numbers of a text have one type, whatever it says.
            if self.is_text {
                metric.data_type = "DOUBLE".into();
            }
            let kind = DataType::named(&metric.data_type).unwrap_or_else(|| {
                let place = self.place(metric.at).record(metric.unique.clone());
                self.found.add(rules::UNKNOWN_TYPE, place);
                DataType::Double
            });
            let (about, stored) = describe(metric, parent, kind);
            resolved.metrics.push(about);
            resolved.stored.push(stored);
        }
        Ok(())
    }

    fn calls(
        &mut self,
        mut cnodes: Vec<super::anchor::Cnode>,
        regions: &Ids<u64>,
        resolved: &mut Resolved,
    ) -> Result<()> {
        // A call path is called what the file calls it, as far as ids allow: here parents come
        // first. Where they do not in the file, the order of the document has to do.
        let in_document: Vec<u64> = cnodes.iter().map(|cnode| cnode.id).collect();
        let parent_of = |cnode: &super::anchor::Cnode| {
            let parent = cnode.parent.and_then(|at| in_document.get(at));
            parent.copied()
        };
        let is_sorted = cnodes
            .iter()
            .all(|cnode| parent_of(cnode).is_none_or(|parent| parent < cnode.id));
        let ids: Ids<u64> = if is_sorted {
            self.ids(&mut cnodes, "call path", |cnode| (cnode.id, cnode.at))?
        } else {
            let mut ids: Vec<_> = in_document.iter().copied().zip(0..).collect();
            ids.sort_unstable();
            let mut copy: Vec<_> = cnodes.iter().map(|cnode| (cnode.id, cnode.at)).collect();
            self.ids(&mut copy, "call path", |cnode| *cnode)?;
            Ids(ids)
        };
        let mut parents = Vec::with_capacity(cnodes.len());
        for cnode in cnodes {
            let region = match regions.get(&cnode.callee) {
                Some(region) => RegionId(region),
                None => {
                    let what = format!("call path {}, region {}", cnode.id, cnode.callee);
                    self.unresolved(cnode.at, what);
                    self.placeholder(resolved)?
                }
            };
            let parent = parent_of(&cnode).and_then(|id| ids.get(&id));
            let parent = parent.map(CallPathId);
            let id = resolved.calls.push(CallPath { region, parent })?;
            parents.push(parent);
            resolved.cnodes.push(cnode.id);
            let own = [
                (property::LINE, cnode.line),
                (property::FILE, cnode.file.filter(|file| !file.is_empty())),
            ];
            for (name, value) in own {
                if let Some(value) = value.filter(|value| value != "-1") {
                    resolved.calls.annotate(id, name, value);
                }
            }
            for (key, value) in cnode.parameters {
                let name = format!("{}:{key}", property::PARAMETER);
                resolved.calls.annotate(id, name, value);
            }
            for (key, value) in cnode.attributes {
                resolved.calls.annotate(id, key, value);
            }
        }
        let document = in_document.iter().filter_map(|id| ids.get(id));
        resolved.forest = Forest::new(&parents, document);
        Ok(())
    }

    /// A region that stands for those that are not defined.
    fn placeholder(&self, resolved: &mut Resolved) -> Result<RegionId> {
        const NAME: &str = "undefined region";
        if resolved.regions.last().is_none_or(|last| last.name != NAME) {
            resolved.regions.push(Region::named(NAME));
        }
        let id = RegionId::from_index(resolved.regions.len() - 1);
        id.ok_or_else(|| Error::Usage {
            what: "more than 2^32 regions".into(),
        })
    }

    fn system(
        &mut self,
        mut nodes: Vec<Item>,
        mut groups: Vec<Item>,
        mut locations: Vec<Item>,
        carts: Vec<Cart>,
        resolved: &mut Resolved,
    ) -> Result<()> {
        let node_keys: Vec<_> = nodes.iter().map(|node| (node.space, node.id)).collect();
        let group_keys: Vec<_> = groups.iter().map(|group| group.id).collect();
        let key = |node: &Item| ((node.space, node.id), node.at);
        let node_ids = self.ids(&mut nodes, "system node", key)?;
        let key = |item: &Item| (item.id, item.at);
        let group_ids = self.ids(&mut groups, "process", key)?;
        let location_ids = self.ids(&mut locations, "location", key)?;
        if let Some(gap) = (0u64..).zip(&locations).find(|(at, item)| *at != item.id) {
            let place = self.place(gap.1.at);
            self.found.add(rules::SPARSE_LOCATIONS, place);
        }
        let node_of = |at: Option<usize>| {
            let index = node_ids.get(node_keys.get(at?)?)?;
            Some(SystemNodeId(index))
        };
        let nodes = nodes.into_iter().map(|item| SystemNode {
            parent: node_of(item.parent),
            properties: properties(&item, &[(property::DESCRIPTION, &item.description)]),
            name: item.name,
            class: item.class,
        });
        let nodes = nodes.collect();
        let groups = groups.into_iter().map(|item| LocationGroup {
            // Cube3 has processes and threads alone, and no word for their kind.
            kind: names::group_kind(or(&item.class, "process")),
            parent: node_of(item.parent),
            creator: None,
            properties: properties(&item, &[(property::RANK, &item.rank)]),
            name: item.name,
        });
        let groups = groups.collect();
        let group_of = |at: Option<usize>| {
            let index = group_ids.get(group_keys.get(at?)?)?;
            Some(LocationGroupId(index))
        };
        let locations = locations.into_iter().map(|item| Location {
            kind: names::location_kind(or(&item.class, "thread")),
            group: group_of(item.parent),
            key: item.id,
            properties: properties(&item, &[(property::RANK, &item.rank)]),
            name: item.name,
        });
        let locations = locations.collect();
        let limits = self.options.get_limits();
        resolved.system = SystemTree::new(nodes, groups, locations, limits)?;
        for cart in carts {
            let topologies = self.topologies(&cart, |whose, id| match whose {
                Whose::Location => location_ids.get(&id),
                Whose::Group => group_ids.get(&id),
                Whose::Node(space) => {
                    let exact = node_ids.get(&(space, id));
                    // Files of version 4 with the old keys have nodes of either kind.
                    let any = || node_ids.get(&(Space::Any, id));
                    exact.or_else(any)
                }
            });
            resolved.topologies.extend(topologies);
        }
        Ok(())
    }

    /// The topologies of a `<cart>`: one, unless it is over several kinds of things.
    fn topologies(
        &mut self,
        cart: &Cart,
        find: impl Fn(Whose, u64) -> Option<u32>,
    ) -> Vec<CartTopology> {
        let dimension = |(name, size, periodic): &(String, u32, bool)| CartDimension {
            name: name.clone(),
            size: *size,
            periodic: *periodic,
        };
        let dimensions: Vec<_> = cart.dimensions.iter().map(dimension).collect();
        let mut coordinates: [Vec<(u32, Vec<u32>)>; 3] = Default::default();
        for (whose, id, text) in &cart.coordinates {
            let numbers = text.split_ascii_whitespace().map(str::parse);
            let numbers: Result<Vec<u32>, _> = numbers.collect();
            let fits = |numbers: &Vec<u32>| {
                let mut pairs = numbers.iter().zip(&dimensions);
                numbers.len() == dimensions.len() && pairs.all(|(at, axis)| *at < axis.size)
            };
            let Some(numbers) = numbers.ok().filter(fits) else {
                let place = self.place(cart.at).record(cart.name.clone());
                self.found.add(rules::BAD_COORDINATES, place);
                continue;
            };
            let Some(index) = find(*whose, *id) else {
                let what = format!("topology {:?}, id {id}", cart.name);
                self.unresolved(cart.at, what);
                continue;
            };
            let kind = match whose {
                Whose::Location => 0,
                Whose::Group => 1,
                Whose::Node(_) => 2,
            };
            coordinates[kind].push((index, numbers));
        }
        let kinds = [
            CartMembers::Locations,
            CartMembers::Groups,
            CartMembers::Nodes,
        ];
        let parts = kinds.into_iter().zip(coordinates);
        let used: Vec<_> = parts.filter(|(_, points)| !points.is_empty()).collect();
        if used.len() > 1 {
            let place = self.place(cart.at).record(cart.name.clone());
            self.found.add(rules::MIXED_TOPOLOGY, place);
        }
        let topology = |(of, coordinates)| CartTopology {
            name: cart.name.clone(),
            of,
            comm: None,
            dimensions: dimensions.clone(),
            coordinates,
        };
        match used.is_empty() {
            true => vec![topology((CartMembers::Locations, Vec::new()))],
            false => used.into_iter().map(topology).collect(),
        }
    }
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

fn properties(item: &Item, own: &[(&str, &String)]) -> Vec<(String, String)> {
    let own = own.iter().filter(|(_, value)| !value.is_empty());
    let own = own.map(|(name, value)| ((*name).to_string(), (*value).clone()));
    own.chain(item.attributes.iter().cloned()).collect()
}

fn region(region: super::anchor::Region) -> Region {
    let (begin, end) = region.lines;
    let begin = u32::try_from(begin).ok();
    let end = u32::try_from(end).ok();
    Region {
        canonical: or(&region.mangled, &region.name).to_string(),
        paradigm: names::paradigm(&region.paradigm),
        role: names::role(&region.role),
        file: Some(region.file).filter(|file| !file.is_empty()),
        lines: begin.map(|begin| (begin, end.unwrap_or(begin))),
        name: region.name,
    }
}

/// What a metric is, and how it is stored.
fn describe(metric: Metric, parent: Option<MetricId>, kind: DataType) -> (ProfileMetric, Stored) {
    let is_derived = match metric.kind.as_str() {
        "POSTDERIVED" | "DERIVED" => true,
        other => other.starts_with("PREDERIVED"),
    };
    let scope = match metric.kind.as_str() {
        "INCLUSIVE" | "PREDERIVED_INCLUSIVE" | "POSTDERIVED" | "DERIVED" => Scope::Inclusive,
        // A type that is missing is EXCLUSIVE; simple metrics are of their call path alone.
        _ => Scope::Exclusive,
    };
    let mut properties = Vec::new();
    let mut keep = |name: &str, value: String, usual: &str| {
        if !value.is_empty() && value != usual {
            properties.push((name.to_string(), value));
        }
    };
    keep(property::DATA_TYPE, metric.data_type, "");
    if is_derived || metric.kind == "SIMPLE" {
        keep(property::METRIC_TYPE, metric.kind.clone(), "");
    }
    keep(property::DISPLAY_NAME, metric.display, &metric.unique);
    keep(property::URL, metric.url, "");
    keep(property::VISIBILITY, metric.visibility.clone(), "NORMAL");
    keep(property::EXPRESSION, metric.expression, "");
    keep(property::INIT, metric.init, "");
    for (which, expression) in metric.aggregations {
        let name = format!("{}:{which}", property::AGGREGATION);
        keep(&name, expression, "");
    }
    properties.extend(metric.attributes);
    let (value_type, combine) = match is_derived {
        true => (ValueType::F64, Combine::Never(1)),
        false => (kind.value_type(), kind.combine()),
    };
    let prefix = match metric.visibility.as_str() {
        "GHOST" => "ghost_",
        _ => "",
    };
    let stored = Stored {
        id: metric.id,
        kind,
        order: Order::of(scope, metric.kind == "SIMPLE"),
        member: format!("{prefix}{}", metric.id),
        has_rows: !is_derived && !metric.is_void,
    };
    let metric = perf_core::Metric {
        name: metric.unique,
        description: metric.description,
        unit: metric.unit,
        value_type,
        parent,
        ..perf_core::Metric::default()
    };
    let about = ProfileMetric {
        metric,
        scope,
        combine,
        properties,
    };
    (about, stored)
}
