//! Ids: one `u32` newtype a kind, so that a region can never index a location.
//!
//! Ids are dense: `LocationId(i)` is the `i`-th location of its [`SystemTree`](crate::SystemTree).
//! What a file calls its locations (sparse 64-bit keys in OTF2) is kept beside them, as
//! [`Location::key`](crate::Location::key).

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id of the element at `index`, or `None` past 2^32 elements.
            pub fn from_index(index: usize) -> Option<Self> {
                u32::try_from(index).ok().map(Self)
            }

            /// The place of the element in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    )*};
}

ids! {
    /// A node of the machine part of a [`SystemTree`](crate::SystemTree): machine, rack, host.
    SystemNodeId,
    /// A process or an accelerator, which holds locations.
    LocationGroupId,
    /// A CPU thread, an accelerator stream or a source of metrics.
    LocationId,
    /// A code [`Region`](crate::Region).
    RegionId,
    /// A node of a [`CallTree`](crate::CallTree).
    CallPathId,
    /// A [`Metric`](crate::Metric).
    MetricId,
    /// A [`MetricSet`](crate::MetricSet): metrics that are recorded together.
    MetricSetId,
    /// A [`Communicator`](crate::Communicator).
    CommId,
    /// A [`Window`](crate::Window) of remote memory access.
    WindowId,
    /// An [`Attribute`](crate::Attribute) that events may carry.
    AttributeId,
    /// The name of a kind of event that has no noun of its own, see [`Event::Other`](crate::Event::Other).
    KindId,
    /// A stream of events as they happen, see [`EventSink`](crate::EventSink).
    StreamId,
}
