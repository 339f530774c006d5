//! [`Writer`]: writes the header and records of a `.prv`.

use super::header::Header;
use super::record::{Batch, Entry, OnCpu, Record};
use crate::{Error, Result};
use perf_core::Place;
use std::io::Write;

/// Size of the write buffer in bytes.
const BUFFER: usize = 1 << 18;

/// Writer of a `.prv`: the header, then records in the order of the calls.
///
/// Records from a [`Reader`](super::Reader) of a valid trace are written byte for byte. Invalid lines are not written.
///
/// ```
/// use perf_core::Job;
/// use perf_formats::paraver::{Reader, Writer};
/// use perf_formats::OpenOptions;
/// let text = "#Paraver (1/1/20 at 1:00):30:0:1:1(1:1)\n# a comment\n2:0:1:1:1:30:7:-7:8:007\n";
/// let mut reader = Reader::new(text.as_bytes(), "x.prv", &OpenOptions::new(), &Job::default())?;
/// let mut writer = Writer::new(Vec::new(), "y.prv");
/// writer.text(reader.header_text())?;
/// while let Some(batch) = reader.next_batch()? {
///     writer.batch(batch)?;
/// }
/// assert_eq!(writer.finish()?, text.as_bytes());
/// # Ok::<(), perf_formats::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer<W: Write> {
    /// Target of the lines.
    out: W,
    /// Name for errors.
    name: String,
    /// Bytes that are not written yet.
    buffer: Vec<u8>,
    /// Number of bytes written.
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Creates a writer into `out`. `name` is the name of `out` in errors.
    pub fn new(out: W, name: &str) -> Self {
        Writer {
            out,
            name: name.into(),
            buffer: Vec::with_capacity(BUFFER),
            written: 0,
        }
    }

    /// Writes a header.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if `out` fails.
    pub fn header(&mut self, header: &Header) -> Result<()> {
        self.text(format!("{header}\n").as_bytes())
    }

    /// Writes text verbatim, such as the [header](super::Reader::header_text) of another trace.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`header`](Self::header).
    pub fn text(&mut self, text: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(text);
        self.flush_above(BUFFER)
    }

    /// Writes the records of a batch.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`header`](Self::header).
    pub fn batch(&mut self, batch: &Batch) -> Result<()> {
        let mut raw = batch.raw.iter().peekable();
        for (index, entry) in batch.entries.iter().enumerate() {
            match raw.next_if(|(entry, ..)| *entry as usize == index) {
                Some((_, start, end)) => {
                    let text = batch.text.get(*start as usize..*end as usize);
                    self.text(text.unwrap_or_default())?;
                }
                None => self.entry(batch, entry)?,
            }
        }
        Ok(())
    }

    /// Writes record `index` of a batch, or nothing if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`header`](Self::header).
    pub fn record(&mut self, batch: &Batch, index: usize) -> Result<()> {
        let Some(entry) = batch.entries.get(index) else {
            return Ok(());
        };
        let raw = batch
            .raw
            .binary_search_by_key(&index, |(entry, ..)| *entry as usize);
        match raw.ok().and_then(|at| batch.raw.get(at)) {
            Some((_, start, end)) => {
                let text = batch.text.get(*start as usize..*end as usize);
                self.text(text.unwrap_or_default())
            }
            None => self.entry(batch, entry),
        }
    }

    fn entry(&mut self, batch: &Batch, entry: &Entry) -> Result<()> {
        match batch.record(entry) {
            Some(record) => self.line(record),
            None => Ok(()),
        }
    }

    /// Writes one record.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`header`](Self::header).
    pub fn line(&mut self, record: Record<'_>) -> Result<()> {
        let out = &mut self.buffer;
        match record {
            Record::State {
                at,
                begin,
                end,
                state,
            } => {
                out.extend_from_slice(b"1:");
                on_cpu(out, at);
                for number in [begin.0, end.0] {
                    decimal(out, number);
                    out.push(b':');
                }
                decimal(out, state.into());
            }
            Record::Events { at, time, pairs } => {
                out.extend_from_slice(b"2:");
                on_cpu(out, at);
                decimal(out, time.0);
                for pair in pairs {
                    out.push(b':');
                    decimal(out, pair.kind.into());
                    out.push(b':');
                    if pair.is_negative() {
                        out.push(b'-');
                        decimal(out, pair.bits().wrapping_neg());
                    } else {
                        decimal(out, pair.bits());
                    }
                }
            }
            Record::Communication(message) => {
                out.extend_from_slice(b"3:");
                on_cpu(out, message.sender);
                for time in [message.logical_send, message.physical_send] {
                    decimal(out, time.0);
                    out.push(b':');
                }
                on_cpu(out, message.receiver);
                for number in [
                    message.logical_receive.0,
                    message.physical_receive.0,
                    message.size,
                ] {
                    decimal(out, number);
                    out.push(b':');
                }
                if message.tag < 0 {
                    out.push(b'-');
                }
                decimal(out, message.tag.unsigned_abs());
            }
            Record::Communicator {
                application,
                id,
                tasks,
                is_upper,
            } => {
                out.push(if is_upper { b'C' } else { b'c' });
                let head = [application, id, tasks.len() as u32];
                for number in head.iter().chain(tasks) {
                    out.push(b':');
                    decimal(out, u64::from(*number));
                }
            }
            Record::InterCommunicator {
                application,
                id,
                sides,
                is_upper,
            } => {
                out.push(if is_upper { b'I' } else { b'i' });
                let sides = sides.iter().flat_map(|(comm, leader)| [*comm, *leader]);
                for number in [application, id].into_iter().chain(sides) {
                    out.push(b':');
                    decimal(out, number.into());
                }
            }
            Record::Global(text) | Record::Comment(text) => out.extend_from_slice(text),
            Record::Blank => {}
        }
        out.push(b'\n');
        self.flush_above(BUFFER)
    }

    /// Flushes the buffer and returns `out`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`header`](Self::header).
    pub fn finish(mut self) -> Result<W> {
        self.flush_above(0)?;
        let flushed = self.out.flush();
        flushed.map_err(|error| self.failed(error))?;
        Ok(self.out)
    }

    #[inline]
    fn flush_above(&mut self, size: usize) -> Result<()> {
        if self.buffer.len() <= size {
            return Ok(());
        }
        let written = self.out.write_all(&self.buffer);
        written.map_err(|error| self.failed(error))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn failed(&self, source: std::io::Error) -> Error {
        Error::Io {
            place: Place::file(self.name.as_str()).at(self.written),
            source,
        }
    }
}

#[inline]
fn on_cpu(out: &mut Vec<u8>, at: OnCpu) {
    let object = at.object;
    for number in [at.cpu, object.application, object.task, object.thread] {
        decimal(out, number.into());
        out.push(b':');
    }
}

/// Appends the digits of a number, generated from the last one.
#[inline]
fn decimal(out: &mut Vec<u8>, mut value: u64) {
    if value < 10 {
        out.push(b'0' + value as u8);
        return;
    }
    let mut digits = [0; 20];
    let mut first = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
        first -= 1;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}
