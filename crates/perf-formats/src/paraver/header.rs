//! [`Header`]: first line of a `.prv`, with duration, machine, applications and threads.

use super::decimal::{Cursor, Expected};
use crate::{Error, Result};
use perf_core::{Clock, Place, Ticks};

/// Unit of a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// Nanoseconds, `_ns`.
    Nano,
    /// Microseconds: `_us`, or no unit.
    #[default]
    Micro,
    /// Milliseconds, `_ms`.
    Milli,
}

impl TimeUnit {
    /// Returns the number of ticks per second.
    pub fn ticks_per_second(self) -> u64 {
        match self {
            TimeUnit::Nano => 1_000_000_000,
            TimeUnit::Micro => 1_000_000,
            TimeUnit::Milli => 1_000,
        }
    }

    /// Returns the clock of a trace in this unit.
    pub fn clock(self) -> Clock {
        Clock::new(self.ticks_per_second(), Ticks(0)).unwrap_or_default()
    }
}

/// Machine description of a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Resources {
    /// Unknown; CPUs of records may then be 0.
    #[default]
    Unknown,
    /// Number of CPUs of each node.
    Nodes(Vec<u32>),
    /// Number of nodes with one CPU each.
    Single(u32),
}

/// A task, usually an MPI process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Task {
    /// Number of threads.
    pub threads: u32,
    /// Node of the task, from 1.
    pub node: u32,
}

/// Header of a trace: duration, machine, and applications with their tasks and threads.
///
/// ```
/// use perf_formats::paraver::{Header, TimeUnit};
/// let line = b"#Paraver (09/10/2019 at 16:09):11528373565_ns:1(2):1:2(1:1,1:1),3\n";
/// let header = Header::parse(line, "x.prv")?;
/// assert_eq!(header.duration.0, 11_528_373_565);
/// assert_eq!(header.unit, TimeUnit::Nano);
/// assert_eq!(header.applications[0].len(), 2);
/// assert_eq!(header.communicators, Some(3));
/// assert_eq!(header.to_string().as_bytes(), &line[..line.len() - 1]);
/// # Ok::<(), perf_formats::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// Date of the trace as in the parentheses: `09/10/2019 at 16:09`, with a year of two or four
    /// digits.
    pub date: String,
    /// End time of the trace.
    pub duration: Ticks,
    /// Unit of all times.
    pub unit: TimeUnit,
    /// Machine description.
    pub resources: Resources,
    /// Tasks of each application.
    pub applications: Vec<Vec<Task>>,
    /// Number of communicators that follow the header; `None` if the header does not contain it.
    pub communicators: Option<u64>,
}

/// Formats the line as Extrae writes it, without a newline.
impl std::fmt::Display for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unit = match self.unit {
            TimeUnit::Nano => "_ns",
            TimeUnit::Micro => "",
            TimeUnit::Milli => "_ms",
        };
        write!(f, "#Paraver ({}):{}{unit}:", self.date, self.duration)?;
        match &self.resources {
            Resources::Unknown => f.write_str("0")?,
            Resources::Single(nodes) => write!(f, "{nodes}")?,
            Resources::Nodes(cpus) => {
                write!(f, "{}(", cpus.len())?;
                list(f, cpus.iter())?;
                f.write_str(")")?;
            }
        }
        write!(f, ":{}:", self.applications.len())?;
        for (index, tasks) in self.applications.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{}(", tasks.len())?;
            list(
                f,
                tasks
                    .iter()
                    .map(|task| format!("{}:{}", task.threads, task.node)),
            )?;
            f.write_str(")")?;
        }
        match self.communicators {
            Some(count) => write!(f, ",{count}"),
            None => Ok(()),
        }
    }
}

fn list(
    f: &mut std::fmt::Formatter<'_>,
    items: impl Iterator<Item: std::fmt::Display>,
) -> std::fmt::Result {
    for (index, item) in items.enumerate() {
        let comma = if index > 0 { "," } else { "" };
        write!(f, "{comma}{item}")?;
    }
    Ok(())
}

