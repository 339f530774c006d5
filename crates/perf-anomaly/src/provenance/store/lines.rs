//! [`Lines`]: store of entries in a file of JSON Lines.

use super::{Revision, Store};
use crate::provenance::json;
use crate::provenance::record::{Entry, Record};
use crate::{Error, Result};
use perf_core::Cancelled;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// File with one entry in each line. New entries are appended, and any tool can read it.
///
/// A line that cannot be read, such as the last one of a killed program, is skipped and counted; it
/// stays in the file, even if records are [revised](Store::revise).
#[derive(Debug)]
pub struct Lines {
    /// Path of the file.
    path: PathBuf,
    /// Writer, opened at the first write.
    to: Option<BufWriter<File>>,
    /// Buffer for a line.
    line: String,
    /// Number of unreadable lines, and the first error; `None` if all were readable.
    unreadable: Option<(u64, String)>,
    /// Longest line that is read, in bytes.
    longest: u64,
}

/// Default of the longest line that is read, in bytes; a hundred thousand times a usual record.
const LONGEST: u64 = 1 << 28;

impl Lines {
    /// Creates a new file, and replaces an existing one.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if the file cannot be created.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::create(path).map_err(|error| failed(path, &error))?;
        Ok(Lines {
            to: Some(BufWriter::new(file)),
            ..Self::at(path)
        })
    }

    /// Opens an existing file, to read or to append. Write permission is required only once an
    /// entry is added.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if the file does not exist or cannot be opened for reading.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        File::open(path).map_err(|error| failed(path, &error))?;
        Ok(Self::at(path))
    }

    /// Sets the longest line that is read, in bytes. Default: 2^28; at least 1. Longer lines are
    /// read in parts of that length, which are unreadable.
    pub fn longest(mut self, bytes: u64) -> Self {
        self.longest = bytes.max(1);
        self
    }

    fn at(path: &Path) -> Self {
        Lines {
            path: path.into(),
            to: None,
            line: String::new(),
            unreadable: None,
            longest: LONGEST,
        }
    }

    /// Opens the file for appending, at the beginning of a line.
    fn append(path: &Path) -> std::io::Result<BufWriter<File>> {
        let mut file = OpenOptions::new().read(true).append(true).open(path)?;
        // If the last line is truncated, the next entry begins on a new line.
        let mut last = *b"\n";
        if file.seek(SeekFrom::End(-1)).is_ok() {
            file.read_exact(&mut last)?;
        }
        let mut to = BufWriter::new(file);
        if last != *b"\n" {
            to.write_all(b"\n")?;
        }
        Ok(to)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let to = match &mut self.to {
            Some(to) => to,
            none => {
                none.insert(Self::append(&self.path).map_err(|error| failed(&self.path, &error))?)
            }
        };
        let written = to.write_all(bytes);
        written.map_err(|error| self.error(&error))
    }

    /// Calls `take` with each line, and with its entry if it is readable.
    fn lines(&mut self, take: &mut Take<'_>) -> Result<()> {
        self.commit()?;
        self.unreadable = None;
        let file = File::open(&self.path).map_err(|error| self.error(&error))?;
        let mut from = BufReader::new(file);
        let mut bytes = Vec::new();
        for number in 1_u64.. {
            bytes.clear();
            let read = from
                .by_ref()
                .take(self.longest)
                .read_until(b'\n', &mut bytes);
            if read.map_err(|error| self.error(&error))? == 0 {
                break;
            }
            let line = bytes.trim_ascii_end();
            if line.is_empty() {
                continue;
            }
            let text = std::str::from_utf8(line).map_err(|error| error.to_string());
            match text.and_then(json::read) {
                Ok(entry) => take(&bytes, Some(entry))?,
                Err(what) => {
                    let place = format!("line {number}: {what}");
                    let (count, _) = self.unreadable.get_or_insert((0, place));
                    *count += 1;
                    take(&bytes, None)?;
                }
            }
        }
        Ok(())
    }

    fn error(&self, error: &std::io::Error) -> Error {
        failed(&self.path, error)
    }
}

pub(super) fn failed(path: &Path, error: &dyn std::error::Error) -> Error {
    Error::Store {
        file: path.display().to_string(),
        what: error.to_string(),
    }
}

/// Callback with a line and its entry; `None` if the line is unreadable.
type Take<'a> = dyn FnMut(&[u8], Option<Entry>) -> Result<()> + 'a;

impl Store for Lines {
    fn put(&mut self, entry: &Entry) -> Result<u64> {
        self.line.clear();
        json::write(entry, &mut self.line);
        self.line.push('\n');
        let line = std::mem::take(&mut self.line);
        let written = self.write(line.as_bytes());
        self.line = line;
        written?;
        Ok(self.line.len() as u64)
    }

    fn commit(&mut self) -> Result<()> {
        let flushed = self.to.as_mut().map_or(Ok(()), Write::flush);
        flushed.map_err(|error| self.error(&error))
    }

    fn each(&mut self, take: &mut dyn FnMut(Entry) -> Result<()>) -> Result<()> {
        self.lines(&mut |_, entry| entry.map_or(Ok(()), &mut *take))
    }

    fn revise(&mut self, judge: &mut dyn FnMut(&Record) -> Revision) -> Result<u64> {
        let mut name = self.path.clone().into_os_string();
        name.push(".revised");
        let beside = PathBuf::from(name);
        let mut removed = 0;
        let outcome = (|| {
            let mut revised = Lines::create(&beside)?;
            self.lines(&mut |line, entry| {
                let revision = match &entry {
                    Some(Entry::Call(record)) => judge(record),
                    _ => Revision::Keep,
                };
                match revision {
                    // The line is copied unchanged, even if it is unreadable.
                    Revision::Keep => {
                        revised.write(line)?;
                        if line.ends_with(b"\n") {
                            Ok(())
                        } else {
                            revised.write(b"\n")
                        }
                    }
                    Revision::Replace(record) => revised.put(&Entry::Call(record)).map(drop),
                    Revision::Remove => {
                        removed += 1;
                        Ok(())
                    }
                    Revision::Stop => Err(Cancelled.into()),
                }
            })?;
            revised.commit()?;
            // The writer to the old file is dropped, so that the next entry is written to the new
            // file.
            std::fs::rename(&beside, &self.path).map_err(|error| self.error(&error))?;
            self.to = None;
            Ok(removed)
        })();
        if outcome.is_err() {
            // The temporary file is useless now. If it cannot be removed, the first error is more
            // important.
            let _ = std::fs::remove_file(&beside);
        }
        outcome
    }

    fn unreadable(&self) -> Option<(u64, String)> {
        self.unreadable.clone()
    }
}
