//! [`Link`]: causal relation between two events.

use crate::LocationId;

/// Identity of an event of a trace: its location and its index there.
///
/// A call is identified by its enter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EventId {
    /// Location.
    pub location: LocationId,
    /// Index of the event on the location.
    pub index: u32,
}

/// Kind of relation between the two ends of a [`Link`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LinkKind {
    /// A call on the host launched work on a device: both have the same correlation id.
    #[default]
    Launch,
    /// The recording contains an arrow without further information.
    Flow,
}

/// Causal relation between two events, such as from a host call to the kernel that it launched.
///
/// A link is not a message: it carries no data and has no communicator. The links of a trace are
/// those in the recording; they are not inferred.
///
/// ```
/// use perf_core::{EventId, Link, LinkKind, LocationId};
/// let (host, stream) = (LocationId(0), LocationId(1));
/// let link = Link {
///     kind: LinkKind::Launch,
///     from: EventId { location: host, index: 40 },
///     to: EventId { location: stream, index: 2 },
/// };
/// assert!(link.from < link.to);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Link {
    /// Kind of the relation.
    pub kind: LinkKind,
    /// Cause: the launch.
    pub from: EventId,
    /// Effect: the work.
    pub to: EventId,
}
