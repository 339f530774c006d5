//! What each phase becomes.

use super::event::Raw;
use super::rules;
use crate::json::{Cursor, Token, decode, integer, nanos, whole};
use crate::timeline::{Extra, FlowEnd, Kind, Part, Role, RowKey, Sym, Tag};
use perf_core::{Rule, Value};

/// Where the events of a category lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Thread,
    Stream,
    Beside,
}

/// What a category says: the kind of the call, where it lies, and whether it may launch work.
fn class(category: &[u8]) -> (Kind, Home, Role) {
    match category {
        b"kernel" | b"Kernel" => (Kind::Kernel, Home::Stream, Role::Work),
        b"gpu_memcpy" | b"gpu_memset" | b"Memcpy" | b"Memset" => {
            (Kind::Copy, Home::Stream, Role::Work)
        }
        b"gpu_user_annotation" => (Kind::User, Home::Beside, Role::None),
        b"cuda_sync" | b"hip_sync" | b"gpu_sync" => (Kind::Runtime, Home::Beside, Role::None),
        b"user_annotation" => (Kind::User, Home::Thread, Role::None),
        b"overhead" => (Kind::Overhead, Home::Thread, Role::None),
        b"Runtime" => (Kind::Runtime, Home::Thread, Role::Launch),
        _ if category.ends_with(b"_runtime") || category.ends_with(b"_driver") => {
            (Kind::Runtime, Home::Thread, Role::Launch)
        }
        _ => (Kind::Host, Home::Thread, Role::None),
    }
}

/// Puts the events of one file into a [`Part`].
#[derive(Debug)]
pub(super) struct Phases {
    pub(super) part: Part,
    /// Events with arguments that are not kept, and the first of them.
    left: u64,
    first_left: (u64, u64),
    /// Text that is put together for a word.
    scratch: Vec<u8>,
}

impl Phases {
    pub(super) fn new(part: Part) -> Self {
        Phases {
            part,
            left: 0,
            first_left: (0, 0),
            scratch: Vec::new(),
        }
    }

    /// The part, when all events are in it.
    pub(super) fn finish(mut self) -> Part {
        let place = self.part.place(self.first_left.0, self.first_left.1);
        self.part.found.add_many(rules::ARGUMENTS, self.left, place);
        self.part
    }

    fn count(&mut self, rule: Rule, (offset, index): (u64, u64)) {
        let place = self.part.place(offset, index);
        self.part.found.add(rule, place);
    }

    /// Takes an event, which begins at a byte and has a number.
    #[inline]
    pub(super) fn event(&mut self, raw: &Raw<'_>, at: (u64, u64)) {
        if raw.args.has_more && raw.phase != b'C' {
            if self.left == 0 {
                self.first_left = at;
            }
            self.left += 1;
        }
        match raw.phase {
            b'X' => self.complete(raw, at),
            b'B' | b'E' => self.mark(raw, at),
            b'i' | b'I' | b'R' => self.instant(raw, at),
            b'C' => self.counter(raw, at),
            b'M' => self.metadata(raw),
            b's' | b't' | b'f' => self.flow(raw, at),
            b'b' | b'n' | b'e' | b'S' | b'T' | b'p' | b'F' => self.asynchronous(raw, at),
            0 if !raw.has_fields => self.count(rules::EMPTY, at),
            _ => self.count(rules::PHASE, at),
        }
    }

    /// The time in nanoseconds, counted where there is none.
    #[inline]
    fn time(&mut self, raw: &Raw<'_>, at: (u64, u64)) -> Option<i64> {
        let time = nanos(raw.time.bytes(), 3);
        if time.is_none() {
            self.count(rules::BAD_TIME, at);
        }
        time
    }

    fn word(&mut self, token: Token<'_>) -> Sym {
        let text = token.bytes().trim_ascii();
        let text = match token {
            Token::Bare(_) => text.strip_suffix(b".0").unwrap_or(text),
            _ => text,
        };
        self.part.symbol(text)
    }

