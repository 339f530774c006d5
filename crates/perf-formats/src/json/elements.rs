//! [`Elements`]: the elements of an array, one by one, and past what is broken.

use super::{Cursor, More, Source, Stop};
use crate::Result;
use crate::reading::Reading;

/// How an array ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With its bracket.
    Closed,
    /// The text ended between elements.
    Open,
    /// The text ended within the element that begins at this byte.
    Within(u64),
}

/// What one wants to hear about an array beside its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// An element that cannot be read.
    Broken {
        /// Its number.
        index: u64,
        /// The byte at which it is broken.
        at: u64,
        /// The token that was expected there.
        expected: &'static str,
        /// Number of bytes that were skipped, from the start of the element on.
        skipped: u64,
    },
    /// The element is longer than the window may be. It was skipped.
    Long { index: u64, offset: u64 },
    /// A comma too many or too few before this byte.
    Comma { offset: u64, count: u64 },
    /// More text came into the window, from this byte on. Nothing is odd; one may look at what was kept.
    Window { offset: u64 },
}

/// Walks over an array whose bracket is next.
#[derive(Debug)]
pub(crate) struct Elements<'a> {
    source: &'a mut Source,
    options: &'a Reading,
    /// Bytes that were looked at for the ends of what is broken.
    looked: u64,
}

/// What is done about the element that is next.
#[derive(Clone, Copy, Debug)]
enum Passing {
    /// It is read.
    Nothing,
    /// It is broken: its end is looked for.
    Broken,
    /// What came of it had no end and is gone: the next place is looked for where one may begin.
    Rest,
}

/// Bytes that may be looked at for the end of what is broken, however often that was in vain.
const LOOK: u64 = 1 << 12;

/// How many bytes all that is broken may be looked at for, and for each byte that was read. Without it each
/// of many broken elements would be looked at for as long as the longest one may be.
const AHEAD: u64 = 8 << 20;
const EACH: u64 = 4;

impl<'a> Elements<'a> {
    pub(crate) fn new(source: &'a mut Source, options: &'a Reading) -> Self {
        Elements {
            source,
            options,
            looked: 0,
        }
    }

    /// Tells each element to `read`, which reads it off the cursor or says why not, and does what
    /// it does with it only once it has all of it. What is odd goes to `odd`.
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

    /// The element that is next; where the text ends within it, that.
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
                    let most = self.granted(offset).max(LOOK);
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
                // A bracket or quote is missing, so that the element took in those behind it.
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
                // The whole window was looked at in vain, and little of it may go.
                _ => self.looked += window as u64,
            }
            break match self.source.skip()? {
                true => None,
                false => Some(End::Within(offset)),
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

    /// Bytes that may still be looked at for the ends of what is broken.
    fn granted(&self, offset: u64) -> u64 {
        let granted = offset.saturating_mul(EACH).saturating_add(AHEAD);
        granted.saturating_sub(self.looked)
    }

    /// Returns `true` if another element can be found behind one that does not end in the window.
    fn has_next(&self, offset: u64) -> bool {
        let most = usize::try_from(self.granted(offset)).unwrap_or(usize::MAX);
        let mut cursor = Cursor::new(self.source.bytes());
        let found = cursor.recover(most);
        matches!(found, Ok(Some(seen)) if seen < most)
    }
}
