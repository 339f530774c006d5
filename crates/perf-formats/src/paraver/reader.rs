//! [`Reader`]: a trace, batch by batch.

use super::header::{Header, find_magic};
use super::parse::{parse, snippet};
use super::record::{Batch, Kind, Skip};
use super::rules;
use super::source::{Chunk, Source, longest};
use crate::bytes::GZIP;
use crate::reading::Reading;
use crate::{Error, OpenOptions, Result};
use flate2::read::MultiGzDecoder;
use perf_core::parallel::{self, Pool, Threads};
use perf_core::{Diagnostics, Job, Place};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A trace that is read batch by batch, in order, in memory that does not grow with it.
///
/// With several [threads](OpenOptions::threads) one of them reads and unpacks while the others
/// parse. Batches do not depend on their number.
///
/// ```
/// use perf_core::Job;
/// use perf_formats::paraver::{Reader, Record};
/// use perf_formats::OpenOptions;
/// let text = "#Paraver (01/01/2020 at 10:00):30_ns:0:1:1(1:1)\n\
///             1:0:1:1:1:0:30:1\n\
///             2:0:1:1:1:30:42000050:7\n";
/// let mut reader = Reader::new(text.as_bytes(), "x.prv", &OpenOptions::new(), &Job::default())?;
/// assert_eq!(reader.header().threads(), 1);
/// let mut events = 0;
/// while let Some(batch) = reader.next_batch()? {
///     for record in batch.iter() {
///         if let Record::Events { pairs, .. } = record {
///             events += pairs.len();
///         }
///     }
/// }
/// assert_eq!(events, 1);
/// # Ok::<(), perf_formats::Error>(())
/// ```
pub struct Reader<'a> {
    /// The file, where it can be read again.
    path: Option<PathBuf>,
    header: Header,
    header_text: Vec<u8>,
    parser: Parser<'a>,
    pool: Pool,
    batches: VecDeque<Batch>,
    current: Batch,
    read: Account,
}

/// What becomes batches.
struct Parser<'a> {
    source: Source<'a>,
    threads: Threads,
    chunks: Vec<Chunk>,
    /// Batches that were read, for their memory.
    spare: Vec<Batch>,
}

/// What is known of the input, and what was read of it so far.
struct Account {
    options: Reading,
    name: Arc<str>,
    line: u64,
    records: u64,
    last: u64,
    /// The duration in the header; the largest number where it has none.
    duration: u64,
    found: Diagnostics,
    /// Size of what is read, where known.
    size: u64,
    is_packed: bool,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("name", &self.read.name)
            .field("header", &self.header)
            .field("line", &self.read.line)
            .finish_non_exhaustive()
    }
}

impl<'a> Reader<'a> {
    /// Opens a `.prv`, plain or packed with gzip, and reads its header.
    ///
    /// The job is also that of everything that is read later. Progress is reported in bytes of the phase `read`.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::Io`] where the system cannot read.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions, job: &Job) -> Result<Self> {
        let path = path.as_ref();
        let name = path.to_string_lossy();
        let failed = |source| Error::Io {
            place: Place::file(&*name),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        let mut reader = Reader::new(file, &name, options, job)?;
        reader.read.size = about.len();
        // What is no file, such as a pipe, cannot be read again.
        reader.path = about.is_file().then(|| path.to_path_buf());
        Ok(reader)
    }

