//! [`Part`]: collects the events, names and diagnostics of one file, or of one process in it, row
//! by row, while a reader adds them.

#[cfg(feature = "chrome")]
use super::arguments::Argument;
use super::arguments::Arguments;
use super::counters::{Counters, Room};
use super::memory_budget::MemoryBudget;
use super::names::{Kind, Names, PAST_LIMIT};
use super::row::{Call, Edge, Extra, Flow, FlowEnd, Instant, Mark, Row, RowKey, Sym, Tag};
use super::{begin_end_pairs, outliers};
use crate::Result;
use crate::json::{Element, decode};
use crate::timeline::rules;
use perf_core::{Diagnostics, Paradigm, Place};
#[cfg(feature = "nsys")]
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of activity rows that are searched for flows of a thread.
const SHOWN: usize = 256;

/// Default kind of device.
const GPU: &str = "GPU";

/// Properties of a process.
#[derive(Debug, Default)]
pub(in crate::timeline) struct Process {
    /// Name of the process.
    pub(in crate::timeline) name: Option<String>,
    /// Labels of the process.
    pub(in crate::timeline) labels: Option<String>,
}

/// Contents of one file, or of one process in it.
#[derive(Debug)]
pub(crate) struct Part {
    /// Name of the file.
    pub(crate) file: Arc<str>,
    /// Index of the file among the opened files. Parts from the same file have the same index.
    pub(in crate::timeline) source: usize,
    /// Rank, if known.
    pub(crate) rank: Option<u64>,
    /// Wall-clock time at time 0 of the file, in nanoseconds since 1970, if known.
    pub(crate) base: Option<i64>,
    /// Host name.
    pub(crate) host: Option<String>,
    /// `true` for devices programmed with HIP.
    pub(crate) is_hip: bool,
    /// `true` if time 0 of the file is the boot time.
    pub(crate) counts_from_boot: bool,
    /// Kind of device in the names of groups, such as `GPU`.
    pub(crate) device_kind: String,
    /// `true` for a process without device activities in a file where another process has some.
    pub(crate) is_helper: bool,
    /// Word for the second number that identifies a stream, such as `context`.
    pub(crate) context_word: &'static str,
    /// Properties of the recording.
    pub(crate) properties: Vec<(String, String)>,
    /// Names of the devices.
    pub(crate) devices: HashMap<Sym, String>,
    /// Diagnostics of the file.
    pub(crate) found: Diagnostics,
    /// Names of calls.
    pub(in crate::timeline) names: Names,
    /// Rows of the file.
    pub(in crate::timeline) rows: Vec<Row>,
    /// Extra data of the calls.
    pub(in crate::timeline) extras: Vec<Extra>,
    /// Additional arguments of the calls.
    pub(in crate::timeline) arguments: Arguments,
    /// Groups of ranks: name and list of ranks.
    pub(in crate::timeline) groups: Vec<(String, String)>,
    /// Points of flows.
    pub(in crate::timeline) flows: Vec<Flow>,
    /// Counters of the file.
    pub(in crate::timeline) counters: Counters,
    /// Properties of the processes.
    pub(in crate::timeline) processes: HashMap<Sym, Process>,
    /// Names of the threads.
    pub(in crate::timeline) threads: HashMap<(Sym, Sym), String>,
    /// Rows of activities by the process and thread to which the file assigns them.
    pub(in crate::timeline) shown: HashMap<(Sym, Sym), Vec<u32>>,
    /// Earliest time in nanoseconds; `None` without events.
    pub(in crate::timeline) first: Option<i64>,
    /// Number of calls of each category on rows other than streams.
    categories: HashMap<(u32, Sym), u64>,
    /// Row, category and number of calls that are not in `categories` yet.
    category: Option<(u32, Sym, u64)>,
    /// Byte offset and number of the first event with a suspicious time; see [`outliers`](super::outliers).
    pub(in crate::timeline) suspect: Option<(u64, u64)>,
    /// Row numbers by key.
    keys: HashMap<RowKey, u32>,
    /// Words by text.
    symbols: HashMap<Box<[u8]>, Sym>,
    /// Texts of the words.
    pub(in crate::timeline) words: Vec<String>,
    /// Numbers of the groups by name and ranks.
    group_numbers: HashMap<Vec<u8>, u32>,
    /// Shared memory budget.
    budget: MemoryBudget,
    /// Memory of the events of all rows in bytes. It is summed incrementally because there may be many rows.
    kept: u64,
    /// Bytes allocated from the budget.
    taken: u64,
    /// Byte offset and number of the current event.
    here: Option<(u64, u64)>,
}

