//! [`Anchor`]: writes the definitions of a profile (metrics, regions, call paths, machine and
//! topologies) as the XML document `anchor.xml`.

use super::super::names::{self, property};
use super::super::row_order::Forest;
use super::super::rules;
use super::value;
use crate::xml::escape;
use perf_core::{
    CartMembers, CartTopology, Diagnostics, LocationGroupId, MetricId, Place, Profile, Properties,
    Region, Scope, SystemNodeId,
};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Profile properties with texts of regions.
const TEXTS: [&str; 4] = [
    property::REGION_URL,
    property::DESCRIPTION,
    property::PARADIGM,
    property::ROLE,
];

pub(super) struct Anchor<'a> {
    /// Profile to write.
    profile: &'a Profile,
    /// Call tree in document order.
    forest: &'a Forest,
    /// Data types by metric.
    kinds: Vec<String>,
    /// Ranks of the location groups.
    ranks: Vec<Option<u64>>,
    /// Losses of the writer.
    lost: &'a mut Diagnostics,
    /// Address, description, paradigm and role of regions, see [`TEXTS`].
    texts: HashMap<u32, [&'a str; TEXTS.len()]>,
    /// Document under construction.
    text: String,
}

impl<'a> Anchor<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        forest: &'a Forest,
        kinds: Vec<String>,
        lost: &'a mut Diagnostics,
    ) -> Self {
        let mut texts: HashMap<u32, [&str; TEXTS.len()]> = HashMap::new();
        for (name, text) in profile.properties() {
            let (kind, id) = name.split_once(':').unwrap_or_default();
            let which = TEXTS.iter().position(|known| *known == kind);
            if let (Some(which), Ok(id)) = (which, id.parse()) {
                texts.entry(id).or_default()[which] = text;
            }
        }
        Anchor {
            profile,
            forest,
            kinds,
            ranks: profile.system().ranks(),
            lost,
            texts,
            text: String::new(),
        }
    }

    pub(super) fn document(mut self) -> String {
        self.line("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
        self.line("<cube version=\"4.4\">");
        let properties = self.profile.properties().iter();
        for (key, value) in properties.filter(|(key, _)| !property::is_own(key)) {
            self.attribute(key, value);
        }
        self.line("<doc>\n<mirrors>");
        let properties = self.profile.properties().iter();
        for (_, mirror) in properties.filter(|(key, _)| key == property::MIRROR) {
            self.field("murl", mirror);
        }
        self.line("</mirrors>\n</doc>");
        self.tree("metrics");
        self.metrics();
        self.line("</metrics>");
        self.tree("program");
        for (region, at) in self.profile.regions().iter().zip(0u32..) {
            self.region(region, at);
        }
        self.calls();
        self.line("</program>");
        self.tree("system");
        self.system();
        self.line("<topologies>");
        for topology in self.profile.topologies() {
            self.topology(topology);
        }
        self.line("</topologies>\n</system>\n</cube>");
        self.text
    }

    /// Begins one of the three trees.
    fn tree(&mut self, name: &str) {
        match self.own(property::TITLE, name) {
            Some(title) => self.line(&format!("<{name} title=\"{}\">", escape(title))),
            None => self.line(&format!("<{name}>")),
        }
    }

    /// Returns the profile property `kind` for the subject `of`, which follows a colon.
    fn own(&self, kind: &str, of: &str) -> Option<&'a str> {
        let own = |name: &str| {
            name.strip_prefix(kind)?
                .strip_prefix(':')
                .map(|is| is == of)
        };
        let mut properties = self.profile.properties().iter();
        let found = properties.find(|(name, _)| own(name) == Some(true));
        found.map(|(_, value)| value.as_str())
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn field(&mut self, name: &str, text: &str) {
        self.line(&format!("<{name}>{}</{name}>", escape(text)));
    }

    fn attribute(&mut self, key: &str, value: &str) {
        let (key, value) = (escape(key), escape(value));
        self.line(&format!("<attr key=\"{key}\" value=\"{value}\"/>"));
    }

    /// Writes the metrics as a tree. A metric in a cycle of parents becomes a root.
    fn metrics(&mut self) {
        let metrics = self.profile.metrics();
        let mut parents: Vec<_> = metrics
            .iter()
            .map(|about| about.metric.parent)
            .map(|parent| parent.filter(|parent| parent.index() < metrics.len()))
            .collect();
        // Start metric of the walk that last visited each metric; meeting it again means a cycle.
        let mut passed = vec![usize::MAX; metrics.len()];
        for start in 0..metrics.len() {
            let mut at = start;
            while passed[at] == usize::MAX {
                passed[at] = start;
                let Some(parent) = parents[at] else { break };
                at = parent.index();
                if passed[at] == start {
                    parents[at] = None;
                }
            }
        }
        let mut children = vec![Vec::new(); metrics.len()];
        let mut stack = Vec::new();
        for at in (0..metrics.len() as u32).rev() {
            match parents[at as usize] {
                Some(parent) => children[parent.index()].push(at),
                None => stack.push(Some(at)),
            }
        }
        while let Some(next) = stack.pop() {
            let Some(at) = next else {
                self.line("</metric>");
                continue;
            };
            self.metric(MetricId(at));
            stack.push(None);
            stack.extend(children[at as usize].iter().copied().map(Some));
        }
    }

    /// Writes a metric without its closing tag.
    fn metric(&mut self, id: MetricId) {
        let about = &self.profile.metrics()[id.index()];
        let kind = value(about, property::METRIC_TYPE).unwrap_or(match about.scope {
            Scope::Inclusive => "INCLUSIVE",
            Scope::Exclusive => "EXCLUSIVE",
        });
        let mut tag = format!("<metric id=\"{id}\" type=\"{}\"", escape(kind));
        if let Some(visibility) = value(about, property::VISIBILITY) {
            // Writing to a string cannot fail.
            let _ = write!(tag, " viztype=\"{}\"", escape(visibility));
        }
        for (key, name) in [
            ("cacheable", property::CACHEABLE),
            ("convertible", property::CONVERTIBLE),
        ] {
            if let Some(flag) = value(about, name) {
                let _ = write!(tag, " {key}=\"{}\"", escape(flag));
            }
        }
        self.line(&(tag + ">"));
        let metric = &about.metric;
        let display = value(about, property::DISPLAY_NAME).unwrap_or(&metric.name);
        self.field("disp_name", display);
        self.field("uniq_name", &metric.name);
        let kind = self.kinds[id.index()].clone();
        self.field("dtype", &kind);
        self.field("uom", &metric.unit);
        if let Some(values) = value(about, property::VALUES) {
            self.field("val", values);
        }
        self.field("url", value(about, property::URL).unwrap_or_default());
        self.field("descr", &metric.description);
        let counterpart = about.counterpart.and_then(|id| {
            let other = self.profile.metrics().get(id.index())?;
            Some(other.metric.name.clone())
        });
        if let Some(name) = counterpart {
            self.attribute(property::COUNTERPART, &name);
        }
        for (name, text) in &about.properties {
            match name.as_str() {
                property::EXPRESSION => {
                    let mut tag = String::from("<cubepl");
                    for (name, way) in &about.properties {
                        let name = name.strip_prefix(property::EVALUATION);
                        if let Some(name) = name.and_then(|name| name.strip_prefix(':')) {
                            let _ = write!(tag, " {name}=\"{}\"", escape(way));
                        }
                    }
                    self.line(&format!("{tag}>{}</cubepl>", escape(text)));
                }
                property::INIT => self.field("cubeplinit", text),
                name => match name.strip_prefix(property::AGGREGATION) {
                    Some(which) => {
                        let which = escape(which.trim_start_matches(':')).into_owned();
                        let text = escape(text);
                        self.line(&format!(
                            "<cubeplaggr cubeplaggrtype=\"{which}\">{text}</cubeplaggr>"
                        ));
                    }
                    None if name.starts_with("cube.") => {}
                    None => self.attribute(name, text),
                },
            }
        }
    }

    fn region(&mut self, region: &Region, id: u32) {
        let file = region.file.as_deref().unwrap_or_default();
        let lines = region.lines.map(|(begin, end)| (begin.into(), end.into()));
        let (begin, end): (i64, i64) = lines.unwrap_or((-1, -1));
        self.line(&format!(
            "<region id=\"{id}\" mod=\"{}\" begin=\"{begin}\" end=\"{end}\">",
            escape(file)
        ));
        self.field("name", &region.name);
        self.field("mangled_name", &region.canonical);
        // Only regions of Cube files have these texts.
        let [url, description, paradigm, role] = self.texts.get(&id).copied().unwrap_or_default();
        // The exact name is written as long as the region still has the same paradigm or role.
        let is_same = names::paradigm(paradigm) == region.paradigm && !paradigm.is_empty();
        let known = names::of_paradigm(region.paradigm);
        self.field("paradigm", if is_same { paradigm } else { known });
        let is_same = names::role(role) == region.role && !role.is_empty();
        self.field(
            "role",
            if is_same {
                role
            } else {
                names::of_role(region.role)
            },
        );
        self.field("url", url);
        self.field("descr", description);
        self.line("</region>");
    }

    fn calls(&mut self) {
        let mut stack: Vec<_> = self
            .forest
            .roots()
            .iter()
            .rev()
            .copied()
            .map(Some)
            .collect();
        while let Some(next) = stack.pop() {
            let Some(at) = next else {
                self.line("</cnode>");
                continue;
            };
            self.cnode(perf_core::CallPathId(at));
            stack.push(None);
            let children = self.forest.children(at).iter().rev();
            stack.extend(children.copied().map(Some));
        }
    }

    /// Writes a call path without its closing tag.
    fn cnode(&mut self, id: perf_core::CallPathId) {
        let calls = self.profile.calls();
        let Some(path) = calls.get(id) else { return };
        let mut tag = format!("<cnode id=\"{id}\"");
        let properties = calls.properties(id);
        for (key, name) in [("line", property::LINE), ("mod", property::FILE)] {
            if let Some((_, value)) = properties.iter().find(|(own, _)| own == name) {
                let _ = write!(tag, " {key}=\"{}\"", escape(value));
            }
        }
        let _ = write!(tag, " calleeId=\"{}\">", path.region);
        self.line(&tag);
        for (name, value) in properties {
            if let Some(parameter) = name.strip_prefix(property::PARAMETER) {
                let (kind, key) = parameter
                    .trim_start_matches(':')
                    .split_once(':')
                    .unwrap_or(("string", parameter));
                let (key, value) = (escape(key), escape(value));
                self.line(&format!(
                    "<parameter partype=\"{kind}\" parkey=\"{key}\" parvalue=\"{value}\"/>"
                ));
            } else if !name.starts_with("cube.") {
                self.attribute(name, value);
            }
        }
    }

    /// Writes nodes with their processes and locations. Locations without a process and processes
    /// without a node get new ones.
    fn system(&mut self) {
        let system = self.profile.system();
        let nodes = system.nodes();
        let mut node_groups = vec![Vec::new(); nodes.len() + 1];
        for (group, at) in system.groups().iter().zip(0u32..) {
            let node = group.parent.map_or(nodes.len(), SystemNodeId::index);
            node_groups[node].push(at);
        }
        let groups = system.groups().len();
        let mut group_locations = vec![Vec::new(); groups + 1];
        for (location, at) in system.locations().iter().zip(0u32..) {
            let group = location.group.map_or(groups, LocationGroupId::index);
            group_locations[group].push(at);
        }
        let is_whole = node_groups[nodes.len()].is_empty() && group_locations[groups].is_empty();
        let mut node_children = vec![Vec::new(); nodes.len()];
        let mut stack = Vec::new();
        for at in (0..nodes.len() as u32).rev() {
            match nodes[at as usize].parent {
                Some(parent) => node_children[parent.index()].push(at),
                None => stack.push(Some(at)),
            }
        }
        while let Some(next) = stack.pop() {
            let Some(at) = next else {
                self.line("</systemtreenode>");
                continue;
            };
            let node = &nodes[at as usize];
            self.line(&format!("<systemtreenode Id=\"{at}\">"));
            self.field("name", &node.name);
            self.field("class", &node.class);
            self.facts(&node.properties);
            for group in &node_groups[at as usize] {
                self.group(*group, &group_locations[*group as usize]);
            }
            stack.push(None);
            stack.extend(node_children[at as usize].iter().copied().map(Some));
        }
        if is_whole {
            return;
        }
        let place = Place::file("anchor.xml").record("system");
        self.lost.add(rules::SYSTEM_COMPLETED, place);
        self.line(&format!("<systemtreenode Id=\"{}\">", nodes.len()));
        self.field("name", "machine");
        self.field("class", "machine");
        for group in node_groups[nodes.len()].clone() {
            self.group(group, &group_locations[group as usize]);
        }
        if !group_locations[groups].is_empty() {
            self.line(&format!("<locationgroup Id=\"{groups}\">"));
            self.field("name", "process");
            self.field("rank", &groups.to_string());
            self.field("type", "process");
            self.locations(&group_locations[groups]);
            self.line("</locationgroup>");
        }
        self.line("</systemtreenode>");
    }

    fn group(&mut self, id: u32, locations: &[u32]) {
        let group = &self.profile.system().groups()[id as usize];
        self.line(&format!("<locationgroup Id=\"{id}\">"));
        self.field("name", &group.name);
        let rank = self.ranks.get(id as usize).copied().flatten();
        self.rank(&group.properties, rank.unwrap_or(id.into()));
        self.field("type", names::of_group_kind(group.kind));
        self.facts(&group.properties);
        self.locations(locations);
        self.line("</locationgroup>");
    }

    fn locations(&mut self, locations: &[u32]) {
        for (place, id) in locations.iter().enumerate() {
            let location = &self.profile.system().locations()[*id as usize];
            self.line(&format!("<location Id=\"{id}\">"));
            self.field("name", &location.name);
            self.rank(&location.properties, place as u64);
            self.field("type", names::of_location_kind(location.kind));
            self.facts(&location.properties);
            self.line("</location>");
        }
    }

    fn rank(&mut self, properties: &Properties, otherwise: u64) {
        match properties.get(property::RANK) {
            Some(rank) => self.field("rank", rank),
            None => self.field("rank", &otherwise.to_string()),
        }
    }

    /// Writes properties other than those with an element of their own.
    fn facts(&mut self, properties: &Properties) {
        for (name, value) in properties {
            match name {
                property::RANK => {}
                property::DESCRIPTION => self.field("descr", value),
                name => self.attribute(name, value),
            }
        }
    }

    fn topology(&mut self, topology: &CartTopology) {
        let key = match topology.of {
            CartMembers::Locations => "locId",
            CartMembers::Groups => "lgId",
            CartMembers::Nodes => "stnId",
            _ => {
                let place = Place::file("anchor.xml").record(topology.name.clone());
                self.lost.add(rules::TOPOLOGY_NOT_WRITTEN, place);
                return;
            }
        };
        let name = escape(&topology.name).into_owned();
        let count = topology.dimensions.len();
        self.line(&format!("<cart name=\"{name}\" ndims=\"{count}\">"));
        for axis in &topology.dimensions {
            self.line(&format!(
                "<dim name=\"{}\" size=\"{}\" periodic=\"{}\"/>",
                escape(&axis.name),
                axis.size,
                axis.periodic
            ));
        }
        for (id, point) in &topology.coordinates {
            let point: Vec<_> = point.iter().map(u32::to_string).collect();
            self.line(&format!(
                "<coord {key}=\"{id}\">{}</coord>",
                point.join(" ")
            ));
        }
        self.line("</cart>");
    }
}
