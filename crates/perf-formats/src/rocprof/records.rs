//! [`Record`]: unparsed fields of one record in a [`Section`] of a rocprofv3 file; [`Tool`]:
//! converts the records of one process to calls and activities in a [`Part`].

use super::rules;
use crate::json::{Cursor, Stop, Token, decode, nanos, whole};
use crate::timeline::{Extra, Kind, Part, Role, RowKey, Sym};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Unparsed fields of a record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record<'a> {
    /// Kind of operation.
    kind: Token<'a>,
    /// Operation.
    operation: Token<'a>,
    /// Id of the thread.
    thread: Token<'a>,
    /// Correlation id.
    correlation: Token<'a>,
    /// Begin of the record.
    start: Token<'a>,
    /// End of the record.
    end: Token<'a>,
    /// Agent of the activity.
    agent: Token<'a>,
    /// Source agent of a copy.
    source: Token<'a>,
    /// Destination agent of a copy.
    target: Token<'a>,
    /// Queue of the activity.
    queue: Token<'a>,
    /// Stream of the activity.
    stream: Token<'a>,
    /// Id of the kernel.
    kernel: Token<'a>,
    /// Number of bytes.
    bytes: Token<'a>,
}

/// Reads an id: the member `key` of an object such as `{"handle": 5}`, or a plain value. Returns
/// [`Token::Missing`] if the object has no such member.
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
    /// Reads a record at the cursor.
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

/// Kind of a section of records.
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
    /// Returns the section for a name, or `None` for an unsupported one.
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

/// Reference to a name that is resolved when all names are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Named {
    Kernel(u64),
    Operation(u64, u64),
    Marker(u64, u64, u64),
}

/// An agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Agent {
    /// `true` for a GPU.
    pub(super) is_gpu: bool,
    /// Number among the agents of its kind; `None` if the recording does not contain it.
    pub(super) number: Option<u64>,
    /// Name of the agent.
    pub(super) name: String,
}

/// Name of a kernel, and its long form if it differs.
pub(super) type Kernel = (Arc<str>, Option<String>);

/// State of one process while its records are converted.
#[derive(Debug)]
pub(super) struct Tool {
    /// Part under construction.
    pub(super) part: Part,
    /// Agents by handle.
    pub(super) agents: BTreeMap<u64, Agent>,
    /// Kernels by id.
    pub(super) kernels: HashMap<u64, Kernel>,
    /// Names of operations by kind. The texts are shared, because any number of records may refer
    /// to one.
    pub(super) operations: Vec<Vec<Arc<str>>>,
    /// Marker texts by id.
    pub(super) markers: HashMap<u64, Arc<str>>,
    /// Id of the process.
    pub(super) process: Option<u64>,
    /// Numbers of the placeholders for names, which [`Tool::finish`] resolves.
    wanted: HashMap<Named, u32>,
    /// Symbols of the agents with a row, by handle.
    devices: HashMap<u64, Sym>,
    /// Copies that were read before the agents.
    waiting: Vec<Copy>,
}

/// A copy and the agents on which it may have run.
#[derive(Clone, Copy, Debug)]
struct Copy {
    /// Handle of the destination agent.
    target: u64,
    /// Handle of the source agent.
    source: u64,
    /// Queue of the copy.
    queue: Sym,
    /// Stream of the copy.
    stream: Sym,
    /// Begin and end in nanoseconds.
    span: (i64, i64),
    /// Region of the copy.
    region: u32,
    /// Extra data of the copy.
    extra: Extra,
    /// First byte and number of the record.
    at: (u64, u64),
}

