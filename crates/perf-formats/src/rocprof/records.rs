//! One record, and what it becomes.

use super::rules;
use crate::json::{Cursor, Stop, Token, decode, nanos, whole};
use crate::timeline::{Extra, Kind, Part, Role, RowKey, Sym};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The fields of a record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record<'a> {
    kind: Token<'a>,
    operation: Token<'a>,
    thread: Token<'a>,
    correlation: Token<'a>,
    start: Token<'a>,
    end: Token<'a>,
    agent: Token<'a>,
    source: Token<'a>,
    target: Token<'a>,
    queue: Token<'a>,
    stream: Token<'a>,
    kernel: Token<'a>,
    bytes: Token<'a>,
}

/// The number in `{"handle": 5}`, or the one that stands in its place.
fn handle<'a>(cursor: &mut Cursor<'a>, key: &[u8]) -> Result<Token<'a>, Stop> {
    if cursor.peek()? != b'{' {
        return cursor.value();
    }
    let mut found = Token::Missing;
    cursor.object(|own, cursor| {
        let value = cursor.value()?;
        if own == key {
            found = value;
        }
        Ok(())
    })?;
    Ok(found)
}

impl<'a> Record<'a> {
    /// Reads a record off the cursor.
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Stop> {
        let mut record = Record::default();
        cursor.object(|key, cursor| record.member(key, cursor))?;
        Ok(record)
    }

    fn member(&mut self, key: &[u8], cursor: &mut Cursor<'a>) -> Result<(), Stop> {
        match key {
            b"kind" => self.kind = cursor.value()?,
            b"operation" => self.operation = cursor.value()?,
            b"thread_id" => self.thread = cursor.value()?,
            b"start_timestamp" => self.start = cursor.value()?,
            b"end_timestamp" => self.end = cursor.value()?,
            b"kernel_id" => self.kernel = cursor.value()?,
            b"bytes" | b"allocation_size" => self.bytes = cursor.value()?,
            b"correlation_id" => self.correlation = handle(cursor, b"internal")?,
            b"agent_id" => self.agent = handle(cursor, b"handle")?,
            b"src_agent_id" => self.source = handle(cursor, b"handle")?,
            b"dst_agent_id" => self.target = handle(cursor, b"handle")?,
            b"queue_id" => self.queue = handle(cursor, b"handle")?,
            b"stream_id" => self.stream = handle(cursor, b"handle")?,
            b"dispatch_info" if cursor.peek()? == b'{' => {
                cursor.object(|key, cursor| self.member(key, cursor))?;
            }
            _ => {
                cursor.value()?;
            }
        }
        Ok(())
    }
}

/// What a section of records holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Dispatches,
    Copies,
    Scratch,
    Allocations,
    Markers,
    Calls,
}

impl Section {
    /// The section of a name; `None` for one without a noun.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "kernel_dispatch" => Section::Dispatches,
            "memory_copy" => Section::Copies,
            "scratch_memory" => Section::Scratch,
            "memory_allocation" => Section::Allocations,
            "marker_api" => Section::Markers,
            _ if name.ends_with("_api") || name.ends_with("_api_ext") => Section::Calls,
            _ => return None,
        })
    }
}

/// What stands for a name until all names are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Named {
    Kernel(u64),
    Operation(u64, u64),
    Marker(u64, u64, u64),
}

/// An agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Agent {
    pub(super) is_gpu: bool,
    /// Its number among those of its kind.
    pub(super) number: Option<u64>,
    pub(super) name: String,
}

/// One process.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) part: Part,
    pub(super) agents: BTreeMap<u64, Agent>,
    pub(super) kernels: HashMap<u64, String>,
    /// Names of operations by kind.
    pub(super) operations: Vec<Vec<String>>,
    pub(super) markers: HashMap<u64, String>,
    pub(super) process: Option<u64>,
    wanted: HashMap<Named, u32>,
    /// Agents that have a row, by handle.
    devices: HashMap<u64, Sym>,
    threads: HashSet<Sym>,
}

impl Tool {
    pub(super) fn new(mut part: Part) -> Self {
        part.is_hip = true;
        part.context_word = "queue";
        Tool {
            part,
            agents: BTreeMap::new(),
            kernels: HashMap::new(),
            operations: Vec::new(),
            markers: HashMap::new(),
            process: None,
            wanted: HashMap::new(),
            devices: HashMap::new(),
            threads: HashSet::new(),
        }
    }

    /// Takes a record of a section, which begins at a byte and has a number.
    pub(super) fn record(&mut self, section: Section, raw: &Record<'_>, at: (u64, u64)) {
        let start = nanos(raw.start.bytes(), 0);
        let end = nanos(raw.end.bytes(), 0);
        let (Some(start), Some(end)) = (start, end) else {
            let place = self.part.place(at.0, at.1);
            self.part.found.add(rules::BAD_TIME, place);
            return;
        };
        if end < start {
            let place = self.part.place(at.0, at.1);
            self.part.found.add(rules::NEGATIVE, place);
        }
        let end = end.max(start);
        let id = whole(raw.correlation.bytes());
        let operation = || {
            let number = |token: Token<'_>| whole(token.bytes()).unwrap_or(0);
            (number(raw.kind), number(raw.operation))
        };
        let (named, kind, role) = match section {
            Section::Dispatches => {
                let kernel = whole(raw.kernel.bytes()).unwrap_or(0);
                (Named::Kernel(kernel), Kind::Kernel, Role::Work)
            }
            Section::Copies => {
                let (kind, operation) = operation();
                (Named::Operation(kind, operation), Kind::Copy, Role::Work)
            }
            Section::Markers => {
                let (kind, operation) = operation();
                let named = Named::Marker(id.unwrap_or(0), kind, operation);
                (named, Kind::User, Role::None)
            }
            Section::Scratch | Section::Allocations => {
                let (kind, operation) = operation();
                (Named::Operation(kind, operation), Kind::Runtime, Role::None)
            }
            Section::Calls => {
                let (kind, operation) = operation();
                (
                    Named::Operation(kind, operation),
                    Kind::Runtime,
                    Role::Launch,
                )
            }
        };
        let row = self.row(section, raw, at);
        let name = self.name(named);
        let bytes = whole(raw.bytes.bytes()).map(|bytes| (bytes, false));
        let extra = self
            .part
            .extra(Extra::new(id.map(|id| (id, false)), bytes, role));
        if section == Section::Markers && start == end {
            self.part.instant(row, start, name, extra);
            return;
        }
        let region = self.part.region(name, kind);
        self.part.call(row, (start, end), region, extra);
    }

