//! [`Communicator`], [`Window`] and [`CartTopology`]: definitions of groups of ranks, remote-memory
//! windows and Cartesian grids; [`Attribute`]: definition of a named value of events.

use crate::{CommId, LocationId};

/// Members of a communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Members {
    /// Rank `i` is the `i`-th location; `None` if the recording does not identify it.
    Ranks(Vec<Option<LocationId>>),
    /// Each location has its own communicator, in which rank 0 is the location itself.
    Own,
    /// Two groups of an inter-communicator. The rank in an event belongs to the remote group.
    Between(Vec<Option<LocationId>>, Vec<Option<LocationId>>),
    /// The recording does not contain the members.
    #[default]
    Unknown,
}

/// Communicator: a set of ranks that exchange messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Communicator {
    /// Name, such as `MPI_COMM_WORLD`.
    pub name: String,
    /// Members.
    pub members: Members,
    /// Communicator from which this communicator was derived, if known.
    pub parent: Option<CommId>,
}

/// Window for remote memory access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Window {
    /// Name.
    pub name: String,
    /// Communicator whose ranks the events of the window refer to.
    pub comm: Option<CommId>,
}

/// One axis of a [`CartTopology`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CartDimension {
    /// Name; may be empty.
    pub name: String,
    /// Number of coordinates.
    pub size: u32,
    /// `true` if the last coordinate is adjacent to the first.
    pub periodic: bool,
}

/// Kind of entity that has coordinates in a [`CartTopology`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum CartMembers {
    /// Ranks of [`CartTopology::comm`].
    #[default]
    Ranks,
    /// Locations, by [`LocationId`].
    Locations,
    /// Processes and accelerators, by [`LocationGroupId`](crate::LocationGroupId).
    Groups,
    /// Machine nodes, by [`SystemNodeId`](crate::SystemNodeId).
    Nodes,
}

/// Cartesian grid over the ranks of a communicator, or over parts of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CartTopology {
    /// Name; may be empty.
    pub name: String,
    /// Kind of entity that has coordinates.
    pub of: CartMembers,
    /// Communicator, for a grid of ranks.
    pub comm: Option<CommId>,
    /// Axes.
    pub dimensions: Vec<CartDimension>,
    /// Number of the entity and its coordinates, one for each axis. Several entities may share
    /// coordinates, and some may have none.
    pub coordinates: Vec<(u32, Vec<u32>)>,
}

/// Named value that events may carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Attribute {
    /// Name.
    pub name: String,
    /// Meaning.
    pub description: String,
}