    /// Reads from anything, plain or packed with gzip; errors call it `name`.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Truncated`] and [`Error::Limit`] with the place in the header.
    pub fn new(
        read: impl Read + Send + 'a,
        name: &str,
        options: &OpenOptions,
        job: &Job,
    ) -> Result<Self> {
        let name: Arc<str> = name.into();
        let mut read: Box<dyn Read + Send + 'a> = Box::new(read);
        let mut magic = Vec::new();
        let head = (&mut read).take(GZIP.len() as u64).read_to_end(&mut magic);
        head.map_err(|source| Error::Io {
            place: Place::file(Arc::clone(&name)),
            source,
        })?;
        let is_packed = magic == GZIP;
        read = Box::new(std::io::Cursor::new(magic).chain(read));
        if is_packed {
            read = Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, read)));
        }
        let mut source = Source {
            read,
            name: Arc::clone(&name),
            rest: Vec::new(),
            offset: 0,
            is_done: false,
            longest: longest(options.get_limits()),
            spare: Vec::new(),
            failed: None,
        };
        let mut chunks = source.chunks(1);
        let (header, header_text) = match chunks.first_mut() {
            Some(first) => split_header(first, &name)?,
            None => match source.failed.take() {
                Some(error) => return Err(error),
                None => {
                    return Err(Error::Truncated {
                        place: Place::file(name).at(0).record("line 1"),
                        expected: "a header".into(),
                    });
                }
            },
        };
        let line = 1 + header_text.iter().filter(|byte| **byte == b'\n').count() as u64;
        let duration = match header.duration.0 {
            0 => u64::MAX,
            duration => duration,
        };
        Ok(Reader {
            path: None,
            header,
            header_text,
            parser: Parser {
                source,
                threads: Threads::new(options.get_threads()),
                chunks,
                spare: Vec::new(),
            },
            pool: Threads::new(options.get_threads()).pool(),
            batches: VecDeque::new(),
            current: Batch::default(),
            read: Account {
                options: Reading::new(options, job),
                name,
                line,
                records: 0,
                last: 0,
                duration,
                found: Diagnostics::default(),
                size: 0,
                is_packed,
            },
        })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The header as it stands, with its end and the marker before it if there is one.
    pub fn header_text(&self) -> &[u8] {
        &self.header_text
    }

    /// What errors call the trace.
    pub fn name(&self) -> &str {
        &self.read.name
    }

    /// What was repaired, lost or noted so far.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.read.found
    }

    /// The file, if it can be read again from its first record on: none was given yet.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref().filter(|_| self.read.records == 0)
    }

    pub(super) fn options(&self) -> &Reading {
        &self.read.options
    }

    /// At most how many bytes the unpacked trace has, as far as that is known beforehand.
    pub(super) fn bound(&self) -> Option<u64> {
        // Deflate packs at best 1,032 to one.
        let factor = if self.read.is_packed { 1_032 } else { 1 };
        (self.read.size > 0).then(|| self.read.size.saturating_mul(factor))
    }

    /// The next records, `None` at the end of the trace.
    ///
    /// # Errors
    /// [`Error::Truncated`] for a trace without a record or that ends inside one, and as
    /// [`open`](Self::open). Strict reading has [`Error::Malformed`] for the first line that is no
    /// record; otherwise it is skipped and counted under [`rules::BAD_LINE`].
    pub fn next_batch(&mut self) -> Result<Option<&Batch>> {
        loop {
            if let Some(batch) = self.batches.pop_front() {
                let done = std::mem::replace(&mut self.current, batch);
                self.parser.spare.push(done);
                self.read.absorb(&mut self.current)?;
                return Ok(Some(&self.current));
            }
            if !self.parse() {
                return self.finish().map(|()| None);
            }
        }
    }

    /// Gives all batches that are left to `work`, in order, while another thread parses those that come after;
    /// with one thread as [`next_batch`](Self::next_batch). Stops at the first error of either.
    ///
    /// # Errors
    /// As [`next_batch`](Self::next_batch), and those of `work`.
    pub(super) fn each_batch(
        &mut self,
        mut work: impl FnMut(&Batch) -> Result<()> + Send,
    ) -> Result<()> {
        while !self.batches.is_empty() || self.parse() {
            let mut ready: Vec<Batch> = self.batches.drain(..).collect();
            let read = &mut self.read;
            let mut each = || {
                ready.iter_mut().try_for_each(|batch| {
                    read.absorb(batch)?;
                    work(batch)
                })
            };
            let parser = &mut self.parser;
            let (mut done, mut parsed) = (Ok(()), Vec::new());
            match parser.group() {
                1 => done = each(),
                _ => self.pool.install(|| {
                    parallel::join(&mut || done = each(), &mut || parsed = parser.parse());
                }),
            }
            self.batches.extend(parsed);
            self.parser.spare.append(&mut ready);
            done?;
        }
        self.finish()
    }

    /// Parses what comes next; whether there was anything.
    fn parse(&mut self) -> bool {
        let parsed = self.pool.install(|| self.parser.parse());
        self.batches.extend(parsed);
        !self.batches.is_empty()
    }

    fn finish(&mut self) -> Result<()> {
        self.current.clear();
        let source = &mut self.parser.source;
        match source.failed.take() {
            Some(error) => Err(error),
            None => self.read.finish(source.offset, &self.header),
        }
    }
}

impl Parser<'_> {
    /// How many chunks are parsed side by side.
    fn group(&self) -> usize {
        match self.threads.count() {
            1 => 1,
            // Two for each thread, so that one that is slow does not keep the others waiting.
            many => 2 * many,
        }
    }

    /// Parses the chunks at hand, the next ones if there are none, while those after them are read. Memory of
    /// texts and batches is used again: what the system gives anew it fills with zeros first, which costs as
    /// much as parsing.
    fn parse(&mut self) -> Vec<Batch> {
        if self.chunks.is_empty() {
            let count = self.group();
            self.chunks = self.source.chunks(count);
        }
        let chunks = std::mem::take(&mut self.chunks);
        let mut work: Vec<(Chunk, Batch)> = chunks
            .into_iter()
            .map(|chunk| (chunk, self.spare.pop().unwrap_or_default()))
            .collect();
        let one = |(chunk, batch): &mut (Chunk, Batch)| parse(&chunk.text, chunk.offset, batch);
        match self.group() {
            1 => work.iter_mut().for_each(one),
            count => {
                let (source, next) = (&mut self.source, &mut self.chunks);
                let mut all: Vec<_> = work.iter_mut().collect();
                parallel::join(&mut || *next = source.chunks(count), &mut || {
                    parallel::for_each(std::mem::take(&mut all), |_, it| one(it));
                });
            }
        }
        let mut parsed = Vec::with_capacity(work.len());
        for (chunk, batch) in work {
            self.source.spare.push(chunk.text);
            parsed.push(batch);
        }
        parsed
    }
}

