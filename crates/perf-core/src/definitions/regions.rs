//! [`Region`]: function or loop with its [`Paradigm`] and [`RegionRole`]; [`CallTree`]: the
//! [`CallPath`]s of a program as a forest.

use crate::definitions::call_path_index::CallPathIndex;
use crate::{CallPathId, Error, RegionId, Result};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Programming model of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Paradigm {
    /// Not recorded.
    #[default]
    Unknown,
    /// Manual instrumentation.
    User,
    /// Instrumentation by a compiler.
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
    /// Measurement system.
    Measurement,
    /// Sampling instead of instrumentation.
    Sampling,
    /// Another paradigm, by its number in OTF2.
    Other(u8),
}

/// Role of a region. Only roles that analyses distinguish are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RegionRole {
    /// Not recorded.
    #[default]
    Unknown,
    /// A function.
    Function,
    /// Wrapper around a function.
    Wrapper,
    /// A loop.
    Loop,
    /// A parallel region.
    Parallel,
    /// Barrier, explicit or implied.
    Barrier,
    /// A collective operation.
    Collective,
    /// Communication between two ranks.
    PointToPoint,
    /// One-sided communication.
    Rma,
    /// Copy between memories.
    DataTransfer,
    /// File input or output.
    FileIo,
    /// A task.
    Task,
    /// Another role, by its number in OTF2.
    Other(u8),
}

/// Region of a program: a function, loop, parallel construct or marked phase.
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
    /// Display name.
    pub name: String,
    /// Linker name (mangled), or the same text as `name` if there is no linker name.
    pub canonical: String,
    /// Programming model.
    pub paradigm: Paradigm,
    /// Role.
    pub role: RegionRole,
    /// Source file, if known.
    pub file: Option<String>,
    /// First and last line in that file, if known.
    pub lines: Option<(u32, u32)>,
}

impl Region {
    /// Creates a region of which only the name is known.
    pub fn named(name: impl Into<String>) -> Self {
        let name = name.into();
        Region {
            canonical: name.clone(),
            name,
            ..Default::default()
        }
    }

    /// Returns `true` if the region belongs to MPI according to its paradigm or has the prefix
    /// `MPI_`. The prefix counts because some tools record their MPI wrappers as user functions.
    pub fn is_mpi(&self) -> bool {
        self.paradigm == Paradigm::Mpi || self.name.starts_with("MPI_")
    }
}

/// Node of a [`CallTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CallPath {
    /// Innermost region of the call path.
    pub region: RegionId,
    /// Calling call path; `None` for a root.
    pub parent: Option<CallPathId>,
}

/// Forest of call paths. A parent has a lower id than its children.
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
    /// Call paths by id.
    paths: Vec<CallPath>,
    /// Index of the call paths created by [`child`](Self::child).
    children: CallPathIndex,
    /// Properties of each call path, as (name, value).
    properties: BTreeMap<CallPathId, Vec<(String, String)>>,
    /// Child lists, built on first use.
    below: OnceLock<Below>,
}

/// Writes the call paths and their properties in order, so that equal trees give equal text.
impl std::fmt::Debug for CallTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallTree")
            .field("paths", &self.paths)
            .field("properties", &self.properties)
            .finish_non_exhaustive()
    }
}

/// Trees are equal if they have the same call paths and properties, and if [`find`](CallTree::find)
/// returns the same call paths.
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

/// Child lists of all call paths, one after the other.
#[derive(Clone, Debug)]
struct Below {
    /// Start of each list and the end of the last list. The first list contains the roots, the
    /// second the children of call path 0, and so on.
    starts: Vec<u32>,
    /// Concatenated child lists.
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
        // `push` ensures that there are at most 2^32 paths.
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
    /// Returns the size in bytes of `paths` call paths that are created one by one.
    pub(crate) fn memory(paths: usize) -> usize {
        paths.next_power_of_two() * (size_of::<CallPath>() + CallPathIndex::A_PATH)
    }

    /// Returns the call path that enters `region` from `parent`, after adding it if it does not
    /// exist.
    ///
    /// # Errors
    /// Returns [`Error::Undefined`] if the parent does not exist, or [`Error::TooMany`] for more
    /// than 2^32 paths.
    pub fn child(&mut self, parent: Option<CallPathId>, region: RegionId) -> Result<CallPathId> {
        if let Some(id) = self.find(parent, region) {
            return Ok(id);
        }
        let id = self.push(CallPath { region, parent })?;
        self.children.add(&self.paths);
        Ok(id)
    }

    /// Adds a call path even if a call path with the same region and parent exists, because the
    /// call trees of some files distinguish call sites.
    ///
    /// # Errors
    /// Returns the errors of [`child`](Self::child).
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

    /// Returns all call paths by [`CallPathId`].
    pub fn paths(&self) -> &[CallPath] {
        &self.paths
    }

    /// Returns a call path by id, or `None` if there is no such call path.
    pub fn get(&self, id: CallPathId) -> Option<CallPath> {
        self.paths.get(id.index()).copied()
    }

    /// Returns the call path that enters `region` from `parent`, if [`child`](Self::child) created
    /// it.
    pub fn find(&self, parent: Option<CallPathId>, region: RegionId) -> Option<CallPathId> {
        self.children.find(&self.paths, (parent, region))
    }

    /// Adds a property to a call path, such as the line of the call. An unknown id is ignored.
    pub fn annotate(&mut self, id: CallPathId, name: impl Into<String>, value: impl Into<String>) {
        if id.index() < self.paths.len() {
            let properties = self.properties.entry(id).or_default();
            properties.push((name.into(), value.into()));
        }
    }

    /// Returns the properties of a call path, as (name, value).
    pub fn properties(&self, id: CallPathId) -> &[(String, String)] {
        self.properties.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Returns the call paths that are entered from `parent`, or the roots if `parent` is `None`,
    /// in ascending order. The first call after an insertion walks the whole tree.
    pub fn children(&self, parent: Option<CallPathId>) -> impl Iterator<Item = CallPathId> + '_ {
        self.list(parent).iter().copied()
    }

    fn list(&self, parent: Option<CallPathId>) -> &[CallPathId] {
        let below = self.below.get_or_init(|| Below::of(&self.paths));
        below.list(parent.map_or(0, |id| id.index().saturating_add(1)))
    }

    /// Returns a call path and all its descendants in ascending order; empty for an unknown id. As
    /// with [`children`](Self::children), the first call after an insertion walks the whole tree.
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

    /// Returns the regions of a call path from the root; empty for an unknown id.
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

    /// Returns the call path as text, such as `main > solve > MPI_Wait`.
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
        // Building the child lists does not change equality.
        let mut other = CallTree::default();
        let root = other.child(None, RegionId(0)).unwrap();
        other.child(Some(root), RegionId(1)).unwrap();
        assert_eq!(tree, other);
    }

    proptest! {
        #[test]
        fn children_and_subtrees_equal_a_walk(
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
