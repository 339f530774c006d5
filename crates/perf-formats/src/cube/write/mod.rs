//! [`write()`]: writes a profile as a `.cubex` archive: the anchor, and for each metric an index
//! and its rows, sparse or dense ([`Layout`]) and compressed or not ([`WriteOptions`]).

mod anchor;
mod archive;

use super::data_type::DataType;
use super::names::property;
use super::row_order::{Forest, Order};
use super::rules;
use crate::{Error, Result};
use anchor::Anchor;
use archive::Archive;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use perf_core::{
    CallPathId, Combine, Diagnostics, Job, MetricId, Place, Profile, ProfileMetric, Severities,
};
use std::collections::HashSet;
use std::io::Write;

/// Selection of the rows to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// Only the rows that the profile has.
    #[default]
    Sparse,
    /// Rows of all call paths. Minimum and maximum metrics stay sparse, because a row of zeros
    /// differs from a row without values.
    Dense,
}

perf_core::parameters! {
    /// Options for writing a profile.
    ///
    /// ```
    /// use perf_formats::cube::{Layout, WriteOptions};
    /// let options = WriteOptions::new().layout(Layout::Dense).compress(true);
    /// assert!(options != WriteOptions::new());
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct WriteOptions {
        /// Sets the rows to write. Default: [`Layout::Sparse`].
        layout: Layout = Layout::default(),
        /// Sets compression of each row with zlib at its fastest level, like the reference library.
        /// Default: false.
        compress: bool = false,
    }
}

impl WriteOptions {
    /// Returns the defaults: sparse and uncompressed.
    pub fn new() -> Self {
        WriteOptions::default()
    }
}

/// Writes a profile as a CUBE4 archive (version 4.4 of the anchor, little-endian), and returns the
/// parts that the format cannot represent.
///
/// Metrics keep the data type of [`property::DATA_TYPE`](super::property::DATA_TYPE) if their
/// values fit it; others are written with 64 bits. Rows are read from the profile one by one. Only
/// with compression is a metric held in memory, one at a time.
///
/// ```
/// use perf_core::Job;
/// use perf_core::*;
/// use perf_formats::{OpenOptions, cube};
/// use std::sync::Arc;
/// let system = SystemTree::new(vec![], vec![], vec![Location::default()], &Limits::default())?;
/// let mut calls = CallTree::default();
/// let main = calls.child(None, RegionId(0))?;
/// let visits = ProfileMetric {
///     metric: Metric { name: "visits".into(), ..Default::default() },
///     scope: Scope::Exclusive,
///     ..Default::default()
/// };
/// let mut rows = Rows::default();
/// rows.insert(MetricId(0), main, Severities::U64(vec![7]));
/// let regions = vec![Region::named("main")];
/// let profile = Profile::new(system, regions, calls, vec![visits], Arc::new(rows))?;
///
/// let mut bytes = Vec::new();
/// cube::write(&profile, &mut bytes, &cube::WriteOptions::new(), &Job::default())?;
/// let back = cube::Cube::from_bytes(bytes, "memory", &OpenOptions::new(), &Job::default())?;
/// assert_eq!(back.profile().total(MetricId(0), main)?, Value::U64(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Free members of the original archive, such as `remapping.spec`, are not part of the profile and
/// are counted as lost; [`Cube::write`](super::Cube::write) also writes them.
///
/// Progress is reported in rows of the phase `cube`. A cancellation check is made before each row;
/// a row of ten million locations is read and compressed as a whole.
///
/// ```
/// use perf_core::{Job, Profile};
/// use perf_formats::{Error, cube};
/// let trace = perf_core::samples::cosmo::trace();
/// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
/// let job = Job::default();
/// let write = || cube::write(&profile, std::io::sink(), &cube::WriteOptions::new(), &job);
/// assert!(write().is_ok());
/// job.cancel();
/// assert!(matches!(write(), Err(Error::Cancelled(_))));
/// # Ok::<(), perf_core::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Io`] if `to` fails, [`Error::Usage`] if a row does not have the type of its
/// metric, [`Error::Core`] if the profile cannot read a row, and [`Error::Cancelled`] if the job is
/// cancelled; the output is then not a valid archive.
pub fn write(
    profile: &Profile,
    to: impl Write,
    options: &WriteOptions,
    job: &Job,
) -> Result<Diagnostics> {
    write_members(profile, (&[], &|_| Ok(Vec::new())), to, options, job)
}

/// Names of the free members, and a function that reads one.
type Members<'a> = (&'a [&'a str], &'a dyn Fn(&str) -> Result<Vec<u8>>);

