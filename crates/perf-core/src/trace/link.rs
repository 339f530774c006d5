//! [`Link`]: one event brought about another.

use crate::LocationId;

/// Which event of a trace: its location, and its number there.
///
/// For a call this is its enter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EventId {
    /// The location.
    pub location: LocationId,
    /// The number of the event among those of the location.
    pub index: u32,
}

/// What ties the two ends of a [`Link`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LinkKind {
    /// A call on the host started work on a device: the two share a correlation id.
    #[default]
    Launch,
    /// The recording draws an arrow from one to the other and does not say more.
    Flow,
}

/// One event brought about another: a call on the host a kernel on a device.
///
/// A link is no message: it carries nothing and has no communicator. Links of a trace are those
/// that the recording states; work without one was recorded without one.
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
    /// What ties the ends.
    pub kind: LinkKind,
    /// What came first: the launch.
    pub from: EventId,
    /// What came of it: the work.
    pub to: EventId,
}