impl Part {
    pub(crate) fn new(file: &Arc<str>, budget: &MemoryBudget) -> Self {
        Part {
            file: Arc::clone(file),
            source: 0,
            rank: None,
            base: None,
            host: None,
            is_hip: false,
            counts_from_boot: false,
            device_kind: GPU.to_owned(),
            is_helper: false,
            context_word: "context",
            properties: Vec::new(),
            devices: HashMap::new(),
            found: Diagnostics::default(),
            names: Names::default(),
            rows: Vec::new(),
            extras: Vec::new(),
            arguments: Arguments::default(),
            groups: Vec::new(),
            group_numbers: HashMap::new(),
            flows: Vec::new(),
            counters: Counters::default(),
            processes: HashMap::new(),
            threads: HashMap::new(),
            shown: HashMap::new(),
            first: None,
            categories: HashMap::new(),
            category: None,
            suspect: None,
            keys: HashMap::new(),
            symbols: HashMap::new(),
            words: Vec::new(),
            budget: budget.clone(),
            kept: 0,
            taken: 0,
            here: None,
        }
    }

    /// Sets the current event, for the places of findings in its texts.
    #[inline]
    pub(crate) fn at(&mut self, here: Option<(u64, u64)>) {
        self.here = here;
    }

    /// Decodes a text; invalid text is counted.
    pub(crate) fn text(&mut self, raw: &[u8]) -> String {
        let (text, is_repaired) = decode(raw);
        if is_repaired {
            let place = match self.here {
                Some((offset, index)) => self.place(offset, index),
                None => Place::file(Arc::clone(&self.file)),
            };
            self.found.add(rules::ENCODING, place);
        }
        text
    }

    pub(crate) fn place(&self, offset: u64, index: u64) -> Place {
        Place::file(Arc::clone(&self.file))
            .at(offset)
            .record(format!("event {index}"))
    }

    /// Reports a deviation in an array of events, and checks the memory budget after each window of the text.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Limit`](crate::Error::Limit) if the memory budget is exceeded.
    pub(crate) fn report_deviation(&mut self, element: Element) -> Result<()> {
        let place = Place::file(Arc::clone(&self.file));
        match element {
            Element::Broken {
                index,
                at,
                expected,
                skipped,
            } => {
                let record = format!("event {index}, expected {expected}, {skipped} bytes skipped");
                self.found
                    .add(rules::MALFORMED, place.at(at).record(record));
            }
            Element::Long { index, offset } => {
                let record = format!("event {index}");
                self.found
                    .add(rules::LONG_EVENT, place.at(offset).record(record));
            }
            Element::Comma { offset, count } => {
                self.found.add_many(rules::COMMA, count, place.at(offset));
            }
            Element::Window { offset } => {
                self.check_memory(|| place.at(offset))?;
            }
        }
        Ok(())
    }

    /// Checks the memory of all parts against the budget.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Limit`](crate::Error::Limit) if the memory budget is exceeded.
    pub(crate) fn check_memory(&mut self, place: impl FnOnce() -> Place) -> Result<()> {
        let now = self.memory();
        let more = now.saturating_sub(self.taken);
        self.taken += more;
        self.budget.take("memory for events in bytes", more, place)
    }

    /// Returns the approximate memory of the events so far in bytes.
    fn memory(&self) -> u64 {
        let rest = size_of_val(&*self.extras) + size_of_val(&*self.flows);
        self.kept + (rest + self.arguments.memory() + self.counters.memory()) as u64
    }

    /// Returns the number of a raw name.
    #[inline]
    pub(crate) fn name(&mut self, raw: &[u8], at: (u64, u64)) -> u32 {
        match self.names.known(raw) {
            Some(id) => id,
            None => self.new_name(raw, at),
        }
    }

