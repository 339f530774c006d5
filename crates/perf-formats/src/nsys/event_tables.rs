//! [`TABLES`]: the event tables of Nsight Systems (kernels, copies, API calls, NVTX ranges and
//! others), each with its columns and the conversion of its rows.

use super::database::{Bad, Row};
use super::names::{self, nvtx};
use super::reader::Converter;
use super::rules;
use crate::timeline::{Edge, Extra, Kind, Role, RowKey, Sym};

/// A table of events: its name, its columns, and the conversion of a row.
pub(super) struct Table {
    /// Name of the table.
    pub(super) name: &'static str,
    /// Columns in the order of the conversion.
    pub(super) columns: &'static [&'static str],
    /// Conversion of a row.
    pub(super) row: for<'r> fn(&mut Converter, &Row<'r>) -> Result<(), Bad<'r>>,
}

const WORK: usize = 8;

/// Activity tables begin with the same columns: see [`Converter::work`].
macro_rules! work_columns {
    ($($more:literal),*) => {
        &[
            "start", "end", "globalPid", "deviceId", "contextId", "greenContextId", "streamId",
            "correlationId", $($more),*
        ]
    };
}

/// All supported tables. Runtime calls come first, because they determine the processes.
pub(super) const TABLES: &[Table] = &[
    Table {
        name: "CUPTI_ACTIVITY_KIND_RUNTIME",
        columns: CALL,
        row: call,
    },
    Table {
        name: "CUPTI_ACTIVITY_KIND_DRIVER",
        columns: CALL,
        row: call,
    },
    Table {
        name: "CUPTI_ACTIVITY_KIND_KERNEL",
        columns: work_columns!("shortName", "demangledName", "mangledName"),
        row: kernel,
    },
    Table {
        name: "CUPTI_ACTIVITY_KIND_MEMCPY",
        columns: work_columns!("bytes", "copyKind", "srcKind", "dstKind"),
        row: copy,
    },
    Table {
        name: "CUPTI_ACTIVITY_KIND_MEMSET",
        columns: work_columns!("bytes", "memKind"),
        row: set,
    },
    // Activity of a whole graph of kernels, if its kernels were not recorded individually.
    Table {
        name: "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        columns: work_columns!("graphId"),
        row: graph,
    },
    Table {
        name: "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        columns: work_columns!("syncType"),
        row: wait,
    },
    Table {
        name: "NVTX_EVENTS",
        columns: &["start", "end", "globalTid", "eventType", "text", "textId"],
        row: range,
    },
];

const CALL: &[&str] = &["start", "end", "globalTid", "nameId", "correlationId"];

/// Returns a number that counts from 1; old exports write 0 for a missing one.
fn recorded(number: Option<i64>) -> Option<i64> {
    number.filter(|number| *number != 0)
}

/// Returns the bits of an id.
fn bits(number: Option<i64>) -> Option<(u64, bool)> {
    number.map(|number| (number.cast_unsigned(), number < 0))
}

/// Converts a kernel. It is named by the short name; the demangled one is its long form.
fn kernel<'r>(reader: &mut Converter, row: &Row<'r>) -> Result<(), Bad<'r>> {
    let mut strings = [None; 3];
    for (column, string) in (WORK..).zip(&mut strings) {
        *string = row.optional(column)?;
    }
    // Old exports write an undefined string id for a missing name.
    let known = strings.into_iter().flatten();
    let mut known = known.filter(|string| reader.has_string(*string));
    let (name, form) = (known.next(), known.next());
    let name = name.or(strings.into_iter().flatten().next());
    let part = reader.work(row)?;
    let name = match name {
        Some(string) => reader.string(part, string, row),
        None => reader.name(part, b"(kernel without a name)"),
    };
    let form = form.map(|form| reader.string(part, form, row));
    reader.add_work(part, row, (name, form), Kind::Kernel, None)
}

fn copy<'r>(reader: &mut Converter, row: &Row<'r>) -> Result<(), Bad<'r>> {
    let bytes = row.optional(WORK)?;
    let kinds = (
        row.optional(WORK + 1)?,
        row.optional(WORK + 2)?,
        row.optional(WORK + 3)?,
    );
    let part = reader.work(row)?;
    let name = names::copy(kinds.0, kinds.1, kinds.2);
    let name = reader.name(part, name.as_bytes());
    reader.add_work(part, row, (name, None), Kind::Copy, bytes)
}

fn set<'r>(reader: &mut Converter, row: &Row<'r>) -> Result<(), Bad<'r>> {
    let bytes = row.optional(WORK)?;
    let kind = row.optional(WORK + 1)?;
    let part = reader.work(row)?;
    let name = reader.name(part, names::set(kind).as_bytes());
    reader.add_work(part, row, (name, None), Kind::Copy, bytes)
}

fn graph<'r>(reader: &mut Converter, row: &Row<'r>) -> Result<(), Bad<'r>> {
    let name = match row.optional(WORK)? {
        Some(number) => format!("CUDA graph {number}"),
        None => "CUDA graph".into(),
    };
    let part = reader.work(row)?;
    let name = reader.name(part, name.as_bytes());
    reader.add_work(part, row, (name, None), Kind::Kernel, None)
}

