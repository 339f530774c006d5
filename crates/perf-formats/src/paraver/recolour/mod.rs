//! [`recolour`]: writes the cluster of each burst into a trace, which Paraver displays as colours;
//! [`colours`]: reads clusters from such a trace.

mod files;

pub use files::{name_clusters, recolour_files};

use crate::paraver::names;
use crate::paraver::reader::Reader;
use crate::paraver::record::{Batch, Object, OnCpu, Pair, Record};
use crate::paraver::write::Writer;
use crate::{Error, Result};
use perf_core::Ticks;
use std::collections::HashMap;
use std::io::Write;

/// Cluster of a burst, in the encoding of event 90000001.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Cluster {
    /// A counter that the clustering needs is missing.
    MissingData,
    /// The burst is too short.
    DurationFiltered,
    /// The burst is outside the range of a metric.
    RangeFiltered,
    /// The cluster of the burst has too small a share of the time.
    ThresholdFiltered,
    /// The burst belongs to no cluster.
    Noise,
    /// The burst belongs to this cluster, from 1.
    Id(u32),
}

impl Cluster {
    /// Returns the value of the event: 6 is cluster 1.
    ///
    /// ```
    /// use perf_formats::paraver::Cluster;
    /// assert_eq!((Cluster::Noise.value(), Cluster::Id(1).value()), (5, 6));
    /// ```
    pub fn value(self) -> u64 {
        match self {
            Cluster::MissingData => 1,
            Cluster::DurationFiltered => 2,
            Cluster::RangeFiltered => 3,
            Cluster::ThresholdFiltered => 4,
            Cluster::Noise => 5,
            Cluster::Id(id) => 5 + u64::from(id),
        }
    }

    /// Returns the cluster for a value. `None` for 0, which ends a burst, and for values beyond 32 bits.
    pub fn from_value(value: u64) -> Option<Self> {
        Some(match value {
            0 => return None,
            1 => Cluster::MissingData,
            2 => Cluster::DurationFiltered,
            3 => Cluster::RangeFiltered,
            4 => Cluster::ThresholdFiltered,
            5 => Cluster::Noise,
            id => Cluster::Id(u32::try_from(id - 5).ok()?),
        })
    }
}

/// Formats the name used in the `.pcf`.
impl std::fmt::Display for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Cluster::MissingData => "Missing Data",
            Cluster::DurationFiltered => "Duration Filtered",
            Cluster::RangeFiltered => "Range Filtered",
            Cluster::ThresholdFiltered => "Threshold Filtered",
            Cluster::Noise => "Noise",
            Cluster::Id(id) => return write!(f, "Cluster {id}"),
        })
    }
}

/// A burst and its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Coloured {
    /// Thread of the burst.
    pub object: Object,
    /// Begin of the burst.
    pub begin: Ticks,
    /// End of the burst.
    pub end: Ticks,
    /// Cluster of the burst.
    pub cluster: Cluster,
}

/// Counts of the changes by recolouring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recoloured {
    /// Number of inserted events, two for each burst.
    pub inserted: u64,
    /// Number of removed events of an earlier colouring.
    pub removed: u64,
    /// Number of bursts with duration 0, which events cannot represent.
    pub empty: u64,
    /// Number of invalid lines that were copied verbatim.
    pub copied: u64,
}