impl Header {
    /// Parses a header. A marker `new format` may precede the line, and a line end may follow it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Truncated`] or [`Error::Malformed`] with byte, line and column.
    pub fn parse(line: &[u8], name: &str) -> Result<Self> {
        let end = line.trim_ascii_end().len();
        let text = &line[..end];
        let start = find_magic(text).unwrap_or(0);
        let mut cursor = Cursor::new(text, start);
        read(text, &mut cursor).map_err(|expected| {
            let at = cursor.at();
            let place = || located(name, line, at);
            if at >= end {
                Error::Truncated {
                    place: place(),
                    expected: expected.into(),
                }
            } else {
                Error::Malformed {
                    place: place(),
                    expected: expected.into(),
                    got: super::parse::snippet(text, at),
                }
            }
        })
    }

    /// Returns the number of threads of all applications.
    pub fn threads(&self) -> u64 {
        let tasks = self.applications.iter().flatten();
        tasks.map(|task| u64::from(task.threads)).sum()
    }
}

/// First bytes of a header.
pub(super) const MAGIC: &[u8] = b"#Paraver";

/// Returns the position of the header after the optional marker `new format` of old tools.
pub(super) fn find_magic(text: &[u8]) -> Option<usize> {
    let start = text
        .windows(MAGIC.len())
        .take(64)
        .position(|part| part == MAGIC)?;
    let before = text.get(..start)?.trim_ascii();
    let before = before.strip_prefix(b"#").unwrap_or(before).trim_ascii();
    let is_marker = before.is_empty() || before.eq_ignore_ascii_case(b"new format");
    is_marker.then_some(start)
}

fn located(name: &str, text: &[u8], at: usize) -> Place {
    let before = text.get(..at).unwrap_or(text);
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n');
    let column = at - start.map_or(0, |start| start + 1) + 1;
    Place::file(name)
        .at(at as u64)
        .record(format!("line {line}, column {column}"))
}

fn read(text: &[u8], cursor: &mut Cursor<'_>) -> Result<Header, Expected> {
    let rest = &text[cursor.at()..];
    if !rest.starts_with(MAGIC) {
        return Err("`#Paraver` at the start of a trace");
    }
    let mut at = cursor.at() + MAGIC.len();
    while text.get(at) == Some(&b' ') {
        at += 1;
    }
    cursor.jump(at);
    if !cursor.eat(b'(') {
        return Err("`(` before the date");
    }
    let start = cursor.at();
    let date = &text[start..];
    // The date contains colons.
    let Some(close) = date.iter().position(|byte| *byte == b')') else {
        cursor.jump(text.len());
        return Err("`)` after the date");
    };
    let date = String::from_utf8_lossy(&date[..close]).into_owned();
    cursor.jump(start + close + 1);
    cursor.colon()?;
    let duration = Ticks(cursor.number("the duration")?);
    let unit = unit(text, cursor)?;
    cursor.colon()?;
    let resources = resources(cursor)?;
    cursor.colon()?;
    let count = cursor.number("the number of applications")?;
    cursor.colon()?;
    let mut applications = Vec::new();
    for index in 0..count {
        // Traces that were cut or filtered in Paraver have a colon instead of a comma.
        if index > 0 && !cursor.eat(b',') && !cursor.eat(b':') {
            return Err("`,` or `:` and the next application");
        }
        applications.push(application(cursor)?);
    }
    let communicators = if cursor.eat(b',') {
        Some(cursor.number("the number of communicators")?)
    } else {
        None
    };
    match cursor.peek() {
        None => Ok(Header {
            date,
            duration,
            unit,
            resources,
            applications,
            communicators,
        }),
        Some(_) => Err("the end of the header"),
    }
}

fn unit(text: &[u8], cursor: &mut Cursor<'_>) -> Result<TimeUnit, Expected> {
    let at = cursor.at();
    if cursor.peek() != Some(b'_') {
        return Ok(TimeUnit::Micro);
    }
    let unit = match text.get(at..at + 3) {
        Some(b"_ns") => TimeUnit::Nano,
        Some(b"_us") => TimeUnit::Micro,
        Some(b"_ms") => TimeUnit::Milli,
        _ => return Err("`_ns`, `_us` or `_ms`"),
    };
    cursor.jump(at + 3);
    Ok(unit)
}

