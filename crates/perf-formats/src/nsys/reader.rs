//! From a database to a [`Part`] a process.

use super::database::{Database, End, Row};
use super::rows::{TABLES, Table};
use super::rules;
use crate::json::encode;
use crate::reading::Reading;
use crate::timeline::{Granted, Part, RowKey, Sym, most_text};
use crate::{Error, Result};
use perf_core::{Diagnostics, Place, Rule};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// What is read, as it grows.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) parts: Vec<Part>,
    /// Ranges that were never closed, so far.
    pub(super) unclosed: u64,
    file: Arc<str>,
    granted: Granted,
    /// Parts by the upper bits of the ids of their process and threads.
    processes: HashMap<i64, usize>,
    /// Texts by string id, each text once.
    strings: HashMap<i64, Arc<str>>,
    /// Names by part and string id.
    names: HashMap<(usize, i64), u32>,
    /// Bytes of names that parts may still copy: the file has each once.
    room: u64,
    /// The table that is read.
    table: &'static str,
    /// What is of no process.
    found: Diagnostics,
}

/// The bits of a global id that say which thread of a process it is.
const THREAD: i64 = 0xff_ffff;

/// Tables that no recording of events lacks all of.
const OWN: [&str; 4] = [
    "META_DATA_EXPORT",
    "EXPORT_META_DATA",
    "StringIds",
    "TARGET_INFO_SESSION_START_TIME",
];

