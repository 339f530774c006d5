//! [`Reader`]: reads the records of a trace in batches, parsed in parallel.

use super::header::{Header, find_magic};
use super::line_source::{Chunk, Source, longest};
use super::parse::{parse, snippet};
use super::record::{Batch, Kind, Skip};
use super::rules;
use crate::bytes::GZIP;
use crate::read_context::ReadContext;
use crate::{Error, OpenOptions, Result};
use flate2::read::MultiGzDecoder;
use perf_core::parallel::{self, Pool, Threads};
use perf_core::{Diagnostics, Job, Place};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reader that returns the records of a trace in batches, in the order of the file. Its memory does not grow with the
/// trace.
///
/// With several [threads](OpenOptions::threads), one thread reads and decompresses while the others parse. The batches
/// do not depend on the number of threads.
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
    /// Path of the file, if it can be read again.
    path: Option<PathBuf>,
    /// Header of the trace.
    header: Header,
    /// Text of the header.
    header_text: Vec<u8>,
    /// Pipeline from bytes to batches.
    parser: Parser<'a>,
    /// Threads that parse chunks.
    pool: Pool,
    /// Parsed batches that are not returned yet.
    batches: VecDeque<Batch>,
    /// Last returned batch.
    current: Batch,
    /// Input properties and counts of the part read so far.
    read: Account,
}

/// Pipeline from bytes to batches.
struct Parser<'a> {
    /// Source of whole lines.
    source: Source<'a>,
    /// Number of parsing threads.
    threads: Threads,
    /// Chunks that are not parsed yet.
    chunks: Vec<Chunk>,
    /// Used batches, whose memory is reused.
    spare: Vec<Batch>,
}

/// Properties of the input, and counts of the part read so far.
struct Account {
    /// Options of the read operation.
    options: ReadContext,
    /// Name of the trace in errors.
    name: Arc<str>,
    /// Number of lines so far.
    line: u64,
    /// Number of records so far.
    records: u64,
    /// Latest time so far.
    last: u64,
    /// Duration in the header; `u64::MAX` if it is 0.
    duration: u64,
    /// Diagnostics so far.
    found: Diagnostics,
    /// Size of the input in bytes, if known.
    size: u64,
    /// `true` for compressed input.
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
    /// Opens a `.prv`, plain or compressed with gzip, and reads its header.
    ///
    /// The job also applies to all later reads. Progress is reported in bytes, in the phase `read`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`new`](Self::new), and [`Error::Io`] if the system cannot read.
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
        // Only a regular file can be read again; a pipe cannot.
        reader.path = about.is_file().then(|| path.to_path_buf());
        Ok(reader)
    }

    /// Creates a reader from any source, plain or compressed with gzip; `name` is its name in
    /// errors.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Malformed`], [`Error::Truncated`] or [`Error::Limit`] with the place in the
    /// header.
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
                options: ReadContext::new(options, job),
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

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the text of the header, including its line end and the marker before it, if any.
    pub fn header_text(&self) -> &[u8] {
        &self.header_text
    }

    /// Returns the name of the trace in errors.
    pub fn name(&self) -> &str {
        &self.read.name
    }

    /// Returns the repairs, losses and notes so far.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.read.found
    }

    /// Returns the path, if the file can be read again and no record has been returned yet.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref().filter(|_| self.read.records == 0)
    }

    pub(super) fn options(&self) -> &ReadContext {
        &self.read.options
    }

    /// Returns an upper bound on the size of the uncompressed trace in bytes, if one is known.
    pub(super) fn bound(&self) -> Option<u64> {
        // The maximum compression ratio of deflate is 1,032.
        let factor = if self.read.is_packed { 1_032 } else { 1 };
        (self.read.size > 0).then(|| self.read.size.saturating_mul(factor))
    }

    /// Returns the next records, or `None` at the end of the trace.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Truncated`] for a trace that has no record or, unless
    /// [lenient](OpenOptions::lenient), ends inside a record, and the
    /// errors of [`open`](Self::open). In strict mode, returns [`Error::Malformed`] for the first
    /// invalid line; otherwise invalid lines are skipped and reported under [`rules::BAD_LINE`].
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

    /// Passes all remaining batches to `work`, in order, while other threads parse the following
    /// batches. With a single thread, this is equivalent to calling [`next_batch`](Self::next_batch).
    /// Stops at the first error of reading or of `work`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`next_batch`](Self::next_batch) and those of `work`.
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

    /// Parses the next chunks. Returns `false` at the end.
    fn parse(&mut self) -> bool {
        let parsed = self.pool.install(|| self.parser.parse());
        self.batches.extend(parsed);
        !self.batches.is_empty()
    }

    fn finish(&mut self) -> Result<()> {
        self.current.clear();
        let source = &mut self.parser.source;
        match source.failed.take() {
            Some(Error::Truncated { place, .. }) if self.read.options.is_lenient() => {
                self.read.found.add(rules::CUT_OFF, place);
                self.read.finish(source.offset, &self.header)
            }
            Some(error) => Err(error),
            None => self.read.finish(source.offset, &self.header),
        }
    }
}

impl Parser<'_> {
    /// Returns the number of chunks that are parsed in parallel.
    fn group(&self) -> usize {
        match self.threads.count() {
            1 => 1,
            // Two for each thread, so that a slow one does not block the others.
            many => 2 * many,
        }
    }

    /// Parses the current chunks, or the next chunks if there are none, while the following chunks
    /// are read. The memory of texts and batches is reused, because the system zeroes new memory,
    /// which takes as long as parsing.
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
    /// Adds a batch to the counts, and reports its invalid lines.
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
            let place = place(&self.name, batch, skip);
            if !self.options.is_lenient() {
                return Err(Error::Truncated {
                    place,
                    expected: skip.expected.into(),
                });
            }
            self.found.add(rules::CUT_OFF, place);
        }
        // The incomplete last line is counted as such, not as a line that is no record.
        let invalid = batch.skips.len() - usize::from(cut.is_some());
        let skips = &batch.skips[..invalid];
        if let Some(first) = skips.first() {
            for skip in skips {
                self.found
                    .add(rules::BAD_LINE, place(&self.name, batch, skip));
            }
            let others = batch.skipped.len().saturating_sub(batch.skips.len()) as u64;
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

    /// Completes the counts at the end, which is at byte `end`.
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

/// Returns the place of a skipped line.
fn place(name: &Arc<str>, batch: &Batch, skip: &Skip) -> Place {
    let line = batch.first_line + skip.line;
    Place::file(Arc::clone(name))
        .at(batch.offset + skip.offset + skip.column)
        .record(format!("line {line}, column {}", skip.column + 1))
}

/// Removes the header from the first chunk.
fn split_header(chunk: &mut Chunk, name: &str) -> Result<(Header, Vec<u8>)> {
    let Some(start) = find_magic(&chunk.text) else {
        let place = Place::file(name).at(0).record("line 1, column 1");
        return Err(Error::Malformed {
            place,
            expected: "`#Paraver` at the start of a trace".into(),
            got: snippet(&chunk.text, 0),
        });
    };
    let rest = &chunk.text[start..];
    let end = memchr::memchr(b'\n', rest).map_or(chunk.text.len(), |end| start + end + 1);
    let header = Header::parse(&chunk.text[..end], name)?;
    let body = chunk.text.split_off(end);
    let text = std::mem::replace(&mut chunk.text, body);
    chunk.offset = end as u64;
    Ok((header, text))
}
