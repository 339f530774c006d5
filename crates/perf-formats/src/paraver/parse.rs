//! [`parse`]: parses lines of a `.prv` into the records of a [`Batch`].

use super::decimal::{Cursor, Expected};
use super::record::{Batch, Communication, Entry, Kind, Object, OnCpu, Pair, Skip};
use perf_core::Ticks;

/// Fills a batch with the records of `text`, which consists of whole lines. The last line may lack its line end.
///
/// Invalid lines are stored verbatim, the first of them with details in `skips`. The memory is at most a fixed multiple
/// of the text.
pub(super) fn parse(text: &[u8], offset: u64, batch: &mut Batch) {
    batch.clear();
    batch.offset = offset;
    // Typical traces have lines of 40 to 150 bytes, and long lines consist mostly of events.
    batch.entries.reserve(text.len() / 80);
    batch.pairs.reserve(text.len() / 20);
    let mut at = 0;
    while at < text.len() {
        let before = Marks::of(batch);
        let mut cursor = Cursor::new(text, at);
        let done = line(text, &mut cursor, batch).and_then(|()| end(&mut cursor));
        match done {
            Ok(is_usual) => {
                if !(is_usual && cursor.is_plain) {
                    keep(text, at, cursor.at(), batch);
                }
                if let Some(entry) = batch.entries.last_mut() {
                    entry.offset = at as u32;
                }
                at = cursor.at();
            }
            Err(expected) => {
                before.restore(batch);
                at = skip(text, at, cursor.at(), expected, batch);
            }
        }
        batch.lines += 1;
    }
    batch.is_unterminated = text.last().is_some_and(|byte| *byte != b'\n');
}

/// Returns the start of the text at `at` in quotes, for an error.
pub(super) fn snippet(text: &[u8], at: usize) -> String {
    // A truncated record ends before the place where more was expected.
    let rest = text.get(at..).unwrap_or_default();
    let line = rest.split(|byte| matches!(byte, b'\n' | b'\r')).next();
    match line {
        None | Some([]) => "the end of the line".into(),
        Some(line) => {
            let few = String::from_utf8_lossy(line.get(..32).unwrap_or(line));
            let more = if line.len() > 32 { "..." } else { "" };
            format!("`{few}{more}`")
        }
    }
}

/// Sizes of the pools before a line, to undo a partly parsed line.
struct Marks {
    /// Number of entries.
    entries: usize,
    /// Number of pairs.
    pairs: usize,
    /// Number of tasks.
    tasks: usize,
    /// Length of the text.
    text: usize,
}

impl Marks {
    #[inline(always)]
    fn of(batch: &Batch) -> Self {
        Marks {
            entries: batch.entries.len(),
            pairs: batch.pairs.len(),
            tasks: batch.tasks.len(),
            text: batch.text.len(),
        }
    }

    fn restore(self, batch: &mut Batch) {
        // Messages and sides of inter-communicators have one entry each, added at the end of the
        // line.
        while batch.entries.len() > self.entries {
            match batch.entries.pop().map(|entry| entry.kind) {
                Some(Kind::Communication) => drop(batch.communications.pop()),
                Some(Kind::InterCommunicator) => drop(batch.sides.pop()),
                _ => {}
            }
        }
        batch.pairs.truncate(self.pairs);
        batch.tasks.truncate(self.tasks);
        batch.text.truncate(self.text);
    }
}

/// Reads the end of a line; returns `true` for a plain newline.
#[inline(always)]
fn end(cursor: &mut Cursor<'_>) -> Result<bool, Expected> {
    if cursor.eat(b'\n') {
        return Ok(true);
    }
    while cursor.eat(b' ') || cursor.eat(b'\t') || cursor.eat(b'\r') {}
    if cursor.eat(b'\n') || cursor.peek().is_none() {
        Ok(false)
    } else {
        Err("the end of the line")
    }
}

/// Stores a line verbatim, because the writer would format it differently.
#[cold]
fn keep(text: &[u8], start: usize, end: usize, batch: &mut Batch) {
    let from = batch.text.len() as u32;
    batch.text.extend_from_slice(&text[start..end]);
    let entry = (batch.entries.len() as u32).saturating_sub(1);
    batch.raw.push((entry, from, batch.text.len() as u32));
}