    fn new_name(&mut self, raw: &[u8], (offset, index): (u64, u64)) -> u32 {
        if raw.len() > self.budget.limits().string as usize {
            let place = self.place(offset, index);
            self.found.add(rules::LONG_NAME, place);
            return self.names.text("(name too long)".into());
        }
        if self.names.len() >= self.budget.limits().definitions as usize {
            let place = self.place(offset, index);
            self.found.add(rules::DEFINITIONS, place);
            return self.past_limit();
        }
        let (text, is_repaired) = decode(raw);
        if is_repaired {
            let place = self.place(offset, index);
            self.found.add(rules::ENCODING, place);
        }
        self.names.add(raw, text)
    }

    /// Returns the region for a name.
    #[inline]
    pub(crate) fn region(&mut self, name: u32, kind: Kind) -> u32 {
        self.names.region(name, kind)
    }

    /// Returns the word for a text.
    #[inline]
    pub(crate) fn symbol(&mut self, raw: &[u8]) -> Sym {
        if let Some(known) = self.symbols.get(raw) {
            return *known;
        }
        let sym = Sym(self.words.len() as u32);
        let word = self.text(raw);
        self.words.push(word);
        self.symbols.insert(raw.into(), sym);
        sym
    }

    /// Returns the word for a text that already occurred in the file.
    #[cfg(feature = "nsys")]
    pub(crate) fn known_symbol(&self, raw: &[u8]) -> Option<Sym> {
        self.symbols.get(raw).copied()
    }

    /// Returns a name that is set later by [`rename`](Self::rename), or `None` if there are too
    /// many.
    #[cfg(feature = "rocprof")]
    pub(crate) fn unnamed(&mut self, (offset, index): (u64, u64)) -> Option<u32> {
        if self.names.len() >= self.budget.limits().definitions as usize {
            let place = self.place(offset, index);
            self.found.add(rules::DEFINITIONS, place);
            return None;
        }
        Some(self.names.unnamed())
    }

    /// Returns the shared name for names beyond the limit.
    pub(crate) fn past_limit(&mut self) -> u32 {
        self.names.text(PAST_LIMIT.into())
    }

    /// Replaces the text of a name.
    #[cfg(feature = "rocprof")]
    pub(crate) fn rename(&mut self, name: u32, text: Arc<str>) {
        let text = if self.is_too_long(&text) {
            "(name too long)".into()
        } else {
            text
        };
        self.names.rename(name, text);
    }

    /// Returns `true` and reports it if a text is too long.
    #[cfg(feature = "rocprof")]
    fn is_too_long(&mut self, text: &str) -> bool {
        let is_long = text.len() > self.budget.limits().string as usize;
        let place = Place::file(Arc::clone(&self.file));
        self.found.add_many(rules::LONG_NAME, is_long.into(), place);
        is_long
    }

    /// Returns the number of a name that parts share. If the name is too long or there are too many names, returns the
    /// number of its replacement as an error.
    #[cfg(feature = "nsys")]
    pub(crate) fn shared_name(&mut self, text: &Arc<str>, place: Place) -> Result<u32, u32> {
        if text.len() > self.budget.limits().string as usize {
            self.found.add(rules::LONG_NAME, place);
            return Err(self.names.text("(name too long)".into()));
        }
        if self.names.len() >= self.budget.limits().definitions as usize {
            self.found.add(rules::DEFINITIONS, place);
            return Err(self.past_limit());
        }
        Ok(self.names.share(text))
    }

    /// Sets the long form of the region for a name.
    #[cfg(feature = "rocprof")]
    pub(crate) fn form(&mut self, name: u32, kind: Kind, form: String) {
        if self.is_too_long(&form) {
            return;
        }
        let region = self.names.region(name, kind);
        self.names.form(region, form);
    }

    /// Returns the region for a name with a long form.
    #[cfg(feature = "nsys")]
    pub(crate) fn region_with(&mut self, name: u32, kind: Kind, form: u32) -> u32 {
        self.names.region_with(name, kind, form)
    }

    /// Replaces the text of a word.
    #[cfg(feature = "rocprof")]
    pub(crate) fn rename_word(&mut self, sym: Sym, text: String) {
        if let Some(word) = self.words.get_mut(sym.0 as usize) {
            *word = text;
        }
    }