    fn thread(&mut self, raw: &Raw<'_>) -> (Sym, Sym) {
        (self.word(raw.process), self.word(raw.thread))
    }

    fn thread_row(&mut self, raw: &Raw<'_>) -> u32 {
        let (process, thread) = self.thread(raw);
        self.part.row(RowKey::Thread { process, thread })
    }

    fn complete(&mut self, raw: &Raw<'_>, at: (u64, u64)) {
        let Some(start) = self.time(raw, at) else {
            return;
        };
        let length = match raw.duration {
            Token::Missing => {
                self.count(rules::NO_DURATION, at);
                Some(0)
            }
            token => nanos(token.bytes(), 3),
        };
        let Some(end) = length.and_then(|length| start.checked_add(length)) else {
            self.count(rules::BAD_TIME, at);
            return;
        };
        if end < start {
            self.count(rules::NEGATIVE, at);
        }
        let (kind, home, role) = class(raw.category.bytes());
        let row = match home {
            Home::Thread => self.thread_row(raw),
            Home::Stream | Home::Beside => self.stream_row(raw, home),
        };
        let text = raw.name.bytes();
        if kind == Kind::Runtime && !self.part.is_hip && text.starts_with(b"hip") {
            self.part.is_hip = true;
        }
        let name = self.part.name(text, at);
        let region = self.part.region(name, kind);
        let correlation = integer(raw.args.correlation.bytes());
        let bytes = integer(raw.args.bytes.bytes());
        let extra = self.part.extra(Extra::new(correlation, bytes, role));
        self.part.call(row, (start, end.max(start)), region, extra);
    }

    fn stream_row(&mut self, raw: &Raw<'_>, home: Home) -> u32 {
        let (process, thread) = self.thread(raw);
        let device = match raw.args.device.scalar() {
            Some(_) => self.word(raw.args.device),
            None => process,
        };
        let stream = match raw.args.stream.scalar() {
            Some(_) => self.word(raw.args.stream),
            None => {
                let text = raw.thread.bytes().trim_ascii();
                let number = text.strip_prefix(b"stream ").unwrap_or(text);
                self.part.symbol(number.trim_ascii())
            }
        };
        if home == Home::Beside {
            return self.part.row(RowKey::Beside { device, stream });
        }
        let context = self.word(raw.args.context);
        let row = self.part.row(RowKey::Work {
            device,
            context,
            stream,
        });
        self.part.show(process, thread, row);
        row
    }

    fn mark(&mut self, raw: &Raw<'_>, at: (u64, u64)) {
        let Some(time) = self.time(raw, at) else {
            return;
        };
        let row = self.thread_row(raw);
        let region = (raw.phase == b'B').then(|| {
            let (kind, ..) = class(raw.category.bytes());
            let name = self.part.name(raw.name.bytes(), at);
            self.part.region(name, kind)
        });
        self.part.mark(row, time, region, Tag::default());
    }

    fn instant(&mut self, raw: &Raw<'_>, at: (u64, u64)) {
        let Some(time) = self.time(raw, at) else {
            return;
        };
        let row = self.thread_row(raw);
        self.note(row, time, raw, at);
    }

    fn note(&mut self, row: u32, time: i64, raw: &Raw<'_>, at: (u64, u64)) {
        let name = self.part.name(raw.name.bytes(), at);
        let bytes = integer(raw.args.bytes.bytes());
        let extra = self.part.extra(Extra::new(None, bytes, Role::None));
        self.part.instant(row, time, name, extra);
    }

    fn counter(&mut self, raw: &Raw<'_>, at: (u64, u64)) {
        let Some(time) = self.time(raw, at) else {
            return;
        };
        let mut name = decode(raw.name.bytes()).0;
        if let Some(id) = raw.id.scalar() {
            name = format!("{name}[{}]", decode(id).0);
        }
        let (mut values, mut bad) = (Vec::new(), 0_u64);
        let mut cursor = Cursor::new(raw.args.text);
        let read = cursor.object(|key, cursor| {
            match value(cursor.value()?) {
                Some(value) => values.push((format!("{name}: {}", decode(key).0), value)),
                None => bad += 1,
            }
            Ok(())
        });
        if read.is_err() || values.is_empty() {
            bad += 1;
        }
        if bad > 0 {
            let place = self.part.place(at.0, at.1);
            self.part.found.add_many(rules::BAD_VALUE, bad, place);
        }
        if !values.is_empty() {
            let process = self.word(raw.process);
            self.part.sample(process, time, &values);
        }
    }

