//! Methods of [`Decoder`] that look ahead within a chunk, to judge a jump in time and to find the
//! next record after damage.

use super::{Decoder, Stop};
use crate::otf2::rules;
use crate::otf2::schema::{self, Space, internal};
use crate::otf2::wire::{Cursor, Damage, Read};
use crate::timestamps::{TIMESTAMPS_AHEAD, Verdict, judge_jump};
use perf_core::Place;

/// Maximum number of bytes read ahead: enough for eight timestamps with their events.
const LOOK_BYTES: usize = 1 << 10;
/// Number of consecutive readable records that confirm the start of a record.
const RUN: usize = 5;
/// Number of bytes that may follow the first end mark of a file: a second mark, and a line feed
/// that some tools append.
const END_MARKS: usize = 8;

/// Kinds of records that the look-ahead distinguishes.
enum Passed {
    Time(u64),
    Event,
    End,
}

/// Requirements on a run of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// After damage: timestamps ascend from the last one, and all ids are defined.
    Strict,
    /// After an unusual but possibly valid record: records must be well-formed.
    Form,
    /// After a record of an unknown kind: as strict, but further records of that kind may follow.
    Unknown(u8),
}

/// Result of a search for the next record.
pub(super) enum Search {
    /// Found at this position in the data.
    Found(usize),
    /// Not before this position in the data; more bytes are needed to decide.
    More(usize),
    /// The chunk holds no further record.
    Nothing,
}

