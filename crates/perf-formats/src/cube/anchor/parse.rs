//! [`Parser`]: parses `anchor.xml`, a Cube3 document or a remapping specification to an [`Anchor`],
//! as a whole or part by part, and tracks the open elements.

use super::Anchor;
use super::repeated_fields::{Run, Runs};
use super::stack::{Stack, What};
use crate::bytes::Bytes;
use crate::cube::rules;
use crate::cube::tar::Member;
use crate::read_context::ReadContext;
use crate::xml::{Tag, Token, Unfinished, Values, Xml, text};
use crate::{Error, Result};
use perf_core::{Diagnostics, Place};
use std::sync::Arc;

/// Parser of a part of a document.
pub(super) struct Parser<'a, 'o> {
    /// Document under construction.
    pub(super) anchor: Anchor,
    /// Open elements.
    pub(super) stack: Stack,
    /// Text of the innermost element.
    text: String,
    /// `true` after the outermost element was opened.
    is_cube: bool,
    /// `true` if metrics have no ids, as in remapping specifications; they are numbered in order.
    pub(super) is_numbered: bool,
    /// Ids of the metrics of all matrices of a Cube3 document.
    pub(super) matrices: Vec<u64>,
    /// Attributes of the last opened tag.
    pub(super) values: Values<'a>,
    /// Attribute of the open field.
    pub(super) detail: String,
    /// Maximum text length of an element in bytes.
    longest: usize,
    /// Maximum number of open elements.
    deepest: usize,
    /// Name of the file, for diagnostics.
    file: Arc<str>,
    /// Options of the read operation.
    pub(super) options: &'o ReadContext,
    /// Diagnostics of the document.
    found: &'o mut Diagnostics,
}

/// Parses a document in memory. `file` is its name in errors.
pub(in crate::cube) fn parse(
    document: &[u8],
    file: &Arc<str>,
    options: &ReadContext,
    found: &mut Diagnostics,
) -> Result<Anchor> {
    let mut parser = Parser::new(file, options, found);
    let mut xml = Xml::new(document);
    parser.run(&mut xml)?;
    parser.finish(document.len())
}

/// Parses a remapping specification, which is wrapped in a root element. Its metrics have no ids.
pub(in crate::cube) fn parse_specification(
    document: &[u8],
    file: &Arc<str>,
    options: &ReadContext,
    found: &mut Diagnostics,
) -> Result<Anchor> {
    let mut parser = Parser::new(file, options, found);
    parser.is_numbered = true;
    parser.run(&mut Xml::new(document))?;
    parser.finish(document.len())
}

/// Parses a document in parts of a given size. Reusing a small buffer is cheaper than allocating
/// memory for the whole document.
pub(in crate::cube) fn parse_parts(
    bytes: &Bytes,
    member: Member,
    part: usize,
    file: &Arc<str>,
    options: &ReadContext,
    found: &mut Diagnostics,
) -> Result<Anchor> {
    let mut parser = Parser::new(file, options, found);
    let size = usize::try_from(member.size).unwrap_or(usize::MAX);
    let (mut window, mut wanted) = (Vec::new(), part);
    // Number of bytes of the document before the window, and number of valid bytes in it.
    let (mut before, mut held) = (0, 0);
    loop {
        options.job.check()?;
        let end = wanted.min(size - before);
        if window.len() < end {
            window.resize(end, 0);
        }
        let rest = &mut window[held..end];
        bytes.fill(member.start + (before + held) as u64, rest)?;
        let is_last = before + end == size;
        // A part is cut before a tag, as far as that can be determined.
        let cut = if is_last {
            Some(end)
        } else {
            let there = &window[..end];
            let mut pairs = there.windows(2);
            pairs.rposition(|two| two == b"\n<").map(|at| at + 1)
        };
        let Some(cut) = cut else {
            (held, wanted) = (end, wanted.saturating_mul(2));
            continue;
        };
        let mut xml = Xml::part(&window[..cut], before);
        let done = parser.run(&mut xml);
        let read = xml.at() - before;
        match done {
            Ok(()) if is_last => return parser.finish(size),
            // The apparent tag is inside another one or inside a comment.
            Err(Error::Truncated { .. }) if !is_last => wanted = wanted.saturating_mul(2),
            Err(error) => return Err(error),
            Ok(()) => wanted = part,
        }
        parser = parser.again();
        window.copy_within(read..end, 0);
        held = end - read;
        before += read;
        wanted = wanted.max(held.saturating_add(part));
    }
}

