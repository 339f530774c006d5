//! [`Phases`]: converts Chrome trace events by their phase (`ph`) and category to calls, instants,
//! counters, links and names of threads and streams in a [`Part`].

use super::event::{Facts, Raw};
use super::{annotations, rules};
use crate::json::{Cursor, Token, integer, nanos, whole};
use crate::timeline::{Edge, Extra, FlowEnd, Kind, Part, Role, RowKey, Sym, Tag};
use perf_core::{Rule, Value};

/// Kind of location for the events of a category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Thread,
    Stream,
    Beside,
}

/// Returns the region kind, the location and the launch role for the calls of a category.
fn class(category: &[u8]) -> (Kind, Home, Role) {
    match category {
        b"cpu_op" | b"python_function" | b"" => (Kind::Host, Home::Thread, Role::None),
        b"kernel" | b"Kernel" => (Kind::Kernel, Home::Stream, Role::Work),
        b"gpu_memcpy" | b"gpu_memset" | b"Memcpy" | b"Memset" => {
            (Kind::Copy, Home::Stream, Role::Work)
        }
        b"user_annotation" => (Kind::User, Home::Thread, Role::None),
        b"overhead" => (Kind::Overhead, Home::Thread, Role::None),
        b"Runtime" => (Kind::Runtime, Home::Thread, Role::Launch),
        _ if category.ends_with(b"_runtime") || category.ends_with(b"_driver") => {
            (Kind::Runtime, Home::Thread, Role::Launch)
        }
        _ => match vendor(category).map(|(_, rest)| rest) {
            // Commands that the control processor of an MTIA device executes.
            Some(b"ccp_events") => (Kind::Kernel, Home::Stream, Role::Work),
            Some(b"memcpy" | b"memset" | b"MEMCPY" | b"MEMSET") => {
                (Kind::Copy, Home::Stream, Role::Work)
            }
            Some(b"user_annotation" | b"USER_ANNOTATION") => (Kind::User, Home::Beside, Role::None),
            Some(b"sync" | b"event" | b"profiler_range" | b"insight") => {
                (Kind::Runtime, Home::Beside, Role::None)
            }
            _ => (Kind::Host, Home::Thread, Role::None),
        },
    }
}

/// Splits a category of Kineto at its first `_` into the kind of device and the rest.
fn vendor(category: &[u8]) -> Option<(&'static str, &[u8])> {
    let at = category.iter().position(|it| *it == b'_')?;
    let (vendor, rest) = (category.get(..at)?, category.get(at + 1..)?);
    let kind = match vendor {
        b"cuda" | b"hip" | b"gpu" => "GPU",
        b"mtia" => "MTIA",
        b"xpu" => "XPU",
        b"gcu" | b"GCU" => "GCU",
        b"mlu" => "MLU",
        _ => return None,
    };
    Some((kind, rest))
}

/// Converter of the events of one file into a [`Part`].
#[derive(Debug)]
pub(super) struct Phases {
    /// Part under construction.
    pub(super) part: Part,
    /// Number of events with dropped arguments.
    left: u64,
    /// Byte and number of the first of these events.
    first_left: (u64, u64),
    /// Scratch buffer for composed text.
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

    /// Completes the part after the last event.
    pub(super) fn finish(mut self) -> Part {
        let place = self.part.place(self.first_left.0, self.first_left.1);
        self.part.found.add_many(rules::ARGUMENTS, self.left, place);
        self.part.at(None);
        self.part
    }

    fn count(&mut self, rule: Rule, (offset, index): (u64, u64)) {
        let place = self.part.place(offset, index);
        self.part.found.add(rule, place);
    }

    /// Converts an event; `at` is its first byte and its number.
    #[inline]
    pub(super) fn event(&mut self, raw: &Raw<'_>, at: (u64, u64)) {
        self.part.at(Some(at));
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

    /// Returns the time in nanoseconds. A missing time is counted.
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
        let category = raw.category.bytes();
        let (kind, home, role) = class(category);
        let kind = match kind {
            Kind::Host if raw.args.is_copy => Kind::Copy,
            kind => kind,
        };
        let row = match home {
            Home::Thread => self.thread_row(raw),
            Home::Stream | Home::Beside => self.stream_row(raw, home),
        };
        if home != Home::Stream {
            self.part.categorise(row, category);
        }
        if let Some((device, _)) = vendor(category).filter(|(device, _)| *device != "GPU")
            && self.part.device_kind != device
        {
            self.part.device_kind = device.into();
        }
        let text = raw.name.bytes();
        if kind == Kind::Runtime && !self.part.is_hip && text.starts_with(b"hip") {
            self.part.is_hip = true;
        }
        let name = self.part.name(text, at);
        let region = self.part.region(name, kind);
        let id = match (raw.args.correlation, category) {
            (Token::Missing, b"") => raw.args.correlation_id,
            (id, _) => id,
        };
        let correlation = integer(id.bytes());
        let bytes = integer(raw.args.bytes.bytes());
        let mut extra = Extra::new(correlation, bytes, role);
        match raw.args.facts {
            Facts::None => {}
            Facts::Training => annotations::training(&mut self.part, raw, (start, end), &mut extra),
            Facts::Collective => annotations::collective(&mut self.part, raw, &mut extra),
        }
        let extra = self.part.extra(extra);
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
        let (kind, ..) = class(raw.category.bytes());
        let edge = self.edge(raw, raw.phase == b'B', kind, at);
        self.part.mark(row, time, edge, Tag::default());
    }