/// Copies a trace and inserts an event 90000001 at the begin and at the end of each burst. Its value is the cluster at
/// the begin and 0 at the end. Events of an earlier colouring are removed. Everything else is copied verbatim,
/// including invalid lines. Only the bursts are held in memory.
///
/// The events follow all records of the same time. Paraver needs
/// [`name_clusters`](super::name_clusters) to display names.
///
/// ```
/// use perf_core::Job;
/// use perf_formats::paraver::{Cluster, Coloured, Object, Reader, Writer, recolour};
/// use perf_formats::OpenOptions;
/// let text = "#Paraver (1/1/20 at 1:00):30:1(2):1:1(1:1)\n1:2:1:1:1:0:30:1\n1:2:1:1:1:30:40:0\n";
/// let object = Object { application: 1, task: 1, thread: 1 };
/// let (begin, end) = (perf_core::Ticks(0), perf_core::Ticks(30));
/// let bursts = [Coloured { object, begin, end, cluster: Cluster::Id(3) }];
/// let mut reader = Reader::new(text.as_bytes(), "x.prv", &OpenOptions::new(), &Job::default())?;
/// let mut writer = Writer::new(Vec::new(), "y.prv");
/// let done = recolour(&mut reader, &bursts, &mut writer)?;
/// assert_eq!(done.inserted, 2);
/// let coloured = String::from_utf8(writer.finish()?).expect("digits are UTF-8");
/// assert_eq!(coloured.lines().nth(2), Some("2:2:1:1:1:0:90000001:8"));
/// assert_eq!(coloured.lines().nth(4), Some("2:2:1:1:1:30:90000001:0"));
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Usage`] before anything is written if a burst belongs to an undeclared thread or ends before it
/// begins. Also returns the errors of the reader and the writer.
pub fn recolour<W: Write>(
    reader: &mut Reader<'_>,
    bursts: &[Coloured],
    writer: &mut Writer<W>,
) -> Result<Recoloured> {
    let marks = marks(reader, bursts)?;
    let mut done = Recoloured {
        empty: (bursts.len() - marks.len() / 2) as u64,
        ..Recoloured::default()
    };
    let mut marks = marks.iter().peekable();
    let mut cpus: HashMap<Object, u32> = HashMap::new();
    let mut kept = Vec::new();
    writer.text(reader.header_text())?;
    while let Some(batch) = reader.next_batch()? {
        for (index, record) in batch.iter().enumerate() {
            done.copied += lines(batch, index, writer)?;
            let (at, time) = match record {
                Record::State { at, begin, .. } => (at, begin),
                Record::Events { at, time, .. } => (at, time),
                Record::Communication(message) => (message.sender, message.logical_send),
                _ => {
                    writer.record(batch, index)?;
                    continue;
                }
            };
            while let Some(mark) = marks.next_if(|mark| mark.0 < time.0) {
                done.inserted += 1;
                insert(writer, mark, &cpus)?;
            }
            cpus.insert(at.object, at.cpu);
            done.removed += copy(writer, batch, index, record, &mut kept)?;
        }
        done.copied += lines(batch, batch.len(), writer)?;
    }
    for mark in marks {
        done.inserted += 1;
        insert(writer, mark, &cpus)?;
    }
    Ok(done)
}

/// Reads the clusters that [`recolour`] or an established tool has written into a trace.
///
/// Returns each interval between an event 90000001 with a non-zero value and the next event 90000001 of its thread,
/// sorted by thread and then by time. An interval that is still open at the end of the trace ends with the last state
/// or event of the trace. Intervals without duration are dropped.
///
/// ```
/// use perf_core::Job;
/// use perf_formats::paraver::{Cluster, Reader, colours};
/// use perf_formats::OpenOptions;
/// let text = "#Paraver (1/1/20 at 1:00):30:1(2):1:1(1:1)\n2:2:1:1:1:0:90000001:8\n\
///             1:2:1:1:1:0:30:1\n2:2:1:1:1:30:90000001:0\n";
/// let mut reader = Reader::new(text.as_bytes(), "x.prv", &OpenOptions::new(), &Job::default())?;
/// let found = colours(&mut reader)?;
/// assert_eq!((found.len(), found[0].cluster, found[0].end.0), (1, Cluster::Id(3), 30));
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of the reader.
pub fn colours(reader: &mut Reader<'_>) -> Result<Vec<Coloured>> {
    let mut found: Vec<Coloured> = Vec::new();
    let mut open: HashMap<Object, (Ticks, Cluster)> = HashMap::new();
    let mut last = Ticks(0);
    reader.each_batch(|batch| {
        for record in batch.iter() {
            let (object, time, pairs) = match record {
                Record::Events { at, time, pairs } => (at.object, time, pairs),
                Record::State { end, .. } => {
                    last = last.max(end);
                    continue;
                }
                _ => continue,
            };
            last = last.max(time);
            for pair in pairs.iter().filter(|pair| pair.kind == names::CLUSTER) {
                let next = Cluster::from_value(pair.bits()).map(|cluster| (time, cluster));
                let before = match next {
                    Some(next) => open.insert(object, next),
                    None => open.remove(&object),
                };
                found.extend(before.map(|before| stretch(object, before, time)));
            }
        }
        Ok(())
    })?;
    let left = open.into_iter();
    found.extend(left.map(|(object, before)| stretch(object, before, last)));
    // A second value at the same time replaces the first, whose interval then has duration 0.
    found.retain(|of| of.begin < of.end);
    found.sort_unstable_by_key(|of| (of.object, of.begin));
    Ok(found)
}

