//! Conversion between a [`Topology`] and a [`CartTopology`], a grid that the recording itself
//! defines, such as that of `MPI_Cart_create`; [`Ranks`]: the locations, processes or nodes that
//! its ranks stand for.

use crate::topology::{NOWHERE, Topology, place};
use crate::{Axis, Check, Result, Shape};
use perf_core::{
    CartDimension, CartMembers, CartTopology, LocationGroupId, LocationId, Members, SystemTree,
};

/// Entity that a rank of a [`CartTopology`] stands for.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Ranks<'a> {
    /// Rank `i` is location `i`.
    #[default]
    Locations,
    /// Rank `i` is location group `i`, with all its locations.
    Groups,
    /// Rank `i` is system node `i`, with all locations of the processes on it.
    Nodes,
    /// Rank `i` is member `i` of a communicator, with all locations of its process.
    Members(&'a Members),
}

impl Topology {
    /// Builds the topology of a grid that the recording defines, over the locations of `system`.
    /// Locations of one rank share its cell.
    ///
    /// # Errors
    /// Returns the errors of [`Shape::new`] and [`Shape::plausible_for`], so that a damaged length
    /// cannot cause a huge allocation.
    pub fn from_cart(cart: &CartTopology, ranks: Ranks<'_>, system: &SystemTree) -> Result<Self> {
        let axes = cart.dimensions.iter().map(|dimension| Axis {
            name: dimension.name.clone(),
            len: dimension.size as usize,
            periodic: dimension.periodic,
        });
        let count = system.locations().len();
        let shape = Shape::new(axes.collect())?.plausible_for(count)?;
        let mut cells = vec![NOWHERE; count];
        let mut found = Check::default();
        let owner = Owners::new(ranks, system);
        let mut coordinates = Vec::with_capacity(shape.axes().len());
        for (rank, at) in &cart.coordinates {
            coordinates.clear();
            coordinates.extend(at.iter().map(|at| *at as usize));
            let cell = shape.cell(&coordinates).map(|cell| cell as u32);
            let mut none = true;
            for location in owner.locations(*rank) {
                if let Some(slot) = cells.get_mut(*location as usize) {
                    none = false;
                    place(slot, cell, &mut found);
                }
            }
            found.strangers += usize::from(none);
        }
        Ok(Self::new(cart.name.clone(), shape, cells, found))
    }

    /// Returns the topology as a grid that a recording can define, the inverse of
    /// [`from_cart`](Self::from_cart). Processes have coordinates if their locations share a cell,
    /// otherwise locations have.
    ///
    /// ```
    /// use perf_core::*;
    /// use perf_topology::{AxisOrder, Ranks, Shape, Topology};
    /// let process = |_| LocationGroup { kind: GroupKind::Process, ..LocationGroup::default() };
    /// // Two threads in each of four processes.
    /// let thread = |key: u64| Location {
    ///     key,
    ///     group: Some(LocationGroupId(key as u32 / 2)),
    ///     kind: LocationKind::CpuThread,
    ///     ..Location::default()
    /// };
    /// let groups = (0..4).map(process).collect();
    /// let system = SystemTree::new(vec![], groups, (0..8).map(thread).collect(), &Limits::default())?;
    /// let grid = Topology::by_process(Shape::of(&[2, 2])?, AxisOrder::LastFastest, &system);
    /// let cart = grid.to_cart(&system);
    /// assert_eq!(cart.of, CartMembers::Groups);
    /// assert_eq!(cart.coordinates[2], (2, vec![1, 0]));
    /// assert_eq!(Topology::from_cart(&cart, Ranks::Groups, &system)?, grid);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_cart(&self, system: &SystemTree) -> CartTopology {
        let mut of_group: Vec<Option<u32>> = vec![None; system.groups().len()];
        let shares_a_cell = system.location_ids().all(|id| {
            // A location of another machine has no cell.
            let cell = self.cells.get(id.index()).copied().unwrap_or(NOWHERE);
            // Streams of accelerators have groups of their own, within a process.
            let group = system.process(id).map(LocationGroupId::index);
            match group.and_then(|group| of_group.get_mut(group)) {
                Some(known) => *known.get_or_insert(cell) == cell,
                None => false,
            }
        });
        let (of, cells) = if shares_a_cell {
            (CartMembers::Groups, of_group)
        } else {
            let cells = self.cells.iter().map(|cell| Some(*cell));
            (CartMembers::Locations, cells.collect())
        };
        let placed = cells.iter().zip(0u32..);
        let placed = placed.filter_map(|(cell, rank)| {
            let cell = cell.filter(|cell| *cell != NOWHERE)?;
            let at = self.shape.coordinates(cell as usize);
            // A shape has at most 2^28 cells, so a coordinate fits.
            Some((rank, at.map(|at| at as u32).collect()))
        });
        let dimensions = self.shape.axes().iter().map(|axis| CartDimension {
            name: axis.name.clone(),
            size: axis.len as u32,
            periodic: axis.periodic,
        });
        CartTopology {
            name: self.name.clone(),
            of,
            comm: None,
            dimensions: dimensions.collect(),
            coordinates: placed.collect(),
        }
    }
}