    /// Returns a begin with its region, or an end with its optional name.
    fn edge(&mut self, raw: &Raw<'_>, is_begin: bool, kind: Kind, at: (u64, u64)) -> Edge {
        let text = raw.name.bytes();
        if !is_begin && text.is_empty() {
            return Edge::End(None);
        }
        let name = self.part.name(text, at);
        if is_begin {
            Edge::Begin(self.part.region(name, kind))
        } else {
            Edge::End(Some(name))
        }
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
        let mut name = self.part.text(raw.name.bytes());
        if let Some(id) = raw.id.scalar() {
            name = format!("{name}[{}]", self.part.text(id));
        }
        let (mut values, mut bad) = (Vec::new(), 0_u64);
        let mut cursor = Cursor::new(raw.args.text);
        let part = &mut self.part;
        // Each key is prefixed with the name of the event. The budget bounds the result for many
        // keys and a long name.
        let (mut left, mut left_out) = (part.most_text(), 0_u64);
        let read = cursor.object(|key, cursor| {
            let Some(value) = value(cursor.value()?) else {
                bad += 1;
                return Ok(());
            };
            match left.checked_sub((name.len() + key.len()) as u64) {
                Some(rest) => {
                    left = rest;
                    values.push((format!("{name}: {}", part.text(key)), value));
                }
                None => left_out += 1,
            }
            Ok(())
        });
        if left_out > 0 {
            let place = part.place(at.0, at.1);
            part.found
                .add_many(crate::timeline::rules::DEFINITIONS, left_out, place);
        }
        if read.is_err() || (values.is_empty() && left_out == 0) {
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
        let args = &raw.args;
        match raw.name.bytes() {
            b"process_name" => {
                let name = self.part.text(args.name.bytes());
                self.part.process_name(process, name);
            }
            b"process_labels" => {
                let labels = self.part.text(args.labels.bytes());
                self.part.process_labels(process, labels);
            }
            b"thread_name" => {
                let name = self.part.text(args.name.bytes());
                self.part.thread_name(process, thread, name);
            }
            _ => {}
        }
    }

    /// Combines category, scope and id to a tag. An id is valid for all processes unless it is
    /// local; `of` distinguishes flows and calls.
    fn tag(&mut self, raw: &Raw<'_>, of: &[u8], at: (u64, u64)) -> Tag {
        let (kind, process, id) = match (raw.local_id.scalar(), raw.global_id.scalar()) {
            (Some(_), _) => (&b"local"[..], raw.process.bytes(), raw.local_id),
            (None, Some(_)) => (&b"global"[..], &b""[..], raw.global_id),
            (None, None) => (&b""[..], &b""[..], raw.id),
        };
        if id.scalar().is_none() {
            self.count(rules::NO_ID, at);
        }
        let id = id.bytes();
        let hex = id.strip_prefix(b"0x").or(id.strip_prefix(b"0X"));
        let hex = hex.and_then(|digits| std::str::from_utf8(digits).ok());
        let hex = hex.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let number = hex.or_else(|| whole(id));
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let text = number.map_or(id, |_| b"");
        for part in [
            raw.category.bytes(),
            of,
            kind,
            process,
            raw.scope.bytes(),
            text,
        ] {
            scratch.extend(part);
            scratch.push(0);
        }
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
        let tag = self.tag(raw, b"flow", at);
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
        let tag = self.tag(raw, b"", at);
        let is_begin = matches!(raw.phase, b'b' | b'S');
        let edge = self.edge(raw, is_begin, Kind::Host, at);
        self.part.mark(row, time, edge, tag);
    }
}

/// Returns a finite number, as an integer if it is whole.
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