/// Stores an invalid line, and returns the start of the next line.
#[cold]
fn skip(text: &[u8], start: usize, at: usize, expected: Expected, batch: &mut Batch) -> usize {
    let rest = &text[start..];
    let end = memchr::memchr(b'\n', rest).map_or(text.len(), |end| start + end + 1);
    if batch.skips.len() < Batch::SKIPS || end == text.len() {
        batch.skips.push(Skip {
            line: batch.lines,
            offset: start as u64,
            column: (at - start) as u64,
            expected,
            got: snippet(text, at),
            is_cut: at >= text.len(),
        });
    }
    let from = batch.text.len() as u32;
    batch.text.extend_from_slice(&text[start..end]);
    let place = (batch.entries.len() as u32, from, batch.text.len() as u32);
    batch.skipped.push(place);
    end
}

#[inline(always)]
fn line(text: &[u8], cursor: &mut Cursor<'_>, batch: &mut Batch) -> Result<(), Expected> {
    let start = cursor.at();
    let first = cursor.peek();
    let second = text.get(start + 1).copied();
    match (first, second) {
        (Some(b'1'), Some(b':')) => state(cursor.behind(start + 2), batch, cursor),
        (Some(b'2'), Some(b':')) => events(cursor.behind(start + 2), batch, cursor),
        (Some(b'3'), Some(b':')) => communication(cursor.behind(start + 2), batch, cursor),
        _ => rare(text, cursor, batch, first, second),
    }
}

#[inline(always)]
fn who(cursor: &mut Cursor<'_>) -> Result<OnCpu, Expected> {
    let cpu = cursor.field("a CPU")?;
    let application = cursor.field("an application")?;
    let task = cursor.field("a task")?;
    let thread = cursor.field("a thread")?;
    Ok(OnCpu {
        cpu,
        object: Object {
            application,
            task,
            thread,
        },
    })
}

#[inline(always)]
fn state<'a>(
    mut own: Cursor<'a>,
    batch: &mut Batch,
    cursor: &mut Cursor<'a>,
) -> Result<(), Expected> {
    let done = (|| {
        let at = who(&mut own)?;
        let begin = own.number("the begin of a state")?;
        own.colon()?;
        let end = own.number("the end of a state")?;
        own.colon()?;
        let state = own.small("a state")?;
        batch.entries.push(Entry {
            kind: Kind::State,
            offset: 0,
            at,
            time: begin,
            payload: end,
            detail: state,
        });
        Ok(())
    })();
    *cursor = own;
    done
}

#[inline(always)]
fn events<'a>(
    mut own: Cursor<'a>,
    batch: &mut Batch,
    cursor: &mut Cursor<'a>,
) -> Result<(), Expected> {
    let start = batch.pairs.len();
    let done = (|| {
        let at = who(&mut own)?;
        let time = own.number("the time of events")?;
        if own.peek() != Some(b':') {
            return Err("`:` and an event");
        }
        while own.eat(b':') {
            let kind = own.small("the type of an event")?;
            own.colon()?;
            let value = own.signed("the value of an event")?;
            batch.pairs.push(Pair::of(kind, value));
        }
        batch.entries.push(Entry {
            kind: Kind::Events,
            offset: 0,
            at,
            time,
            payload: start as u64,
            // A batch has less than 2^32 bytes, so the count fits.
            detail: (batch.pairs.len() - start) as u32,
        });
        Ok(())
    })();
    *cursor = own;
    done
}

fn communication<'a>(
    mut own: Cursor<'a>,
    batch: &mut Batch,
    cursor: &mut Cursor<'a>,
) -> Result<(), Expected> {
    let done = (|| {
        let sender = who(&mut own)?;
        let logical_send = own.number("the time of the call of a send")?;
        own.colon()?;
        let physical_send = own.number("the time of the departure of a message")?;
        own.colon()?;
        let receiver = who(&mut own)?;
        let logical_receive = own.number("the time of the call of a receive")?;
        own.colon()?;
        let physical_receive = own.number("the time of the arrival of a message")?;
        own.colon()?;
        let size = own.number("the size of a message")?;
        own.colon()?;
        let before = own.at();
        let (is_negative, tag) = own.signed("the tag of a message")?;
        if tag.cast_signed() < 0 && !is_negative {
            own = Cursor::new(b"", before);
            return Err("a signed number of 64 bits");
        }
        batch.entries.push(Entry {
            kind: Kind::Communication,
            offset: 0,
            at: sender,
            time: logical_send,
            payload: batch.communications.len() as u64,
            detail: 0,
        });
        batch.communications.push(Communication {
            sender,
            logical_send: Ticks(logical_send),
            physical_send: Ticks(physical_send),
            receiver,
            logical_receive: Ticks(logical_receive),
            physical_receive: Ticks(physical_receive),
            size,
            tag: tag.cast_signed(),
        });
        Ok(())
    })();
    *cursor = own;
    done
}

