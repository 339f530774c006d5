//! From the tokens of a document to what it says.

use super::super::rules;
use super::{Anchor, Cart, Cnode, Item, Metric, Region, Space, TextRow, Whose};
use crate::xml::{Tag, Token, Unfinished, Xml, text};
use crate::{Error, OpenOptions, Result};
use perf_core::{Diagnostics, Place};
use std::sync::Arc;

/// What is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Metric(usize),
    Region(usize),
    Cnode(usize),
    Node(usize),
    Group(usize),
    Location(usize),
    Cart(usize),
    Coordinate,
    Matrix(u64),
    Row,
    /// Has text for what it is in.
    Field,
    Other,
}

struct Parser<'a> {
    anchor: Anchor,
    stack: Vec<(&'a [u8], What)>,
    text: String,
    /// An attribute of the field that is open.
    detail: String,
    file: Arc<str>,
    options: &'a OpenOptions<'a>,
    found: &'a mut Diagnostics,
}

/// Reads a document. `file` is what errors call it.
pub(in crate::cube) fn parse(
    document: &[u8],
    file: &Arc<str>,
    options: &OpenOptions<'_>,
    found: &mut Diagnostics,
) -> Result<Anchor> {
    let parser = Parser {
        anchor: Anchor::default(),
        stack: Vec::new(),
        text: String::new(),
        detail: String::new(),
        file: Arc::clone(file),
        options,
        found,
    };
    parser.run(document)
}

impl<'a> Parser<'a> {
    fn place(&self, at: usize) -> Place {
        Place::file(Arc::clone(&self.file)).at(at as u64)
    }

    fn truncated(&self, at: usize, expected: &str) -> Error {
        Error::Truncated {
            place: self.place(at),
            expected: expected.into(),
        }
    }

    fn run(mut self, document: &'a [u8]) -> Result<Anchor> {
        let mut xml = Xml::new(document);
        let mut is_cube = false;
        loop {
            let token = xml.next();
            let token = token.map_err(|Unfinished(at)| self.truncated(at, "the end of a tag"))?;
            let Some(token) = token else { break };
            match token {
                Token::Open(tag) => {
                    if !is_cube && tag.name != b"cube" {
                        return Err(Error::Malformed {
                            place: self.place(tag.at),
                            expected: "<cube>".into(),
                            got: format!("<{}>", text(tag.name)),
                        });
                    }
                    is_cube = true;
                    self.open(&tag, xml.at())?;
                    let limit = self.options.get_limits().depth;
                    // Six levels lie around the tree of call paths and each has fields.
                    if self.stack.len() > limit as usize + 8 {
                        return Err(Error::Limit {
                            place: self.place(tag.at),
                            what: "nesting of elements",
                            got: self.stack.len() as u64,
                            limit: u64::from(limit) + 8,
                        });
                    }
                }
                Token::Close(name) => self.close(name, xml.at())?,
                Token::Text(raw) => self.characters(raw, xml.at() - raw.len(), true)?,
                Token::Verbatim(raw) => self.characters(raw, xml.at() - raw.len(), false)?,
            }
        }
        if !is_cube || !self.stack.is_empty() {
            return Err(self.truncated(document.len(), "</cube>"));
        }
        Ok(self.anchor)
    }

    /// The innermost open element of those that `is` takes.
    fn inside(&self, is: fn(&What) -> Option<usize>) -> Option<usize> {
        self.stack.iter().rev().find_map(|(_, what)| is(what))
    }

