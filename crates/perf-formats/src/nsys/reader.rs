//! [`read`]: reads a database of Nsight Systems into one [`Part`] for each process; [`Converter`]:
//! its state, with the processes, threads, devices and names so far.

use super::database::{Database, End, Row};
use super::event_tables::{TABLES, Table};
use super::rules;
use crate::json::encode;
use crate::read_context::ReadContext;
use crate::timeline::{MemoryBudget, Part, RowKey, Sym, most_text};
use crate::{Error, Result};
use perf_core::{Diagnostics, Place, Rule};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// State of the conversion.
#[derive(Debug)]
pub(super) struct Converter {
    /// Parts under construction, one for each process.
    pub(super) parts: Vec<Part>,
    /// Number of unclosed ranges so far.
    pub(super) unclosed: u64,
    /// Name of the file, for diagnostics.
    file: Arc<str>,
    /// Shared memory budget.
    budget: MemoryBudget,
    /// Parts by the upper bits of the ids of their process and threads.
    processes: HashMap<i64, usize>,
    /// Texts by string id; equal texts are shared.
    strings: HashMap<i64, Arc<str>>,
    /// Names by part and string id.
    names: HashMap<(usize, i64), u32>,
    /// Remaining budget in bytes for names copied to parts; the file stores each only once.
    room: u64,
    /// Current table.
    table: &'static str,
    /// Diagnostics that belong to no process.
    found: Diagnostics,
}

/// Bits of a global id that identify the thread within its process.
const THREAD: i64 = 0xff_ffff;

/// Characteristic tables; every recording of events has at least one of them.
const OWN: [&str; 4] = [
    "META_DATA_EXPORT",
    "EXPORT_META_DATA",
    "StringIds",
    "TARGET_INFO_SESSION_START_TIME",
];

/// Reads a database.
pub(super) fn read(path: &Path, options: &ReadContext, budget: &MemoryBudget) -> Result<Vec<Part>> {
    let database = Database::open(path)?;
    let is_own = OWN
        .iter()
        .copied()
        .chain(TABLES.iter().map(|table| table.name));
    if database.has_like("rocpd_") {
        return Err(Error::Foreign {
            place: Place::file(path.to_string_lossy().into_owned()),
            kind: "a database of rocprofv3",
            remedy: format!(
                "convert it first: rocpd convert -i {} --output-format otf2",
                path.display()
            ),
        });
    }
    if !is_own.into_iter().any(|table| database.has(table)) {
        return Err(Error::Malformed {
            place: database.place("sqlite_master"),
            expected: "an export of Nsight Systems".into(),
            got: "a database without tables of Nsight Systems".into(),
        });
    }
    let mut reader = Converter {
        parts: Vec::new(),
        unclosed: 0,
        file: Arc::clone(&database.file),
        budget: budget.clone(),
        processes: HashMap::new(),
        strings: HashMap::new(),
        names: HashMap::new(),
        room: most_text(budget.limits()),
        table: "",
        found: Diagnostics::default(),
    };
    reader.strings(&database, options)?;
    if let Some(damage) = &database.damage {
        let place = database.place(format!("sqlite_master: {damage}"));
        reader.found.add(rules::DAMAGED_TABLE, place);
    }
    for table in TABLES {
        reader.table(&database, table, options)?;
    }
    reader.left_out(&database);
    if reader.parts.is_empty() {
        reader.process(0);
    }
    reader.facts(&database, options)?;
    if let Some(first) = reader.parts.first_mut() {
        perf_core::Merge::merge(&mut first.found, &reader.found);
    }
    // Order by ids, independent of the order of the rows.
    let mut order: Vec<_> = reader.processes.into_iter().collect();
    order.sort_unstable();
    let mut parts: Vec<_> = reader.parts.into_iter().map(Some).collect();
    let in_order = order
        .into_iter()
        .filter_map(|(_, at)| parts.get_mut(at)?.take());
    Ok(in_order.collect())
}