    /// Returns the text of a word.
    pub(crate) fn word(&self, sym: Sym) -> &str {
        self.words.get(sym.0 as usize).map_or("", String::as_str)
    }

    /// Returns `true` if there are device activities.
    pub(crate) fn has_work(&self) -> bool {
        let is_work = |row: &Row| matches!(row.key, RowKey::Work { .. });
        self.rows.iter().any(is_work)
    }

    /// Returns the number of a row.
    #[inline]
    pub(crate) fn row(&mut self, key: RowKey) -> u32 {
        let rows = &mut self.rows;
        *self.keys.entry(key).or_insert_with(|| {
            rows.push(Row::new(key, Vec::new()));
            rows.len() as u32 - 1
        })
    }

    /// Returns `true` if the row exists.
    #[cfg(feature = "nsys")]
    pub(crate) fn has_row(&self, key: RowKey) -> bool {
        self.keys.contains_key(&key)
    }

    /// Returns the devices with activities.
    #[cfg(feature = "nsys")]
    pub(crate) fn used_devices(&self) -> BTreeSet<Sym> {
        let device = |row: &Row| match row.key {
            RowKey::Work { device, .. } | RowKey::Beside { device, .. } => Some(device),
            RowKey::Thread { .. } | RowKey::Async { .. } | RowKey::Counters { .. } => None,
        };
        self.rows.iter().filter_map(device).collect()
    }

    /// Records that the file assigns the activities of a row to a thread of a process.
    #[inline]
    pub(crate) fn show(&mut self, process: Sym, thread: Sym, row: u32) {
        let rows = self.shown.entry((process, thread)).or_default();
        if rows.len() < SHOWN && !rows.contains(&row) {
            rows.push(row);
        }
    }

    /// Returns the number of a group of ranks by its name and list of ranks; `None` beyond the limit of definitions.
    #[cfg(feature = "chrome")]
    pub(crate) fn group(&mut self, name: &[u8], ranks: &[u8]) -> Option<u32> {
        let key = [name, b"\0", ranks].concat();
        if let Some(known) = self.group_numbers.get(&key) {
            return Some(*known);
        }
        let limits = self.budget.limits();
        let is_long = key.len() > limits.string as usize;
        if is_long || self.groups.len() >= limits.definitions as usize {
            let (offset, index) = self.here.unwrap_or_default();
            let place = self.place(offset, index);
            self.found.add(rules::DEFINITIONS, place);
            return None;
        }
        let number = u32::try_from(self.groups.len()).ok()?;
        let group = (self.text(name), self.text(ranks));
        self.groups.push(group);
        self.group_numbers.insert(key, number);
        Some(number)
    }

    /// Adds a number to the arguments of a call.
    #[cfg(feature = "chrome")]
    pub(crate) fn argument(
        &mut self,
        extra: &mut Extra,
        name: Argument,
        number: super::row::Number,
    ) {
        extra.arguments = self.arguments.add(extra.arguments, name, number);
    }

    /// Stores the extra data of a call. Returns their index plus 1, or 0 if there are none.
    #[inline]
    pub(crate) fn extra(&mut self, extra: Extra) -> u32 {
        if extra.is_nothing() {
            return 0;
        }
        self.extras.push(extra);
        self.extras.len() as u32
    }

    /// Counts a call of a category on a row other than a stream.
    #[cfg(feature = "chrome")]
    #[inline]
    pub(crate) fn categorise(&mut self, row: u32, category: &[u8]) {
        // Consecutive calls mostly have the same category.
        if let Some((last, sym, count)) = self.category {
            if last == row && self.word(sym).as_bytes() == category {
                self.category = Some((last, sym, count + 1));
                return;
            }
            *self.categories.entry((last, sym)).or_default() += count;
        }
        let sym = self.symbol(category);
        self.category = Some((row, sym, 1));
    }

    /// Clears the row numbers, which are then assigned anew.
    pub(in crate::timeline) fn forget_rows(&mut self) {
        self.keys.clear();
        self.categories.clear();
        self.category = None;
    }