/// Number of tags between two cancellation checks.
const TAGS_PER_CHECK: usize = 1 << 12;

impl<'o> Parser<'_, 'o> {
    fn new(file: &Arc<str>, options: &'o ReadContext, found: &'o mut Diagnostics) -> Self {
        let limits = options.get_limits();
        Parser {
            anchor: Anchor::default(),
            stack: Stack::default(),
            text: String::new(),
            is_cube: false,
            is_numbered: false,
            matrices: Vec::new(),
            values: Values::default(),
            detail: String::new(),
            longest: limits.string as usize,
            // The tree of call paths is nested in six levels, and each of its elements has fields.
            deepest: limits.depth as usize + 8,
            file: Arc::clone(file),
            options,
            found,
        }
    }

    /// Returns the same parser for the next part.
    fn again<'b>(self) -> Parser<'b, 'o> {
        Parser {
            anchor: self.anchor,
            stack: self.stack,
            text: self.text,
            is_cube: self.is_cube,
            is_numbered: self.is_numbered,
            matrices: self.matrices,
            values: Values::default(),
            detail: self.detail,
            longest: self.longest,
            deepest: self.deepest,
            file: self.file,
            options: self.options,
            found: self.found,
        }
    }

    fn finish(self, end: usize) -> Result<Anchor> {
        if !self.is_cube || self.stack.len() > 0 {
            return Err(self.truncated(end, "</cube>"));
        }
        Ok(self.anchor)
    }
}

