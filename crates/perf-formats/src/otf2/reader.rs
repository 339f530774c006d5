//! [`Reader`]: opens an archive, reads its definitions, and gives access to its events on request;
//! [`Estimate`]: expected number of events and memory.

use super::archive::Archive;
use super::archive::anchor::Anchor;
use super::archive::discovery::{Located, find_anchor, locate, name_of};
use super::archive::files::{Known, Source, guess_definition_chunk};
use super::column_reader::{at_once, by_chunk};
use super::definitions::local::{LocalDefinitions, Tables};
use super::definitions::resolve::{Resolved, resolve};
use super::definitions::{DefinitionFile, DefinitionRecord, Row};
use super::event_conversion::{self, Kinds};
use super::schema;
use super::wire::Cursor;
use super::{rules, schema::internal};
use crate::read_context::ReadContext;
use crate::{Error, OpenOptions, Result};
use perf_core::parallel::Threads;
use perf_core::{Definitions, Diagnostics, Job, LocationId, Place};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Reader of an OTF2 archive. Opening reads the definitions; events are read on request.
///
/// * [`read`](Self::read) returns all events, or those of a window, in columns;
/// * [`merged`](Self::merged) iterates over them in order of time in little memory;
/// * [`records`](Self::records) visits the raw events of one location.
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
    /// Files of the archive.
    pub(crate) source: Source<'o>,
    /// Options of the read operation.
    pub(crate) options: ReadContext,
    /// Contents of the anchor, if it exists.
    anchor: Option<Anchor>,
    /// Global definition file.
    file: DefinitionFile,
    /// Resolved global definitions.
    pub(crate) resolved: Resolved,
    /// Kind of each record id.
    pub(crate) kinds: Kinds,
    /// Diagnostics of the definitions.
    pub(crate) found: Diagnostics,
    /// Index of the record that defines each string id; created on first use.
    strings: OnceLock<HashMap<u64, usize>>,
    /// Mapping tables shared by locations.
    tables: Tables,
}

/// Estimated cost of reading an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Estimate {
    /// Size of the event files in bytes.
    pub bytes: u64,
    /// Number of events, from the headers of chunks, or from the number of bytes if the headers are
    /// implausible.
    pub events: u64,
    /// Estimated memory in bytes: the columns of all events, one block of a file for each thread,
    /// and two chunks for each thread if a location exceeds the share of one thread. Events with
    /// many small arguments can take more. The memory budget is enforced during reading regardless
    /// of the estimate.
    pub memory: u64,
}

impl<'o> Reader<'o> {
    /// Opens an archive by the path of its anchor (`.otf2`), of the folder that contains it, or of
    /// the folder of its event files.
    ///
    /// If the anchor was renamed or is a link, the other files are still found as long as only one
    /// archive is possible.
    ///
    /// The job also applies to all later reads. Progress is reported in bytes of the phase `read`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system cannot read, [`Error::Malformed`] or
    /// [`Error::Truncated`] for a damaged anchor without definitions or event files next to it,
    /// [`Error::Unsupported`] for SION containers and compressed archives, [`Error::Limit`] if a
    /// limit is exceeded, and [`Error::Strict`] if strict reading needs a repair of the
    /// definitions.
    pub fn open(path: &Path, options: &OpenOptions, job: &Job) -> Result<Self> {
        let Located {
            folder,
            anchor,
            name,
        } = locate(path)?;
        let source = Source::new(Box::new(folder), anchor, name);
        // Member names alone do not identify the archive, so errors get its path.
        Self::with_source(source, &ReadContext::new(options, job))
            .map_err(|error| error.within(path))
    }

    /// Opens an archive from any source. Its anchor is the only member with a name that ends in
    /// `.otf2`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`open`](Self::open).
    pub fn new(archive: impl Archive + 'o, options: &OpenOptions, job: &Job) -> Result<Self> {
        let anchor = find_anchor(&archive)?;
        let name = name_of(&archive, &anchor);
        Self::with_source(
            Source::new(Box::new(archive), anchor, name),
            &ReadContext::new(options, job),
        )
    }