impl Converter {
    fn strings(&mut self, database: &Database, options: &ReadContext) -> Result<()> {
        let table = "StringIds";
        let mut found = Diagnostics::default();
        let (strings, budget) = (&mut self.strings, &self.budget);
        let mut texts: HashSet<Arc<str>> = HashSet::new();
        let end = database.rows(table, &["id", "value"], options, |row| {
            match (row.number(0), row.text(1)) {
                (Ok(id), Ok(text)) => {
                    let text = String::from_utf8_lossy(text.unwrap_or_default());
                    let known = texts.get(&*text).cloned();
                    let length = if known.is_some() { 0 } else { text.len() };
                    let bytes = (length + size_of::<(i64, Arc<str>)>()) as u64;
                    budget.take(STRINGS, bytes, || database.place(table))?;
                    let text = known.unwrap_or_else(|| {
                        let text: Arc<str> = text.into();
                        texts.insert(Arc::clone(&text));
                        text
                    });
                    strings.insert(id, text);
                }
                (Err(bad), _) | (_, Err(bad)) => {
                    found.add(rules::VALUE, value_place(database, table, bad.0, row));
                }
            }
            Ok(())
        })?;
        self.found = found;
        self.ended(database, table, end);
        Ok(())
    }

    fn table(&mut self, database: &Database, table: &Table, options: &ReadContext) -> Result<()> {
        self.table = table.name;
        if !database.has(table.name) {
            return Ok(());
        }
        // Rows without times cannot be used.
        if let Some(column) = ["start", "end"]
            .into_iter()
            .find(|it| !database.has_column(table.name, it))
        {
            let place = database.place(format!("{}.{column}", table.name));
            self.found.add(rules::COLUMN, place);
            return Ok(());
        }
        let mut count = 0u64;
        let end = database.rows(table.name, table.columns, options, |row| {
            if let Err(bad) = (table.row)(self, row) {
                let place = value_place(database, table.name, bad.0, row);
                self.found.add(rules::VALUE, place);
            }
            count += 1;
            if count.is_multiple_of(4096) {
                // Stop if the memory budget is exceeded.
                self.check_memory(database)?;
            }
            Ok(())
        })?;
        self.ended(database, table.name, end);
        self.check_memory(database)
    }

    /// Checks the memory of all parts against the budget.
    fn check_memory(&mut self, database: &Database) -> Result<()> {
        let table = self.table;
        let mut parts = self.parts.iter_mut();
        parts.try_for_each(|part| part.check_memory(|| database.place(table)))
    }

    fn ended(&mut self, database: &Database, table: &str, end: End) {
        if let End::Damaged(message) = end {
            let place = database.place(format!("{table}: {message}"));
            self.found.add(rules::DAMAGED_TABLE, place);
        }
    }

    /// Counts the rows of unsupported event tables.
    fn left_out(&mut self, database: &Database) {
        let is_read = |name: &&str| TABLES.iter().any(|table| table.name == *name);
        let has_time = |name: &&str| TIMES.iter().any(|it| database.has_column(name, it));
        let others = database.names().filter(|name| !is_read(name));
        for name in others.filter(has_time) {
            let count = database.count(name);
            self.found
                .add_many(rules::TABLE, count, database.place(name));
        }
    }

    /// Returns the part of a process, for the id of the process or of one of its threads.
    pub(super) fn process(&mut self, id: i64) -> usize {
        let parts = &mut self.parts;
        *self.processes.entry(id & !THREAD).or_insert_with(|| {
            let mut part = Part::new(&self.file, &self.budget);
            part.found = Diagnostics::default();
            parts.push(part);
            parts.len() - 1
        })
    }

    /// Returns the part for activities without a process.
    pub(super) fn only_process(&mut self) -> usize {
        let mut ids = self.processes.keys();
        match (ids.next().copied(), ids.next()) {
            (Some(only), None) => self.process(only),
            _ => self.process(0),
        }
    }

    /// Counts a finding in a row.
    pub(super) fn count(&mut self, rule: Rule, row: &Row<'_>) {
        let place = self.place_of(row);
        self.found.add(rule, place);
    }

    /// Returns `true` if the string id is defined.
    pub(super) fn has_string(&self, id: i64) -> bool {
        self.strings.contains_key(&id)
    }

    /// Returns the number of a name.
    pub(super) fn name(&mut self, part: usize, text: &[u8]) -> u32 {
        let Some(part) = self.parts.get_mut(part) else {
            return 0;
        };
        // Names of a part have the escaped form of JSON.
        let lossy = String::from_utf8_lossy(text);
        if !lossy
            .bytes()
            .any(|byte| byte == b'\\' || byte == b'"' || byte < b' ' || byte == 0x7f)
        {
            return part.name(lossy.as_bytes(), (0, 0));
        }
        let mut escaped = Vec::with_capacity(lossy.len() + 8);
        encode(&lossy, &mut escaped);
        let inner = escaped.get(1..escaped.len().saturating_sub(1));
        part.name(inner.unwrap_or_default(), (0, 0))
    }

