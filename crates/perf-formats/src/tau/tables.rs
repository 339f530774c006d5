//! [`Tau`]: opens TAU profiles, merges the files of all threads and metrics into [`Tables`] (each
//! [`Function`], [`Thread`] and user event), and provides them and the resulting [`Profile`].

use super::{packed, profile_builder, rules, text};
use crate::bytes::Bytes;
use crate::read_context::ReadContext;
use crate::{Error, OpenOptions, Result};
use perf_core::{Diagnostics, Job, Place, Profile};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Identification of a thread in TAU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Process; with MPI, its rank.
    pub node: u32,
    /// Address space within the process, usually 0.
    pub context: u32,
    /// Thread within the address space.
    pub thread: u32,
}

/// A function, or a call path of functions joined by ` => `.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Full name of the function or call path.
    pub name: String,
    /// Groups of the function.
    pub groups: Vec<String>,
}

impl Function {
    /// Returns `true` for a call path. Functions repeat the sums of their call paths.
    pub fn is_call_path(&self) -> bool {
        self.name.contains(" => ")
    }
}

/// A line of a thread: a function with its numbers of calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Index in [`Tau::functions`].
    pub function: u32,
    /// Number of calls of the function.
    pub calls: f64,
    /// Number of calls that the function made.
    pub subroutines: f64,
}

/// A user event of a thread: statistics of a value reported by the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventEntry {
    /// Index in [`Tau::events`].
    pub event: u32,
    /// Number of values.
    pub count: f64,
    /// Largest value.
    pub max: f64,
    /// Smallest value.
    pub min: f64,
    /// Mean value.
    pub mean: f64,
    /// Sum of the squared values.
    pub sum_of_squares: f64,
}

/// Data of a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    /// Identification of the thread.
    pub key: Key,
    /// Lines of the thread. If a function occurs twice, its values are added.
    pub entries: Vec<Entry>,
    /// Pairs (exclusive, inclusive), entry by entry, with all metrics of an entry in sequence.
    pub values: Vec<(f64, f64)>,
    /// User events of the thread.
    pub events: Vec<EventEntry>,
    /// Metadata of the thread, as (name, value).
    pub metadata: Vec<(String, String)>,
}

/// Contents of a profile, independent of its storage.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// Names of the metrics.
    pub(super) metrics: Vec<String>,
    /// Functions and call paths.
    pub(super) functions: Vec<Function>,
    /// Names of the user events.
    pub(super) events: Vec<String>,
    /// Threads by ascending key.
    pub(super) threads: Vec<Thread>,
    /// Metadata shared by all threads.
    pub(super) metadata: Vec<(String, String)>,
}

/// A TAU profile.
///
/// The [`profile`](Self::profile) has two metrics for each metric of the recording: an inclusive
/// one with its name and an exclusive one, `exclusive NAME`, both as measured by TAU. The metrics
/// `calls` and `subroutines` (exclusive) follow. Times are in microseconds. Call paths are those of
/// TAU; functions without call paths are roots. Functions with call paths do not occur as roots as
/// well, so that exclusive values add up to the total.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, tau::Tau};
/// let tau = Tau::open("run/", &OpenOptions::new(), &Job::default())?;
/// for thread in tau.threads() {
///     println!("{:?}: {} functions", thread.key, thread.entries.len());
/// }
/// # Ok::<(), perf_formats::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tau {
    /// Contents of the files.
    tables: Tables,
    /// Profile built from the tables.
    profile: Profile,
    /// Repairs, losses and notes.
    diagnostics: Diagnostics,
}

