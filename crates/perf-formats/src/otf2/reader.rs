//! [`Reader`]: an archive whose definitions are read and whose events can be.

use super::anchor::Anchor;
use super::archive::Archive;
use super::definitions::{DefinitionFile, DefinitionRecord, Row};
use super::kinds::{self, Kinds};
use super::local::{LocalDefinitions, Tables};
use super::locate::{Located, find_anchor, locate, name_of};
use super::read::{at_once, by_chunk};
use super::resolve::{Resolved, resolve};
use super::schema;
use super::source::{Known, Source, guess_definition_chunk};
use super::wire::Cursor;
use super::{rules, schema::internal};
use crate::reading::Reading;
use crate::{Error, OpenOptions, Result};
use perf_core::parallel::Threads;
use perf_core::{Definitions, Diagnostics, Job, LocationId, Place};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// An OTF2 archive: its definitions are read, its events can be.
///
/// * [`read`](Self::read) keeps all events (or those of a window) in columns;
/// * [`merged`](Self::merged) walks through all of them in order of time in little memory;
/// * [`records`](Self::records) shows those of one location as they stand in the file.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, otf2::Reader};
/// let reader = Reader::open("run/traces.otf2".as_ref(), &OpenOptions::new(), &Job::default())?;
/// println!("{} regions", reader.definitions().regions.len());
/// let mut events = reader.merged()?;
/// while let Some((location, at, event)) = events.next()? {
///     println!("{location} {at} {event:?}");
/// }
/// # Ok::<(), perf_formats::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<'o> {
    pub(crate) source: Source<'o>,
    pub(crate) options: Reading,
    anchor: Option<Anchor>,
    file: DefinitionFile,
    pub(crate) resolved: Resolved,
    pub(crate) kinds: Kinds,
    pub(crate) found: Diagnostics,
    /// Which record defines a string, by its id; made when it is asked for.
    strings: OnceLock<HashMap<u64, usize>>,
    /// Mapping tables that locations share.
    tables: Tables,
}

/// What reading an archive would cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Estimate {
    /// Bytes of event files.
    pub bytes: u64,
    /// Number of events, from the headers of chunks, or from the bytes where they cannot be right.
    pub events: u64,
    /// Bytes of memory that all events take in columns, and what lies beside them while they are read: a
    /// block of a file a thread, and where a location is more than a thread's share, two chunks a thread.
    /// Roughly: events of many small arguments can take more. Reading stops at the limit whatever was estimated.
    pub memory: u64,
}

impl<'o> Reader<'o> {
    /// Opens an archive by the path of its anchor (`.otf2`), of the folder that holds it, or of the
    /// folder of its event files.
    ///
    /// An anchor that was renamed, or is a link, finds the other files where they are, if there is
    /// only one archive it can mean.
    ///
    /// The job is also that of everything that is read later. Progress is reported in bytes of the phase `read`.
    ///
    /// # Errors
    /// [`Error::Io`] where the system cannot read, [`Error::Malformed`] and [`Error::Truncated`]
    /// for a damaged anchor without definitions or event files beside it, [`Error::Unsupported`] for SION containers and compressed archives,
    /// [`Error::Limit`] past the limits, [`Error::Strict`] if strict reading was asked for and the
    /// definitions had to be repaired.
    pub fn open(path: &Path, options: &OpenOptions, job: &Job) -> Result<Self> {
        let Located {
            folder,
            anchor,
            name,
        } = locate(path)?;
        let source = Source::new(Box::new(folder), anchor, name);
        // The member alone would not say which archive.
        Self::with_source(source, &Reading::new(options, job)).map_err(|error| error.within(path))
    }