impl Decoder<'_> {
    /// Judges a timestamp that is far ahead of the last one; `from` is the cursor after it. Returns
    /// the replacement time for an outlier, and fails if the bytes are not a timestamp.
    pub(super) fn judge(&mut self, time: u64, from: &Cursor<'_>, whole: bool) -> Read<Option<u64>> {
        let far = self.state.far;
        let after = self.times_ahead(from, whole)?;
        let before = self.state.started.then_some(self.state.time);
        let verdict = judge_jump(before, time, &after, far);
        if verdict == Verdict::Plausible {
            return Ok(None);
        }
        self.confirm(from, whole, None)?;
        let instead = match verdict {
            Verdict::Plausible => None,
            Verdict::Outlier => {
                let mut back = after.iter().filter(|after| **after < time);
                before.or(back.next().copied())
            }
            Verdict::Undecided => {
                // A chunk that is decoded independently does not know the last timestamp.
                self.state.is_doubtful |= before.is_none();
                before.filter(|before| match self.context.latest {
                    Some(latest) => time > latest && *before <= latest,
                    None => time - before > self.context.gap,
                })
            }
        };
        self.state.is_doubtful |= before.is_none() && instead.is_some();
        Ok(instead)
    }

    /// Returns the next timestamps, at most [`TIMESTAMPS_AHEAD`]. At the end of the chunk, the first timestamp
    /// of the next chunk is included.
    fn times_ahead(&self, from: &Cursor<'_>, whole: bool) -> Read<Vec<u64>> {
        let data = from.rest();
        let is_end = whole && data.len() <= LOOK_BYTES;
        let mut cursor = Cursor::new(data.get(..LOOK_BYTES).unwrap_or(data), self.state.order);
        let mut times = Vec::with_capacity(TIMESTAMPS_AHEAD);
        while times.len() < TIMESTAMPS_AHEAD {
            match self.pass(&mut cursor) {
                Ok(Passed::Time(time)) => times.push(time),
                Ok(Passed::Event) => {}
                Ok(Passed::End) => {
                    times.extend(self.state.next_first);
                    break;
                }
                Err(damage) if damage.short && !whole && data.len() < LOOK_BYTES => {
                    return Err(damage);
                }
                Err(_) => {
                    if is_end && cursor.is_empty() {
                        times.extend(self.state.next_first);
                    }
                    break;
                }
            }
        }
        Ok(times)
    }

    /// Skips a record of any kind without decoding its fields.
    fn pass(&self, cursor: &mut Cursor<'_>) -> Read<Passed> {
        match cursor.u8("a record")? {
            internal::END_OF_CHUNK | internal::END_OF_BUFFER | internal::END_OF_FILE => {
                return Ok(Passed::End);
            }
            internal::CHUNK_HEADER => return cursor.wrong("an event"),
            internal::TIMESTAMP => {
                let raw = cursor.u64("a time")?;
                return Ok(Passed::Time(self.context.local.correct(raw).0));
            }
            id if schema::event(id).is_some_and(|record| !record.has_length) => {
                cursor.v64("the field of an event")?;
            }
            _ => {
                cursor.payload()?;
            }
        }
        Ok(Passed::Event)
    }

    /// Fails unless valid records follow an unusual record that ends at `after`. `unknown` is the
    /// kind of the record if this version does not know it.
    pub(super) fn confirm(
        &mut self,
        after: &Cursor<'_>,
        whole: bool,
        unknown: Option<u8>,
    ) -> Read<()> {
        let data = after.rest();
        if !whole && data.len() < LOOK_BYTES {
            return Err(Damage {
                at: after.at(),
                expected: "the records that follow",
                short: true,
            });
        }
        let check = unknown.map_or(Check::Form, Check::Unknown);
        if self.is_run(data, check, whole) {
            Ok(())
        } else {
            after.wrong("a record")
        }
    }

    /// Returns `true` if the end mark at `at` ends the chunk: all its events were read, or no data
    /// follows.
    pub(super) fn is_end(&self, data: &[u8], at: usize, whole: bool) -> bool {
        // Nothing follows a mark at the end of the data.
        let rest = data.get(at + 1..).unwrap_or_default();
        let is_last_mark = data.get(at) != Some(&internal::END_OF_CHUNK);
        self.state.declared == Some(self.state.seen)
            || (is_last_mark && whole && rest.len() <= END_MARKS)
            || (!is_last_mark && rest.iter().all(|byte| *byte == 0))
    }

    /// Searches for the next record from `from` on: a plausible timestamp followed by further
    /// records.
    pub(super) fn search(&mut self, data: &[u8], from: usize, whole: bool) -> Search {
        let mut at = from;
        while let Some(rest) = data.get(at..).filter(|rest| !rest.is_empty()) {
            let Some(step) = rest.iter().position(|byte| *byte == internal::TIMESTAMP) else {
                break;
            };
            at += step;
            let rest = &data[at..];
            if !whole && rest.len() < LOOK_BYTES {
                return Search::More(at);
            }
            if self.is_run(rest, Check::Strict, whole) {
                return Search::Found(at);
            }
            at += 1;
        }
        if whole {
            Search::Nothing
        } else {
            Search::More(data.len())
        }
    }

    /// Returns `true` if `data` begins with a run of records, or with a shorter run that ends the
    /// chunk.
    fn is_run(&mut self, data: &[u8], check: Check, whole: bool) -> bool {
        let is_all = whole && data.len() <= LOOK_BYTES;
        let window = data.get(..LOOK_BYTES).unwrap_or(data);
        let mut cursor = Cursor::new(window, self.state.order);
        // The clock properties may be wrong, which must not turn valid records into damage.
        let (mut last, latest) = match check {
            Check::Form => (0, u64::MAX),
            _ => (self.state.time, self.latest()),
        };
        let mut was_time = false;
        for count in 0..RUN {
            if cursor.is_empty() {
                return is_all || count > 1;
            }
            let at = cursor.at();
            let Ok(id) = cursor.u8("a record") else {
                return false;
            };
            let passes = match id {
                internal::END_OF_CHUNK | internal::END_OF_BUFFER | internal::END_OF_FILE => {
                    return (count > 0 || check != Check::Strict)
                        && self.is_end(window, at, is_all);
                }
                internal::CHUNK_HEADER => false,
                internal::TIMESTAMP => cursor.u64("a time").is_ok_and(|raw| {
                    let time = self.context.local.correct(raw).0;
                    let fits = last <= time && time <= latest;
                    if check != Check::Form {
                        last = time;
                    }
                    fits
                }),
                internal::ATTRIBUTES => cursor.payload().is_ok(),
                _ => self.fits(id, &mut cursor, check),
            };
            // Two timestamps in a row do not occur in valid data.
            let is_time = id == internal::TIMESTAMP;
            if !passes || (is_time && was_time && check == Check::Strict) {
                return false;
            }
            was_time = is_time;
        }
        true
    }

    /// Returns `true` if an event of a known kind is readable and fills its declared length
    /// exactly.
    fn fits(&mut self, id: u8, cursor: &mut Cursor<'_>, check: Check) -> bool {
        let Some(record) = schema::event(id) else {
            return check == Check::Unknown(id) && cursor.payload().is_ok();
        };
        let mut args = std::mem::take(&mut self.args);
        args.clear();
        let context = self.context;
        let mut are_defined = true;
        let mut map = |space: Space, id: u64| {
            let known = context.maps().of(space);
            let global = context.local.global(space, id);
            are_defined &= id == space.undefined()
                || known.is_none_or(|map| map.is_empty() || map.get(global).is_some());
            id
        };
        let is_read = if record.has_length {
            cursor.record().is_ok_and(|mut fields| {
                let read = fields.numbers(record.fields, &mut args, &mut map);
                read.is_ok() && fields.is_empty()
            })
        } else {
            cursor.numbers(record.fields, &mut args, &mut map).is_ok()
        };
        self.args = args;
        is_read && (are_defined || check != Check::Strict)
    }

    /// Returns the latest plausible timestamp.
    fn latest(&self) -> u64 {
        let now = self.state.time;
        let far = self.state.far;
        let next = self.state.next_first.map(|next| next.saturating_add(far));
        let bounds = next.into_iter().chain(self.context.latest);
        bounds
            .filter(|bound| *bound >= now)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Counts the bytes skipped up to byte `until` of the file.
    pub(super) fn resumed(&mut self, until: u64) {
        if let Some((from, _)) = self.state.lost.take() {
            self.state.is_doubtful |= !self.state.started;
            let record = format!("{} bytes skipped", until.saturating_sub(from));
            let place = Place::file(self.context.file.clone()).at(from);
            self.state
                .found
                .add(rules::DAMAGED_CHUNK, place.record(record));
        }
    }

    /// Records that the bytes from `at` on are unreadable. If no further record is found, the chunk
    /// stops with `stop`.
    pub(super) fn lose(&mut self, at: u64, stop: Stop) {
        self.state.lost.get_or_insert((at, stop));
    }
}
