//! [`Data`]: table of bursts with their metrics and clusters, read from a `.DATA.csv`.

use crate::bytes::GZIP;
use crate::paraver::Cluster;
use crate::{Error, Result};
use flate2::read::MultiGzDecoder;
use perf_core::{Limits, Place, Ticks};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

/// Role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// `d_`: a metric used for the clustering, as measured.
    Raw,
    /// `n_`: the normalised coordinate of such a metric.
    Normalised,
    /// `x_`: another counter, not used for the clustering.
    Extrapolated,
}

/// A metric of all bursts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DataColumn {
    /// Name without its prefix.
    pub name: String,
    /// Role of the column.
    pub role: Role,
    /// One value for each burst.
    pub values: Vec<f64>,
}

/// A burst with its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataRow {
    /// Task number, from 0.
    pub task: u32,
    /// Thread number within the task, from 0.
    pub thread: u32,
    /// Begin, in the unit of the trace.
    pub begin: Ticks,
    /// End, in the unit of the trace.
    pub end: Ticks,
    /// Line of the trace in which the burst ends.
    pub line: u64,
    /// Cluster of the burst.
    pub cluster: Cluster,
}

/// Contents of the `.DATA.csv` file of the established burst clustering: one line for each burst.
///
/// ```
/// use perf_formats::paraver::Cluster;
/// use perf_formats::paraver::clustered::{Data, Role};
/// let text = "# Instance,TaskId,ThreadId,Begin_Time,End_Time,Duration, Line, d_IPC, n_IPC,ClusterID\n\
///             0,1,0,10,30,20,9,1.5, 0.25,6\n";
/// let data = Data::read(text.as_bytes(), "x.DATA.csv", &perf_core::Limits::default())?;
/// assert_eq!(data.rows[0].cluster, Cluster::Id(1));
/// let raw = data.columns.iter().find(|column| column.role == Role::Raw).expect("there is one");
/// assert_eq!((raw.name.as_str(), raw.values.as_slice()), ("IPC", &[1.5][..]));
/// # Ok::<(), perf_formats::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Data {
    /// Metrics, in the order of the file.
    pub columns: Vec<DataColumn>,
    /// Bursts, in the order of the file.
    pub rows: Vec<DataRow>,
}

/// Meaning of a cell of a line.
enum Cell {
    Task,
    Thread,
    Begin,
    End,
    Line,
    Cluster,
    Metric(usize),
    Other,
}

impl Data {
    /// Returns `true` if a file begins like a `.DATA.csv`, plain or compressed with gzip.
    pub fn is_one(path: &Path) -> bool {
        let Ok(mut read) = source(path) else {
            return false;
        };
        let mut head = Vec::new();
        let _ = (&mut read).take(64).read_to_end(&mut head);
        let head = head.trim_ascii_start();
        let rest = head.strip_prefix(b"#").unwrap_or(head).trim_ascii_start();
        rest.starts_with(b"Instance") && rest.contains(&b',')
    }

    /// Opens a table, plain or compressed with gzip.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`read`](Self::read).
    pub fn open(path: &Path, limits: &Limits) -> Result<Self> {
        let name = path.to_string_lossy();
        let opened = source(path).map_err(|source| Error::Io {
            place: Place::file(&*name),
            source,
        });
        Self::read(opened?, &name, limits)
    }

    /// Reads a table; `name` is its name in errors.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if reading fails, [`Error::Truncated`] if compressed data end early, and
    /// [`Error::Malformed`] with the line if the table has another header, a line has the wrong
    /// number of cells, a cell is not a number, or a burst ends before it begins. Returns
    /// [`Error::Limit`] if the bursts exceed the memory budget or a line is longer than the limit
    /// for strings.
    pub fn read(read: impl Read, name: &str, limits: &Limits) -> Result<Self> {
        let mut lines = Lines {
            read: BufReader::new(read),
            name,
            text: Vec::new(),
            line: 0,
            offset: 0,
            next: 0,
            longest: u64::from(limits.string),
        };
        if !lines.next()? {
            return Err(lines.wrong("a line of names", "the end"));
        }
        let head = lines.text()?.to_owned();
        let mut data = Data::default();
        let cells = data.head(head.trim().trim_start_matches('#'));
        for (what, is_there) in [
            ("TaskId", cells.iter().any(|c| matches!(c, Cell::Task))),
            ("Begin_Time", cells.iter().any(|c| matches!(c, Cell::Begin))),
            ("End_Time", cells.iter().any(|c| matches!(c, Cell::End))),
            (
                "ClusterID",
                cells.iter().any(|c| matches!(c, Cell::Cluster)),
            ),
        ] {
            if !is_there {
                return Err(lines.wrong(&format!("a column {what}"), "none"));
            }
        }
        let size = (size_of::<DataRow>() + 8 * data.columns.len()) as u64;
        while lines.next()? {
            let text = lines.text()?;
            if text.trim().is_empty() {
                continue;
            }
            data.line(&lines, &cells)?;
            let bytes = data.rows.len() as u64 * size;
            if bytes > limits.memory {
                return Err(Error::Limit {
                    place: lines.place(),
                    what: "memory for bursts in bytes",
                    got: bytes,
                    limit: limits.memory,
                });
            }
        }
        Ok(data)
    }

