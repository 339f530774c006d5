//! Methods of the [`Parser`] of `anchor.xml` for opening tags: each metric, region, call path, part
//! of the machine, topology or row of Cube3 gets an entry in its table.

use super::super::names::{self, property};
use super::parse::Parser;
use super::stack::What;
use super::{Cart, Cnode, Metric, Space, TextRow, Whose};
use crate::xml::{self, Tag, number, text};
use crate::{Error, Result};
use perf_core::{Location, LocationGroup, LocationGroupId, Region, SystemNode, SystemNodeId};

fn owned(raw: Option<&[u8]>) -> String {
    match raw {
        None | Some([]) => String::new(),
        Some(raw) => text(raw).into_owned(),
    }
}

impl<'a> Parser<'a, '_> {
    /// Returns the kind of an element; `end` is the end of its tag.
    pub(super) fn element(&mut self, tag: &Tag<'a>, end: usize) -> Result<What> {
        Ok(match tag.name {
            b"cube" => {
                self.anchor.version = self.values.text("version");
                What::Other
            }
            b"murl" if self.stack.name() == b"mirrors" => What::Field,
            b"metrics" | b"program" | b"system" if self.stack.name() == b"cube" => {
                if let Some(title) = self.values.raw("title") {
                    let name = format!("{}:{}", property::TITLE, text(tag.name));
                    self.anchor.around.push((name, owned(Some(title))));
                }
                What::Other
            }
            b"metric" => What::Metric(self.metric(tag)?),
            b"region" => What::Region(self.region(tag)?),
            b"cnode" => What::Cnode(self.cnode(tag)?),
            b"systemtreenode" => What::Node(self.node(tag, Space::Any, "")?),
            b"machine" => What::Node(self.node(tag, Space::Machine, "machine")?),
            b"node" => What::Node(self.node(tag, Space::Node, "node")?),
            b"locationgroup" | b"process" => What::Group(self.group(tag)?),
            b"location" | b"thread" => What::Location(self.location(tag)?),
            b"cart" => {
                self.anchor.carts.push(Cart {
                    name: self.values.text("name"),
                    at: tag.at,
                    ..Cart::default()
                });
                self.count(self.anchor.carts.len(), "topologies", tag.at)?;
                What::Cart
            }
            b"dim" => self.dimension(),
            b"coord" => self.coordinate(tag),
            b"attr" => {
                let [key, value] = self.values.each(["key", "value"]).map(owned);
                self.attribute(key, value);
                What::Other
            }
            b"parameter" => self.parameter(),
            b"matrix" => {
                let metric = self.id(tag, self.values.raw("metricId"), "metricId")?;
                let at = u32::try_from(self.matrices.len()).unwrap_or(u32::MAX);
                self.matrices.push(metric);
                What::Matrix(at)
            }
            b"row" => {
                let Some(metric) = self.matrix() else {
                    let expected = "<row> within <matrix>".into();
                    return Err(self.malformed(tag.at, expected, "elsewhere".into()));
                };
                let cnode = self.id(tag, self.values.raw("cnodeId"), "cnodeId")?;
                let at = end..end;
                self.anchor.rows.push(TextRow { metric, cnode, at });
                What::Row
            }
            _ => match self.stack.last() {
                None | Some(What::Other | What::Field | What::Row | What::Matrix(_)) => What::Other,
                Some(_) => {
                    match tag.name {
                        b"cubeplaggr" => self.detail = self.values.text("cubeplaggrtype"),
                        b"cubepl" => self.expression(),
                        _ => {}
                    }
                    What::Field
                }
            },
        })
    }

    #[inline]
    fn id(&self, tag: &Tag<'_>, raw: Option<&[u8]>, name: &str) -> Result<u64> {
        match raw.and_then(xml::id) {
            Some(id) => Ok(id),
            None => Err(self.no_id(tag, raw, name)),
        }
    }

    #[cold]
    fn no_id(&self, tag: &Tag<'_>, raw: Option<&[u8]>, name: &str) -> Error {
        let got = raw.map_or("none".into(), text).into_owned();
        let expected = format!("a number as {name} of <{}>", text(tag.name));
        self.malformed(tag.at, expected, got)
    }

    /// Returns the index of the last of `count` elements, or an error if there are too many.
    fn count(&self, count: usize, what: &'static str, at: usize) -> Result<u32> {
        let limit = self.options.get_limits().definitions;
        match u32::try_from(count) {
            Ok(few) if few <= limit => Ok(few.saturating_sub(1)),
            _ => Err(Error::Limit {
                place: self.place(at),
                what,
                got: count as u64,
                limit: limit.into(),
            }),
        }
    }

    fn metric(&mut self, tag: &Tag<'a>) -> Result<u32> {
        let parent = self.stack.inside(|what| match what {
            What::Metric(at) => Some(*at),
            _ => None,
        });
        let [id, kind, visibility, cacheable, convertible] =
            self.values
                .each(["id", "type", "viztype", "cacheable", "convertible"]);
        let id = if self.is_numbered {
            self.anchor.metrics.ids.len() as u64
        } else {
            self.id(tag, id, "id")?
        };
        let flags = [
            (property::CACHEABLE, cacheable),
            (property::CONVERTIBLE, convertible),
        ];
        let flags = flags.into_iter().filter(|(_, raw)| raw.is_some());
        let metric = Metric {
            parent,
            kind: owned(kind),
            visibility: owned(visibility),
            flags: flags.map(|(name, raw)| (name.into(), owned(raw))).collect(),
            ..Metric::default()
        };
        let metrics = &mut self.anchor.metrics;
        metrics.push(id, tag.at, metric);
        let count = metrics.ids.len();
        self.count(count, "metrics", tag.at)
    }

    /// Stores the evaluation mode for the expression of the open metric.
    fn expression(&mut self) {
        const WAYS: [&str; 2] = ["rowwise", "locationwise"];
        let Some(What::Metric(at)) = self.stack.last() else {
            return;
        };
        let Some(metric) = self.anchor.metrics.things.get_mut(at as usize) else {
            return;
        };
        for (way, raw) in WAYS.into_iter().zip(self.values.each(WAYS)) {
            if raw.is_some() {
                let name = format!("{}:{way}", property::EVALUATION);
                metric.flags.push((name, owned(raw)));
            }
        }
    }

    fn region(&mut self, tag: &Tag<'a>) -> Result<u32> {
        let [id, file, begin, end] = self.values.each(["id", "mod", "begin", "end"]);
        let id = self.id(tag, id, "id")?;
        // An unknown line is -1.
        let line = |raw: Option<&[u8]>| raw.and_then(number::<u32>);
        let region = Region {
            file: Some(owned(file)).filter(|file| !file.is_empty()),
            lines: line(begin).map(|begin| (begin, line(end).unwrap_or(begin))),
            ..Region::default()
        };
        let regions = &mut self.anchor.regions;
        regions.push(id, tag.at, region);
        let count = regions.ids.len();
        self.count(count, "regions", tag.at)
    }

    fn cnode(&mut self, tag: &Tag<'a>) -> Result<u32> {
        let parent = self.stack.inside(|what| match what {
            What::Cnode(at) => Some(*at),
            _ => None,
        });
        let [id, line, file, callee] = self.values.each(["id", "line", "mod", "calleeId"]);
        let id = self.id(tag, id, "id")?;
        let callee = self.id(tag, callee, "calleeId")?;
        let cnodes = &mut self.anchor.cnodes;
        let cnode = Cnode {
            id,
            at: tag.at,
            parent,
            callee,
        };
        cnodes.push(id, tag.at, cnode);
        let count = cnodes.ids.len();
        let at = self.count(count, "call paths", tag.at)?;
        let line = line.filter(|line| *line != b"-1");
        let file = file.filter(|file| !file.is_empty() && *file != b"-1");
        for (name, value) in [(property::LINE, line), (property::FILE, file)] {
            if value.is_some() {
                let fact = (at, name.to_string(), owned(value));
                self.anchor.parameters.push(fact);
            }
        }
        Ok(at)
    }

    fn parameter(&mut self) -> What {
        if let Some(What::Cnode(at)) = self.stack.last() {
            let [kind, key, value] = self.values.each(["partype", "parkey", "parvalue"]);
            let kind = kind.map_or("string".into(), text);
            let name = format!("{}:{kind}:{}", property::PARAMETER, owned(key));
            let fact = (at, name, owned(value));
            self.anchor.parameters.push(fact);
        }
        What::Other
    }

    /// Returns the id of the metric whose matrix is the innermost element.
    fn matrix(&self) -> Option<u64> {
        let Some(What::Matrix(at)) = self.stack.last() else {
            return None;
        };
        self.matrices.get(at as usize).copied()
    }

    /// Returns the open system node.
    fn parent(&self) -> Option<SystemNodeId> {
        let at = self.stack.inside(|what| match what {
            What::Node(at) => Some(*at),
            _ => None,
        });
        at.map(SystemNodeId)
    }

    fn node(&mut self, tag: &Tag<'a>, space: Space, class: &str) -> Result<u32> {
        let id = self.id(tag, self.values.raw("Id"), "Id")?;
        let node = SystemNode {
            class: class.into(),
            parent: self.parent(),
            ..SystemNode::default()
        };
        let nodes = &mut self.anchor.nodes;
        nodes.push((space, id), tag.at, node);
        let count = nodes.ids.len();
        self.count(count, "system nodes", tag.at)
    }

    fn group(&mut self, tag: &Tag<'a>) -> Result<u32> {
        let id = self.id(tag, self.values.raw("Id"), "Id")?;
        let group = LocationGroup {
            // Cube3 has only processes and threads, without an attribute for their kind.
            kind: names::group_kind("process"),
            parent: self.parent(),
            ..LocationGroup::default()
        };
        let groups = &mut self.anchor.groups;
        groups.push(id, tag.at, group);
        let count = groups.ids.len();
        self.count(count, "processes", tag.at)
    }

    fn location(&mut self, tag: &Tag<'a>) -> Result<u32> {
        let key = self.id(tag, self.values.raw("Id"), "Id")?;
        let group = self.stack.inside(|what| match what {
            What::Group(at) => Some(*at),
            _ => None,
        });
        let location = Location {
            kind: names::location_kind("thread"),
            group: group.map(LocationGroupId),
            key,
            ..Location::default()
        };
        let locations = &mut self.anchor.locations;
        locations.push(key, tag.at, location);
        let count = locations.ids.len();
        self.count(count, "locations", tag.at)
    }

    fn dimension(&mut self) -> What {
        let [name, size, periodic] = self.values.each(["name", "size", "periodic"]);
        let size = size.and_then(number).unwrap_or(0);
        let dimension = (owned(name), size, periodic == Some(b"true"));
        if let (Some(What::Cart), Some(cart)) = (self.stack.last(), self.anchor.carts.last_mut()) {
            cart.dimensions.push(dimension);
        }
        What::Other
    }

    fn coordinate(&mut self, tag: &Tag<'a>) -> What {
        const WHOSE: [Whose; 7] = [
            Whose::Location,
            Whose::Location,
            Whose::Group,
            Whose::Group,
            Whose::Node(Space::Any),
            Whose::Node(Space::Node),
            Whose::Node(Space::Machine),
        ];
        let ids = self.values.each([
            "locId", "thrdId", "lgId", "procId", "stnId", "nodeId", "machId",
        ]);
        let mut ids = WHOSE.into_iter().zip(ids);
        let found = ids.find_map(|(whose, raw)| Some((whose, xml::id(raw?)?)));
        match (found, self.stack.last(), self.anchor.carts.last_mut()) {
            (Some((whose, id)), Some(What::Cart), Some(cart)) => {
                cart.coordinates.push((whose, id, None));
                What::Coordinate
            }
            _ => {
                self.bad_coordinates(tag.at);
                What::Other
            }
        }
    }

    fn attribute(&mut self, key: String, value: String) {
        let anchor = &mut self.anchor;
        let properties = match self.stack.last() {
            Some(What::Cnode(at)) => {
                anchor.remarks.push((at, key, value));
                return;
            }
            Some(What::Metric(at)) => {
                if let Some(metric) = anchor.metrics.things.get_mut(at as usize) {
                    metric.attributes.push((key, value));
                }
                return;
            }
            Some(_) if self.stack.name() == b"cube" => {
                anchor.attributes.push((key, value));
                return;
            }
            Some(What::Node(at)) => {
                let node = anchor.nodes.things.get_mut(at as usize);
                node.map(|node| &mut node.properties)
            }
            Some(What::Group(at)) => {
                let group = anchor.groups.things.get_mut(at as usize);
                group.map(|group| &mut group.properties)
            }
            Some(What::Location(at)) => {
                let location = anchor.locations.things.get_mut(at as usize);
                location.map(|location| &mut location.properties)
            }
            _ => None,
        };
        if let Some(properties) = properties {
            properties.push((key, value));
        }
    }
}