/// Reads a database.
pub(super) fn read(path: &Path, options: &Reading, granted: &Granted) -> Result<Vec<Part>> {
    let database = Database::open(path)?;
    let is_own = OWN
        .iter()
        .copied()
        .chain(TABLES.iter().map(|table| table.name));
    if !is_own.into_iter().any(|table| database.has(table)) {
        return Err(Error::Malformed {
            place: database.place("sqlite_master"),
            expected: "an export of Nsight Systems".into(),
            got: "a database without any of its tables".into(),
        });
    }
    let mut reader = Reader {
        parts: Vec::new(),
        unclosed: 0,
        file: Arc::clone(&database.file),
        granted: granted.clone(),
        processes: HashMap::new(),
        strings: HashMap::new(),
        names: HashMap::new(),
        room: most_text(granted.limits()),
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
    // In the order of their ids, whatever came first.
    let mut order: Vec<_> = reader.processes.into_iter().collect();
    order.sort_unstable();
    let mut parts: Vec<_> = reader.parts.into_iter().map(Some).collect();
    let in_order = order
        .into_iter()
        .filter_map(|(_, at)| parts.get_mut(at)?.take());
    Ok(in_order.collect())
}

impl Reader {
    fn strings(&mut self, database: &Database, options: &Reading) -> Result<()> {
        let table = "StringIds";
        let mut found = Diagnostics::default();
        let (strings, granted) = (&mut self.strings, &self.granted);
        let mut texts: HashSet<Arc<str>> = HashSet::new();
        let end = database.rows(table, &["id", "value"], options, |row| {
            match (row.number(0), row.text(1)) {
                (Ok(id), Ok(text)) => {
                    let text = String::from_utf8_lossy(text.unwrap_or_default());
                    let known = texts.get(&*text).cloned();
                    let length = if known.is_some() { 0 } else { text.len() };
                    let bytes = (length + size_of::<(i64, Arc<str>)>()) as u64;
                    granted.take(STRINGS, bytes, || database.place(table))?;
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

    fn table(&mut self, database: &Database, table: &Table, options: &Reading) -> Result<()> {
        self.table = table.name;
        if !database.has(table.name) {
            return Ok(());
        }
        // Without times rows say nothing.
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
                // Stops where more is kept than memory is granted.
                self.check_memory(database)?;
            }
            Ok(())
        })?;
        self.ended(database, table.name, end);
        self.check_memory(database)
    }

    /// Whether what all parts keep takes no more memory than is granted.
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

    /// Counts the rows of tables of events that are not read.
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

    /// The part of a process, by the id of it or of one of its threads.
    pub(super) fn process(&mut self, id: i64) -> usize {
        let parts = &mut self.parts;
        *self.processes.entry(id & !THREAD).or_insert_with(|| {
            let mut part = Part::new(&self.file, &self.granted);
            part.found = Diagnostics::default();
            parts.push(part);
            parts.len() - 1
        })
    }

    /// The part of work that does not say which process it is of.
    pub(super) fn only_process(&mut self) -> usize {
        let mut ids = self.processes.keys();
        match (ids.next().copied(), ids.next()) {
            (Some(only), None) => self.process(only),
            _ => self.process(0),
        }
    }

    /// Counts something about a row.
    pub(super) fn count(&mut self, rule: Rule, row: &Row<'_>) {
        let place = self.place_of(row);
        self.found.add(rule, place);
    }

    /// Whether a string id stands for a name.
    pub(super) fn has_string(&self, id: i64) -> bool {
        self.strings.contains_key(&id)
    }

    /// The number of a name.
    pub(super) fn name(&mut self, part: usize, text: &[u8]) -> u32 {
        let Some(part) = self.parts.get_mut(part) else {
            return 0;
        };
        // Names of parts are as they stand in JSON.
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

    /// The number of the name that a string id stands for.
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

    /// Where a row is.
    pub(super) fn place_of(&self, row: &Row<'_>) -> Place {
        let record = format!("{}, row {}", self.table, row.id());
        Place::file(Arc::clone(&self.file)).record(record)
    }

    /// The word for a device of a process.
    pub(super) fn device(&mut self, part: usize, id: i64) -> Sym {
        let part = self.parts.get_mut(part);
        part.map_or(Sym::default(), |part| {
            part.symbol(id.to_string().as_bytes())
        })
    }

    /// The words for the process and thread of a global id.
    fn words(&mut self, part: usize, id: i64) -> (Sym, Sym) {
        let Some(part) = self.parts.get_mut(part) else {
            return Default::default();
        };
        let process = part.symbol(((id >> 24) & THREAD).to_string().as_bytes());
        let thread = part.symbol((id & THREAD).to_string().as_bytes());
        (process, thread)
    }

    /// The row of a thread.
    pub(super) fn thread(&mut self, part: usize, id: i64) -> u32 {
        let (process, thread) = self.words(part, id);
        let part = self.parts.get_mut(part);
        part.map_or(0, |part| part.row(RowKey::Thread { process, thread }))
    }

    /// The row of ranges of a process that may cross.
    pub(super) fn crossing(&mut self, part: usize, id: i64) -> u32 {
        let (process, _) = self.words(part, id);
        let Some(part) = self.parts.get_mut(part) else {
            return 0;
        };
        let category = part.symbol(b"NVTX");
        part.row(RowKey::Async { process, category })
    }

    /// Names of processes, threads and devices, the host, the clock and the export.
    fn facts(&mut self, database: &Database, options: &Reading) -> Result<()> {
        // The last one counts; a page that stands for many tells the same again and again.
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
            // Of threads without events nobody sees a name.
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

    /// Names of devices. The database lists all of a node, used or not: by their number in CUDA where
    /// it tells that, which need not be their place in the list.
    fn devices(&mut self, database: &Database, options: &Reading) -> Result<()> {
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

    /// The part and the words of a thread that has events.
    fn known_thread(&self, id: i64) -> Option<(usize, Sym, Sym)> {
        let at = *self.processes.get(&(id & !THREAD))?;
        let part = self.parts.get(at)?;
        let word = |number: i64| part.known_symbol(number.to_string().as_bytes());
        let (process, thread) = (word((id >> 24) & THREAD)?, word(id & THREAD)?);
        let has_row = part.has_row(RowKey::Thread { process, thread });
        has_row.then_some((at, process, thread))
    }

    /// Takes room for a copy of a name that the file has once. What there is no room for is counted.
    fn has_room(&mut self, bytes: usize, table: &str) -> Result<bool> {
        let place = || Place::file(Arc::clone(&self.file)).record(table.to_owned());
        let Some(rest) = self.room.checked_sub(bytes as u64) else {
            self.found.add(rules::DEFINITIONS, place());
            return Ok(false);
        };
        self.room = rest;
        self.granted.take(STRINGS, bytes as u64, place)?;
        Ok(true)
    }

    fn export(&mut self, database: &Database, options: &Reading) -> Result<()> {
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
        // Of the first that has work: others may be no rank.
        let has_work = self.parts.iter().position(Part::has_work);
        if let Some(first) = self.parts.get_mut(has_work.unwrap_or(0)) {
            first.properties = facts;
        }
        Ok(())
    }
}

/// What memory is asked for beside that of events.
const STRINGS: &str = "memory for strings in bytes";

/// Columns that make a table one of events.
const TIMES: [&str; 3] = ["start", "timestamp", "rawTimestamp"];

/// What is kept of the metadata of the export.
const FACTS: [&[u8]; 3] = [
    b"EXPORT_PRODUCT_NAME",
    b"EXPORT_PRODUCT_VERSION",
    b"EXPORT_SCHEMA_VERSION",
];

/// Most of them: an export has each once or twice.
const MOST_FACTS: usize = 16;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn value_place(database: &Database, table: &str, column: &str, row: &Row<'_>) -> Place {
    database.place(format!("{table}.{column}, row {}", row.id()))
}
