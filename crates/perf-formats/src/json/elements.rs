//! [`Elements`]: iterates over the elements of an array and recovers after damage.

use super::{Cursor, More, Source, Stop};
use crate::Result;
use crate::read_context::ReadContext;

/// State at the end of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The closing bracket was found.
    Closed,
    /// The text ended between elements.
    Open,
    /// The text ended within the element that begins at this byte.
    Within(u64),
}

/// A deviation that is reported while an array is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// An unreadable element.
    Broken {
        /// Number of the element.
        index: u64,
        /// Byte at which it is broken.
        at: u64,
        /// Token that was expected there.
        expected: &'static str,
        /// Number of skipped bytes, from the start of the element on.
        skipped: u64,
    },
    /// An element that exceeds the maximum window. It was skipped.
    Long { index: u64, offset: u64 },
    /// A superfluous or missing comma before this byte.
    Comma { offset: u64, count: u64 },
    /// The window received more text, from this byte on. This is not a defect; it allows the caller
    /// to check its memory.
    Window { offset: u64 },
}

/// Iterator over an array, starting at its bracket.
#[derive(Debug)]
pub(crate) struct Elements<'a> {
    /// Text that contains the array.
    source: &'a mut Source,
    /// Options of the read operation.
    options: &'a ReadContext,
    /// Number of bytes examined for the ends of broken elements.
    looked: u64,
}

/// Treatment of the next element.
#[derive(Clone, Copy, Debug)]
enum Passing {
    /// It is read.
    Nothing,
    /// It is broken; its end is searched.
    Broken,
    /// An unterminated element was dropped; the next possible begin is searched.
    Rest,
}

/// Number of bytes that may always be examined for the end of a broken element.
const MIN_SEARCH: u64 = 1 << 12;

/// Budget of bytes to examine for the ends of all broken elements, plus [`EACH`] for each byte
/// read. It keeps the total linear: otherwise each broken element could cost a search of the
/// maximum length.
const AHEAD: u64 = 8 << 20;
const EACH: u64 = 4;

impl<'a> Elements<'a> {
    pub(crate) fn new(source: &'a mut Source, options: &'a ReadContext) -> Self {
        Elements {
            source,
            options,
            looked: 0,
        }
    }

    /// Passes each element to `read`, which reads it at the cursor or returns the reason for
    /// failure. `read` must modify the state only after it has read the whole element. Deviations
    /// are passed to `odd`.
    pub(crate) fn walk<S>(
        mut self,
        state: &mut S,
        mut read: impl FnMut(&mut S, &mut Cursor<'_>, u64, u64) -> Result<(), Stop>,
        mut odd: impl FnMut(&mut S, Element) -> Result<()>,
    ) -> Result<End> {
        self.source.take(1);
        let (mut index, mut has_comma) = (0_u64, true);
        loop {
            let offset = self.source.offset();
            match self.source.peek()? {
                None => return Ok(End::Open),
                Some(b']') if !self.source.is_end_of_array()? => {
                    self.source.take(1);
                    let expected = "`,` or the end of the text";
                    odd(
                        state,
                        Element::Broken {
                            index,
                            at: offset,
                            expected,
                            skipped: 1,
                        },
                    )?;
                    continue;
                }
                Some(b']') => {
                    self.source.take(1);
                    if has_comma && index > 0 {
                        odd(state, Element::Comma { offset, count: 1 })?;
                    }
                    return Ok(End::Closed);
                }
                Some(b',') => {
                    self.source.take(1);
                    if has_comma {
                        odd(state, Element::Comma { offset, count: 1 })?;
                    }
                    has_comma = true;
                    continue;
                }
                Some(_) => {}
            }
            if !has_comma {
                odd(state, Element::Comma { offset, count: 1 })?;
            }
            has_comma = false;
            if let Some(end) = self.one(state, index, &mut read, &mut odd)? {
                return Ok(end);
            }
            index += 1;
        }
    }

    /// Reads the next element. If the text ends within it, returns that end.
    fn one<S>(
        &mut self,
        state: &mut S,
        index: u64,
        read: &mut impl FnMut(&mut S, &mut Cursor<'_>, u64, u64) -> Result<(), Stop>,
        odd: &mut impl FnMut(&mut S, Element) -> Result<()>,
    ) -> Result<Option<End>> {
        let offset = self.source.offset();
        let mut passing = Passing::Nothing;
        let mut broken = None;
        let end = loop {
            let bytes = self.source.bytes();
            let (mut cursor, window) = (Cursor::new(bytes), bytes.len());
            let done = match passing {
                Passing::Nothing => read(state, &mut cursor, index, offset).map(|()| Some(0)),
                Passing::Broken => {
                    let most = self.budget(offset).max(MIN_SEARCH);
                    cursor.recover(usize::try_from(most).unwrap_or(usize::MAX))
                }
                Passing::Rest => Ok(cursor.next_start()),
            };
            match done {
                Ok(Some(seen)) => {
                    self.looked += seen as u64;
                    let count = u64::from(cursor.commas);
                    let used = cursor.at();
                    self.source.take(used);
                    if count > 0 {
                        odd(state, Element::Comma { offset, count })?;
                    }
                    break None;
                }
                Err(Stop::Bad(expected)) => {
                    broken = Some((offset + cursor.at() as u64, expected));
                    passing = Passing::Broken;
                    continue;
                }
                Ok(None) => {
                    passing = Passing::Rest;
                    self.source.take(window);
                }
                Err(Stop::More) => {}
            }
            let more = self.source.more()?;
            if let More::Read(count) = more {
                self.options.advance(count as u64, self.source.total)?;
                odd(state, Element::Window { offset })?;
                continue;
            }
            if matches!(passing, Passing::Nothing) && self.has_next(offset) {
                // A bracket or quote is missing, so that the element swallowed the following ones.
                broken = Some((offset, "the end of an event"));
                passing = Passing::Broken;
                self.looked += window as u64;
                continue;
            }
            if more == More::End {
                break Some(End::Within(offset));
            }
            match passing {
                Passing::Nothing => odd(state, Element::Long { index, offset })?,
                Passing::Broken if !self.source.bytes().starts_with(b"{") => {
                    self.looked += window as u64;
                    self.source.take(window);
                    passing = Passing::Rest;
                    continue;
                }
                // The search of the whole window failed, and only a small part of it can be
                // dropped.
                _ => self.looked += window as u64,
            }
            break if self.source.skip()? {
                None
            } else {
                Some(End::Within(offset))
            };
        };
        if let Some((at, expected)) = broken {
            let rest = match end {
                Some(_) => self.source.bytes().len() as u64,
                None => 0,
            };
            let skipped = (self.source.offset() + rest).saturating_sub(offset);
            let element = Element::Broken {
                index,
                at,
                expected,
                skipped,
            };
            odd(state, element)?;
        }
        Ok(end)
    }

    /// Returns the number of bytes that may still be examined for the ends of broken elements.
    fn budget(&self, offset: u64) -> u64 {
        let budget = offset.saturating_mul(EACH).saturating_add(AHEAD);
        budget.saturating_sub(self.looked)
    }

    /// Returns `true` if another element can be found after one that does not end in the window.
    fn has_next(&self, offset: u64) -> bool {
        let most = usize::try_from(self.budget(offset)).unwrap_or(usize::MAX);
        let mut cursor = Cursor::new(self.source.bytes());
        let found = cursor.recover(most);
        matches!(found, Ok(Some(seen)) if seen < most)
    }
}
