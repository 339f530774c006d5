//! [`Groups`]: which streams fold into which row.

use crate::tree::Tree;
use crate::{Error, Result, Timelines};
use perf_core::LocationKind;

/// A group of [`Groups`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[repr(transparent)]
pub struct GroupId(pub u32);

impl GroupId {
    /// The place of the group in its table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// At which level of the system tree streams are folded, see [`Groups::by`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum GroupBy {
    /// One row a kind of location for the whole recording.
    All,
    /// One row a machine node and kind.
    Node,
    /// One row a process and kind.
    #[default]
    Process,
    /// One row an accelerator where the recording has them, else as [`Process`](Self::Process).
    Device,
    /// No folding: one row a location.
    Location,
}

/// Streams that fold into one row.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Group {
    /// Name for people, such as `MPI Rank 0, threads`.
    pub label: String,
    /// Kind of all its locations.
    pub kind: LocationKind,
    /// Its level; `None` for a group of one's own.
    pub level: Option<GroupBy>,
    /// Its streams, ascending.
    pub streams: Vec<u32>,
    /// The groups it unfolds into. Empty for a single stream.
    pub children: Vec<GroupId>,
    #[cfg_attr(feature = "serde", serde(skip))]
    depth: u32,
}

impl Group {
    /// Levels of groups below it.
    pub(crate) fn depth(&self) -> usize {
        self.depth as usize
    }
}

/// Fold groups: a forest over the streams of [`Timelines`], and which of its groups are rows.
///
/// The hierarchy is kind > node > process > device > location. CPU threads and accelerator
/// streams never share a group: old recordings keep the streams of a device in the group of the
/// process, so groups are split by kind of location, and an accelerator is joined to the process
/// that created it. Metric sources run no code and are in no group.
///
/// ```
/// use perf_core::Job;
/// use perf_fold::{GroupBy, Groups, RegionMap, Timelines};
/// let trace = perf_testdata::cosmo::trace();
/// let map = RegionMap::by_name(trace.definitions())?;
/// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
/// let groups = Groups::by(&timelines, GroupBy::Process);
/// assert_eq!(groups.rows().len(), 40);
/// let first = groups.get(groups.rows()[0]).expect("there is one");
/// assert_eq!(first.label, "MPI Rank 0, threads");
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    pub(crate) groups: Vec<Group>,
    pub(crate) rows: Vec<GroupId>,
    pub(crate) left_out: Vec<u32>,
    streams: usize,
}

/// Deepest nesting of groups of one's own. Nested folds recurse this far.
const DEEPEST: u32 = 64;

impl Groups {
    /// The groups of the system tree, with those of one level as rows.
    ///
    /// Rows are in the order of the system tree, the threads of a process before its streams.
    pub fn by(timelines: &Timelines, by: GroupBy) -> Self {
        Tree::grow(timelines).groups(by)
    }

    /// No groups yet, for groups of one's own by [`add`](Self::add) and [`join`](Self::join).
    pub fn none(timelines: &Timelines) -> Self {
        Groups {
            streams: timelines.len(),
            ..Groups::default()
        }
    }

    /// Adds a group of one's own and makes it a row. It unfolds into its streams.
    ///
    /// # Errors
    /// [`Error::UnknownStream`], and [`Error::MixedKinds`] unless all streams are CPU threads,
    /// or all are accelerator streams, or all of unknown kind.
    pub fn add(
        &mut self,
        timelines: &Timelines,
        label: impl Into<String>,
        streams: &[u32],
    ) -> Result<GroupId> {
        let label = label.into();
        let count = self.streams.min(timelines.len());
        let missing = streams.iter().find(|stream| **stream as usize >= count);
        if let Some(stream) = missing {
            let stream = *stream;
            return Err(Error::UnknownStream { stream, count });
        }
        let mut kinds = streams.iter().map(|stream| timelines.kind(*stream));
        let kind = kinds.next().unwrap_or_default();
        if kind == LocationKind::Metric || kinds.any(|other| other != kind) {
            return Err(Error::MixedKinds { label });
        }
        let mut streams = streams.to_vec();
        streams.sort_unstable();
        streams.dedup();
        let leaf = |stream: &u32| self.leaf(timelines, *stream);
        let children = streams.iter().map(leaf).collect();
        let id = self.push(label, kind, None, streams, children);
        self.rows.push(id);
        Ok(id)
    }

