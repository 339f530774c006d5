//! [`Source`]: the files of one archive, by name and by location; [`Shape`]: size, chunks and byte
//! order of an event file, guessed if the anchor is missing.

use super::Archive;
use crate::otf2::definitions::order_of;
use crate::otf2::schema::internal;
use crate::otf2::wire::ByteOrder;
use crate::{Error, Result};
use perf_core::Place;
use std::io;
use std::sync::Mutex;

/// Number of bytes read at once: a chunk of the usual size.
const BLOCK: usize = 1 << 20;

/// An archive and the common name of its files.
pub(crate) struct Source<'o> {
    /// Source of the bytes.
    pub(crate) archive: Box<dyn Archive + 'o>,
    /// Name of the anchor.
    anchor: String,
    /// Common name of the other files, usually the part before `.otf2`.
    pub(crate) name: String,
    /// Buffers that are not in use.
    buffers: Mutex<Vec<Vec<u8>>>,
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut f = f.debug_struct("Source");
        f.field("name", &self.name).finish_non_exhaustive()
    }
}

/// Size, chunks and byte order of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Size of the file in bytes.
    pub(crate) size: u64,
    /// Size of a chunk in bytes.
    pub(crate) chunk: u64,
    /// Byte order of the file.
    pub(crate) order: ByteOrder,
}

impl Shape {
    pub(crate) fn chunks(&self) -> u64 {
        self.size.div_ceil(self.chunk.max(1))
    }

    /// Returns the first byte of a chunk and the byte after its last.
    pub(crate) fn span(&self, chunk: u64) -> (u64, u64) {
        let start = chunk.saturating_mul(self.chunk).min(self.size);
        (start, start.saturating_add(self.chunk).min(self.size))
    }
}

impl<'o> Source<'o> {
    pub(crate) fn new(archive: Box<dyn Archive + 'o>, anchor: String, name: String) -> Self {
        Source {
            archive,
            anchor,
            name,
            buffers: Mutex::default(),
        }
    }

    pub(crate) fn anchor(&self) -> String {
        self.anchor.clone()
    }

    pub(crate) fn definitions(&self) -> String {
        format!("{}.def", self.name)
    }

    pub(crate) fn events(&self, key: u64) -> String {
        format!("{}/{key}.evt", self.name)
    }

    pub(crate) fn local(&self, key: u64) -> String {
        format!("{}/{key}.def", self.name)
    }