    /// Returns the number of the name for a string id.
    pub(super) fn string(&mut self, part: usize, id: i64, row: &Row<'_>) -> u32 {
        if let Some(known) = self.names.get(&(part, id)) {
            return *known;
        }
        let place = self.place_of(row);
        let Some(text) = self.strings.get(&id) else {
            self.add(part, rules::NAME, place);
            return self.name(part, format!("string {id}").as_bytes());
        };
        let Some(own) = self.parts.get_mut(part) else {
            return 0;
        };
        match own.shared_name(text, place) {
            Ok(name) => *self.names.entry((part, id)).or_insert(name),
            // Counted for each row.
            Err(stand_in) => stand_in,
        }
    }

    fn add(&mut self, part: usize, rule: Rule, place: Place) {
        if let Some(part) = self.parts.get_mut(part) {
            part.found.add(rule, place);
        }
    }

    /// Returns the place of a row.
    pub(super) fn place_of(&self, row: &Row<'_>) -> Place {
        let record = format!("{}, row {}", self.table, row.id());
        Place::file(Arc::clone(&self.file)).record(record)
    }

    /// Returns the word for a device of a process.
    pub(super) fn device(&mut self, part: usize, id: i64) -> Sym {
        let part = self.parts.get_mut(part);
        part.map_or(Sym::default(), |part| {
            part.symbol(id.to_string().as_bytes())
        })
    }

    /// Returns the words for the process and thread of a global id.
    fn words(&mut self, part: usize, id: i64) -> (Sym, Sym) {
        let Some(part) = self.parts.get_mut(part) else {
            return Default::default();
        };
        let process = part.symbol(((id >> 24) & THREAD).to_string().as_bytes());
        let thread = part.symbol((id & THREAD).to_string().as_bytes());
        (process, thread)
    }

    /// Returns the row of a thread.
    pub(super) fn thread(&mut self, part: usize, id: i64) -> u32 {
        let (process, thread) = self.words(part, id);
        let part = self.parts.get_mut(part);
        part.map_or(0, |part| part.row(RowKey::Thread { process, thread }))
    }

    /// Returns the row for ranges of a process that may overlap without nesting.
    pub(super) fn crossing(&mut self, part: usize, id: i64) -> u32 {
        let (process, _) = self.words(part, id);
        let Some(part) = self.parts.get_mut(part) else {
            return 0;
        };
        let category = part.symbol(b"NVTX");
        part.row(RowKey::Async { process, category })
    }

    /// Reads names of processes, threads and devices, and properties of the host, the clock and the
    /// export.
    fn facts(&mut self, database: &Database, options: &ReadContext) -> Result<()> {
        // The last name is used. Keep it in a map first: a damaged page can repeat rows many times.
        let mut processes = BTreeMap::new();
        let columns = ["globalPid", "name"];
        database.rows("PROCESSES", &columns, options, |row| {
            if let (Ok(id), Ok(Some(name))) = (row.number(0), row.text(1)) {
                processes.insert(id, text(name));
            }
            Ok(())
        })?;
        for (id, name) in processes {
            if let Some(part) = self.processes.get(&(id & !THREAD)).copied() {
                let (process, _) = self.words(part, id);
                self.parts
                    .iter_mut()
                    .skip(part)
                    .take(1)
                    .for_each(|it| it.process_name(process, name.clone()));
            }
        }
        let mut threads = BTreeMap::new();
        let table = "ThreadNames";
        database.rows(table, &["globalTid", "nameId"], options, |row| {
            if let (Ok(id), Ok(name)) = (row.number(0), row.number(1)) {
                threads.insert(id, name);
            }
            Ok(())
        })?;
        for (id, name) in threads {
            let Some(name) = self.strings.get(&name).map(Arc::clone) else {
                continue;
            };
            // Threads without events are not displayed, so their names are skipped.
            if let Some((part, process, thread)) = self.known_thread(id)
                && self.has_room(name.len(), table)?
                && let Some(part) = self.parts.get_mut(part)
            {
                part.thread_name(process, thread, name.as_ref().to_owned());
            }
        }
        self.devices(database, options)?;
        self.export(database, options)
    }