    /// Opens an archive from any source. Its anchor is the one member whose name ends in `.otf2`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn new(archive: impl Archive + 'o, options: &OpenOptions, job: &Job) -> Result<Self> {
        let anchor = find_anchor(&archive)?;
        let name = name_of(&archive, &anchor);
        Self::with_source(
            Source::new(Box::new(archive), anchor, name),
            &Reading::new(options, job),
        )
    }

    fn with_source(source: Source<'o>, options: &Reading) -> Result<Self> {
        let mut found = Diagnostics::default();
        let member = source.anchor();
        let mut refused = None;
        let anchor = match source.read_all(&member)? {
            Some(bytes) => match Anchor::parse(&member, &bytes) {
                Ok(anchor) => Some(anchor),
                Err(error @ (Error::Malformed { .. } | Error::Truncated { .. })) => {
                    let place = error.place().cloned();
                    let place = place.unwrap_or_else(|| Place::file(member.as_str()));
                    found.add(rules::DAMAGED_ANCHOR, place);
                    refused = Some(error);
                    None
                }
                Err(error) => return Err(error),
            },
            None => {
                found.add(rules::NO_ANCHOR, Place::file(member.as_str()));
                None
            }
        };
        let member = source.definitions();
        let file = match source.read_all(&member)?.filter(|bytes| !bytes.is_empty()) {
            Some(bytes) => split(&member, bytes, anchor.as_ref(), &mut found),
            None => {
                found.add(rules::NO_DEFINITIONS, Place::file(member.as_str()));
                DefinitionFile::named(&member)
            }
        };
        let declared = anchor.clone().unwrap_or_default();
        // Files tell of locations that definitions lost; to list them is dear in a big archive, so
        // that it is done only where something is missing.
        let is_location = |record: &DefinitionRecord<'_>| record.id == LOCATION;
        let defined = file.records().filter(is_location).count() as u64;
        let is_whole = anchor.is_some() && defined >= declared.locations;
        let keys = if is_whole { Vec::new() } else { source.keys()? };
        let is_promised = anchor.is_none() || declared.locations > 0;
        if file.size() == 0 && keys.is_empty() && is_promised {
            return Err(refused.unwrap_or_else(|| Error::Malformed {
                place: Place::file(source.anchor()),
                expected: format!("definitions or event files called {}", source.name),
                got: "neither".into(),
            }));
        }
        let limits = options.get_limits();
        let unify = options.get_unify();
        let mut resolved = resolve(&file, &declared, &keys, unify, limits, &mut found)?;
        resolved.definitions.kinds = kinds::names();
        if anchor.is_some() {
            let place = || Place::file(source.anchor());
            if declared.definitions != file.len() as u64 {
                found.add(rules::DECLARED_DEFINITIONS, place());
            }
            if declared.locations != resolved.definitions.system.locations().len() as u64 {
                found.add(rules::DECLARED_LOCATIONS, place());
            }
        }
        options.judge(&found)?;
        Ok(Reader {
            source,
            options: options.clone(),
            anchor,
            file,
            resolved,
            kinds: Kinds::new(),
            found,
            strings: OnceLock::new(),
            tables: Tables::default(),
        })
    }

    /// The same archive, of which only the events of these locations are read, by their
    /// [`key`](perf_core::Location::key): as [`OpenOptions::locations`], for who has to see the definitions to
    /// know which.
    pub fn only(mut self, keys: Vec<u64>) -> Self {
        self.options = self.options.locations(keys);
        self
    }

    /// The name of the archive: that of its definitions and event files, usually what comes before
    /// `.otf2`.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// What the anchor says; `None` where it is missing.
    pub fn anchor(&self) -> Option<&Anchor> {
        self.anchor.as_ref()
    }

    /// What events refer to.
    pub fn definitions(&self) -> &Definitions {
        &self.resolved.definitions
    }

    /// The records of the global definition file, as they stand there.
    pub fn definition_file(&self) -> &DefinitionFile {
        &self.file
    }

    /// What was repaired, lost or noted while the definitions were read.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.found
    }

    /// The text of an OTF2 string id, which events of kinds without a noun of their own name.
    pub fn string(&self, id: u64) -> Option<String> {
        let strings = self.strings.get_or_init(|| {
            let records = self.file.records().enumerate();
            let strings = records.filter(|(_, record)| record.id == STRING);
            let with_id = |(at, record): (usize, DefinitionRecord<'_>)| {
                let id = Cursor::new(record.payload, record.order).v32("a string");
                Some((u64::from(id.ok()?), at))
            };
            strings.filter_map(with_id).collect()
        });
        let record = self.file.record(*strings.get(&id)?)?;
        let known = schema::definition(STRING)?;
        let row = Row::parse(record, known, record.order).ok()?;
        Some(String::from_utf8_lossy(row.text(1)).into_owned())
    }

    /// Number of global definition records by name, ascending; unknown ones are `Unknown`.
    pub fn definition_counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = BTreeMap::new();
        for record in self.file.records() {
            let name = schema::definition(record.id).map_or(kinds::UNKNOWN, |known| known.name);
            *counts.entry(name).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    /// How many events the definition of a location declares. Some tools write anything here.
    pub fn declared_events(&self, location: LocationId) -> Option<u64> {
        let declared = self.resolved.declared.get(location.index());
        declared.copied().flatten()
    }

    /// The key of a location.
    pub(crate) fn key(&self, location: LocationId) -> Result<u64> {
        let system = &self.resolved.definitions.system;
        let found = system.location(location).map(|location| location.key);
        found.ok_or(Error::Core(perf_core::Error::Undefined {
            what: "location",
            id: location.0.into(),
            count: system.locations().len(),
        }))
    }

    /// The local definition file of a location as it stands there; `None` where it is missing.
    ///
    /// # Errors
    /// [`Error::Io`] where the system cannot read, [`Error::Core`] for a location that is not
    /// defined.
    pub fn local_file(&self, location: LocationId) -> Result<Option<DefinitionFile>> {
        let (file, _) = self.read_local(self.key(location)?)?;
        Ok(file)
    }

    /// The mapping tables and the clock of a location.
    ///
    /// # Errors
    /// As [`local_file`](Self::local_file).
    pub fn local_definitions(&self, location: LocationId) -> Result<LocalDefinitions> {
        self.local(self.key(location)?, &mut Diagnostics::default())
    }

    fn read_local(&self, key: u64) -> Result<(Option<DefinitionFile>, Diagnostics)> {
        let mut found = Diagnostics::default();
        let member = self.source.local(key);
        let bytes = self.source.read_all(&member)?;
        let file = bytes
            .filter(|bytes| !bytes.is_empty())
            .map(|bytes| split(&member, bytes, self.anchor.as_ref(), &mut found))
            .map(DefinitionFile::of_location);
        if file.is_none() {
            found.add(rules::MISSING_LOCAL, Place::file(member));
        }
        Ok((file, found))
    }

    pub(crate) fn local(&self, key: u64, found: &mut Diagnostics) -> Result<LocalDefinitions> {
        let (file, more) = self.read_local(key)?;
        perf_core::Merge::merge(found, &more);
        Ok(file.map_or_else(LocalDefinitions::default, |file| {
            let mut local = LocalDefinitions::parse(&file, found);
            local.share(&self.tables);
            local
        }))
    }

    /// What is known of the files without looking.
    pub(crate) fn known(&self) -> Known {
        let anchor = self.anchor.as_ref();
        Known {
            chunk: anchor.map(|anchor| anchor.event_chunk).filter(is_possible),
            order: anchor.map(|anchor| anchor.byte_order),
        }
    }

    /// What reading the locations asked for would cost, from the sizes of their files and the
    /// headers of their last chunks.
    ///
    /// # Errors
    /// [`Error::Io`] where the system cannot read.
    pub fn estimate(&self) -> Result<Estimate> {
        let threads = Threads::new(self.options.get_threads());
        let wanted = self.wanted();
        let mut sum = Estimate::default();
        let (mut blocks, mut shapes) = (0, Vec::with_capacity(wanted.len()));
        for id in &wanted {
            let member = self.source.events(self.key(*id)?);
            let Some((shape, _)) = self.source.shape(&member, self.known())? else {
                continue;
            };
            let events = self.count(&member, shape)?;
            let memory = columns(shape.size, events);
            sum.events += events;
            sum.bytes += shape.size;
            sum.memory += memory;
            blocks = shape.size.min(Source::block_len() as u64).max(blocks);
            shapes.push((shape, memory));
        }
        // Of one location at a time.
        let long = shapes
            .iter()
            .filter(|(shape, _)| by_chunk(*shape, sum.bytes, threads));
        let twice = long.map(|(shape, memory)| {
            let chunks = shape.chunks();
            memory / chunks * chunks.min(at_once(threads))
        });
        let twice = twice.max().unwrap_or_default();
        sum.memory += blocks * wanted.len().min(threads.count()) as u64 + twice;
        Ok(sum)
    }

    /// How many events a file has: what the header of its last chunk says, if its bytes can hold so many.
    pub(crate) fn count(&self, member: &str, shape: super::source::Shape) -> Result<u64> {
        let (start, _) = shape.span(shape.chunks().saturating_sub(1));
        let mut head = [0; internal::CHUNK_HEADER_LEN];
        let got = self.source.read_at(member, start, &mut head)?;
        let head = head.get(..got).unwrap_or_default();
        let mut cursor = super::wire::Cursor::new(head, shape.order);
        let header = super::definitions::chunk_header(&mut cursor, shape.order);
        // The shortest event has two bytes, the usual one twelve with its time.
        let said = header.ok().map(|(_, last)| last);
        let said = said.filter(|events| *events <= shape.size / 2);
        Ok(said.unwrap_or(shape.size / 12))
    }
}