/// Parses the rare kinds of lines: definitions, comments, blank lines, old records.
#[cold]
fn rare(
    text: &[u8],
    cursor: &mut Cursor<'_>,
    batch: &mut Batch,
    first: Option<u8>,
    second: Option<u8>,
) -> Result<(), Expected> {
    let start = cursor.at();
    match (first, second) {
        (Some(b'#'), _) => verbatim(text, cursor, batch, Kind::Comment),
        (Some(b'4'), Some(b':')) => verbatim(text, cursor, batch, Kind::Global),
        (Some(letter @ (b'c' | b'C')), Some(b':')) => {
            cursor.jump(start + 2);
            communicator(cursor, batch, letter == b'C')
        }
        (Some(letter @ (b'i' | b'I')), Some(b':')) => {
            cursor.jump(start + 2);
            intercommunicator(cursor, batch, letter == b'I')
        }
        (Some(b'\n' | b'\r' | b' ' | b'\t'), _) => {
            let entry = named(Kind::Blank, 0, 0, false);
            batch.entries.push(entry);
            Ok(())
        }
        _ => Err("a record (`1:` to `4:`, `c:`, `i:` or `#`)"),
    }
}

fn named(kind: Kind, application: u32, id: u32, is_upper: bool) -> Entry {
    Entry {
        kind,
        offset: 0,
        at: OnCpu {
            cpu: 0,
            object: Object {
                application,
                task: id,
                thread: u32::from(is_upper),
            },
        },
        time: 0,
        payload: 0,
        detail: 0,
    }
}

fn verbatim(
    text: &[u8],
    cursor: &mut Cursor<'_>,
    batch: &mut Batch,
    kind: Kind,
) -> Result<(), Expected> {
    let start = cursor.at();
    let rest = &text[start..];
    let mut len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    // The carriage return of a Windows line end is not part of the line.
    if len > 0 && rest.get(len - 1) == Some(&b'\r') {
        len -= 1;
    }
    let mut entry = named(kind, 0, 0, false);
    entry.payload = batch.text.len() as u64;
    entry.detail = len as u32;
    batch.text.extend_from_slice(&rest[..len]);
    batch.entries.push(entry);
    cursor.jump(start + len);
    Ok(())
}

fn communicator(
    cursor: &mut Cursor<'_>,
    batch: &mut Batch,
    is_upper: bool,
) -> Result<(), Expected> {
    let application = cursor.small("an application")?;
    cursor.colon()?;
    let id = cursor.small("a communicator")?;
    cursor.colon()?;
    let count = cursor.small("the number of tasks")?;
    let start = batch.tasks.len();
    for _ in 0..count {
        cursor.colon()?;
        batch.tasks.push(cursor.small("a task")?);
    }
    let mut entry = named(Kind::Communicator, application, id, is_upper);
    (entry.payload, entry.detail) = (start as u64, count);
    batch.entries.push(entry);
    Ok(())
}

fn intercommunicator(
    cursor: &mut Cursor<'_>,
    batch: &mut Batch,
    is_upper: bool,
) -> Result<(), Expected> {
    let application = cursor.small("an application")?;
    cursor.colon()?;
    let id = cursor.small("an inter-communicator")?;
    let mut sides = [(0, 0); 2];
    for side in &mut sides {
        cursor.colon()?;
        let communicator = cursor.small("a communicator")?;
        cursor.colon()?;
        *side = (communicator, cursor.small("a leading task")?);
    }
    let mut entry = named(Kind::InterCommunicator, application, id, is_upper);
    entry.payload = batch.sides.len() as u64;
    batch.sides.push((id, sides));
    batch.entries.push(entry);
    Ok(())
}
