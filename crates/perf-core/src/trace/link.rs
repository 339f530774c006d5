//! [`Link`]: causal relation between two events, such as a kernel launch and the kernel;
//! [`EventId`]: location and index of an event.

use crate::LocationId;

/// Identity of an event of a trace: its location and its index on this location.
///
/// The enter event identifies a call.
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
    /// A call on the host launched work on a device. Both have the same correlation id.
    #[default]
    Launch,
    /// The recording contains an arrow without further information.
    Flow,
}

/// Causal relation between two events, such as from a host call to the kernel that it launched.
///
/// A link is not a message: it carries no data and has no communicator. The links of a trace come
/// from the recording; they are not inferred.
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
    /// Cause, such as the launch.
    pub from: EventId,
    /// Effect, such as the launched work.
    pub to: EventId,
}