/// Bytes that `events` events in `size` bytes of a file take in columns.
///
/// An enter with its time has eleven bytes or more and takes twelve. What is beyond that is
/// arguments of records, which grow about fourfold. Events shorter than that share their times,
/// and may all be records of one argument.
fn columns(size: u64, events: u64) -> u64 {
    let usual = 12 * events + 4 * size.saturating_sub(12 * events);
    if size < 11 * events {
        usual.max(32 * events)
    } else {
        usual
    }
}

const STRING: u8 = 10;
const LOCATION: u8 = 14;

/// Whether a size of chunks can be one: a header must fit.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "a predicate of Option::filter"
)]
fn is_possible(chunk: &u64) -> bool {
    *chunk > internal::CHUNK_HEADER_LEN as u64
}

fn split(
    member: &str,
    bytes: Vec<u8>,
    anchor: Option<&Anchor>,
    found: &mut Diagnostics,
) -> DefinitionFile {
    let known = anchor.map(|anchor| anchor.definition_chunk);
    let chunk = match known.filter(is_possible) {
        Some(chunk) => usize::try_from(chunk).unwrap_or(usize::MAX),
        None => {
            let chunk = guess_definition_chunk(&bytes);
            if chunk < bytes.len() {
                found.add(rules::CHUNK_SIZE, Place::file(member));
            }
            chunk
        }
    };
    DefinitionFile::split(Arc::from(member), bytes, chunk, found)
}