    fn open(&mut self, tag: &Tag<'a>, end: usize) -> Result<()> {
        let at = tag.at;
        let what = match tag.name {
            b"cube" => {
                self.anchor.version = tag.get("version").unwrap_or_default();
                What::Other
            }
            b"metric" => {
                let parent = self.inside(|what| match what {
                    What::Metric(at) => Some(*at),
                    _ => None,
                });
                self.anchor.metrics.push(Metric {
                    id: self.id(tag, "id")?,
                    at,
                    parent,
                    kind: tag.get("type").unwrap_or_default(),
                    visibility: tag.get("viztype").unwrap_or_default(),
                    ..Metric::default()
                });
                What::Metric(self.count(self.anchor.metrics.len(), "metrics", at)?)
            }
            b"region" => {
                self.anchor.regions.push(Region {
                    id: self.id(tag, "id")?,
                    at,
                    file: tag.get("mod").unwrap_or_default(),
                    lines: (
                        tag.number("begin").unwrap_or(-1),
                        tag.number("end").unwrap_or(-1),
                    ),
                    ..Region::default()
                });
                What::Region(self.count(self.anchor.regions.len(), "regions", at)?)
            }
            b"cnode" => {
                let parent = self.inside(|what| match what {
                    What::Cnode(at) => Some(*at),
                    _ => None,
                });
                self.anchor.cnodes.push(Cnode {
                    id: self.id(tag, "id")?,
                    at,
                    parent,
                    callee: self.id(tag, "calleeId")?,
                    line: tag.get("line"),
                    file: tag.get("mod"),
                    ..Cnode::default()
                });
                What::Cnode(self.count(self.anchor.cnodes.len(), "call paths", at)?)
            }
            b"systemtreenode" => self.node(tag, Space::Any, "")?,
            b"machine" => self.node(tag, Space::Machine, "machine")?,
            b"node" => self.node(tag, Space::Node, "node")?,
            b"locationgroup" | b"process" => {
                let item = self.item(tag, Space::Any)?;
                self.anchor.groups.push(item);
                What::Group(self.count(self.anchor.groups.len(), "processes", at)?)
            }
            b"location" | b"thread" => {
                let parent = self.inside(|what| match what {
                    What::Group(at) => Some(*at),
                    _ => None,
                });
                let item = self.item(tag, Space::Any)?;
                self.anchor.locations.push(Item { parent, ..item });
                What::Location(self.count(self.anchor.locations.len(), "locations", at)?)
            }
            b"cart" => {
                let name = tag.get("name").unwrap_or_default();
                self.anchor.carts.push(Cart {
                    name,
                    at,
                    ..Cart::default()
                });
                What::Cart(self.count(self.anchor.carts.len(), "topologies", at)?)
            }
            b"dim" => {
                let dimension = (
                    tag.get("name").unwrap_or_default(),
                    tag.number("size").unwrap_or(0),
                    tag.raw("periodic") == Some(b"true"),
                );
                if let (Some((_, What::Cart(_))), Some(cart)) =
                    (self.stack.last(), self.anchor.carts.last_mut())
                {
                    cart.dimensions.push(dimension);
                }
                What::Other
            }
            b"coord" => self.coordinate(tag),
            b"attr" => {
                let key = tag.get("key").unwrap_or_default();
                let value = tag.get("value").unwrap_or_default();
                self.attribute(key, value);
                What::Other
            }
            b"parameter" => {
                let kind = tag.get("partype").unwrap_or_else(|| "string".into());
                let key = tag.get("parkey").unwrap_or_default();
                let value = tag.get("parvalue").unwrap_or_default();
                if let Some((_, What::Cnode(at))) = self.stack.last()
                    && let Some(cnode) = self.anchor.cnodes.get_mut(*at)
                {
                    cnode.parameters.push((format!("{kind}:{key}"), value));
                }
                What::Other
            }
            b"matrix" => What::Matrix(self.id(tag, "metricId")?),
            b"row" => {
                let metric = match self.stack.last() {
                    Some((_, What::Matrix(metric))) => *metric,
                    _ => return Err(self.expected(at, "<row> within <matrix>", "elsewhere")),
                };
                self.anchor.rows.push(TextRow {
                    metric,
                    cnode: self.id(tag, "cnodeId")?,
                    at: end..end,
                });
                What::Row
            }
            _ => match self.stack.last() {
                None | Some((_, What::Other | What::Field | What::Row | What::Matrix(_))) => {
                    What::Other
                }
                Some(_) => {
                    self.detail = tag.get("cubeplaggrtype").unwrap_or_default();
                    What::Field
                }
            },
        };
        if matches!(what, What::Field | What::Coordinate) {
            self.text.clear();
        }
        self.stack.push((tag.name, what));
        if tag.is_empty {
            self.close(tag.name, end)?;
        }
        Ok(())
    }

    fn expected(&self, at: usize, expected: &str, got: &str) -> Error {
        Error::Malformed {
            place: self.place(at),
            expected: expected.into(),
            got: got.into(),
        }
    }

    fn id(&self, tag: &Tag<'_>, name: &str) -> Result<u64> {
        tag.number(name).ok_or_else(|| {
            let got = tag.get(name).unwrap_or_else(|| "none".into());
            let element = text(tag.name);
            self.expected(tag.at, &format!("a number as {name} of <{element}>"), &got)
        })
    }

    /// The index of the last of `count`, unless there are too many.
    fn count(&self, count: usize, what: &'static str, at: usize) -> Result<usize> {
        let limit = self.options.get_limits().definitions;
        if count > limit as usize {
            return Err(Error::Limit {
                place: self.place(at),
                what,
                got: count as u64,
                limit: limit.into(),
            });
        }
        Ok(count.saturating_sub(1))
    }

    fn item(&self, tag: &Tag<'_>, space: Space) -> Result<Item> {
        let parent = self.inside(|what| match what {
            What::Node(at) => Some(*at),
            _ => None,
        });
        Ok(Item {
            space,
            id: self.id(tag, "Id")?,
            at: tag.at,
            parent,
            ..Item::default()
        })
    }

    fn node(&mut self, tag: &Tag<'_>, space: Space, class: &str) -> Result<What> {
        let item = self.item(tag, space)?;
        let class = class.into();
        self.anchor.nodes.push(Item { class, ..item });
        let count = self.anchor.nodes.len();
        Ok(What::Node(self.count(count, "system nodes", tag.at)?))
    }