fn stretch(object: Object, (begin, cluster): (Ticks, Cluster), end: Ticks) -> Coloured {
    Coloured {
        object,
        begin,
        end,
        cluster,
    }
}

/// Time, thread and value of an event. Ends come before the begins of the same time.
type Mark = (u64, Object, u64);

fn marks(reader: &Reader<'_>, bursts: &[Coloured]) -> Result<Vec<Mark>> {
    let applications = &reader.header().applications;
    let is_known = |object: Object| {
        let index = |number: u32| (number as usize).checked_sub(1);
        let tasks = applications.get(index(object.application)?)?;
        let task = tasks.get(index(object.task)?)?;
        (1..=task.threads).contains(&object.thread).then_some(())
    };
    let mut marks = Vec::with_capacity(2 * bursts.len());
    for burst in bursts {
        if is_known(burst.object).is_none() || burst.end < burst.begin {
            return Err(Error::Usage {
                what: format!(
                    "a burst from {} to {} of {:?} belongs to no thread of the trace or ends before it begins",
                    burst.begin, burst.end, burst.object
                ),
            });
        }
        if burst.begin == burst.end {
            continue;
        }
        marks.push((burst.begin.0, burst.object, burst.cluster.value()));
        marks.push((burst.end.0, burst.object, 0));
    }
    marks.sort_unstable();
    Ok(marks)
}

fn insert<W: Write>(
    writer: &mut Writer<W>,
    (time, object, value): &Mark,
    cpus: &HashMap<Object, u32>,
) -> Result<()> {
    let at = OnCpu {
        // The number 0 is an unknown CPU.
        cpu: cpus.get(object).copied().unwrap_or_default(),
        object: *object,
    };
    writer.line(Record::Events {
        at,
        time: Ticks(*time),
        pairs: &[Pair::new(names::CLUSTER, *value)],
    })
}

/// Copies the invalid lines before record `index`, and returns their number.
fn lines<W: Write>(batch: &Batch, index: usize, writer: &mut Writer<W>) -> Result<u64> {
    let mut count = 0;
    for line in batch.skipped_before(index) {
        writer.text(line)?;
        count += 1;
    }
    Ok(count)
}

/// Copies a record without the events of an earlier colouring, and returns the number of removed events.
fn copy<W: Write>(
    writer: &mut Writer<W>,
    batch: &Batch,
    index: usize,
    record: Record<'_>,
    kept: &mut Vec<Pair>,
) -> Result<u64> {
    if let Record::Events { at, time, pairs } = record
        && pairs.iter().any(|pair| pair.kind == names::CLUSTER)
    {
        kept.clear();
        let others = pairs.iter().filter(|pair| pair.kind != names::CLUSTER);
        kept.extend(others);
        if !kept.is_empty() {
            let pairs = kept.as_slice();
            writer.line(Record::Events { at, time, pairs })?;
        }
        return Ok((pairs.len() - kept.len()) as u64);
    }
    writer.record(batch, index)?;
    Ok(0)
}