    fn head(&mut self, head: &str) -> Vec<Cell> {
        let roles = [
            ("d_", Role::Raw),
            ("n_", Role::Normalised),
            ("x_", Role::Extrapolated),
        ];
        let cell = |name: &str| match name.trim() {
            "TaskId" => Cell::Task,
            "ThreadId" => Cell::Thread,
            "Begin_Time" => Cell::Begin,
            "End_Time" => Cell::End,
            "Line" => Cell::Line,
            "ClusterID" => Cell::Cluster,
            name => {
                let found = roles
                    .iter()
                    .find_map(|(prefix, role)| Some((name.strip_prefix(prefix)?, *role)));
                let Some((name, role)) = found else {
                    return Cell::Other;
                };
                self.columns.push(DataColumn {
                    name: name.to_owned(),
                    role,
                    values: Vec::new(),
                });
                Cell::Metric(self.columns.len() - 1)
            }
        };
        head.split(',').map(cell).collect()
    }

    fn line(&mut self, lines: &Lines<'_, impl Read>, cells: &[Cell]) -> Result<()> {
        let text = lines.text()?.trim_end();
        let mut row = DataRow {
            task: 0,
            thread: 0,
            begin: Ticks(0),
            end: Ticks(0),
            line: 0,
            cluster: Cluster::Noise,
        };
        let mut given = text.split(',').map(str::trim);
        for cell in cells {
            let Some(text) = given.next() else {
                return Err(lines.wrong(&format!("{} cells", cells.len()), "the end of the line"));
            };
            let whole = || -> Result<u64> {
                let parsed = text.parse().ok();
                parsed.ok_or_else(|| lines.wrong("a whole number", text))
            };
            let few = || -> Result<u32> {
                let parsed = text.parse().ok();
                parsed.ok_or_else(|| lines.wrong("a number of 32 bits", text))
            };
            match cell {
                Cell::Task => row.task = few()?,
                Cell::Thread => row.thread = few()?,
                Cell::Begin => row.begin = Ticks(whole()?),
                Cell::End => row.end = Ticks(whole()?),
                Cell::Line => row.line = whole()?,
                Cell::Cluster => {
                    let found = Cluster::from_value(whole()?);
                    row.cluster =
                        found.ok_or_else(|| lines.wrong("a cluster number of at least 1", text))?;
                }
                Cell::Metric(at) => {
                    let parsed = text.parse().ok();
                    let value = parsed.ok_or_else(|| lines.wrong("a number", text))?;
                    if let Some(column) = self.columns.get_mut(*at) {
                        column.values.push(value);
                    }
                }
                Cell::Other => {}
            }
        }
        if let Some(more) = given.next() {
            return Err(lines.wrong(&format!("{} cells", cells.len()), more));
        }
        if row.end < row.begin {
            return Err(lines.wrong("an end at or after the begin", &row.end.to_string()));
        }
        self.rows.push(row);
        Ok(())
    }
}

/// Opens a file, plain or compressed with gzip.
fn source(path: &Path) -> std::io::Result<Box<dyn Read>> {
    let mut file = BufReader::new(File::open(path)?);
    let is_packed = file.fill_buf()?.starts_with(&GZIP);
    Ok(if is_packed {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    })
}

struct Lines<'a, R> {
    /// Reader of the text.
    read: BufReader<R>,
    /// Name for errors.
    name: &'a str,
    /// Current line.
    text: Vec<u8>,
    /// Number of the current line.
    line: u64,
    /// Offset of the current line.
    offset: u64,
    /// Offset of the next line.
    next: u64,
    /// Maximum length of a line in bytes.
    longest: u64,
}

impl<R: Read> Lines<'_, R> {
    /// Reads the next line. Returns `false` at the end.
    fn next(&mut self) -> Result<bool> {
        self.text.clear();
        self.offset = self.next;
        self.line += 1;
        let mut limited = (&mut self.read).take(self.longest.saturating_add(1));
        let read = limited.read_until(b'\n', &mut self.text);
        let read = read.map_err(|source| match source.kind() {
            ErrorKind::UnexpectedEof => Error::Truncated {
                place: self.place(),
                expected: "the rest of the compressed data".into(),
            },
            _ => Error::Io {
                place: self.place(),
                source,
            },
        })?;
        self.next += read as u64;
        if read as u64 > self.longest {
            return Err(Error::Limit {
                place: self.place(),
                what: "length of a line in bytes",
                got: read as u64,
                limit: self.longest,
            });
        }
        Ok(read > 0)
    }

    fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.text).map_err(|_| self.wrong("text", "invalid UTF-8"))
    }

    fn place(&self) -> Place {
        let line = format!("line {}", self.line);
        Place::file(self.name).at(self.offset).record(line)
    }

    fn wrong(&self, expected: &str, got: &str) -> Error {
        Error::Malformed {
            place: self.place(),
            expected: expected.into(),
            got: format!("`{}`", got.chars().take(32).collect::<String>()),
        }
    }
}