    /// Joins groups into one that unfolds into them, and makes it a row in their place.
    ///
    /// # Errors
    /// [`Error::UnknownGroup`], [`Error::MixedKinds`] for groups of different kinds, and
    /// [`Error::TooDeep`] past 64 levels.
    pub fn join(&mut self, label: impl Into<String>, members: &[GroupId]) -> Result<GroupId> {
        let label = label.into();
        let mut streams = Vec::new();
        let mut kind = None;
        for id in members {
            let group = self.get(*id).ok_or(self.unknown(*id))?;
            if *kind.get_or_insert(group.kind) != group.kind {
                return Err(Error::MixedKinds { label });
            }
            if group.depth >= DEEPEST {
                let limit = DEEPEST;
                return Err(Error::TooDeep { label, limit });
            }
            streams.extend_from_slice(&group.streams);
        }
        streams.sort_unstable();
        streams.dedup();
        let kind = kind.unwrap_or_default();
        let id = self.push(label, kind, None, streams, members.to_vec());
        self.rows.retain(|row| !members.contains(row));
        self.rows.push(id);
        Ok(id)
    }

    /// All groups, by [`GroupId`]. Children come before the group they are part of.
    pub fn all(&self) -> &[Group] {
        &self.groups
    }

    /// A group by id.
    pub fn get(&self, id: GroupId) -> Option<&Group> {
        self.groups.get(id.index())
    }

    /// The groups that are rows, from the top.
    pub fn rows(&self) -> &[GroupId] {
        &self.rows
    }

    /// Streams that fold into no group: sources of metrics.
    pub fn left_out(&self) -> &[u32] {
        &self.left_out
    }

    /// The same groups with other rows.
    ///
    /// # Errors
    /// [`Error::UnknownGroup`].
    pub fn with_rows(&self, rows: &[GroupId]) -> Result<Self> {
        if let Some(id) = rows.iter().find(|id| self.get(**id).is_none()) {
            return Err(self.unknown(*id));
        }
        Ok(Groups {
            rows: rows.to_vec(),
            ..self.clone()
        })
    }

    /// The same groups with one row unfolded: replaced, in place, by its children. A row of a
    /// single stream stays as it is.
    ///
    /// # Errors
    /// [`Error::UnknownGroup`] for a row that is not there.
    pub fn unfold(&self, row: usize) -> Result<Self> {
        let count = self.rows.len();
        let what = "row";
        let id = self.rows.get(row);
        let id = *id.ok_or(Error::UnknownGroup {
            what,
            id: row,
            count,
        })?;
        let mut rows = self.rows.clone();
        let children = self.get(id).map(|group| group.children.clone());
        if let Some(children) = children.filter(|children| !children.is_empty()) {
            rows.splice(row..=row, children);
        }
        self.with_rows(&rows)
    }

    pub(crate) fn streams(&self) -> usize {
        self.streams
    }

    fn unknown(&self, id: GroupId) -> Error {
        Error::UnknownGroup {
            what: "group",
            id: id.index(),
            count: self.groups.len(),
        }
    }

    pub(crate) fn push(
        &mut self,
        label: String,
        kind: LocationKind,
        level: Option<GroupBy>,
        streams: Vec<u32>,
        children: Vec<GroupId>,
    ) -> GroupId {
        let depths = children
            .iter()
            .filter_map(|id| Some(self.get(*id)?.depth + 1));
        let depth = depths.max().unwrap_or(0);
        // Bounded by a few levels for each stream, and streams are locations, of which there are
        // at most 2^32; memory ends long before.
        let id = GroupId(self.groups.len() as u32);
        self.groups.push(Group {
            label,
            kind,
            level,
            streams,
            children,
            depth,
        });
        id
    }

    pub(crate) fn leaf(&mut self, timelines: &Timelines, stream: u32) -> GroupId {
        let location = timelines.location(stream).unwrap_or_default();
        let label = timelines.system().label(location);
        let kind = timelines.kind(stream);
        let level = Some(GroupBy::Location);
        self.push(label, kind, level, vec![stream], Vec::new())
    }
}
