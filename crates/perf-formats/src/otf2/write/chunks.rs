//! [`Chunks`]: packs encoded records into chunks of fixed size, with timestamps before events, and
//! writes them to a member of the archive.

use super::encode::Encoder;
use super::sink::Sink;
use crate::otf2::schema::internal;
use crate::otf2::wire::ByteOrder;
use crate::{Error, Result};
use perf_core::Place;

/// Writer of chunks. The last chunk is truncated to its used length.
#[derive(Debug)]
pub(crate) struct Chunks {
    /// Name of the member.
    member: String,
    /// Byte order of the file.
    order: ByteOrder,
    /// Size of a chunk in bytes.
    size: usize,
    /// Chunk under construction.
    chunk: Vec<u8>,
    /// Number of events before this chunk.
    before: u64,
    /// Number of events in total.
    events: u64,
    /// Time of the last timestamp record in this chunk.
    time: Option<u64>,
}

/// Length of a timestamp record in bytes.
const TIME: usize = 9;
/// Length of the end of a file in bytes.
const END: usize = 2;

impl Chunks {
    /// Creates a writer of the member `member` with chunks of `size` bytes.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Usage`] if a chunk cannot hold its own header and the end of a file.
    pub(crate) fn new(member: String, order: ByteOrder, size: u64) -> Result<Self> {
        let least = internal::CHUNK_HEADER_LEN + END;
        if size < least as u64 {
            return Err(Error::Usage {
                what: format!("chunks of {size} bytes are too small, {least} is the least"),
            });
        }
        let mut chunks = Chunks {
            member,
            order,
            size: usize::try_from(size).unwrap_or(usize::MAX),
            chunk: Vec::new(),
            before: 0,
            events: 0,
            time: None,
        };
        chunks.begin();
        Ok(chunks)
    }

    /// Returns the number of events so far.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Adds an event, with its attribute list if any.
    pub(crate) fn event(&mut self, sink: &mut dyn Sink, time: u64, bytes: &[u8]) -> Result<()> {
        self.make_room(sink, TIME + bytes.len())?;
        if self.time != Some(time) {
            let mut record = Encoder::new(self.order);
            record.u8(internal::TIMESTAMP);
            record.u64(time);
            self.chunk.extend_from_slice(record.bytes());
            self.time = Some(time);
        }
        self.chunk.extend_from_slice(bytes);
        self.events += 1;
        Ok(())
    }

    /// Adds a definition.
    pub(crate) fn definition(&mut self, sink: &mut dyn Sink, bytes: &[u8]) -> Result<()> {
        self.make_room(sink, bytes.len())?;
        self.chunk.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the last chunk and the end of the file.
    pub(crate) fn finish(mut self, sink: &mut dyn Sink) -> Result<()> {
        self.chunk.push(internal::END_OF_FILE);
        self.chunk.push(internal::END_OF_BUFFER);
        self.write(sink)
    }

    fn begin(&mut self) {
        self.chunk.clear();
        self.chunk.resize(internal::CHUNK_HEADER_LEN, 0);
        self.before = self.events;
        self.time = None;
    }

    fn make_room(&mut self, sink: &mut dyn Sink, bytes: usize) -> Result<()> {
        if self.chunk.len() + bytes + END <= self.size {
            return Ok(());
        }
        if internal::CHUNK_HEADER_LEN + bytes + END > self.size {
            return Err(Error::Limit {
                place: Place::file(self.member.as_str()),
                what: "the length of a record in bytes",
                got: bytes as u64,
                limit: self.size.saturating_sub(internal::CHUNK_HEADER_LEN + END) as u64,
            });
        }
        // A zero byte ends the chunk; the next one begins at a multiple of the chunk size.
        self.chunk.resize(self.size, internal::END_OF_CHUNK);
        self.write(sink)?;
        self.begin();
        Ok(())
    }

    fn write(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let mut header = Encoder::new(self.order);
        header.u8(internal::CHUNK_HEADER);
        header.u8(self.order.byte());
        header.u64(self.before + 1);
        header.u64(self.events);
        for (to, from) in self.chunk.iter_mut().zip(header.bytes()) {
            *to = *from;
        }
        put(sink, &self.member, &self.chunk)
    }
}

pub(crate) fn put(sink: &mut dyn Sink, member: &str, bytes: &[u8]) -> Result<()> {
    sink.append(member, bytes).map_err(|source| Error::Io {
        place: Place::file(member),
        source,
    })
}