impl Tau {
    /// Opens a folder with `profile.*` files or `MULTI__*` folders, a single such file, or a
    /// `.ppk`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system cannot read, [`Error::Truncated`], [`Error::Malformed`]
    /// or [`Error::Limit`] with the place in the file, and [`Error::Strict`] for the first repair
    /// or loss in strict mode.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions, job: &Job) -> Result<Self> {
        let options = &ReadContext::new(options, job);
        let path = path.as_ref();
        let mut found = Diagnostics::default();
        let tables = if path.is_dir() {
            folder(path, options, &mut found)?
        } else if let Some(key) = key_of(path) {
            let file = (key, path.to_path_buf());
            texts(&[(String::new(), vec![file])], options, &mut found)?
        } else {
            let bytes = Bytes::open(path, options.get_limits(), &options.job)?;
            options.advance(bytes.len(), bytes.len())?;
            packed::read(bytes, options, &mut found)?
        };
        Tau::new(tables, &path.to_string_lossy(), options, found)
    }

    /// Reads a `.ppk` in memory; errors call it `name`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`open`](Self::open), except [`Error::Io`].
    pub fn from_packed(
        bytes: Vec<u8>,
        name: &str,
        options: &OpenOptions,
        job: &Job,
    ) -> Result<Self> {
        let options = &ReadContext::new(options, job);
        let mut found = Diagnostics::default();
        let bytes = Bytes::new(bytes, name, options.get_limits(), &options.job)?;
        let tables = packed::read(bytes, options, &mut found)?;
        Tau::new(tables, name, options, found)
    }

    /// Reads the text of one thread; errors call it `name`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`open`](Self::open), except [`Error::Io`].
    pub fn from_text(text: &[u8], name: &str, options: &OpenOptions, job: &Job) -> Result<Self> {
        let options = &ReadContext::new(options, job);
        let mut found = Diagnostics::default();
        let mut names = Names::default();
        let file = text::parse(text, name, &mut names, options, &mut found)?;
        let metric = file.metric.clone();
        names.metrics.push(metric.unwrap_or_else(|| TIME.into()));
        let mut merge = Merge::default();
        merge.add(0, Key::default(), file, name);
        let tables = merge.finish(names, 1)?;
        Tau::new(tables, name, options, found)
    }

    fn new(
        tables: Tables,
        name: &str,
        options: &ReadContext,
        mut found: Diagnostics,
    ) -> Result<Self> {
        let profile = profile_builder::profile(&tables, name, options, &mut found)?;
        options.judge(&found)?;
        Ok(Tau {
            tables,
            profile,
            diagnostics: found,
        })
    }

    /// Returns the call-path profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Converts into the profile and the diagnostics.
    pub fn into_parts(self) -> (Profile, Diagnostics) {
        (self.profile, self.diagnostics)
    }

    /// Returns the repairs, losses and notes.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Returns the names of the metrics.
    pub fn metrics(&self) -> &[String] {
        &self.tables.metrics
    }

    /// Returns the functions and call paths of all threads.
    pub fn functions(&self) -> &[Function] {
        &self.tables.functions
    }

    /// Returns the names of the user events of all threads.
    pub fn events(&self) -> &[String] {
        &self.tables.events
    }

    /// Returns the threads by ascending key.
    pub fn threads(&self) -> &[Thread] {
        &self.tables.threads
    }
}

/// Metric name for files without one.
const TIME: &str = "Time";

/// Names with their indices.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Functions in the order of their index.
    pub(super) functions: Vec<Function>,
    /// Indices of the functions.
    function_ids: HashMap<String, u32>,
    /// Names of user events in the order of their index.
    pub(super) events: Vec<String>,
    /// Indices of the user events.
    event_ids: HashMap<String, u32>,
    /// Names of the metrics.
    pub(super) metrics: Vec<String>,
}

impl Names {
    pub(super) fn function(&mut self, name: &str, groups: &str) -> u32 {
        if let Some(id) = self.function_ids.get(name) {
            return *id;
        }
        let id = self.functions.len() as u32;
        let groups = groups.split('|').map(str::trim);
        let groups = groups.filter(|group| !group.is_empty());
        self.functions.push(Function {
            name: name.into(),
            groups: groups.map(String::from).collect(),
        });
        self.function_ids.insert(name.into(), id);
        id
    }

    pub(super) fn event(&mut self, name: &str) -> u32 {
        if let Some(id) = self.event_ids.get(name) {
            return *id;
        }
        let id = self.events.len() as u32;
        self.events.push(name.into());
        self.event_ids.insert(name.into(), id);
        id
    }
}

/// Parses the key in a name like `profile.0.0.0`. Numbers must be in canonical form, so that no two
/// files of a folder denote the same thread.
pub(super) fn key_of(path: &Path) -> Option<Key> {
    let name = path.file_name()?.to_str()?.strip_prefix("profile.")?;
    let mut parts = name.split('.').map(|part| {
        let number: u32 = part.parse().ok()?;
        (number.to_string() == part).then_some(number)
    });
    let key = Key {
        node: parts.next()??,
        context: parts.next()??,
        thread: parts.next()??,
    };
    parts.next().is_none().then_some(key)
}

type Files = Vec<(Key, PathBuf)>;