    fn with_source(source: Source<'o>, options: &ReadContext) -> Result<Self> {
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
        // Event files reveal locations whose definitions are lost. Listing the files is expensive
        // in a large archive and is done only if definitions are missing.
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
        resolved.definitions.kinds = event_conversion::names();
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

    /// Restricts reading to the events of the locations with these
    /// [keys](perf_core::Location::key). Use this instead of [`OpenOptions::locations`] if the
    /// selection depends on the definitions.
    pub fn only(mut self, keys: Vec<u64>) -> Self {
        self.options = self.options.locations(keys);
        self
    }

    /// Returns the name of the archive: that of its definitions and event files, usually the part
    /// before `.otf2`.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Returns the contents of the anchor, or `None` if it is missing.
    pub fn anchor(&self) -> Option<&Anchor> {
        self.anchor.as_ref()
    }

    /// Returns the definitions that events refer to.
    pub fn definitions(&self) -> &Definitions {
        &self.resolved.definitions
    }

    /// Returns the raw records of the global definition file.
    pub fn definition_file(&self) -> &DefinitionFile {
        &self.file
    }

    /// Returns the repairs, losses and notes from reading the definitions.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.found
    }

    /// Returns the text of an OTF2 string id. Generic events may refer to strings.
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

    /// Returns the number of global definition records by name, ascending; unknown ones are
    /// `Unknown`.
    pub fn definition_counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = BTreeMap::new();
        for record in self.file.records() {
            let name =
                schema::definition(record.id).map_or(event_conversion::UNKNOWN, |known| known.name);
            *counts.entry(name).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    /// Returns the number of events that the definition of a location declares. Some tools write
    /// arbitrary numbers here.
    pub fn declared_events(&self, location: LocationId) -> Option<u64> {
        let declared = self.resolved.declared.get(location.index());
        declared.copied().flatten()
    }

    /// Returns the key of a location.
    pub(crate) fn key(&self, location: LocationId) -> Result<u64> {
        let system = &self.resolved.definitions.system;
        let found = system.location(location).map(|location| location.key);
        found.ok_or(Error::Core(perf_core::Error::Undefined {
            what: "location",
            id: location.0.into(),
            count: system.locations().len(),
        }))
    }

    /// Returns the raw local definition file of a location, or `None` if it is missing.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system cannot read, and [`Error::Core`] for an undefined
    /// location.
    pub fn local_file(&self, location: LocationId) -> Result<Option<DefinitionFile>> {
        let (file, _) = self.read_local(self.key(location)?)?;
        Ok(file)
    }

    /// Returns the mapping tables and the clock correction of a location.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`local_file`](Self::local_file).
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

    /// Returns the properties of the files that the anchor declares.
    pub(crate) fn known(&self) -> Known {
        let anchor = self.anchor.as_ref();
        Known {
            chunk: anchor.map(|anchor| anchor.event_chunk).filter(is_possible),
            order: anchor.map(|anchor| anchor.byte_order),
        }
    }

    /// Estimates the cost of reading the selected locations, from the sizes of their files and the
    /// headers of their last chunks.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system cannot read.
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
        // Only one location at a time is read by all threads.
        let long = shapes
            .iter()
            .filter(|(shape, _)| by_chunk(*shape, sum.bytes, threads));
        let twice = long.map(|(shape, memory)| {
            let chunks = shape.chunks();
            memory / chunks * chunks.min(at_once(threads))
        });
        let twice = twice.max();
        // A long location is read by all threads, each with a block.
        let readers = match twice {
            Some(_) => threads.count(),
            None => wanted.len().min(threads.count()),
        };
        sum.memory += blocks * readers as u64 + twice.unwrap_or_default();
        Ok(sum)
    }

    /// Returns the number of events of a file, from the header of its last chunk if its bytes can
    /// hold that many.
    pub(crate) fn count(&self, member: &str, shape: super::archive::files::Shape) -> Result<u64> {
        let (start, _) = shape.span(shape.chunks().saturating_sub(1));
        let mut head = [0; internal::CHUNK_HEADER_LEN];
        let got = self.source.read_at(member, start, &mut head)?;
        let mut cursor = super::wire::Cursor::new(&head[..got], shape.order);
        let header = super::definitions::chunk_header(&mut cursor, shape.order);
        // The shortest event has two bytes, the usual one twelve including its time.
        let said = header.ok().map(|(_, last)| last);
        let said = said.filter(|events| *events <= shape.size / 2);
        Ok(said.unwrap_or(shape.size / 12))
    }
}

/// Returns the memory in bytes of `events` events from `size` bytes of a file.
///
/// An enter with its time has eleven bytes or more and takes twelve. Further bytes are arguments of
/// records, which grow about fourfold. Shorter events share their times, and may all be records
/// with one argument.
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

/// Returns `true` if the chunk size is possible: a header must fit.
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