    /// Reads the names of devices. The database lists all devices of a node, used or not. They are
    /// identified by their CUDA number if that is stored, which can differ from the position in the
    /// list.
    fn devices(&mut self, database: &Database, options: &ReadContext) -> Result<()> {
        let mut devices = BTreeMap::new();
        let (table, columns) = ("TARGET_INFO_GPU", ["id", "cuDevice", "name"]);
        database.rows(table, &columns, options, |row| {
            if let (Ok(id), Ok(number), Ok(Some(name))) =
                (row.number(0), row.optional(1), row.text(2))
            {
                devices.insert(number.unwrap_or(id), text(name));
            }
            Ok(())
        })?;
        for at in 0..self.parts.len() {
            let used = self.parts.get(at).map(Part::used_devices);
            for device in used.unwrap_or_default() {
                let word = self.parts.get(at).map(|part| part.word(device));
                let number = word.and_then(|word| word.parse::<i64>().ok());
                if let Some(name) = number.and_then(|number| devices.get(&number))
                    && self.has_room(name.len(), table)?
                    && let Some(part) = self.parts.get_mut(at)
                {
                    part.devices.insert(device, name.clone());
                }
            }
        }
        Ok(())
    }

    /// Returns the part and the words of a thread with events.
    fn known_thread(&self, id: i64) -> Option<(usize, Sym, Sym)> {
        let at = *self.processes.get(&(id & !THREAD))?;
        let part = self.parts.get(at)?;
        let word = |number: i64| part.known_symbol(number.to_string().as_bytes());
        let (process, thread) = (word((id >> 24) & THREAD)?, word(id & THREAD)?);
        let has_row = part.has_row(RowKey::Thread { process, thread });
        has_row.then_some((at, process, thread))
    }

    /// Deducts a copy of a name from the budget. Names beyond the budget are counted.
    fn has_room(&mut self, bytes: usize, table: &str) -> Result<bool> {
        let place = || Place::file(Arc::clone(&self.file)).record(table.to_owned());
        let Some(rest) = self.room.checked_sub(bytes as u64) else {
            self.found.add(rules::DEFINITIONS, place());
            return Ok(false);
        };
        self.room = rest;
        self.budget.take(STRINGS, bytes as u64, place)?;
        Ok(true)
    }

    fn export(&mut self, database: &Database, options: &ReadContext) -> Result<()> {
        let (mut base, mut host, mut facts) = (None, None, Vec::new());
        let columns = ["utcEpochNs"];
        database.rows("TARGET_INFO_SESSION_START_TIME", &columns, options, |row| {
            base = base.or(row.optional(0).ok().flatten());
            Ok(())
        })?;
        let columns = ["name", "value"];
        database.rows("TARGET_INFO_SYSTEM_ENV", &columns, options, |row| {
            if let (Ok(Some(b"Hostname")), Ok(Some(value))) = (row.text(0), row.text(1)) {
                host = Some(text(value));
            }
            Ok(())
        })?;
        for table in ["META_DATA_EXPORT", "EXPORT_META_DATA"] {
            database.rows(table, &columns, options, |row| {
                if let (Ok(Some(name)), Ok(Some(value))) = (row.text(0), row.text(1))
                    && FACTS.contains(&name)
                    && facts.len() < MOST_FACTS
                {
                    facts.push((text(name), text(value)));
                }
                Ok(())
            })?;
        }
        for at in 0..self.parts.len() {
            let length = host.as_ref().map_or(0, String::len);
            let has_room = self.has_room(length, "TARGET_INFO_SYSTEM_ENV")?;
            if let Some(part) = self.parts.get_mut(at) {
                part.base = base;
                if has_room {
                    part.host.clone_from(&host);
                }
            }
        }
        // Use the first part with device activities, because others may not be ranks.
        let has_work = self.parts.iter().position(Part::has_work);
        if let Some(first) = self.parts.get_mut(has_work.unwrap_or(0)) {
            first.properties = facts;
        }
        Ok(())
    }
}

/// Name of the limit for memory other than that of events.
const STRINGS: &str = "memory for strings in bytes";

/// Columns that identify a table of events.
const TIMES: [&str; 3] = ["start", "timestamp", "rawTimestamp"];

/// Retained metadata of the export.
const FACTS: [&[u8]; 3] = [
    b"EXPORT_PRODUCT_NAME",
    b"EXPORT_PRODUCT_VERSION",
    b"EXPORT_SCHEMA_VERSION",
];

/// Maximum number of retained metadata; an export has each once or twice.
const MOST_FACTS: usize = 16;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn value_place(database: &Database, table: &str, column: &str, row: &Row<'_>) -> Place {
    database.place(format!("{table}.{column}, row {}", row.id()))
}