fn listing(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |source| Error::Io {
        place: Place::file(folder.to_string_lossy().into_owned()),
        source,
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort_unstable();
    Ok(paths)
}

fn profiles(paths: &[PathBuf]) -> Files {
    let files = paths
        .iter()
        .filter_map(|path| Some((key_of(path)?, path.clone())));
    files.collect()
}

/// Reads a folder with files, or with a folder of files for each metric.
fn folder(path: &Path, options: &ReadContext, found: &mut Diagnostics) -> Result<Tables> {
    let inside = listing(path)?;
    let mut metrics = Vec::new();
    for folder in &inside {
        let name = folder.file_name().and_then(|name| name.to_str());
        let metric = name.and_then(|name| name.strip_prefix("MULTI__"));
        if let Some(metric) = metric.filter(|_| folder.is_dir()) {
            metrics.push((metric.to_string(), profiles(&listing(folder)?)));
        }
    }
    if metrics.is_empty() {
        metrics.push((String::new(), profiles(&inside)));
    }
    if metrics.iter().all(|(_, files)| files.is_empty()) {
        return Err(Error::Malformed {
            place: Place::file(path.to_string_lossy().into_owned()),
            expected: "profile.NODE.CONTEXT.THREAD files".into(),
            got: "none".into(),
        });
    }
    texts(&metrics, options, found)
}

/// Reads the files of each metric.
fn texts(
    metrics: &[(String, Files)],
    options: &ReadContext,
    found: &mut Diagnostics,
) -> Result<Tables> {
    let mut names = Names::default();
    let mut merge = Merge::default();
    for (metric, (name, files)) in metrics.iter().enumerate() {
        // The metric name in the files takes precedence over the folder name, in which characters
        // may be replaced.
        let mut own: Option<String> = None;
        for (key, path) in files {
            let bytes = Bytes::open(path, options.get_limits(), &options.job)?;
            let file = std::sync::Arc::clone(bytes.name());
            options.advance(bytes.len(), 0)?;
            let bytes = bytes.into_memory(&options.job)?;
            let thread = text::parse(&bytes, &file, &mut names, options, found)?;
            if let Some(metric) = &thread.metric {
                let before = own.get_or_insert_with(|| metric.clone());
                let is_other = before != metric || (!name.is_empty() && name != metric);
                let place = Place::file(&*file).record(metric.clone());
                found.add_many(rules::METRIC_NAME, is_other.into(), place);
            }
            merge.add(metric, *key, thread, &file);
        }
        let own = own.filter(|own| name.is_empty() || !names.metrics.contains(own));
        let folder = if name.is_empty() { TIME } else { name };
        names.metrics.push(own.unwrap_or_else(|| folder.into()));
    }
    for (key, thread) in &merge.threads {
        let missing = metrics.len() - thread.seen.len();
        let place = Place::file(format!(
            "profile.{}.{}.{}",
            key.node, key.context, key.thread
        ));
        found.add_many(rules::MISSING_FILE, missing as u64, place);
    }
    merge.finish(names, metrics.len())
}

/// Maximum ratio of allocated to present values, and an allowance for small profiles.
const SPARSE: usize = 64;
const FEW: usize = 1 << 20;

/// Threads whose metrics come from several files.
#[derive(Debug, Default)]
struct Merge {
    /// Threads by key.
    threads: BTreeMap<Key, Merging>,
}

#[derive(Debug, Default)]
struct Merging {
    /// Thread under construction.
    thread: Thread,
    /// First file of the thread.
    file: String,
    /// Position of a function, by its index and the number of its previous occurrences.
    places: HashMap<(u32, u32), usize>,
    /// (metric, entry, exclusive, inclusive).
    values: Vec<(usize, usize, f64, f64)>,
    /// Metrics with a file of this thread.
    seen: Vec<usize>,
}

impl Merge {
    fn add(&mut self, metric: usize, key: Key, file: text::File, name: &str) {
        let merging = self.threads.entry(key).or_default();
        let is_first = merging.seen.is_empty();
        if is_first {
            merging.file = name.into();
        }
        merging.seen.push(metric);
        merging.thread.key = key;
        let mut times: HashMap<u32, u32> = HashMap::new();
        for (entry, exclusive, inclusive) in file.entries {
            let time = times.entry(entry.function).or_default();
            let next = merging.thread.entries.len();
            let place = *merging
                .places
                .entry((entry.function, *time))
                .or_insert(next);
            *time += 1;
            if place == next {
                merging.thread.entries.push(entry);
            }
            merging.values.push((metric, place, exclusive, inclusive));
        }
        // User events are repeated for each metric; those of the first are used.
        if is_first {
            merging.thread.events = file.events;
            merging.thread.metadata = file.metadata;
        }
    }

    fn finish(self, names: Names, metrics: usize) -> Result<Tables> {
        self.check_room(metrics)?;
        let threads = self.threads.into_values().map(|merging| {
            let mut thread = merging.thread;
            thread.values = vec![(0.0, 0.0); thread.entries.len() * metrics];
            for (metric, place, exclusive, inclusive) in merging.values {
                thread.values[place * metrics + metric] = (exclusive, inclusive);
            }
            thread
        });
        Ok(Tables {
            threads: threads.collect(),
            metrics: if names.metrics.is_empty() {
                vec!["TIME".into()]
            } else {
                names.metrics
            },
            functions: names.functions,
            events: names.events,
            metadata: Vec::new(),
        })
    }

    /// Checks that the values of all threads fill a sufficient share of their tables. Usually each
    /// function has a value of each metric.
    fn check_room(&self, metrics: usize) -> Result<()> {
        let values: usize = self.threads.values().map(|it| it.values.len()).sum();
        let most = values.saturating_mul(SPARSE).max(FEW);
        let rooms = self
            .threads
            .values()
            .map(|it| it.thread.entries.len().saturating_mul(metrics));
        let all = rooms.clone().fold(0, usize::saturating_add);
        if all <= most {
            return Ok(());
        }
        // Report one of the largest tables.
        let largest = self
            .threads
            .values()
            .zip(rooms)
            .max_by_key(|(_, room)| *room);
        Err(Error::Limit {
            place: Place::file(largest.map_or("", |(it, _)| &*it.file)),
            what: "values of all threads, functions and metrics",
            got: all as u64,
            limit: most as u64,
        })
    }
}