    /// Returns the keys of the locations with files, ascending.
    pub(crate) fn keys(&self) -> Result<Vec<u64>> {
        let members = self.archive.members(&self.name);
        let members = members.map_err(|source| failed(&self.name, None, source))?;
        let key = |name: &String| {
            let (_, file) = name.rsplit_once('/')?;
            let stem = file.strip_suffix(".evt").or(file.strip_suffix(".def"))?;
            stem.parse().ok()
        };
        let mut keys: Vec<u64> = members.iter().filter_map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    /// Returns the size of a member, or `None` if it is missing.
    pub(crate) fn size(&self, member: &str) -> Result<Option<u64>> {
        match self.archive.size(member) {
            Ok(size) => Ok(Some(size)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(failed(member, None, source)),
        }
    }

    /// Returns all bytes of a member, or `None` if it is missing.
    pub(crate) fn read_all(&self, member: &str) -> Result<Option<Vec<u8>>> {
        let Some(size) = self.size(member)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        let len = usize::try_from(size).unwrap_or(usize::MAX);
        if bytes.try_reserve_exact(len).is_err() {
            return Err(failed(member, None, io::ErrorKind::OutOfMemory.into()));
        }
        bytes.resize(len, 0);
        let got = self.read_at(member, 0, &mut bytes)?;
        bytes.truncate(got);
        Ok(Some(bytes))
    }

    pub(crate) fn read_at(&self, member: &str, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let read = self.archive.read_at(member, offset, buffer);
        read.map_err(|source| failed(member, Some(offset), source))
    }

    /// Fills `buffer` with the bytes from `start` up to `end`, at most one block or `least` bytes,
    /// if that is more.
    pub(crate) fn block(
        &self,
        member: &str,
        start: u64,
        end: u64,
        least: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<()> {
        let left = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        buffer.resize(left.min(least), 0);
        let got = self.read_at(member, start, buffer)?;
        buffer.truncate(got);
        Ok(())
    }

    /// Lends a buffer to `work`.
    pub(crate) fn with_buffer<R>(&self, work: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let spare = self.buffers.lock().ok().and_then(|mut all| all.pop());
        let mut buffer = spare.unwrap_or_default();
        let result = work(&mut buffer);
        if buffer.capacity() <= 2 * BLOCK
            && let Ok(mut all) = self.buffers.lock()
        {
            all.push(buffer);
        }
        result
    }

    pub(crate) const fn block_len() -> usize {
        BLOCK
    }

    /// Returns size, chunks and byte order of an event file, or `None` if it is missing or empty.
    /// The flag is `true` if the chunk size was guessed.
    pub(crate) fn shape(&self, member: &str, known: Known) -> Result<Option<(Shape, bool)>> {
        let Some(size) = self.size(member)?.filter(|size| *size > 0) else {
            return Ok(None);
        };
        let order = match known.order {
            Some(order) => order,
            None => {
                let mut head = [0; 2];
                let got = self.read_at(member, 0, &mut head)?;
                order_of(&head[..got]).unwrap_or_default()
            }
        };
        let (chunk, guessed) = match known.chunk {
            Some(chunk) if chunk >= size || self.is_header(member, chunk, order)? => (chunk, false),
            // The chunk size of the anchor may be damaged, or the header of the second chunk.
            Some(chunk) => match self.guess(member, size, order)? {
                (guess, true) if guess < size => (guess, true),
                _ => (chunk, false),
            },
            None => self.guess(member, size, order)?,
        };
        Ok(Some((Shape { size, chunk, order }, guessed)))
    }

    /// Returns `true` if there is a chunk header at this position of an event file.
    fn is_header(&self, member: &str, at: u64, order: ByteOrder) -> Result<bool> {
        let mut head = [0; 2];
        let got = self.read_at(member, at, &mut head)?;
        Ok(got == head.len() && head == [internal::CHUNK_HEADER, order.byte()])
    }

    /// Guesses the chunk size for a missing anchor: searches the header of the second chunk at all
    /// multiples of 64 KiB that libotf2 allows.
    fn guess(&self, member: &str, size: u64, order: ByteOrder) -> Result<(u64, bool)> {
        let mut first = [0; internal::CHUNK_HEADER_LEN];
        self.read_at(member, 0, &mut first)?;
        let last = number(&first, 10, order);
        for chunk in (1..=256).map(|step| step << 16) {
            if chunk >= size {
                return Ok((size, false));
            }
            let mut head = [0; internal::CHUNK_HEADER_LEN + 1];
            let got = self.read_at(member, chunk, &mut head)?;
            let is_header = got == head.len()
                && head.first() == Some(&internal::CHUNK_HEADER)
                && head.get(1) == Some(&order.byte())
                && head.last() == Some(&internal::TIMESTAMP)
                && number(&head, 2, order) == last.wrapping_add(1);
            if is_header {
                return Ok((chunk, true));
            }
        }
        Ok((size, true))
    }
}

/// Properties of the files that the anchor declares, if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    /// Size of a chunk in bytes, if known.
    pub(crate) chunk: Option<u64>,
    /// Byte order, if known.
    pub(crate) order: Option<ByteOrder>,
}

/// Guesses the chunk size of a definition file in memory by searching for the second header.
pub(crate) fn guess_definition_chunk(bytes: &[u8]) -> usize {
    // Fewer bytes than a header have no second chunk.
    let header = bytes.get(..internal::CHUNK_HEADER_LEN).unwrap_or_default();
    let is_header = |chunk: &usize| !header.is_empty() && bytes[*chunk..].starts_with(&header[..2]);
    let mut sizes = (1..=256).map(|step| step << 16);
    let found = sizes.find(|chunk| *chunk < bytes.len() && is_header(chunk));
    found.unwrap_or(bytes.len())
}

fn number(bytes: &[u8], at: usize, order: ByteOrder) -> u64 {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
    let bytes = *bytes.unwrap_or(&[0; 8]);
    match order {
        ByteOrder::Little => u64::from_le_bytes(bytes),
        ByteOrder::Big => u64::from_be_bytes(bytes),
    }
}

pub(crate) fn failed(member: &str, offset: Option<u64>, source: io::Error) -> Error {
    let place = Place {
        offset,
        ..Place::file(member)
    };
    Error::Io { place, source }
}
