//! [`Region`] and [`CallTree`]: the code a program ran.

use crate::children::Children;
use crate::{CallPathId, Error, RegionId, Result};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The programming model a region belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Paradigm {
    /// The recording does not say.
    #[default]
    Unknown,
    /// Marked by hand.
    User,
    /// Instrumented by a compiler.
    Compiler,
    /// OpenMP.
    OpenMp,
    /// MPI.
    Mpi,
    /// CUDA.
    Cuda,
    /// HIP.
    Hip,
    /// OpenCL.
    OpenCl,
    /// OpenACC.
    OpenAcc,
    /// Kokkos.
    Kokkos,
    /// POSIX threads.
    Pthread,
    /// SHMEM.
    Shmem,
    /// The measurement system itself.
    Measurement,
    /// Sampled rather than instrumented.
    Sampling,
    /// Another one, by its number in OTF2.
    Other(u8),
}

/// What a region is for, as far as analyses ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RegionRole {
    /// The recording does not say.
    #[default]
    Unknown,
    /// A function.
    Function,
    /// A wrapper around one.
    Wrapper,
    /// A loop.
    Loop,
    /// A parallel region.
    Parallel,
    /// A barrier, called or implied.
    Barrier,
    /// A collective operation.
    Collective,
    /// Communication between two.
    PointToPoint,
    /// One-sided communication.
    Rma,
    /// A copy between memories.
    DataTransfer,
    /// Reads or writes files.
    FileIo,
    /// A task.
    Task,
    /// Another one, by its number in OTF2.
    Other(u8),
}

/// A code region: a function, loop, parallel construct or marked phase.
///
/// ```
/// use perf_core::{Paradigm, Region};
/// let mut wait = Region::named("MPI_Wait");
/// assert!(wait.is_mpi() && wait.paradigm == Paradigm::default());
/// wait.lines = Some((120, 141));
/// assert_eq!(wait.canonical, "MPI_Wait");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Region {
    /// Name for people.
    pub name: String,
    /// Name for linkers (mangled), the same as `name` where there is none.
    pub canonical: String,
    /// Programming model.
    pub paradigm: Paradigm,
    /// What it is for.
    pub role: RegionRole,
    /// Source file, where known.
    pub file: Option<String>,
    /// First and last line in that file, where known.
    pub lines: Option<(u32, u32)>,
}

impl Region {
    /// A region of which only the name is known.
    pub fn named(name: impl Into<String>) -> Self {
        let name = name.into();
        Region {
            canonical: name.clone(),
            name,
            ..Default::default()
        }
    }

    /// Whether the region is MPI: by its paradigm, or by an `MPI_` name, since some tools record
    /// their MPI wrappers as user code.
    pub fn is_mpi(&self) -> bool {
        self.paradigm == Paradigm::Mpi || self.name.starts_with("MPI_")
    }
}

/// A node of a [`CallTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CallPath {
    /// The region on top of the call path.
    pub region: RegionId,
    /// The call path it was entered from; `None` at a root.
    pub parent: Option<CallPathId>,
}

/// Call paths as a forest. A parent has a lower id than its children.
///
/// ```
/// use perf_core::{CallTree, RegionId};
/// let mut tree = CallTree::default();
/// let main = tree.child(None, RegionId(0))?;
/// let solve = tree.child(Some(main), RegionId(1))?;
/// assert_eq!(tree.child(Some(main), RegionId(1))?, solve);
/// assert_eq!(tree.path(solve), [RegionId(0), RegionId(1)]);
/// # Ok::<(), perf_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct CallTree {
    paths: Vec<CallPath>,
    /// Of those that [`child`](Self::child) made.
    children: Children,
    properties: BTreeMap<CallPathId, Vec<(String, String)>>,
    /// Made when children are asked for.
    below: OnceLock<Below>,
}

/// The call paths and their facts, in order: the same text each time.
impl std::fmt::Debug for CallTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallTree")
            .field("paths", &self.paths)
            .field("properties", &self.properties)
            .finish_non_exhaustive()
    }
}