    /// A name that is found when all are known.
    fn name(&mut self, named: Named) -> u32 {
        let part = &mut self.part;
        *self.wanted.entry(named).or_insert_with(|| part.unnamed())
    }

    fn row(&mut self, section: Section, raw: &Record<'_>, at: (u64, u64)) -> u32 {
        let agent = match section {
            Section::Dispatches | Section::Scratch => raw.agent,
            Section::Copies => self.copied(raw, at),
            _ => {
                let process = self.part.symbol(b"\0process");
                let thread = self.part.symbol(raw.thread.bytes());
                self.threads.insert(thread);
                return self.part.row(RowKey::Thread { process, thread });
            }
        };
        let device = self.device(agent.bytes());
        let queue = self.part.symbol(raw.queue.bytes());
        if section == Section::Scratch {
            return self.part.row(RowKey::Beside {
                device,
                stream: queue,
            });
        }
        let stream = raw.stream.scalar().unwrap_or(b"-1");
        let stream = self.part.symbol(stream);
        self.part.row(RowKey::Work {
            device,
            context: queue,
            stream,
        })
    }

    /// The GPU of a copy.
    fn copied<'a>(&mut self, raw: &Record<'a>, at: (u64, u64)) -> Token<'a> {
        let is_gpu = |token: &Token<'_>| {
            let agent = whole(token.bytes()).and_then(|id| self.agents.get(&id));
            agent.is_some_and(|agent| agent.is_gpu)
        };
        match [raw.target, raw.source].into_iter().find(is_gpu) {
            Some(agent) => agent,
            None => {
                let place = self.part.place(at.0, at.1);
                self.part.found.add(rules::NO_AGENT, place);
                raw.target
            }
        }
    }

    fn device(&mut self, handle: &[u8]) -> Sym {
        let id = whole(handle).unwrap_or(0);
        if let Some(known) = self.devices.get(&id) {
            return *known;
        }
        let sym = self.part.symbol(format!("\0agent {id}").as_bytes());
        self.devices.insert(id, sym);
        sym
    }

    /// Gives everything its name, now that all names are known.
    pub(super) fn finish(mut self) -> Part {
        let process = self.part.symbol(b"\0process");
        let number = self.process.map_or_else(String::new, |id| id.to_string());
        self.part.rename_word(process, number);
        for (handle, sym) in &self.devices {
            let agent = self.agents.get(handle).cloned().unwrap_or_default();
            let number = agent.number.filter(|_| agent.is_gpu);
            let number = number.unwrap_or(*handle).to_string();
            self.part.rename_word(*sym, number);
            if !agent.name.is_empty() {
                self.part.devices.insert(*sym, agent.name);
            }
        }
        let mut unknown = 0;
        for (named, text) in &self.wanted {
            let operation = |kind: u64, operation: u64| {
                let names = self.operations.get(usize::try_from(kind).ok()?)?;
                names.get(usize::try_from(operation).ok()?).cloned()
            };
            let (known, stand_in) = match *named {
                Named::Kernel(id) => (self.kernels.get(&id).cloned(), format!("kernel {id}")),
                Named::Operation(kind, id) => (
                    operation(kind, id),
                    format!("operation {id} of kind {kind}"),
                ),
                Named::Marker(id, kind, own) => {
                    let text = self.markers.get(&id).cloned();
                    let text = text.or_else(|| operation(kind, own));
                    (text, format!("marker {id}"))
                }
            };
            unknown += u64::from(known.is_none());
            self.part.rename(*text, known.unwrap_or(stand_in));
        }
        let place = self.part.place(0, 0);
        let place = perf_core::Place {
            offset: None,
            record: None,
            ..place
        };
        self.part.found.add_many(rules::NO_NAME, unknown, place);
        self.part
    }
}

/// The name of a kernel: demangled for people where the recording has that.
pub(super) fn kernel(cursor: &mut Cursor<'_>) -> Result<Option<(u64, String)>, Stop> {
    let (mut id, mut names) = (Token::Missing, [Token::Missing; 3]);
    cursor.object(|key, cursor| {
        let value = cursor.value()?;
        match key {
            b"kernel_id" => id = value,
            b"formatted_kernel_name" => names[0] = value,
            b"demangled_kernel_name" => names[1] = value,
            b"kernel_name" => names[2] = value,
            _ => {}
        }
        Ok(())
    })?;
    let name = names
        .into_iter()
        .filter_map(Token::scalar)
        .find(|name| !name.is_empty());
    Ok(whole(id.bytes()).zip(name.map(|name| decode(name).0)))
}
