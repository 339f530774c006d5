//! Recognises devices by the names of processes and threads that XLA's profiler writes, and
//! converts their threads to device streams.
//!
//! A process `/device:GPU:0` or `/device:TPU:0` is a device, and its threads are the lines of its plane. Activities
//! have no category in these files. They are on lines such as `Stream #16(Kernel)`, or on `XLA Ops` if the device has
//! no such lines, like a TPU. All other lines, such as `Steps`, `XLA Modules` and `Framework Ops - from #16`, are
//! derived from the activities and cover the same time again.

use super::names::Kind;
use super::part::Part;
use super::row::{Role, Row, RowKey, Sym};
use std::collections::{BTreeMap, BTreeSet};

/// A line of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'a> {
    /// A stream, by its number.
    Stream(&'a str),
    /// The operations of a device without streams.
    Operations,
    /// A line derived from others.
    Derived,
}

/// Returns the kind and number of the device in a process name.
fn device(process: &str) -> Option<(&str, &str)> {
    let (before, name) = process.split_once("/device:")?;
    let is_first = before.is_empty() || before.ends_with(char::is_whitespace);
    let (kind, id) = name.split_once(':')?;
    let id = id.trim();
    let number = id.split_whitespace().next().unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
    let is_device = is_first && is_number && !matches!(kind, "CPU" | "CUSTOM" | "");
    is_device.then_some((kind, id))
}

fn line(thread: &str) -> Line<'_> {
    let thread = thread.trim();
    if matches!(thread, "XLA Ops" | "Sparse Core Ops") {
        return Line::Operations;
    }
    let Some(rest) = thread.strip_prefix("Stream #") else {
        return Line::Derived;
    };
    let end = rest.find(|it: char| it == '(' || it.is_whitespace());
    match rest.get(..end.unwrap_or(rest.len())) {
        None | Some("") => Line::Derived,
        Some(number) => Line::Stream(number),
    }
}

/// Converts the threads of device processes to streams, and their derived lines to rows next to the streams.
pub(super) fn find(part: &mut Part) {
    let named = part.processes.iter();
    let devices: BTreeMap<Sym, (String, String)> = named
        .filter_map(|(process, known)| {
            let (kind, id) = device(known.name.as_deref()?)?;
            Some((*process, (kind.to_owned(), id.to_owned())))
        })
        .collect();
    let Some((kind, _)) = devices.values().next() else {
        return;
    };
    part.device_kind = kind.clone();
    // A thread without a name is no stream.
    let thread_name = |part: &Part, key| part.threads.get(&key).cloned().unwrap_or_default();
    let mut with_streams = BTreeSet::new();
    for row in &part.rows {
        if let RowKey::Thread { process, thread } = row.key {
            let name = thread_name(part, (process, thread));
            if matches!(line(&name), Line::Stream(_)) && !row.calls.is_empty() {
                with_streams.insert(process);
            }
        }
    }
    let rows = std::mem::take(&mut part.rows);
    let shown = std::mem::take(&mut part.shown);
    part.forget_rows();
    let mut moved = Vec::with_capacity(rows.len());
    for mut row in rows {
        let RowKey::Thread { process, thread } = row.key else {
            moved.push(place(part, row));
            continue;
        };
        let Some((_, id)) = devices.get(&process) else {
            host(part, &mut row);
            moved.push(place(part, row));
            continue;
        };
        let name = thread_name(part, (process, thread));
        let device = part.symbol(id.as_bytes());
        let title = match name.trim() {
            "" => "Unnamed line",
            name => name,
        };
        let beside = RowKey::Beside {
            device,
            stream: part.symbol(title.as_bytes()),
        };
        let stream = match line(&name) {
            Line::Stream(number) => number,
            Line::Operations if !with_streams.contains(&process) => title,
            Line::Operations | Line::Derived => {
                row.key = beside;
                moved.push(place(part, row));
                continue;
            }
        };
        work(part, &mut row);
        // Activities with duration 0 are written as instants, but a stream contains calls.
        let instants = std::mem::take(&mut row.instants);
        row.key = RowKey::Work {
            device,
            context: part.symbol(b""),
            stream: part.symbol(stream.as_bytes()),
        };
        let number = place(part, row);
        part.show(process, thread, number);
        moved.push(number);
        if !instants.is_empty() {
            place(part, Row::new(beside, instants));
        }
    }
    for ((process, thread), rows) in shown {
        for row in rows.iter().filter_map(|row| moved.get(*row as usize)) {
            part.show(process, thread, *row);
        }
    }
}

/// Adds a row, or appends its contents to the existing row with the same key. Returns the number of the row.
fn place(part: &mut Part, row: Row) -> u32 {
    let number = part.row(row.key);
    if let Some(to) = part.rows.get_mut(number as usize) {
        to.calls.extend(row.calls);
        to.instants.extend(row.instants);
        to.marks.extend(row.marks);
    }
    number
}

/// Marks the calls of a stream as device activities. All except copies become kernels.
fn work(part: &mut Part, row: &mut Row) {
    for call in &mut row.calls {
        let text = part.names.text_of(call.region);
        let known = part.names.regions.get(call.region as usize);
        if known.is_some_and(|(_, kind)| *kind != Kind::Copy) {
            part.is_hip |= part.names.get(text).ends_with(".kd");
            call.region = part.names.region(text, Kind::Kernel);
        }
        let extra = (call.extra as usize).checked_sub(1);
        if let Some(extra) = extra.and_then(|extra| part.extras.get_mut(extra)) {
            extra.role = Role::Work;
        }
    }
}

/// Marks the calls of a thread that have a correlation id as launches. A call that requests a copy becomes a call on
/// the host, because it is not itself a copy.
fn host(part: &mut Part, row: &mut Row) {
    for call in &mut row.calls {
        let known = part.names.regions.get(call.region as usize);
        if known.is_some_and(|(_, kind)| *kind == Kind::Copy) {
            let text = part.names.text_of(call.region);
            call.region = part.names.region(text, Kind::Host);
        }
        let extra = (call.extra as usize).checked_sub(1);
        if let Some(extra) = extra.and_then(|extra| part.extras.get_mut(extra))
            && extra.role == Role::None
            && extra.correlation().is_some()
        {
            extra.role = Role::Launch;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_in_names_of_processes() {
        for (name, found) in [
            ("/device:GPU:0", Some(("GPU", "0"))),
            ("/device:TPU:3", Some(("TPU", "3"))),
            (
                "/device:TPU:0 SparseCore 1",
                Some(("TPU", "0 SparseCore 1")),
            ),
            ("node7 /device:GPU:12", Some(("GPU", "12"))),
            ("/device:CUSTOM:Megascale Trace", None),
            ("/device:CPU:0", None),
            ("/host:CPU", None),
            ("/job:a/device:GPU:0", None),
            ("/device:GPU:0/stream:all Compute", None),
            ("python", None),
        ] {
            assert_eq!(device(name), found, "{name}");
        }
    }

    #[test]
    fn lines_in_names_of_threads() {
        for (name, found) in [
            ("Stream #16(Kernel)", Line::Stream("16")),
            ("Stream #2", Line::Stream("2")),
            (
                "Stream #20(Memset,Memcpy,Kernel,Compute)",
                Line::Stream("20"),
            ),
            ("XLA Ops", Line::Operations),
            ("XLA Ops - from #16", Line::Derived),
            ("Async XLA Ops", Line::Derived),
            ("Steps", Line::Derived),
            ("Source code", Line::Derived),
            ("Stream #", Line::Derived),
            ("", Line::Derived),
        ] {
            assert_eq!(line(name), found, "{name}");
        }
    }
}