/// The same call paths, made in the same way, with the same facts.
impl PartialEq for CallTree {
    fn eq(&self, other: &Self) -> bool {
        self.paths == other.paths
            && self.properties == other.properties
            && self.paths.iter().all(|path| {
                let (parent, region) = (path.parent, path.region);
                self.find(parent, region) == other.find(parent, region)
            })
    }
}

impl Eq for CallTree {}

/// The children of all call paths, one list after the other.
#[derive(Clone, Debug)]
struct Below {
    /// Roots first, then those of call path 0 and so on: where each list begins, and the end.
    starts: Vec<u32>,
    ids: Vec<CallPathId>,
}

impl Below {
    fn of(paths: &[CallPath]) -> Self {
        let list = |path: &CallPath| path.parent.map_or(0, |parent| parent.index() + 1);
        let mut starts = vec![0; paths.len() + 2];
        for path in paths {
            starts[list(path) + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut ids = vec![CallPathId(0); paths.len()];
        // `push` saw to it that there are at most 2^32 paths.
        for (path, id) in paths.iter().zip(0..) {
            let at = &mut next[list(path)];
            ids[*at as usize] = CallPathId(id);
            *at += 1;
        }
        Below { starts, ids }
    }

    fn list(&self, at: usize) -> &[CallPathId] {
        let range = || {
            let (start, end) = (self.starts.get(at)?, self.starts.get(at + 1)?);
            self.ids.get(*start as usize..*end as usize)
        };
        range().unwrap_or_default()
    }
}

impl CallTree {
    /// Bytes that so many call paths take, made one by one.
    pub(crate) fn memory(paths: usize) -> usize {
        paths.next_power_of_two() * (size_of::<CallPath>() + Children::A_PATH)
    }

    /// The call path that enters `region` from `parent`, made if there is none yet.
    ///
    /// # Errors
    /// [`Error::Undefined`] for a parent that is not there, [`Error::TooMany`] past 2^32 paths.
    pub fn child(&mut self, parent: Option<CallPathId>, region: RegionId) -> Result<CallPathId> {
        if let Some(id) = self.find(parent, region) {
            return Ok(id);
        }
        let id = self.push(CallPath { region, parent })?;
        self.children.add(&self.paths);
        Ok(id)
    }

    /// Adds a call path even where one of the same region and parent exists: call trees of files
    /// may tell call sites apart.
    ///
    /// # Errors
    /// As [`child`](Self::child).
    pub fn push(&mut self, path: CallPath) -> Result<CallPathId> {
        if let Some(parent) = path.parent
            && parent.index() >= self.paths.len()
        {
            return Err(Error::Undefined {
                what: "call path",
                id: u64::from(parent.0),
                count: self.paths.len(),
            });
        }
        let id = CallPathId::from_index(self.paths.len()).ok_or(Error::TooMany {
            what: "call paths",
            limit: u64::from(u32::MAX),
        })?;
        self.paths.push(path);
        self.below.take();
        Ok(id)
    }

    /// All call paths, by [`CallPathId`].
    pub fn paths(&self) -> &[CallPath] {
        &self.paths
    }

    /// A call path by id.
    pub fn get(&self, id: CallPathId) -> Option<CallPath> {
        self.paths.get(id.index()).copied()
    }

    /// The call path that enters `region` from `parent`, if [`child`](Self::child) made one.
    pub fn find(&self, parent: Option<CallPathId>, region: RegionId) -> Option<CallPathId> {
        self.children.find(&self.paths, (parent, region))
    }

    /// Notes a further fact about a call path, such as the line it was called from.
    pub fn annotate(&mut self, id: CallPathId, name: impl Into<String>, value: impl Into<String>) {
        if id.index() < self.paths.len() {
            let properties = self.properties.entry(id).or_default();
            properties.push((name.into(), value.into()));
        }
    }

    /// Further facts about a call path, as (name, value).
    pub fn properties(&self, id: CallPathId) -> &[(String, String)] {
        self.properties.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The call paths entered from `parent`, or the roots, ascending. The first time after a call
    /// path was added costs a walk over the tree.
    pub fn children(&self, parent: Option<CallPathId>) -> impl Iterator<Item = CallPathId> + '_ {
        self.list(parent).iter().copied()
    }

    fn list(&self, parent: Option<CallPathId>) -> &[CallPathId] {
        let below = self.below.get_or_init(|| Below::of(&self.paths));
        below.list(parent.map_or(0, |id| id.index().saturating_add(1)))
    }

    /// A call path and all below it, ascending; empty for an id that is not there. As
    /// [`children`](Self::children) it costs a walk over the tree the first time.
    pub fn subtree(&self, root: CallPathId) -> Vec<CallPathId> {
        if root.index() >= self.paths.len() {
            return Vec::new();
        }
        let mut found = vec![root];
        let mut at = 0;
        while let Some(id) = found.get(at) {
            found.extend_from_slice(self.list(Some(*id)));
            at += 1;
        }
        found.sort_unstable();
        found
    }

    /// The regions of a call path from the root; empty for an id that is not there.
    pub fn path(&self, id: CallPathId) -> Vec<RegionId> {
        let mut regions = Vec::new();
        let mut at = Some(id);
        while let Some(path) = at.and_then(|id| self.get(id)) {
            regions.push(path.region);
            at = path.parent;
        }
        regions.reverse();
        regions
    }

    /// The call path with names, `main > solve > MPI_Wait`.
    pub fn name(&self, id: CallPathId, regions: &[Region]) -> String {
        let names = self.path(id).into_iter().map(|id| {
            regions
                .get(id.index())
                .map_or_else(|| format!("region {id}"), |region| region.name.clone())
        });
        names.collect::<Vec<_>>().join(" > ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn children_are_found_after_more_were_added() {
        let mut tree = CallTree::default();
        let main = tree.child(None, RegionId(0)).unwrap();
        assert_eq!(tree.children(None).collect::<Vec<_>>(), [main]);
        assert_eq!(tree.children(Some(main)).count(), 0);
        let solve = tree.child(Some(main), RegionId(1)).unwrap();
        assert_eq!(tree.children(Some(main)).collect::<Vec<_>>(), [solve]);
        assert_eq!(tree.subtree(main), [main, solve]);
        assert_eq!(tree.children(Some(CallPathId(u32::MAX))).count(), 0);
        assert!(tree.subtree(CallPathId(2)).is_empty());
        // What was asked makes no difference.
        let mut other = CallTree::default();
        let root = other.child(None, RegionId(0)).unwrap();
        other.child(Some(root), RegionId(1)).unwrap();
        assert_eq!(tree, other);
    }

    proptest! {
        #[test]
        fn children_and_subtrees_are_what_a_walk_finds(
            parents in prop::collection::vec(prop::option::of(0..40_usize), 0..40),
        ) {
            let mut tree = CallTree::default();
            for (at, parent) in parents.iter().enumerate() {
                let parent = parent.filter(|parent| *parent < at);
                let parent = parent.and_then(CallPathId::from_index);
                tree.push(CallPath { region: RegionId(0), parent }).unwrap();
            }
            let ids = || (0..tree.paths().len()).filter_map(CallPathId::from_index);
            for parent in ids().map(Some).chain([None]) {
                let below = ids().filter(|id| tree.get(*id).unwrap().parent == parent);
                prop_assert_eq!(tree.children(parent).collect::<Vec<_>>(), below.collect::<Vec<_>>());
            }
            for root in ids() {
                let is_below = |id: &CallPathId| {
                    std::iter::successors(Some(*id), |id| tree.get(*id)?.parent).any(|id| id == root)
                };
                prop_assert_eq!(tree.subtree(root), ids().filter(is_below).collect::<Vec<_>>());
            }
        }
    }
}