    fn coordinate(&mut self, tag: &Tag<'_>) -> What {
        let keys = [
            ("locId", Whose::Location),
            ("thrdId", Whose::Location),
            ("lgId", Whose::Group),
            ("procId", Whose::Group),
            ("stnId", Whose::Node(Space::Any)),
            ("nodeId", Whose::Node(Space::Node)),
            ("machId", Whose::Node(Space::Machine)),
        ];
        let mut keys = keys.into_iter();
        let found = keys.find_map(|(key, whose)| Some((whose, tag.number(key)?)));
        match (found, self.stack.last(), self.anchor.carts.last_mut()) {
            (Some((whose, id)), Some((_, What::Cart(_))), Some(cart)) => {
                cart.coordinates.push((whose, id, String::new()));
                What::Coordinate
            }
            _ => {
                self.found.add(rules::BAD_COORDINATES, self.place(tag.at));
                What::Other
            }
        }
    }

    fn attribute(&mut self, key: String, value: String) {
        let anchor = &mut self.anchor;
        let list = match self.stack.last() {
            Some((_, What::Metric(at))) => anchor.metrics.get_mut(*at).map(|to| &mut to.attributes),
            Some((_, What::Cnode(at))) => anchor.cnodes.get_mut(*at).map(|to| &mut to.attributes),
            Some((_, What::Node(at))) => anchor.nodes.get_mut(*at).map(|to| &mut to.attributes),
            Some((_, What::Group(at))) => anchor.groups.get_mut(*at).map(|to| &mut to.attributes),
            Some((_, What::Location(at))) => {
                let item = anchor.locations.get_mut(*at);
                item.map(|to| &mut to.attributes)
            }
            Some((b"cube", _)) => Some(&mut anchor.attributes),
            _ => None,
        };
        if let Some(list) = list {
            list.push((key, value));
        }
    }

    fn characters(&mut self, raw: &[u8], at: usize, has_entities: bool) -> Result<()> {
        match self.stack.last() {
            Some((_, What::Field | What::Coordinate)) => {
                let limit = self.options.get_limits().string;
                let size = self.text.len() + raw.len();
                if size > limit as usize {
                    return Err(Error::Limit {
                        place: self.place(at),
                        what: "length of a text in bytes",
                        got: size as u64,
                        limit: limit.into(),
                    });
                }
                match has_entities {
                    // Most text comes in one piece.
                    true if self.text.is_empty() => self.text = text(raw),
                    true => self.text.push_str(&text(raw)),
                    false => self.text.push_str(&String::from_utf8_lossy(raw)),
                }
            }
            Some((_, What::Row)) => {
                if let Some(row) = self.anchor.rows.last_mut() {
                    row.at.end = at + raw.len();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &[u8], at: usize) -> Result<()> {
        let depth = self.stack.iter().rposition(|(open, _)| *open == name);
        if depth.is_none_or(|depth| depth + 1 < self.stack.len()) {
            self.found.add(rules::BAD_NESTING, self.place(at));
        }
        let Some(depth) = depth else { return Ok(()) };
        while self.stack.len() > depth {
            if let Some((name, what)) = self.stack.pop() {
                match what {
                    What::Field => self.field(name),
                    What::Coordinate => {
                        let text = std::mem::take(&mut self.text);
                        let cart = self.anchor.carts.last_mut();
                        if let Some(last) = cart.and_then(|cart| cart.coordinates.last_mut()) {
                            last.2 = text;
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Text of a field goes to what it is in.
    fn field(&mut self, name: &[u8]) {
        let text = std::mem::take(&mut self.text);
        let word = || text.trim().to_string();
        let anchor = &mut self.anchor;
        let item = match self.stack.last() {
            Some((_, What::Metric(at))) => {
                if let Some(metric) = anchor.metrics.get_mut(*at) {
                    match name {
                        b"disp_name" => metric.display = text,
                        b"uniq_name" => metric.unique = text,
                        b"dtype" => metric.data_type = word(),
                        b"uom" => metric.unit = text,
                        b"val" => metric.is_void = word() == "VOID",
                        b"url" => metric.url = text,
                        b"descr" => metric.description = text,
                        b"cubepl" => metric.expression = text,
                        b"cubeplinit" => metric.init = text,
                        b"cubeplaggr" => {
                            let detail = std::mem::take(&mut self.detail);
                            metric.aggregations.push((detail, text));
                        }
                        _ => {}
                    }
                }
                return;
            }
            Some((_, What::Region(at))) => {
                if let Some(region) = anchor.regions.get_mut(*at) {
                    match name {
                        b"name" => region.name = text,
                        b"mangled_name" => region.mangled = text,
                        b"paradigm" => region.paradigm = word(),
                        b"role" => region.role = word(),
                        _ => {}
                    }
                }
                return;
            }
            Some((_, What::Node(at))) => anchor.nodes.get_mut(*at),
            Some((_, What::Group(at))) => anchor.groups.get_mut(*at),
            Some((_, What::Location(at))) => anchor.locations.get_mut(*at),
            _ => None,
        };
        if let Some(item) = item {
            match name {
                b"name" => item.name = text,
                b"class" | b"type" => item.class = word(),
                b"rank" => item.rank = word(),
                b"descr" => item.description = text,
                _ => {}
            }
        }
    }
}