impl Tool {
    pub(super) fn new(mut part: Part) -> Self {
        part.is_hip = true;
        part.counts_from_boot = true;
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
            waiting: Vec::new(),
        }
    }

    /// Processes a record of a section; `at` is the offset of its first byte and its number.
    pub(super) fn record(&mut self, section: Section, raw: &Record<'_>, at: (u64, u64)) {
        self.part.at(Some(at));
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
        let name = self.name(named, at);
        let bytes = whole(raw.bytes.bytes()).map(|bytes| (bytes, false));
        let extra = Extra::new(id.map(|id| (id, false)), bytes, role);
        if section == Section::Copies {
            let copy = Copy {
                target: whole(raw.target.bytes()).unwrap_or(0),
                source: whole(raw.source.bytes()).unwrap_or(0),
                queue: self.part.symbol(raw.queue.bytes()),
                stream: self.stream(raw),
                span: (start, end),
                region: self.part.region(name, kind),
                extra,
                at,
            };
            if self.agents.is_empty() {
                self.waiting.push(copy)
            } else {
                self.copy(copy)
            }
            return;
        }
        let row = self.row(section, raw);
        let extra = self.part.extra(extra);
        if section == Section::Markers && start == end {
            self.part.instant(row, start, name, extra);
            return;
        }
        let region = self.part.region(name, kind);
        self.part.call(row, (start, end), region, extra);
    }

    /// Returns the number of the placeholder for a name, which [`Tool::finish`] resolves.
    fn name(&mut self, named: Named, at: (u64, u64)) -> u32 {
        if let Some(known) = self.wanted.get(&named) {
            return *known;
        }
        match self.part.unnamed(at) {
            Some(name) => *self.wanted.entry(named).or_insert(name),
            None => self.part.past_limit(),
        }
    }

    fn row(&mut self, section: Section, raw: &Record<'_>) -> u32 {
        if !matches!(section, Section::Dispatches | Section::Scratch) {
            let process = self.process();
            let thread = self.part.symbol(raw.thread.bytes());
            return self.part.row(RowKey::Thread { process, thread });
        }
        let device = self.device(whole(raw.agent.bytes()).unwrap_or(0));
        let queue = self.part.symbol(raw.queue.bytes());
        if section == Section::Scratch {
            let stream = queue;
            return self.part.row(RowKey::Beside { device, stream });
        }
        let stream = self.stream(raw);
        self.part.row(RowKey::Work {
            device,
            context: queue,
            stream,
        })
    }

    fn stream(&mut self, raw: &Record<'_>) -> Sym {
        let stream = raw.stream.scalar().unwrap_or(b"-1");
        self.part.symbol(stream)
    }

    /// Returns the symbol of the process, which [`Tool::finish`] replaces by the process id.
    fn process(&mut self) -> Sym {
        self.part.symbol(b"\0process")
    }

    /// Assigns a copy to the destination GPU, or to the source GPU if the destination is not a GPU.
    /// If neither is a GPU, the copy becomes a call of the process, because no device executes it.
    fn copy(&mut self, copy: Copy) {
        let is_gpu = |id: &u64| match self.agents.get(id) {
            Some(agent) => agent.is_gpu,
            // The agent is not described, but kernels ran on it.
            None => self.devices.contains_key(id),
        };
        let gpu = [copy.target, copy.source].into_iter().find(is_gpu);
        let key = match gpu {
            Some(gpu) => RowKey::Work {
                device: self.device(gpu),
                context: copy.queue,
                stream: copy.stream,
            },
            None => {
                let place = self.part.place(copy.at.0, copy.at.1);
                self.part.found.add(rules::NO_AGENT, place);
                RowKey::Async {
                    process: self.process(),
                    category: self.part.symbol(b"copies"),
                }
            }
        };
        let row = self.part.row(key);
        let extra = self.part.extra(match gpu {
            Some(_) => copy.extra,
            None => copy.extra.without_role(),
        });
        self.part.call(row, copy.span, copy.region, extra);
    }

    fn device(&mut self, id: u64) -> Sym {
        if let Some(known) = self.devices.get(&id) {
            return *known;
        }
        let sym = self.part.symbol(format!("\0agent {id}").as_bytes());
        self.devices.insert(id, sym);
        sym
    }

    /// Assigns the remaining copies and resolves all names.
    pub(super) fn finish(mut self) -> Part {
        self.part.at(None);
        for copy in std::mem::take(&mut self.waiting) {
            self.copy(copy);
        }
        let process = self.process();
        let number = self.process.map_or_else(String::new, |id| id.to_string());
        self.part.rename_word(process, number);
        for (handle, sym) in &self.devices {
            // The file may not describe the agent.
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
                Named::Kernel(id) => {
                    let known = self.kernels.get(&id).cloned();
                    if let Some((_, Some(form))) = &known {
                        self.part.form(*text, Kind::Kernel, form.clone());
                    }
                    (known.map(|(name, _)| name), format!("kernel {id}"))
                }
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
            self.part
                .rename(*text, known.unwrap_or_else(|| stand_in.into()));
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

/// Reads a kernel. Its name is the first non-empty one of the formatted, demangled, mangled and
/// truncated names; its long form is the next one that differs. Returns `None` without an id or a
/// name.
pub(super) fn kernel(cursor: &mut Cursor<'_>) -> Result<Option<(u64, Kernel)>, Stop> {
    let (mut id, mut names) = (Token::Missing, [Token::Missing; 4]);
    cursor.object(|key, cursor| {
        let value = cursor.value()?;
        match key {
            b"kernel_id" => id = value,
            b"formatted_kernel_name" => names[0] = value,
            b"demangled_kernel_name" => names[1] = value,
            b"kernel_name" => names[2] = value,
            b"truncated_kernel_name" => names[3] = value,
            _ => {}
        }
        Ok(())
    })?;
    let known = names.into_iter().filter_map(Token::scalar);
    let mut known = known.filter(|name| !name.is_empty());
    let name = known.next();
    let form = known.find(|form| Some(*form) != name);
    let text = |raw: &[u8]| decode(raw).0;
    let names = name.map(|name| (text(name).into(), form.map(text)));
    Ok(whole(id.bytes()).zip(names))
}
