//! [`Sharing`]: statistics on cells that hold locations of several threads, processes or nodes.

use crate::Topology;
use perf_core::SystemTree;

/// Statistics on the locations, processes and machine nodes that share the cells of a topology.
///
/// Threads of a process are meant to share its cell. If cells hold unequal numbers of locations, a
/// view of sums mostly shows those numbers. Processes on different machine nodes in one cell
/// contradict the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sharing {
    /// Number of cells that hold a location.
    pub occupied: usize,
    /// Fewest locations in an occupied cell; 0 if no cell is occupied.
    pub fewest: usize,
    /// Most locations in a cell.
    pub most: usize,
    /// Number of cells that hold locations of several processes.
    pub of_processes: usize,
    /// Number of cells that hold locations of processes on different machine nodes.
    pub of_nodes: usize,
}

impl Topology {
    /// Counts the locations of each cell, and the processes and nodes that they belong to. All
    /// locations without a process count as one process. All processes without a node count as
    /// processes of one node.
    ///
    /// ```
    /// use perf_core::{Location, LocationGroup, LocationGroupId, SystemTree};
    /// use perf_topology::{AxisOrder, Shape, Topology};
    /// let location = |key, group| Location {
    ///     key,
    ///     group: Some(LocationGroupId(group)),
    ///     ..Location::default()
    /// };
    /// let locations = vec![location(0, 0), location(1, 1), location(2, 1)];
    /// let groups = vec![LocationGroup::default(); 2];
    /// let system = SystemTree::new(vec![], groups, locations, &Default::default())?;
    /// let grid = Topology::by_process(Shape::of(&[2])?, AxisOrder::LastFastest, &system);
    /// let sharing = grid.sharing(&system);
    /// assert_eq!((sharing.fewest, sharing.most, sharing.of_processes), (1, 2, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sharing(&self, system: &SystemTree) -> Sharing {
        let mut sharing = Sharing::default();
        let occupants = self.occupants();
        for cell in occupants.chunk_by(|(one, _), (other, _)| one == other) {
            sharing.occupied += 1;
            sharing.most = sharing.most.max(cell.len());
            sharing.fewest = match sharing.occupied {
                1 => cell.len(),
                _ => sharing.fewest.min(cell.len()),
            };
            let process = |at: &(usize, _)| system.process(at.1);
            let node = |at: &(usize, _)| system.group(process(at)?)?.parent;
            let differ = |pair: &[(usize, _)]| match pair {
                [one, other] => [process(one) != process(other), node(one) != node(other)],
                _ => [false; 2],
            };
            let found = cell.windows(2).map(differ);
            let found = found.fold([false; 2], |all, one| [all[0] | one[0], all[1] | one[1]]);
            sharing.of_processes += usize::from(found[0]);
            sharing.of_nodes += usize::from(found[1]);
        }
        sharing
    }
}