pub(super) fn write_members(
    profile: &Profile,
    (names, read): Members<'_>,
    to: impl Write,
    options: &WriteOptions,
    job: &Job,
) -> Result<Diagnostics> {
    job.check()?;
    let mut lost = Diagnostics::default();
    let (names, others): (Vec<&str>, Vec<&str>) =
        names.iter().copied().partition(|name| is_free(name));
    let known: HashSet<&str> = names.iter().chain(&others).copied().collect();
    let of_profile = profile.properties().iter();
    let missing =
        of_profile.filter(|(name, own)| name == property::MEMBER && !known.contains(own.as_str()));
    for name in missing
        .map(|(_, own)| own.as_str())
        .chain(others.iter().copied())
    {
        lost.add(rules::MEMBER_NOT_WRITTEN, Place::file(name));
    }
    let paths = profile.calls().paths();
    let parents: Vec<_> = paths.iter().map(|path| path.parent).collect();
    let forest = Forest::new(&parents, 0..paths.len() as u32);
    let kinds: Vec<_> = profile.metrics().iter().map(kind).collect();
    let mut archive = Archive::new(to);
    for ((about, (_, kind)), at) in profile.metrics().iter().zip(&kinds).zip(0u32..) {
        if !is_derived(about) {
            let metric = Metric {
                profile,
                id: MetricId(at),
                about,
                kind: *kind,
            };
            metric.write(&forest, options, &mut archive, job)?;
        }
    }
    for name in names {
        job.check()?;
        let mut bytes = read(name)?;
        if !bytes.is_empty() && bytes.len().is_multiple_of(512) {
            bytes.push(b'\n');
            lost.add(rules::MEMBER_LENGTHENED, Place::file(name));
        }
        archive.member(name, &bytes)?;
    }
    let names = kinds.into_iter().map(|(name, _)| name).collect();
    let document = Anchor::new(profile, &forest, names, &mut lost).document();
    // Another newline keeps the size from being a multiple of 512.
    let document = match document.len() % 512 {
        0 => document + "\n",
        _ => document,
    };
    archive.member("anchor.xml", document.as_bytes())?;
    archive.finish()?;
    Ok(lost)
}

/// Returns `true` if a member may be written under this name: it fits the header and differs from
/// the names of the written profile.
fn is_free(name: &str) -> bool {
    let stem = name.strip_suffix(".index").or(name.strip_suffix(".data"));
    let stem = stem.map(|stem| stem.strip_prefix("ghost_").unwrap_or(stem));
    let is_metric = |stem: &str| !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_digit());
    let is_taken = name == "anchor.xml" || stem.is_some_and(is_metric);
    !is_taken && !name.is_empty() && name.len() <= archive::LONGEST && !name.contains('\0')
}

/// Returns a property of a metric.
fn value<'a>(about: &'a ProfileMetric, name: &str) -> Option<&'a str> {
    let own = about.properties.iter().find(|(own, _)| own == name);
    own.map(|(_, value)| value.as_str())
}

/// Returns `true` if a metric is written as an expression, without rows.
fn is_derived(about: &ProfileMetric) -> bool {
    value(about, property::METRIC_TYPE).is_some_and(|kind| kind.contains("DERIVED"))
}

/// Returns the data type for writing a metric: the original one, if the values still fit.
fn kind(about: &ProfileMetric) -> (String, DataType) {
    let own = value(about, property::DATA_TYPE).map(|name| (name, DataType::named(name)));
    let (value_type, combine) = (about.metric.value_type, about.combine);
    match own {
        Some((name, _)) if is_derived(about) => (name.into(), DataType::Double),
        Some((name, Some(kind)))
            if kind.value_type() == value_type && kind.combine() == combine =>
        {
            (name.into(), kind)
        }
        _ => DataType::for_values(value_type, combine),
    }
}

/// A metric that is being written.
struct Metric<'a> {
    /// Profile that contains the metric.
    profile: &'a Profile,
    /// Id of the metric.
    id: MetricId,
    /// Description of the metric.
    about: &'a ProfileMetric,
    /// Data type in the file.
    kind: DataType,
}