    /// Returns the categories of the calls of each row other than a stream, with the number of
    /// their calls, most frequent first.
    pub(in crate::timeline) fn categories(&mut self) -> HashMap<RowKey, Vec<(u64, &str)>> {
        if let Some((row, sym, count)) = self.category.take() {
            *self.categories.entry((row, sym)).or_default() += count;
        }
        let mut found: HashMap<RowKey, Vec<(u64, &str)>> = HashMap::new();
        for ((row, sym), count) in &self.categories {
            let category = self.words.get(sym.0 as usize);
            if let (Some(row), Some(category)) = (self.rows.get(*row as usize), category) {
                let of = found.entry(row.key).or_default();
                of.push((*count, category.as_str()));
            }
        }
        for of in found.values_mut() {
            of.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        }
        found
    }

    /// Returns the programming model of the devices.
    pub(in crate::timeline) fn paradigm(&self) -> Paradigm {
        match (self.is_hip, self.device_kind == GPU) {
            (true, _) => Paradigm::Hip,
            (false, true) => Paradigm::Cuda,
            (false, false) => Paradigm::Unknown,
        }
    }

    /// Adds a call.
    #[inline]
    pub(crate) fn call(&mut self, row: u32, (start, end): (i64, i64), region: u32, extra: u32) {
        self.seen(start);
        if self.suspect.is_none() && outliers::is_suspect(start, end) {
            self.suspect = self.here;
        }
        if let Some(row) = self.rows.get_mut(row as usize) {
            self.kept += size_of::<Call>() as u64;
            row.calls.push(Call {
                start,
                end,
                region,
                extra,
            });
        }
    }

    /// Adds an instant.
    pub(crate) fn instant(&mut self, row: u32, at: i64, name: u32, extra: u32) {
        self.seen(at);
        if let Some(row) = self.rows.get_mut(row as usize) {
            self.kept += size_of::<Instant>() as u64;
            row.instants.push(Instant { at, name, extra });
        }
    }

    /// Adds a begin or an end with the tag `of`, by which it is paired.
    pub(crate) fn mark(&mut self, row: u32, at: i64, edge: Edge, of: Tag) {
        self.seen(at);
        if let Some(row) = self.rows.get_mut(row as usize) {
            self.kept += size_of::<Mark>() as u64;
            row.marks.push(Mark { at, edge, of });
        }
    }

    /// Adds a point of a flow.
    pub(crate) fn flow(&mut self, of: Tag, end: FlowEnd, at: i64, (process, thread): (Sym, Sym)) {
        self.flows.push(Flow::new(of, end, at, (process, thread)));
    }

    /// Adds named values of counters, in order.
    pub(crate) fn sample(&mut self, process: Sym, at: i64, values: &[(String, perf_core::Value)]) {
        self.seen(at);
        self.row(RowKey::Counters { process });
        let room = Room {
            names: self.budget.limits().definitions,
            text: self.most_text(),
        };
        let left_out = self.counters.add(process, at, values, room);
        if left_out > 0 {
            let (offset, index) = self.here.unwrap_or_default();
            let place = self.place(offset, index);
            self.found.add_many(rules::DEFINITIONS, left_out, place);
        }
    }

    /// Returns the maximum number of bytes of composed texts. The limit is needed because few bytes of a file can
    /// require long texts.
    pub(crate) fn most_text(&self) -> u64 {
        crate::timeline::most_text(self.budget.limits())
    }

    pub(crate) fn process_name(&mut self, process: Sym, name: String) {
        self.processes.entry(process).or_default().name = Some(name);
    }

    pub(crate) fn process_labels(&mut self, process: Sym, labels: String) {
        self.processes.entry(process).or_default().labels = Some(labels);
    }

    pub(crate) fn thread_name(&mut self, process: Sym, thread: Sym, name: String) {
        self.threads.insert((process, thread), name);
    }

    #[inline]
    fn seen(&mut self, at: i64) {
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
    }

    /// Pairs the begins and ends of all rows into calls, and reports unpaired ones.
    pub(in crate::timeline) fn pair_marks(&mut self) {
        let found = begin_end_pairs::pair(&mut self.rows, &self.names);
        let place = || Place::file(Arc::clone(&self.file));
        for (rule, count) in [
            (rules::NO_END, found.begins),
            (rules::NO_BEGIN, found.ends),
            (rules::MISMATCH, found.crossed),
        ] {
            self.found.add_many(rule, count, place());
        }
    }
}
