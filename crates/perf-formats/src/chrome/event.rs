//! [`Raw`]: the fields of one Chrome trace event, parsed from JSON but not converted, with the
//! members of its `args` that the reader uses, [`Args`].

use crate::json::{Cursor, Stop, Token};

/// Fields of an event, which may occur in any order. Of several fields with the same name, the last
/// is used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Raw<'a> {
    /// Phase of the event; 0 if it is missing.
    pub(super) phase: u8,
    /// Field `name`.
    pub(super) name: Token<'a>,
    /// Field `cat`.
    pub(super) category: Token<'a>,
    /// Field `pid`.
    pub(super) process: Token<'a>,
    /// Field `tid`.
    pub(super) thread: Token<'a>,
    /// Field `ts`.
    pub(super) time: Token<'a>,
    /// Field `dur`.
    pub(super) duration: Token<'a>,
    /// Field `id`.
    pub(super) id: Token<'a>,
    /// Local id in `id2`.
    pub(super) local_id: Token<'a>,
    /// Global id in `id2`.
    pub(super) global_id: Token<'a>,
    /// Field `scope`.
    pub(super) scope: Token<'a>,
    /// `true` if a flow ends in the enclosing call.
    pub(super) binds_around: bool,
    /// Field `args`.
    pub(super) args: Args<'a>,
    /// `true` if the event has any field.
    pub(super) has_fields: bool,
}

/// Facts that few events have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Facts {
    #[default]
    None,
    /// An operation of a training job.
    Training,
    /// A collective operation of a communication library.
    Collective,
}

/// Retained members of `args`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Args<'a> {
    /// Member `device`.
    pub(super) device: Token<'a>,
    /// Member `stream`.
    pub(super) stream: Token<'a>,
    /// Member `context`.
    pub(super) context: Token<'a>,
    /// Member `correlation`.
    pub(super) correlation: Token<'a>,
    /// The correlation id under the name that XLA's profiler uses.
    pub(super) correlation_id: Token<'a>,
    /// Member with the number of bytes.
    pub(super) bytes: Token<'a>,
    /// `true` if there are details of a copy or fill in the form of XLA's profiler.
    pub(super) is_copy: bool,
    /// Member `name` of a metadata event.
    pub(super) name: Token<'a>,
    /// Member `labels` of a metadata event.
    pub(super) labels: Token<'a>,
    /// Facts that few events have. They are read from `text` on demand, so that other events cost no time.
    pub(super) facts: Facts,
    /// Raw JSON text, including its brackets.
    pub(super) text: &'a [u8],
    /// `true` if `args` has further members.
    pub(super) has_more: bool,
}

impl<'a> Raw<'a> {
    /// Reads an event at the cursor.
    #[inline]
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Stop> {
        let mut raw = Raw::default();
        cursor.object(|key, cursor| {
            raw.has_fields = true;
            match key {
                // An empty phase becomes 0, which is the phase of no event.
                b"ph" => raw.phase = cursor.value()?.bytes().first().copied().unwrap_or(0),
                b"name" => raw.name = cursor.value()?,
                b"cat" => raw.category = cursor.value()?,
                b"pid" => raw.process = cursor.value()?,
                b"tid" => raw.thread = cursor.value()?,
                b"ts" => raw.time = cursor.value()?,
                b"dur" => raw.duration = cursor.value()?,
                b"id" => raw.id = cursor.value()?,
                b"scope" => raw.scope = cursor.value()?,
                b"bp" => raw.binds_around = cursor.value()?.bytes() == b"e",
                b"args" => raw.args = Args::read(cursor)?,
                b"id2" => {
                    if cursor.peek()? != b'{' {
                        raw.global_id = cursor.value()?;
                        return Ok(());
                    }
                    cursor.object(|key, cursor| {
                        let id = cursor.value()?;
                        match key {
                            b"local" => raw.local_id = id,
                            _ => raw.global_id = id,
                        }
                        Ok(())
                    })?;
                }
                _ => {
                    cursor.value()?;
                }
            }
            Ok(())
        })?;
        Ok(raw)
    }
}

impl<'a> Args<'a> {
    #[inline]
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Stop> {
        let mut args = Args::default();
        if cursor.peek()? != b'{' {
            args.has_more = cursor.value()? != Token::Bare(b"null");
            return Ok(args);
        }
        let start = cursor.at();
        cursor.object(|key, cursor| {
            let value = cursor.value()?;
            match key {
                b"device" => args.device = value,
                b"stream" => args.stream = value,
                b"context" => args.context = value,
                b"correlation" => args.correlation = value,
                b"correlation_id" => args.correlation_id = value,
                b"memcpy_details" | b"memset_details" => {
                    args.is_copy = true;
                    args.has_more = true;
                }
                b"bytes" | b"Bytes" => args.bytes = value,
                b"name" => args.name = value,
                b"labels" => args.labels = value,
                b"seq_id" => args.facts = Facts::Training,
                b"step" | b"model_chunk" | b"mb_id" => {}
                b"Collective name" => {
                    args.facts = Facts::Collective;
                    args.has_more = true;
                }
                b"sort_index" => {}
                _ => args.has_more = true,
            }
            Ok(())
        })?;
        args.text = cursor.since(start);
        Ok(args)
    }
}