impl<'a> Parser<'a, '_> {
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

    /// Parses the available text. Elements may stay open at its end. A tag that is cut at the end
    /// is an error, and must be parsed again with more text.
    fn run(&mut self, xml: &mut Xml<'a>) -> Result<()> {
        let mut runs = Runs::default();
        let mut looked = 0_usize;
        loop {
            looked = looked.wrapping_add(1);
            if looked.is_multiple_of(TAGS_PER_CHECK) {
                self.options.job.check()?;
            }
            match self.stack.last() {
                Some(What::Field | What::Coordinate | What::Row) => {}
                Some(what) if xml.skip_close(self.stack.name()) => {
                    self.stack.pop();
                    self.ends(what);
                    continue;
                }
                // Text has no meaning here.
                _ => xml.skip_blanks(),
            }
            if let Some(tag) = xml.tag_with(&mut self.values) {
                self.open(&tag, xml, &mut runs)?;
                continue;
            }
            let token = xml.next();
            let token = token.map_err(|Unfinished(at)| self.truncated(at, "the end of a tag"))?;
            let Some(token) = token else { return Ok(()) };
            match token {
                Token::Open(tag) => {
                    self.values.read(&tag);
                    self.open(&tag, xml, &mut runs)?;
                }
                Token::Close(name) => self.close(name, xml.at()),
                Token::Text(raw) => self.characters(raw, xml.at() - raw.len(), true)?,
                Token::Verbatim(raw) => self.characters(raw, xml.at() - raw.len(), false)?,
            }
        }
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
        self.stack.push(tag.name, what);
        if tag.is_empty {
            self.close(tag.name, xml.at());
            return Ok(());
        }
        if self.stack.len() < self.deepest && !matches!(what, What::Cnode(_) | What::Other) {
            self.fields(xml, runs.of(what));
        }
        Ok(())
    }

    /// Reads the fields of the innermost element as long as they contain only text, without pushing
    /// each on the stack. Fields that are identical to those of the previous element of its kind
    /// are not parsed again: most locations differ only in their id, most regions only in their
    /// name.
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

    /// Completes an element without text of its own.
    fn ends(&mut self, what: What) {
        if let What::Region(at) = what {
            self.region_ends(at);
        }
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
            Some(What::Field | What::Coordinate) => {
                let size = self.text.len() + raw.len();
                if size > self.longest {
                    return Err(Error::Limit {
                        place: self.place(at),
                        what: "length of a text in bytes",
                        got: size as u64,
                        limit: self.longest as u64,
                    });
                }
                if has_entities {
                    self.text.push_str(&text(raw))
                } else {
                    self.text.push_str(&String::from_utf8_lossy(raw))
                }
            }
            Some(What::Row) => {
                if let Some(row) = self.anchor.rows.last_mut() {
                    row.at.end = at + raw.len();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &[u8], at: usize) {
        let depth = self.stack.find(name);
        if depth.is_none_or(|depth| depth + 1 < self.stack.len()) {
            let place = self.place(at);
            self.found.add(rules::BAD_NESTING, place);
        }
        while self.stack.len() > depth.unwrap_or(usize::MAX) {
            let has_text = matches!(self.stack.last(), Some(What::Field | What::Coordinate));
            let text = if has_text {
                std::mem::take(&mut self.text)
            } else {
                String::new()
            };
            let name = self.stack.name().to_vec();
            match self.stack.pop() {
                Some(What::Field) => {
                    self.field(&name, &text);
                }
                Some(What::Coordinate) => self.coordinates(&text),
                Some(other) => self.ends(other),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "<?xml version=\"1.0\"?>\n<cube version=\"4.4\">\n\
        <attr key=\"a\n<b\" value=\"1\"/>\n<!-- a\n<region id=\"9\">\n -->\n<metrics>\n\
        <metric id=\"0\">\n<disp_name>\u{e9} &amp;\n</disp_name>\n\
        <descr><![CDATA[a\n<b>\n<c>]]> &lt;\n<x/></descr>\n</metric>\n</metrics>\n<program>\n\
        <region id=\"0\">\n<name>main</name>\n<role>function</role>\n<url></url>\n</region>\n\
        <region id=\"1\">\n<name>f</name>\n<role>function</role>\n<url></url>\n</region>\n\
        <region id=\"2\">\n<name>g</name>\n<role>loop</role>\n<url></url>\n</wrong>\n</region>\n\
        <cnode id=\"0\" calleeId=\"0\">\n<cnode id=\"1\" calleeId=\"1\">\n</cnode>\n</cnode>\n\
        </program>\n</cube>\n";

    fn in_parts(document: &str, part: usize) -> String {
        let options = ReadContext::default();
        let bytes = Bytes::new(document.into(), "a", options.get_limits(), &options.job).unwrap();
        let mut found = Diagnostics::default();
        let size = bytes.len();
        let member = Member { start: 0, size };
        let anchor = parse_parts(&bytes, member, part, &"a".into(), &options, &mut found);
        format!("{anchor:?} {found:?}")
    }

    #[test]
    fn parts_say_what_the_whole_says() {
        let documents = [
            DOCUMENT,
            &DOCUMENT[..400],
            "<cube>\n<a b=\"\n<c",
            "",
            "<no>\n</no>",
        ];
        for document in documents {
            let mut found = Diagnostics::default();
            let anchor = parse(
                document.as_bytes(),
                &"a".into(),
                &ReadContext::default(),
                &mut found,
            );
            let whole = format!("{anchor:?} {found:?}");
            for part in (1..40).chain([64, 200, 1000, 1 << 16]) {
                assert_eq!(in_parts(document, part), whole, "{part}");
            }
        }
    }
}
