//! Ids of elements: one `u32` newtype for each kind, so that a region id cannot be used for a location.
//!
//! Ids are dense: `LocationId(i)` is the `i`-th location of its [`SystemTree`](crate::SystemTree).
//! The id of a location in the file (a sparse 64-bit key in OTF2) is stored as
//! [`Location::key`](crate::Location::key).

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the id of the element at `index`, or `None` if the index does not fit in 32
            /// bits.
            pub fn from_index(index: usize) -> Option<Self> {
                u32::try_from(index).ok().map(Self)
            }

            /// Returns the index of the element in its table.
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
    /// Node of the machine part of a [`SystemTree`](crate::SystemTree): machine, rack, host.
    SystemNodeId,
    /// Process or accelerator, which contains locations.
    LocationGroupId,
    /// CPU thread, accelerator stream or metric source.
    LocationId,
    /// [`Region`](crate::Region), such as a function.
    RegionId,
    /// Node of a [`CallTree`](crate::CallTree).
    CallPathId,
    /// [`Metric`](crate::Metric).
    MetricId,
    /// [`MetricSet`](crate::MetricSet): metrics that are recorded together.
    MetricSetId,
    /// [`Communicator`](crate::Communicator).
    CommId,
    /// [`Window`](crate::Window) for remote memory access.
    WindowId,
    /// [`Attribute`](crate::Attribute) that events may carry.
    AttributeId,
    /// Name of a kind of event that has no variant in the enum, see
    /// [`Event::Other`](crate::Event::Other).
    KindId,
    /// Live stream of events, see [`EventSink`](crate::EventSink).
    StreamId,
}