/// Locations of each rank, in compressed-row form.
struct Owners {
    /// The locations of rank `i` are `locations[starts[i]..starts[i + 1]]`.
    starts: Vec<usize>,
    /// Locations of all ranks, rank by rank.
    locations: Vec<u32>,
}

impl Owners {
    fn new(ranks: Ranks<'_>, system: &SystemTree) -> Self {
        let process = |id| system.process(id).map(LocationGroupId::index);
        let node = |id| {
            let group = system.group(system.process(id)?)?;
            group.parent.map(|node| node.index())
        };
        match ranks {
            Ranks::Locations => Self::by(system.locations().len(), system, |id| Some(id.index())),
            Ranks::Groups => Self::by(system.groups().len(), system, |id| {
                let group = system.location(id)?.group?;
                Some(group.index())
            }),
            Ranks::Nodes => Self::by(system.nodes().len(), system, node),
            Ranks::Members(Members::Ranks(members)) => {
                // Processes that are not members of the communicator get no rank.
                let mut rank_of = vec![None; system.groups().len()];
                for (rank, member) in members.iter().enumerate() {
                    let group = member.and_then(process);
                    if let Some(slot) = group.and_then(|group| rank_of.get_mut(group)) {
                        slot.get_or_insert(rank);
                    }
                }
                let alone = |id: LocationId| members.iter().position(|member| *member == Some(id));
                Self::by(members.len(), system, |id| match process(id) {
                    Some(group) => *rank_of.get(group)?,
                    None => alone(id),
                })
            }
            Ranks::Members(_) => Self::by(0, system, |_| None),
        }
    }

    /// Sorts the locations by owner; locations without an owner below `owners` are skipped.
    fn by(owners: usize, system: &SystemTree, owner: impl Fn(LocationId) -> Option<usize>) -> Self {
        let mut owned: Vec<(usize, u32)> = system
            .location_ids()
            .filter_map(|id| Some((owner(id).filter(|owner| *owner < owners)?, id.0)))
            .collect();
        owned.sort_unstable();
        let starts = (0..=owners)
            .map(|rank| owned.partition_point(|(owner, _)| *owner < rank))
            .collect();
        let locations = owned.into_iter().map(|(_, location)| location).collect();
        Owners { starts, locations }
    }

    fn locations(&self, rank: u32) -> &[u32] {
        let rank = rank as usize;
        let bounds = self.starts.get(rank).zip(self.starts.get(rank + 1));
        bounds
            .and_then(|(from, to)| self.locations.get(*from..*to))
            .unwrap_or(&[])
    }
}
