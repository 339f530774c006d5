//! Who talks to whom: [`Communicator`], [`Window`], [`CartTopology`].

use crate::{CommId, LocationId};

/// Who the ranks of a communicator are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Members {
    /// Rank `i` is the `i`-th of these; `None` where the recording does not say.
    Ranks(Vec<Option<LocationId>>),
    /// Each location's own: rank 0 is the location itself.
    Own,
    /// Two groups that talk to each other: a rank of an event is one of the other group.
    Between(Vec<Option<LocationId>>, Vec<Option<LocationId>>),
    /// The recording does not say.
    #[default]
    Unknown,
}

/// A communicator: a set of ranks that talk to one another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Communicator {
    /// Name, such as `MPI_COMM_WORLD`.
    pub name: String,
    /// Who its ranks are.
    pub members: Members,
    /// The communicator it was made from.
    pub parent: Option<CommId>,
}

/// A window of remote memory access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Window {
    /// Name.
    pub name: String,
    /// Whose ranks its events name.
    pub comm: Option<CommId>,
}

/// One axis of a [`CartTopology`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CartDimension {
    /// Name, may be empty.
    pub name: String,
    /// Number of coordinates along it.
    pub size: u32,
    /// Whether the last neighbours the first.
    pub periodic: bool,
}

/// What the number beside the coordinates of a [`CartTopology`] names.
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
    /// Nodes of the machine, by [`SystemNodeId`](crate::SystemNodeId).
    Nodes,
}

/// A Cartesian grid over the ranks of a communicator, or over parts of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CartTopology {
    /// Name, may be empty.
    pub name: String,
    /// What has coordinates.
    pub of: CartMembers,
    /// The communicator, of ranks.
    pub comm: Option<CommId>,
    /// Its axes.
    pub dimensions: Vec<CartDimension>,
    /// Rank, or number of what [`of`](Self::of) says, and coordinates, one number an axis.
    /// Several may share coordinates, and not all need have some.
    pub coordinates: Vec<(u32, Vec<u32>)>,
}

/// A named value that events may carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Attribute {
    /// Name.
    pub name: String,
    /// What it means.
    pub description: String,
}