fn wait<'r>(reader: &mut Converter, row: &Row<'r>) -> Result<(), Bad<'r>> {
    let kind = row.optional(WORK)?;
    let part = reader.work(row)?;
    let name = reader.name(part, names::wait(kind).as_bytes());
    let (start, end) = reader.times(part, row)?;
    // All bits set: the wait concerns no particular stream.
    let stream = match row.number(6)? {
        -1 | 0xffff_ffff => "all".to_owned(),
        stream => stream.to_string(),
    };
    let device = reader.device(part, row.number(3)?);
    let Some(part) = reader.parts.get_mut(part) else {
        return Ok(());
    };
    let stream = part.symbol(stream.as_bytes());
    let line = part.row(RowKey::Beside { device, stream });
    let region = part.region(name, Kind::Runtime);
    part.call(line, (start, end), region, 0);
    Ok(())
}

fn call<'r>(reader: &mut Converter, row: &Row<'r>) -> Result<(), Bad<'r>> {
    let string = row.number(3)?;
    let correlation = bits(recorded(row.optional(4)?));
    let thread = row.number(2)?;
    let part = reader.process(thread);
    let name = reader.string(part, string, row);
    let (start, end) = reader.times(part, row)?;
    let line = reader.thread(part, thread);
    let Some(part) = reader.parts.get_mut(part) else {
        return Ok(());
    };
    let region = part.region(name, Kind::Runtime);
    let extra = part.extra(Extra::new(correlation, None, Role::Launch));
    part.call(line, (start, end), region, extra);
    Ok(())
}

fn range<'r>(reader: &mut Converter, row: &Row<'r>) -> Result<(), Bad<'r>> {
    let kind = row.number(3)?;
    match kind {
        nvtx::MARK | nvtx::PUSH_POP | nvtx::START_END => {}
        nvtx::TEXT_MARK | nvtx::TEXT_PUSH_POP | nvtx::TEXT_START_END => {}
        // Domains, categories and names of threads have no duration.
        nvtx::CATEGORY | nvtx::THREAD | nvtx::DOMAIN_CREATE | nvtx::DOMAIN_DESTROY => {
            return Ok(());
        }
        _ => {
            reader.count(rules::NVTX, row);
            return Ok(());
        }
    }
    let (start, end) = (row.number(0)?, row.optional(1)?);
    let thread = row.number(2)?;
    let text = row.text(4)?.filter(|text| !text.is_empty());
    let text = text.map(<[u8]>::to_vec);
    let string = row.optional(5)?;
    let part = reader.process(thread);
    let name = match (text, string) {
        (Some(text), _) => reader.name(part, &text),
        (None, Some(string)) => reader.string(part, string, row),
        (None, None) => reader.name(part, b"(range without a name)"),
    };
    let line = match kind {
        nvtx::START_END | nvtx::TEXT_START_END => reader.crossing(part, thread),
        _ => reader.thread(part, thread),
    };
    let place = reader.place_of(row);
    let Some(part) = reader.parts.get_mut(part) else {
        return Ok(());
    };
    if matches!(kind, nvtx::MARK | nvtx::TEXT_MARK) {
        part.instant(line, start, name, 0);
        return Ok(());
    }
    let region = part.region(name, Kind::User);
    // Old exports write 0 or -1 for a missing end.
    match end.filter(|end| *end > 0 || *end >= start) {
        Some(end) if end < start => {
            part.found.add(rules::NEGATIVE, place);
            part.call(line, (start, start), region, 0);
        }
        Some(end) => part.call(line, (start, end), region, 0),
        // The range was never closed. A unique tag keeps other ends from closing it.
        None => {
            let tag = (Sym::default(), reader.unclosed);
            reader.unclosed += 1;
            part.mark(line, start, Edge::Begin(region), tag);
        }
    }
    Ok(())
}

impl Converter {
    /// Returns the part of the process of an activity row.
    fn work<'r>(&mut self, row: &Row<'r>) -> Result<usize, Bad<'r>> {
        row.number(0)?;
        row.number(1)?;
        row.number(3)?;
        row.number(6)?;
        Ok(match row.optional(2)? {
            Some(process) => self.process(process),
            None => {
                self.count(rules::NO_PROCESS, row);
                self.only_process()
            }
        })
    }

    /// Returns begin and end of a row. If the end is before the begin, the duration is 0.
    fn times<'r>(&mut self, part: usize, row: &Row<'r>) -> Result<(i64, i64), Bad<'r>> {
        let (start, end) = (row.number(0)?, row.number(1)?);
        if end < start {
            let place = self.place_of(row);
            if let Some(part) = self.parts.get_mut(part) {
                part.found.add(rules::NEGATIVE, place);
            }
        }
        Ok((start, end.max(start)))
    }

    fn add_work<'r>(
        &mut self,
        part: usize,
        row: &Row<'r>,
        (name, form): (u32, Option<u32>),
        kind: Kind,
        bytes: Option<i64>,
    ) -> Result<(), Bad<'r>> {
        let (context, green) = (row.optional(4)?, recorded(row.optional(5)?));
        let stream = row.number(6)?;
        let correlation = bits(recorded(row.optional(7)?));
        let device = self.device(part, row.number(3)?);
        let (start, end) = self.times(part, row)?;
        let Some(part) = self.parts.get_mut(part) else {
            return Ok(());
        };
        let context = match (context, green) {
            (None, None) => String::new(),
            (Some(context), None) => context.to_string(),
            (context, Some(green)) => format!("{}, green {green}", context.unwrap_or(0)),
        };
        let context = part.symbol(context.as_bytes());
        let stream = part.symbol(stream.to_string().as_bytes());
        let line = part.row(RowKey::Work {
            device,
            context,
            stream,
        });
        let region = match form {
            Some(form) => part.region_with(name, kind, form),
            None => part.region(name, kind),
        };
        let extra = part.extra(Extra::new(correlation, bits(bytes), Role::Work));
        part.call(line, (start, end), region, extra);
        Ok(())
    }
}
