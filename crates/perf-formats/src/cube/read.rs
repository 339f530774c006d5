//! [`Cube`]: an open `.cubex` archive or `.cube` document with its [`Profile`], diagnostics and
//! other archive members; also writes a profile derived from it.

use super::anchor::{self, Anchor};
use super::cube3_rows::TextRows;
use super::cubex_rows::FileRows;
use super::derived::DerivedRows;
use super::index::Files;
use super::names::property;
use super::resolve::{Resolved, Resolver};
use super::row_order::Order;
use super::rules;
use super::tar::{self, Member};
use super::write::{WriteOptions, write_members};
use crate::bytes::{self, Bytes};
use crate::read_context::ReadContext;
use crate::{Error, OpenOptions, Result};
use perf_core::{CallPathId, Diagnostics, Job, MetricId, Profile, RowStore, Scope};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// A Cube profile from a CUBE4 archive (`.cubex`) or Cube3 document (`.cube`), compressed with gzip
/// or not.
///
/// Ids are those of the file as far as possible. Location `i` is column `i`; metrics, regions and
/// parts of the machine are ordered by their ids. So are call paths, unless a parent has a higher
/// id than its child; in that case they have the order of the document.
///
/// Rows are returned as stored; [`Profile::scoped`] converts between inclusive and exclusive
/// values. Opening reads only the anchor and the indices; rows are read on request.
///
/// ```no_run
/// use perf_core::{CallPathId, Job, MetricId, Scope};
/// use perf_formats::{OpenOptions, cube::Cube};
/// let cube = Cube::open("profile.cubex", &OpenOptions::new(), &Job::default())?;
/// let profile = cube.profile();
/// let time = profile.metric("time").expect("Score-P measures time");
/// if let Some(row) = profile.scoped(time, CallPathId(0), Scope::Exclusive)? {
///     println!("{:?}", row.to_f64());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cube {
    /// Profile with its rows.
    profile: Profile,
    /// Version of the format.
    version: String,
    /// Ids of the file, by call path.
    cnodes: Vec<u64>,
    /// Derived metrics, if there are any.
    derived: Option<Arc<DerivedRows>>,
    /// Archive members by name.
    members: BTreeMap<String, Member>,
    /// Bytes of the archive.
    bytes: Bytes,
    /// Repairs, losses and notes.
    diagnostics: Diagnostics,
}