impl Account {
    /// Takes a batch into account.
    fn absorb(&mut self, batch: &mut Batch) -> Result<()> {
        batch.first_line = self.line;
        self.line += batch.lines;
        let (mut beyond, mut first) = (0, None);
        for (index, entry) in batch.entries.iter().enumerate() {
            let end = match entry.kind {
                Kind::State => entry.payload.max(entry.time),
                Kind::Events => entry.time,
                Kind::Communication => batch.last_of_message(entry),
                _ => continue,
            };
            self.records += 1;
            self.last = self.last.max(end);
            if end > self.duration {
                beyond += 1;
                first = first.or(Some(index));
            }
        }
        if let Some(first) = first {
            let line = format!("line {}", batch.line(first));
            let place = Place::file(Arc::clone(&self.name));
            let place = place.at(batch.offset(first)).record(line);
            self.found.add_many(rules::BEYOND_DURATION, beyond, place);
        }
        let is_last = batch.is_unterminated;
        let cut = batch.skips.last().filter(|skip| is_last && skip.is_cut);
        let strict = batch.skips.first().filter(|_| self.options.is_strict());
        if let Some(skip) = strict.filter(|skip| !skip.is_cut) {
            return Err(Error::Malformed {
                place: place(&self.name, batch, skip),
                expected: skip.expected.into(),
                got: skip.got.clone(),
            });
        }
        if let Some(skip) = cut {
            return Err(Error::Truncated {
                place: place(&self.name, batch, skip),
                expected: skip.expected.into(),
            });
        }
        let skips = &batch.skips;
        if let Some(first) = skips.first() {
            for skip in skips {
                self.found
                    .add(rules::BAD_LINE, place(&self.name, batch, skip));
            }
            let others = batch.skipped.len().saturating_sub(skips.len()) as u64;
            let first = place(&self.name, batch, first);
            self.found.add_many(rules::BAD_LINE, others, first);
        }
        if is_last && !batch.entries.is_empty() && cut.is_none() {
            let line = format!("line {}", self.line - 1);
            let end = batch.offset
                + batch
                    .entries
                    .last()
                    .map_or(0, |last| u64::from(last.offset));
            let place = Place::file(Arc::clone(&self.name)).at(end).record(line);
            self.found.add(rules::UNTERMINATED, place);
        }
        let bytes = batch
            .entries
            .last()
            .map_or(0, |last| u64::from(last.offset));
        let size = if self.is_packed { 0 } else { self.size };
        self.options.advance(bytes, size)?;
        self.options.judge(&self.found)
    }

    /// At the end, which is at byte `end`.
    fn finish(&mut self, end: u64, header: &Header) -> Result<()> {
        let end = Place::file(Arc::clone(&self.name)).at(end);
        if self.records == 0 {
            return Err(Error::Truncated {
                place: end.record(format!("line {}", self.line)),
                expected: "a record".into(),
            });
        }
        if self.last < header.duration.0 && self.found.count(rules::ENDS_EARLY) == 0 {
            self.found.add(rules::ENDS_EARLY, end);
        }
        Ok(())
    }
}

/// Where a line that was skipped is.
fn place(name: &Arc<str>, batch: &Batch, skip: &Skip) -> Place {
    let line = batch.first_line + skip.line;
    Place::file(Arc::clone(name))
        .at(batch.offset + skip.offset + skip.column)
        .record(format!("line {line}, column {}", skip.column + 1))
}

/// Takes the header off the first chunk.
fn split_header(chunk: &mut Chunk, name: &str) -> Result<(Header, Vec<u8>)> {
    let Some(start) = find_magic(&chunk.text) else {
        let place = Place::file(name).at(0).record("line 1, column 1");
        return Err(Error::Malformed {
            place,
            expected: "`#Paraver`, with which a trace begins".into(),
            got: snippet(&chunk.text, 0),
        });
    };
    let rest = chunk.text.get(start..).unwrap_or_default();
    let end = memchr::memchr(b'\n', rest).map_or(chunk.text.len(), |end| start + end + 1);
    let header = Header::parse(chunk.text.get(..end).unwrap_or_default(), name)?;
    let body = chunk.text.split_off(end);
    let text = std::mem::replace(&mut chunk.text, body);
    chunk.offset = end as u64;
    Ok((header, text))
}
