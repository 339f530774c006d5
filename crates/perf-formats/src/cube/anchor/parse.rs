//! The walk over the tokens of a document: what is open, and where its text goes.

use super::super::rules;
use super::Anchor;
use super::runs::{Run, Runs};
use crate::xml::{Tag, Token, Unfinished, Values, Xml, text};
use crate::{Error, OpenOptions, Result};
use perf_core::{Diagnostics, Place};
use std::sync::Arc;

/// What is open. Numbers are places in the tables of the [`Anchor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Metric(u32),
    Region(u32),
    Cnode(u32),
    Node(u32),
    Group(u32),
    Location(u32),
    Cart,
    Coordinate,
    Matrix(u64),
    Row,
    /// Has text for what it is in.
    Field,
    Other,
}

pub(super) struct Parser<'a> {
    pub(super) anchor: Anchor,
    pub(super) stack: Vec<(&'a [u8], What)>,
    text: String,
    /// Whether the outermost element was opened.
    is_cube: bool,
    /// Attributes of the tag that was opened last.
    pub(super) values: Values<'a>,
    /// An attribute of the field that is open.
    pub(super) detail: String,
    /// Bytes that the text of one element may have.
    longest: usize,
    /// Elements that may be open at once.
    deepest: usize,
    file: Arc<str>,
    pub(super) options: &'a OpenOptions<'a>,
    found: &'a mut Diagnostics,
}

/// Reads a document. `file` is what errors call it.
pub(in crate::cube) fn parse(
    document: &[u8],
    file: &Arc<str>,
    options: &OpenOptions<'_>,
    found: &mut Diagnostics,
) -> Result<Anchor> {
    let limits = options.get_limits();
    let parser = Parser {
        anchor: Anchor::default(),
        stack: Vec::new(),
        text: String::new(),
        is_cube: false,
        values: Values::default(),
        detail: String::new(),
        longest: limits.string as usize,
        // Six levels lie around the tree of call paths and each has fields.
        deepest: limits.depth as usize + 8,
        file: Arc::clone(file),
        options,
        found,
    };
    parser.run(document)
}

impl<'a> Parser<'a> {
    pub(super) fn place(&self, at: usize) -> Place {
        Place::file(Arc::clone(&self.file)).at(at as u64)
    }

    fn truncated(&self, at: usize, expected: &str) -> Error {
        Error::Truncated {
            place: self.place(at),
            expected: expected.into(),
        }
    }

    pub(super) fn bad_coordinates(&mut self, at: usize) {
        let place = self.place(at);
        self.found.add(rules::BAD_COORDINATES, place);
    }

    fn run(mut self, document: &'a [u8]) -> Result<Anchor> {
        let (mut xml, mut runs) = (Xml::new(document), Runs::default());
        loop {
            match self.stack.last() {
                Some((_, What::Field | What::Coordinate | What::Row)) => {}
                Some((name, what)) if xml.skip_close(name) => {
                    let what = *what;
                    self.stack.pop();
                    self.ends(what);
                    continue;
                }
                // Characters mean nothing here.
                _ => xml.skip_blanks(),
            }
            if let Some(tag) = xml.tag_with(&mut self.values) {
                self.open(&tag, &mut xml, &mut runs)?;
                continue;
            }
            let token = xml.next();
            let token = token.map_err(|Unfinished(at)| self.truncated(at, "the end of a tag"))?;
            let Some(token) = token else { break };
            match token {
                Token::Open(tag) => {
                    self.values.read(&tag);
                    self.open(&tag, &mut xml, &mut runs)?;
                }
                Token::Close(name) => self.close(name, xml.at()),
                Token::Text(raw) => self.characters(raw, xml.at() - raw.len(), true)?,
                Token::Verbatim(raw) => self.characters(raw, xml.at() - raw.len(), false)?,
            }
        }
        if !self.is_cube || !self.stack.is_empty() {
            return Err(self.truncated(document.len(), "</cube>"));
        }
        Ok(self.anchor)
    }

    fn open(&mut self, tag: &Tag<'a>, xml: &mut Xml<'a>, runs: &mut Runs<'a>) -> Result<()> {
        if !self.is_cube && tag.name != b"cube" {
            let got = format!("<{}>", text(tag.name));
            return Err(self.malformed(tag.at, "<cube>".into(), got));
        }
        self.is_cube = true;
        let what = self.element(tag, xml.at())?;
        if self.stack.len() + usize::from(!tag.is_empty) > self.deepest {
            return Err(Error::Limit {
                place: self.place(tag.at),
                what: "nesting of elements",
                got: self.stack.len() as u64 + 1,
                limit: self.deepest as u64,
            });
        }
        let has_text = matches!(what, What::Field | What::Coordinate);
        if has_text {
            self.text.clear();
        }
        self.stack.push((tag.name, what));
        if tag.is_empty {
            self.close(tag.name, xml.at());
            return Ok(());
        }
        if self.stack.len() < self.deepest && !matches!(what, What::Cnode(_) | What::Other) {
            self.fields(xml, runs.of(what));
        }
        Ok(())
    }

    /// Takes fields of the innermost element as long as they are text alone, without putting each
    /// on the stack, and those that the element before of its kind had just so without reading
    /// them again: most locations differ in their id, most regions in their name.
    fn fields(&mut self, xml: &mut Xml<'a>, run: &mut Run<'a>) {
        let start = xml.at();
        loop {
            if let Some(repeated) = run.repeated(xml) {
                for leaf in repeated {
                    self.field(leaf.name, &leaf.text);
                }
            }
            let Some(leaf) = xml.leaf(self.longest) else {
                break;
            };
            if !self.field(leaf.name, &leaf.text) {
                break;
            }
            xml.skip_to(leaf.end);
            run.push(leaf);
        }
        run.ends(start);
    }

    /// What there is to do for an element without text of its own when it is closed.
    fn ends(&mut self, what: What) {
        if let What::Region(at) = what {
            self.region_ends(at);
        }
    }

    /// The innermost open element of those that `is` takes.
    pub(super) fn inside(&self, is: fn(&What) -> Option<u32>) -> Option<u32> {
        self.stack.iter().rev().find_map(|(_, what)| is(what))
    }

    pub(super) fn malformed(&self, at: usize, expected: String, got: String) -> Error {
        Error::Malformed {
            place: self.place(at),
            expected,
            got,
        }
    }

    fn characters(&mut self, raw: &[u8], at: usize, has_entities: bool) -> Result<()> {
        match self.stack.last() {
            Some((_, What::Field | What::Coordinate)) => {
                let size = self.text.len() + raw.len();
                if size > self.longest {
                    return Err(Error::Limit {
                        place: self.place(at),
                        what: "length of a text in bytes",
                        got: size as u64,
                        limit: self.longest as u64,
                    });
                }
                match has_entities {
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

    fn close(&mut self, name: &[u8], at: usize) {
        let depth = self.stack.iter().rposition(|(open, _)| *open == name);
        if depth.is_none_or(|depth| depth + 1 < self.stack.len()) {
            let place = self.place(at);
            self.found.add(rules::BAD_NESTING, place);
        }
        while self.stack.len() > depth.unwrap_or(usize::MAX) {
            if let Some((name, what)) = self.stack.pop() {
                let text = match what {
                    What::Field | What::Coordinate => std::mem::take(&mut self.text),
                    _ => String::new(),
                };
                match what {
                    What::Field => {
                        self.field(name, &text);
                    }
                    What::Coordinate => self.coordinates(&text),
                    other => self.ends(other),
                }
            }
        }
    }
}