impl Cube {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system cannot read, [`Error::Truncated`], [`Error::Malformed`],
    /// [`Error::Unsupported`] or [`Error::Limit`] with the place in the file, and [`Error::Strict`]
    /// for the first repair or loss in strict mode.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions, job: &Job) -> Result<Self> {
        let options = &ReadContext::new(options, job);
        let bytes = Bytes::open(path.as_ref(), options.get_limits(), &options.job)?;
        Cube::read(bytes, options)
    }

    /// Reads a file in memory; errors call it `name`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`open`](Self::open), except [`Error::Io`].
    pub fn from_bytes(
        bytes: Vec<u8>,
        name: &str,
        options: &OpenOptions,
        job: &Job,
    ) -> Result<Self> {
        let options = &ReadContext::new(options, job);
        let bytes = Bytes::new(bytes, name, options.get_limits(), &options.job)?;
        Cube::read(bytes, options)
    }

    fn read(bytes: Bytes, options: &ReadContext) -> Result<Self> {
        let head = bytes.read(0, bytes.len().min(512), "a file")?;
        let cube = if tar::is_tar(&head) {
            Cube::archive(bytes, options)
        } else if is_document(&head) {
            Cube::document(bytes, options)
        } else {
            Err(Error::Malformed {
                place: bytes.place(0),
                expected: "a tar archive or an XML document".into(),
                got: "another file".into(),
            })
        }?;
        options.judge(&cube.diagnostics)?;
        Ok(cube)
    }

    fn document(bytes: Bytes, options: &ReadContext) -> Result<Self> {
        let mut found = Diagnostics::default();
        let file = Arc::clone(bytes.name());
        options.advance(bytes.len(), bytes.len())?;
        let document = bytes.into_memory(&options.job)?;
        let mut anchor = anchor::parse(&document, &file, options, &mut found)?;
        let rows = std::mem::take(&mut anchor.rows);
        let version = std::mem::take(&mut anchor.version);
        let mut resolver = Resolver {
            file: &file,
            options,
            found: &mut found,
            is_text: true,
        };
        let resolved = resolver.resolve(anchor)?;
        let rows = TextRows::new(document, &file, rows, &resolved, &mut found)?;
        // The rows hold the document; Cube3 has no members.
        let bytes = Bytes::new(Vec::new(), &file, options.get_limits(), &options.job)?;
        Cube::assemble(
            resolved,
            Arc::new(rows),
            version,
            bytes,
            BTreeMap::new(),
            found,
            &options.job,
        )
    }

    fn archive(bytes: Bytes, options: &ReadContext) -> Result<Self> {
        let mut found = Diagnostics::default();
        let mut members = tar::members(&bytes, options, &mut found)?;
        let total = bytes.len();
        let Some(member) = members.remove(ANCHOR) else {
            return Err(Error::Malformed {
                place: bytes.place(bytes.len()),
                expected: format!("a member {ANCHOR}"),
                got: format!("{} others", members.len()),
            });
        };
        let file: Arc<str> = format!("{}/{ANCHOR}", bytes.name()).into();
        let mut anchor = read_anchor(&bytes, member, &file, options, &mut found)?;
        options.advance(member.size, total)?;
        let version = std::mem::take(&mut anchor.version);
        let mut resolver = Resolver {
            file: &file,
            options,
            found: &mut found,
            is_text: false,
        };
        let mut resolved = resolver.resolve(anchor)?;
        let locations = resolved.system.locations().len() as u64;
        let mut orders = BTreeMap::new();
        let mut metrics = Vec::with_capacity(resolved.stored.len());
        for stored in &resolved.stored {
            let index = members.remove(&format!("{}.index", stored.member));
            let data = members.remove(&format!("{}.data", stored.member));
            let (Some(index), Some(data)) = (index, data) else {
                if index.is_some() || data.is_some() {
                    let place = bytes.place(0).record(stored.member.clone());
                    found.add(rules::HALF_METRIC, place);
                }
                metrics.push(None);
                continue;
            };
            if !stored.has_rows {
                metrics.push(None);
                continue;
            }
            let files = Files {
                bytes: &bytes,
                name: &stored.member,
                index,
                data,
            };
            let order = stored.order;
            let (forest, ids) = (&resolved.forest, &resolved.cnodes);
            let paths = orders.entry(order).or_insert_with(|| {
                let mut rows = forest.rows(order);
                // Rows follow the ids of the file, which may differ from the order of call paths
                // here.
                if order == Order::Defined {
                    rows.sort_by_key(|path| ids.get(path.index()));
                }
                rows
            });
            let row = stored.kind.size().checked_mul(locations);
            let row = row.ok_or_else(|| Error::Limit {
                place: bytes.place(index.start).record(stored.member.clone()),
                what: "size of a row in bytes",
                got: u64::MAX,
                limit: u64::MAX - 1,
            })?;
            let table = files.table(paths, row, &mut found)?;
            metrics.push(Some((table, stored.kind)));
            options.advance(index.size, total)?;
        }
        let names = members.keys().cloned();
        let names = names.map(|name| (property::MEMBER.to_string(), name));
        resolved.properties.extend(names);
        let rows = FileRows {
            bytes: bytes.clone(),
            metrics,
            held: Default::default(),
        };
        Cube::assemble(
            resolved,
            Arc::new(rows),
            version,
            bytes,
            members,
            found,
            &options.job,
        )
    }

    fn assemble(
        resolved: Resolved,
        rows: Arc<dyn RowStore>,
        version: String,
        bytes: Bytes,
        members: BTreeMap<String, Member>,
        mut found: Diagnostics,
        job: &Job,
    ) -> Result<Self> {
        let put = |calls, system, regions, metrics, rows| {
            let profile = Profile::new(system, regions, calls, metrics, rows)?;
            Ok::<_, Error>(
                profile
                    .with_topologies(resolved.topologies)
                    .with_properties(resolved.properties),
            )
        };
        let mut profile = put(
            resolved.calls,
            resolved.system,
            resolved.regions,
            resolved.metrics,
            rows,
        )?;
        let derived = DerivedRows::new(&profile, bytes.name(), &mut found, job)?.map(Arc::new);
        if let Some(derived) = &derived {
            profile = profile.with_rows(Arc::clone(derived) as Arc<dyn RowStore>);
        }
        Ok(Cube {
            profile,
            version,
            cnodes: resolved.cnodes,
            derived,
            members,
            bytes,
            diagnostics: found,
        })
    }

    /// Returns the profile. Metrics have [`property`](super::property) entries for further contents
    /// of the file.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Converts into the profile and the diagnostics of reading it.
    pub fn into_parts(self) -> (Profile, Diagnostics) {
        (self.profile, self.diagnostics)
    }

    /// Returns the repairs, losses and notes.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Returns the version of the format, such as `4.4`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the id of a call path in the file.
    pub fn cnode_id(&self, path: CallPathId) -> Option<u64> {
        self.cnodes.get(path.index()).copied()
    }

    /// Returns a metric of a call path aggregated over all locations: the sum, or the combination
    /// that [`combine`](perf_core::ProfileMetric::combine) specifies. Derived metrics are evaluated
    /// after aggregation, so that a ratio is a ratio of sums.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Profile::row`], and [`perf_core::Error::Read`] for an unsupported
    /// derived metric.
    pub fn total(&self, metric: MetricId, path: CallPathId, scope: Scope) -> Result<f64> {
        if let Some(derived) = &self.derived
            && derived.is_derived(metric)
        {
            return Ok(derived.total(metric, path, scope)?);
        }
        let row = self.profile.scoped(metric, path, scope)?;
        let about = self.profile.metrics().get(metric.index());
        Ok(about.map_or(0.0, |about| {
            let row = row.unwrap_or_else(|| Arc::new(about.zeros(0)));
            about.combine.total(&row).as_f64()
        }))
    }

    /// Iterates over the names of the members that hold neither the anchor nor rows, such as
    /// `remapping.spec`.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// Writes a profile that was derived from this one, for example by adding metrics, together
    /// with the free members of this file. [`write()`](super::write()) writes a profile without
    /// them.
    ///
    /// ```no_run
    /// use perf_core::Job;
    /// use perf_formats::{OpenOptions, cube::{Cube, WriteOptions}};
    /// let cube = Cube::open("profile.cubex", &OpenOptions::new(), &Job::default())?;
    /// let to = std::fs::File::create("copy.cubex")?;
    /// let lost = cube.write(cube.profile(), to, &WriteOptions::new(), &Job::default())?;
    /// assert!(lost.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`write()`](super::write()), and [`Error::Io`] if a member cannot be
    /// read.
    pub fn write(
        &self,
        profile: &Profile,
        to: impl Write,
        options: &WriteOptions,
        job: &Job,
    ) -> Result<Diagnostics> {
        let members = self.members.keys().map(String::as_str);
        let members: Vec<_> = members.collect();
        let read = |name: &str| Ok(self.member(name)?.unwrap_or_default());
        write_members(profile, (&members, &read), to, options, job)
    }

    /// Returns the bytes of such a member, or `None` if there is none with that name.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system cannot read.
    pub fn member(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(member) = self.members.get(name) else {
            return Ok(None);
        };
        let bytes = self.bytes.read(member.start, member.size, "the member")?;
        Ok(Some(bytes))
    }
}

const ANCHOR: &str = "anchor.xml";

/// Number of bytes of the anchor that are read at once.
const PART: usize = 1 << 16;

fn read_anchor(
    bytes: &Bytes,
    member: Member,
    file: &Arc<str>,
    options: &ReadContext,
    found: &mut Diagnostics,
) -> Result<Anchor> {
    let head = bytes.read(member.start, member.size.min(2), "the anchor")?;
    if head != bytes::GZIP {
        return anchor::parse_parts(bytes, member, PART, file, options, found);
    }
    let packed = bytes.read(member.start, member.size, "the anchor")?;
    let document = bytes::unpack(packed.as_slice(), file, options.get_limits(), &options.job)?;
    anchor::parse(&document, file, options, found)
}

/// Returns `true` if a file begins like an XML document.
pub(super) fn is_document(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    head.trim_ascii_start().starts_with(b"<")
}