    fn metadata(&mut self, raw: &Raw<'_>) {
        let (process, thread) = self.thread(raw);
        let text = |token: Token<'_>| decode(token.bytes()).0;
        match raw.name.bytes() {
            b"process_name" => self.part.process_name(process, text(raw.args.name)),
            b"process_labels" => self.part.process_labels(process, text(raw.args.labels)),
            b"thread_name" => self.part.thread_name(process, thread, text(raw.args.name)),
            _ => {}
        }
    }

    /// Category and id as a tag; `scope` keeps ids of one number apart that are not one.
    fn tag(&mut self, raw: &Raw<'_>, scope: &[u8], id: Token<'_>, at: (u64, u64)) -> Tag {
        if id.scalar().is_none() {
            self.count(rules::NO_ID, at);
        }
        let id = id.bytes();
        let hex = id.strip_prefix(b"0x").or(id.strip_prefix(b"0X"));
        let hex = hex.and_then(|digits| std::str::from_utf8(digits).ok());
        let hex = hex.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let number = hex.or_else(|| whole(id));
        self.scratch.clear();
        self.scratch.extend(raw.category.bytes());
        self.scratch.push(0);
        self.scratch.extend(scope);
        if number.is_none() {
            self.scratch.push(0);
            self.scratch.extend(id);
        }
        let scratch = std::mem::take(&mut self.scratch);
        let sym = self.part.symbol(&scratch);
        self.scratch = scratch;
        (sym, number.unwrap_or_default())
    }

    fn flow(&mut self, raw: &Raw<'_>, at: (u64, u64)) {
        let Some(time) = self.time(raw, at) else {
            return;
        };
        let end = match (raw.phase, raw.binds_around) {
            (b's', _) => FlowEnd::Start,
            (b't', _) => FlowEnd::Step,
            (_, true) => FlowEnd::Around,
            (_, false) => FlowEnd::Next,
        };
        let tag = self.tag(raw, b"flow", raw.id, at);
        let thread = self.thread(raw);
        self.part.flow(tag, end, time, thread);
    }

    fn asynchronous(&mut self, raw: &Raw<'_>, at: (u64, u64)) {
        let Some(time) = self.time(raw, at) else {
            return;
        };
        let process = self.word(raw.process);
        let category = self.word(raw.category);
        let row = self.part.row(RowKey::Async { process, category });
        if matches!(raw.phase, b'n' | b'T' | b'p') {
            self.note(row, time, raw, at);
            return;
        }
        let local = [b"local ", raw.process.bytes()].concat();
        let (scope, id) = match (raw.local_id.scalar(), raw.global_id.scalar()) {
            (Some(_), _) => (&local[..], raw.local_id),
            (None, Some(_)) => (&b"global"[..], raw.global_id),
            (None, None) => (&b""[..], raw.id),
        };
        let tag = self.tag(raw, scope, id, at);
        let region = matches!(raw.phase, b'b' | b'S').then(|| {
            let name = self.part.name(raw.name.bytes(), at);
            self.part.region(name, Kind::Host)
        });
        self.part.mark(row, time, region, tag);
    }
}

/// A finite number, whole where it is.
fn value(token: Token<'_>) -> Option<Value> {
    let text = token.scalar()?;
    match integer(text) {
        Some((bits, true)) => Some(Value::I64(bits.cast_signed())),
        Some((bits, false)) if i64::try_from(bits).is_ok() => Some(Value::U64(bits)),
        _ => {
            let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
            number.is_finite().then_some(Value::F64(number))
        }
    }
}
