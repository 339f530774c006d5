//! [`Region`] and [`CallTree`]: the code a program ran.

use crate::{CallPathId, Error, RegionId, Result};
use std::collections::{BTreeMap, HashMap};

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTree {
    paths: Vec<CallPath>,
    children: HashMap<(Option<CallPathId>, RegionId), CallPathId>,
    properties: BTreeMap<CallPathId, Vec<(String, String)>>,
}

impl CallTree {
    /// The call path that enters `region` from `parent`, made if there is none yet.
    ///
    /// # Errors
    /// [`Error::Undefined`] for a parent that is not there, [`Error::TooMany`] past 2^32 paths.
    pub fn child(&mut self, parent: Option<CallPathId>, region: RegionId) -> Result<CallPathId> {
        if let Some(id) = self.children.get(&(parent, region)) {
            return Ok(*id);
        }
        let id = self.push(CallPath { region, parent })?;
        self.children.insert((parent, region), id);
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
        self.children.get(&(parent, region)).copied()
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

    /// The call paths entered from `parent`, or the roots, ascending. Costs a walk over the tree.
    pub fn children(&self, parent: Option<CallPathId>) -> impl Iterator<Item = CallPathId> + '_ {
        let first = parent.map_or(0, |id| id.index() + 1);
        let rest = self.paths.iter().enumerate().skip(first);
        rest.filter(move |(_, path)| path.parent == parent)
            // `push` saw to it that there are at most 2^32 paths.
            .map(|(index, _)| CallPathId(index as u32))
    }

    /// A call path and all below it, ascending; empty for an id that is not there. Costs a walk
    /// over the tree.
    pub fn subtree(&self, root: CallPathId) -> Vec<CallPathId> {
        if root.index() >= self.paths.len() {
            return Vec::new();
        }
        // Parents come first, so that one pass finds all of them.
        let mut is_below = vec![false; self.paths.len() - root.index()];
        let mut found = vec![root];
        is_below[0] = true;
        for (offset, path) in self.paths.iter().enumerate().skip(root.index() + 1) {
            let parent = path
                .parent
                .and_then(|id| id.index().checked_sub(root.index()));
            if parent.is_some_and(|at| is_below.get(at) == Some(&true)) {
                is_below[offset - root.index()] = true;
                found.push(CallPathId(offset as u32));
            }
        }
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
