//! [`Topology::from_system`]: topology whose axes are levels of the system tree, each a [`Place`]:
//! machine node, process or thread.

use crate::topology::{NOWHERE, Topology};
use crate::{Axis, Check, Result, Shape};
use perf_core::{LocationId, LocationKind, SystemTree};
use std::collections::HashMap;

/// Level of the system tree that becomes an axis, see [`Topology::from_system`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// Machine node.
    Node,
    /// Process. It is numbered within its node if [`Place::Node`] is an earlier axis, otherwise
    /// over the whole recording.
    Process,
    /// Thread. It is numbered within its process if [`Place::Process`] is an earlier axis,
    /// otherwise within its node if [`Place::Node`] is an earlier axis, otherwise over the whole
    /// recording.
    Thread,
}

impl Topology {
    /// Builds a topology with levels of the system tree as axes. Each axis is as long as the
    /// fullest node or process requires. Only CPU threads and locations of unknown kind are placed,
    /// not the streams of accelerators or metric sources. Nodes, processes and threads are numbered in
    /// the order of the [ranks](SystemTree::ranks) of processes.
    ///
    /// No axis is periodic.
    ///
    /// # Errors
    /// Returns the errors of [`Shape::new`].
    pub fn from_system(system: &SystemTree, places: &[Place]) -> Result<Self> {
        let count = system.locations().len();
        let mut order = system.locations_by_rank();
        order.retain(|id| is_thread(system, *id));
        // Coordinate of each location along each axis.
        let mut along: Vec<Vec<u32>> = Vec::with_capacity(places.len());
        // Each axis numbers its entities within an owner: the node, the process, or the whole
        // recording.
        for (at, place) in places.iter().enumerate() {
            let has = |other| places.iter().take(at).any(|place| *place == other);
            let (by_node, by_process) = (has(Place::Node), has(Place::Process));
            let mut numbers: HashMap<(u32, u32), HashMap<u32, u32>> = HashMap::new();
            let mut axis = vec![NOWHERE; count];
            for id in order.iter().copied() {
                let (node, process) = owners(system, id);
                let key = match place {
                    Place::Node => (0, 0),
                    Place::Process => (if by_node { node } else { 0 }, 0),
                    Place::Thread => (
                        if by_node { node } else { 0 },
                        if by_process { process } else { 0 },
                    ),
                };
                let what = match place {
                    Place::Node => node,
                    Place::Process => process,
                    Place::Thread => id.0,
                };
                let known = numbers.entry(key).or_default();
                // There are at most 2^32 locations, and no more owners than locations.
                let next = known.len() as u32;
                if let Some(slot) = axis.get_mut(id.index()) {
                    *slot = *known.entry(what).or_insert(next);
                }
            }
            along.push(axis);
        }
        let axes = places.iter().zip(&along).map(|(place, axis)| Axis {
            name: place.name().into(),
            len: axis
                .iter()
                .filter(|at| **at != NOWHERE)
                .max()
                .map_or(1, |at| *at as usize + 1),
            periodic: false,
        });
        let shape = Shape::new(axes.collect())?;
        let cells = (0..count).map(|location| {
            let at = along.iter().filter_map(|axis| axis.get(location));
            let lens = shape.axes().iter().map(|axis| axis.len);
            let cell = at.zip(lens).try_fold(0, |cell, (at, len)| {
                (*at != NOWHERE).then(|| cell * len + *at as usize)
            });
            cell.map_or(NOWHERE, |cell| cell as u32)
        });
        let cells = cells.collect();
        let name = places.iter().map(Place::name).collect::<Vec<_>>();
        Ok(Self::new(name.join(","), shape, cells, Check::default()))
    }
}

impl Place {
    /// Returns `node`, `process` or `thread`.
    pub fn name(&self) -> &'static str {
        match self {
            Place::Node => "node",
            Place::Process => "process",
            Place::Thread => "thread",
        }
    }
}

fn is_thread(system: &SystemTree, id: LocationId) -> bool {
    let kind = system.location(id).map(|location| location.kind);
    matches!(kind, Some(LocationKind::CpuThread | LocationKind::Unknown))
}

/// Returns the node and process of a location. Locations with an unknown owner share one number.
fn owners(system: &SystemTree, id: LocationId) -> (u32, u32) {
    let process = system.process(id);
    let group = process.and_then(|process| system.group(process));
    let node = group.and_then(|group| group.parent);
    let number = |id: Option<u32>| id.unwrap_or(u32::MAX);
    (
        number(node.map(|node| node.0)),
        number(process.map(|process| process.0)),
    )
}