impl Metric<'_> {
    fn write<W: Write>(
        &self,
        forest: &Forest,
        options: &WriteOptions,
        archive: &mut Archive<W>,
        job: &Job,
    ) -> Result<()> {
        let stored = self.profile.paths(self.id);
        if stored.is_empty() {
            return Ok(());
        }
        let is_simple = value(self.about, property::METRIC_TYPE) == Some("SIMPLE");
        let all = forest.rows(Order::of(self.about.scope, is_simple));
        let is_extreme = matches!(self.about.combine, Combine::Minimum | Combine::Maximum);
        let is_dense = options.layout == Layout::Dense && !is_extreme;
        let mut index = b"CUBEX.INDEX".to_vec();
        index.extend(1u32.to_le_bytes());
        index.extend(0u16.to_le_bytes());
        let rows: Vec<CallPathId> = if is_dense {
            index.push(3);
            all
        } else {
            let mut is_stored = vec![false; all.len()];
            for path in &stored {
                if let Some(flag) = is_stored.get_mut(path.index()) {
                    *flag = true;
                }
            }
            let numbers: Vec<u32> = (0u32..)
                .zip(&all)
                .filter(|(_, path)| is_stored[path.index()])
                .map(|(number, _)| number)
                .collect();
            index.push(1);
            index.extend((numbers.len() as u32).to_le_bytes());
            index.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            numbers.iter().map(|number| all[*number as usize]).collect()
        };
        archive.member(&format!("{}.index", self.name()), &index)?;
        if options.compress {
            self.packed(&rows, archive, job)
        } else {
            self.plain(&rows, archive, job)
        }
    }

    fn name(&self) -> String {
        match value(self.about, property::VISIBILITY) {
            Some("GHOST") => format!("ghost_{}", self.id),
            _ => self.id.to_string(),
        }
    }

    /// Encodes a row into a reusable buffer.
    fn row(&self, path: CallPathId, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.clear();
        let locations = self.profile.system().locations().len();
        let row = self.profile.row(self.id, path)?;
        let zeros;
        let row: &Severities = match &row {
            Some(row) => row,
            None => {
                zeros = self.about.zeros(locations);
                &zeros
            }
        };
        let is_written = row.len() == locations && self.kind.encode(row, bytes).is_some();
        is_written.then_some(()).ok_or_else(|| Error::Usage {
            what: format!(
                "metric {}, call path {path}: the row does not fit {locations} values of type {}",
                self.about.metric.name,
                kind(self.about).0,
            ),
        })
    }

    fn plain<W: Write>(
        &self,
        rows: &[CallPathId],
        archive: &mut Archive<W>,
        job: &Job,
    ) -> Result<()> {
        const MAGIC: &[u8] = b"CUBEX.DATA";
        let locations = self.profile.system().locations().len() as u64;
        // 64 bits: the product exceeds 2^32 in large runs, where the reference writer fails.
        let size = locations
            .checked_mul(self.kind.size())
            .and_then(|row| row.checked_mul(rows.len() as u64))
            .and_then(|size| size.checked_add(MAGIC.len() as u64 + 1))
            .ok_or_else(|| Error::Usage {
                what: format!("metric {}: too many values", self.about.metric.name),
            })?;
        let size = size - 1;
        let filler: &[u8] = if size.is_multiple_of(512) { &[0] } else { &[] };
        let size = size + filler.len() as u64;
        archive.begin(&format!("{}.data", self.name()), size)?;
        archive.write(MAGIC)?;
        let mut bytes = Vec::new();
        for path in rows {
            job.check()?;
            self.row(*path, &mut bytes)?;
            archive.write(&bytes)?;
            job.advance("cube", 1, 0);
        }
        archive.write(filler)?;
        archive.end(size)
    }

    fn packed<W: Write>(
        &self,
        rows: &[CallPathId],
        archive: &mut Archive<W>,
        job: &Job,
    ) -> Result<()> {
        let mut table = Vec::with_capacity(rows.len() * 24);
        let mut streams = Vec::new();
        let mut bytes = Vec::new();
        let mut unpacked = 0u64;
        for path in rows {
            job.check()?;
            job.advance("cube", 1, 0);
            self.row(*path, &mut bytes)?;
            let start = streams.len() as u64;
            let mut encoder = ZlibEncoder::new(streams, Compression::fast());
            let packed = encoder.write_all(&bytes).and_then(|()| encoder.finish());
            streams = packed.map_err(|source| archive.failed(source))?;
            let size = streams.len() as u64 - start;
            let entry = [unpacked, start, size];
            table.extend(entry.iter().flat_map(|number| number.to_le_bytes()));
            unpacked += bytes.len() as u64;
        }
        let mut data = b"ZCUBEX.DATA".to_vec();
        data.extend((rows.len() as u64).to_le_bytes());
        data.extend(table);
        data.extend(streams);
        if data.len().is_multiple_of(512) {
            data.push(0);
        }
        archive.member(&format!("{}.data", self.name()), &data)
    }
}
