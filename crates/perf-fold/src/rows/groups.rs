//! [`Groups`]: forest of groups of streams, by level of the system tree ([`GroupBy`]) or
//! user-defined, of which some are the rows of a fold; groups can be joined, and rows unfolded.

use super::system_groups::Tree;
use crate::{Error, Result, Timelines};
use perf_core::LocationKind;

/// Number of a group in [`Groups`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[repr(transparent)]
pub struct GroupId(pub u32);

impl GroupId {
    /// Returns the index of the group in its table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Level of the system tree at which streams are folded, see [`Groups::by`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum GroupBy {
    /// One row for each kind of location in the whole recording.
    All,
    /// One row for each machine node and kind of location.
    Node,
    /// One row for each process and kind of location.
    #[default]
    Process,
    /// One row for each accelerator if the recording defines accelerators, otherwise like
    /// [`Process`](Self::Process).
    Device,
    /// No folding: one row for each location.
    Location,
}

/// Streams that fold into one row.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Group {
    /// Display name, such as `MPI Rank 0, threads`.
    pub label: String,
    /// Kind of all locations in the group.
    pub kind: LocationKind,
    /// Level of the group; `None` for a user-defined group.
    pub level: Option<GroupBy>,
    /// Streams of the group in ascending order.
    pub streams: Vec<u32>,
    /// Groups into which this group unfolds. Empty for a single stream.
    pub children: Vec<GroupId>,
    /// Number of levels of groups below this group.
    #[cfg_attr(feature = "serde", serde(skip))]
    depth: u32,
}

impl Group {
    /// Returns the number of levels of groups below this group.
    pub(crate) fn depth(&self) -> usize {
        self.depth as usize
    }
}

/// Fold groups: a forest over the streams of [`Timelines`], with a selection of groups as rows.
///
/// The hierarchy is kind > node > process > device > location. CPU threads and accelerator streams
/// never share a group. Older recordings keep the streams of a device in the group of the process,
/// so groups are split by kind of location. An accelerator belongs to the process that created it.
/// Metric sources execute no regions and belong to no group.
///
/// ```
/// use perf_core::Job;
/// use perf_fold::{GroupBy, Groups, RegionMap, Timelines};
/// let trace = perf_core::samples::cosmo::trace();
/// let map = RegionMap::by_name(trace.definitions())?;
/// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
/// let groups = Groups::by(&timelines, GroupBy::Process);
/// assert_eq!(groups.rows().len(), 40);
/// let first = groups.get(groups.rows()[0]).expect("there is one");
/// assert_eq!(first.label, "MPI Rank 0");
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Groups by id.
    pub(crate) groups: Vec<Group>,
    /// Groups shown as rows, from top to bottom.
    pub(crate) rows: Vec<GroupId>,
    /// Streams that belong to no group.
    pub(crate) left_out: Vec<u32>,
    /// Number of streams of the timelines.
    streams: usize,
}

/// Deepest nesting of user-defined groups. Nested folds recurse to this depth.
const DEEPEST: u32 = 64;

impl Groups {
    /// Builds the groups of the system tree and makes the groups of level `by` rows.
    ///
    /// Rows follow the order of the system tree. The threads of a process come before its streams.
    pub fn by(timelines: &Timelines, by: GroupBy) -> Self {
        Tree::grow(timelines).groups(by)
    }

    /// Returns an empty set of groups. [`add`](Self::add) and [`join`](Self::join) define groups.
    pub fn none(timelines: &Timelines) -> Self {
        Groups {
            streams: timelines.len(),
            ..Groups::default()
        }
    }

    /// Adds a user-defined group and makes it a row. The group unfolds into its streams.
    ///
    /// # Errors
    /// Returns [`Error::UnknownStream`] for a stream that does not exist, or [`Error::MixedKinds`]
    /// unless all streams are CPU threads, all are accelerator streams, or all have an unknown
    /// kind.
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

    /// Joins groups into a new group that unfolds into them. The row of the new group replaces
    /// their rows and comes last.
    ///
    /// # Errors
    /// Returns [`Error::UnknownGroup`] for a group that does not exist, [`Error::MixedKinds`] for
    /// groups of different kinds, or [`Error::TooDeep`] beyond 64 levels.
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

    /// Returns all groups by [`GroupId`]. Children come before their parent.
    pub fn all(&self) -> &[Group] {
        &self.groups
    }

    /// Returns a group by id, or `None` if there is no such group.
    pub fn get(&self, id: GroupId) -> Option<&Group> {
        self.groups.get(id.index())
    }

    /// Returns the groups that are rows, from top to bottom.
    pub fn rows(&self) -> &[GroupId] {
        &self.rows
    }

    /// Returns the streams that belong to no group, which are the metric sources.
    pub fn left_out(&self) -> &[u32] {
        &self.left_out
    }

    /// Returns the same groups with other rows.
    ///
    /// # Errors
    /// Returns [`Error::UnknownGroup`] if a group does not exist.
    pub fn with_rows(&self, rows: &[GroupId]) -> Result<Self> {
        if let Some(id) = rows.iter().find(|id| self.get(**id).is_none()) {
            return Err(self.unknown(*id));
        }
        Ok(Groups {
            rows: rows.to_vec(),
            ..self.clone()
        })
    }

    /// Returns the same groups with one row replaced, in place, by its children. A row of a single
    /// stream does not change.
    ///
    /// # Errors
    /// Returns [`Error::UnknownGroup`] if there is no such row.
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
        // Each stream adds a few groups at most. Streams are locations, of which there are at most
        // 2^32, and memory runs out long before the ids do.
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