fn resources(cursor: &mut Cursor<'_>) -> Result<Resources, Expected> {
    let nodes = cursor.small("the number of nodes")?;
    if !cursor.eat(b'(') {
        return Ok(match nodes {
            0 => Resources::Unknown,
            _ => Resources::Single(nodes),
        });
    }
    let mut cpus = Vec::new();
    if !cursor.eat(b')') {
        loop {
            cpus.push(cursor.small("the number of CPUs of a node")?);
            if cursor.eat(b')') {
                break;
            }
            if !cursor.eat(b',') {
                return Err("`,` or `)` after the CPUs of a node");
            }
        }
    }
    if u32::try_from(cpus.len()) == Ok(nodes) {
        Ok(Resources::Nodes(cpus))
    } else {
        Err("one number of CPUs for each node")
    }
}

fn application(cursor: &mut Cursor<'_>) -> Result<Vec<Task>, Expected> {
    let count = cursor.small("the number of tasks of an application")?;
    if !cursor.eat(b'(') {
        return Err("`(` and the tasks");
    }
    let mut tasks = Vec::new();
    if !cursor.eat(b')') {
        loop {
            let threads = cursor.small("the number of threads of a task")?;
            cursor.colon()?;
            let node = cursor.small("the node of a task")?;
            tasks.push(Task { threads, node });
            if cursor.eat(b')') {
                break;
            }
            if !cursor.eat(b',') {
                return Err("`,` or `)` after a task");
            }
        }
    }
    if u32::try_from(tasks.len()) == Ok(count) {
        Ok(tasks)
    } else {
        Err("the declared number of tasks")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Header> {
        Header::parse(line.as_bytes(), "x.prv")
    }

    #[test]
    fn all_forms_of_headers_are_read() {
        let old = parse("#Paraver (01/02/99 at 7:05):1000:0:1:2(1:1,3:1)").unwrap();
        assert_eq!(
            (old.unit, &old.resources, old.communicators),
            (TimeUnit::Micro, &Resources::Unknown, None)
        );
        assert_eq!(old.threads(), 4);
        let two = parse("#Paraver (x):5_ms:3:2:1(2:1),2(1:2,1:3),0\r\n").unwrap();
        assert_eq!(
            (two.unit, &two.resources),
            (TimeUnit::Milli, &Resources::Single(3))
        );
        assert_eq!((two.applications.len(), two.communicators), (2, Some(0)));
        let cut = parse("#Paraver (x):5_ns:0:2:1(1:1):2(1:1,1:1),1").unwrap();
        assert_eq!((cut.applications.len(), cut.threads()), (2, 3));
        let us = parse("new format\n#Paraver (x):5_us:1(4):1:1(1:1)").unwrap();
        assert_eq!(us.unit, TimeUnit::Micro);
        assert_eq!(us.unit.clock().ticks_per_second(), 1_000_000);
    }

    #[test]
    fn errors_tell_line_and_column() {
        let error = parse("new format\n#Paraver (x):5_qs:1(4):1:1(1:1)").unwrap_err();
        let text = "x.prv, byte 25, line 2, column 15: expected `_ns`, `_us` or `_ms`, got `_qs:1(4):1:1(1:1)`";
        assert_eq!(error.to_string(), text);
        let cut = "#Paraver (x):5_ns:1(4):1:2(1:1,1:1),3";
        for end in 0..cut.len() - 2 {
            let error = parse(&cut[..end]).unwrap_err();
            assert!(
                matches!(error, Error::Truncated { .. } | Error::Malformed { .. }),
                "{end}: {error}"
            );
        }
        assert!(parse("#Paraver (x):5_ns:1(4):1:3(1:1,1:1),3").is_err());
        assert!(parse("#Paraver (x):5_ns:2(4):1:1(1:1),3").is_err());
        assert!(parse("something else").is_err());
    }
}
