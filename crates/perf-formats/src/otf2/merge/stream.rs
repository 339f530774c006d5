//! [`Stream`]: decodes the event file of one location block by block, for the merge of all
//! locations.

use super::super::events::{Context, Decoder, Shared, State, Stop};
use super::super::reader::Reader;
use super::super::schema::internal;
use crate::Result;
use crate::otf2::archive::files::Shape;
use crate::otf2::definitions::resolve::Resolved;
use perf_core::{Events, LocationId};
use std::sync::Arc;

/// Event file of one location, and the position up to which it is decoded.
#[derive(Debug)]
pub(super) struct Stream {
    /// Location of the file.
    pub(super) id: LocationId,
    /// Name of the event file.
    pub(super) file: Arc<str>,
    /// Size, chunks and byte order of the file.
    pub(super) shape: Shape,
    /// Local definitions of the location.
    pub(super) shared: Shared,
    /// Decoding state.
    pub(super) state: State,
    /// Current chunk, and the first byte that is not decoded.
    pub(super) chunk: u64,
    /// First byte that is not decoded.
    pub(super) at: u64,
    /// `true` after the last block was decoded.
    pub(super) done: bool,
}

impl Stream {
    pub(super) fn context<'c>(
        &'c self,
        reader: &'c Reader<'_>,
        resolved: &'c Resolved,
    ) -> Context<'c> {
        let window = reader.options.get_window();
        let file = self.file.clone();
        self.shared.context(file, resolved, &reader.kinds, window)
    }

    /// Decodes a block of about `block` bytes into `events`.
    pub(super) fn decode(
        &self,
        reader: &Reader<'_>,
        resolved: &Resolved,
        state: State,
        (block, buffer): (usize, &mut Vec<u8>),
        events: &mut Events,
    ) -> Result<(Step, State)> {
        events.clear();
        let (start, end) = self.shape.span(self.chunk);
        let is_last = self.chunk + 1 >= self.shape.chunks();
        let mut least = block;
        let mut at = self.at;
        let context = self.context(reader, resolved);
        let mut decoder = Decoder::new(&context, state);
        let stop = loop {
            reader.source.block(&self.file, at, end, least, buffer)?;
            let whole = at + buffer.len() as u64 >= end || buffer.len() < least;
            let mut data = buffer.as_slice();
            if at == start {
                let next = reader.first_time(&context, self.shape, self.chunk + 1)?;
                if let Err(stop) = decoder.begin_chunk(data, (start, end), next) {
                    break stop;
                }
                // The chunk of a damaged file may be shorter than its header.
                data = data.get(internal::CHUNK_HEADER_LEN..).unwrap_or_default();
                at += internal::CHUNK_HEADER_LEN as u64;
            }
            let (done, stop) = decoder.run(data, at, whole, events);
            at += done as u64;
            if stop == Stop::Block && done == 0 {
                // A record is longer than a block: read a larger one.
                least = least.saturating_mul(2);
                continue;
            }
            break stop;
        };
        decoder.note_stop(stop, is_last, at);
        let state = decoder.state;
        let bytes = at - self.at;
        Ok((Step { bytes, stop }, state))
    }

    /// Advances past a decoded block.
    pub(super) fn go_on(&mut self, step: Step) {
        self.at += step.bytes;
        match step.stop {
            Stop::Block => {}
            Stop::Window => self.done = true,
            _ => {
                self.done = self.chunk + 1 >= self.shape.chunks();
                self.chunk += 1;
                self.at = self.shape.span(self.chunk).0;
            }
        }
    }
}

/// Result of decoding a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Number of decoded bytes.
    pub(super) bytes: u64,
    /// Reason for which the decoder stopped.
    stop: Stop,
}
