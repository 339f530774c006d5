//! Names for a first program: `use perfkit::prelude::*;`.
//!
//! The prelude contains [`open`], [`open_trace`] and [`open_profile`], the types that they return,
//! and the main types of each analysis, if the feature of its crate is enabled. All other items
//! stay in their modules. No name collides with the standard prelude or with the name of an item in
//! two crates.
//!
//! ```
//! use perfkit::prelude::*;
//!
//! let (trace, job) = (open_trace("../../data/recordings/jacobi-16")?, Job::default());
//!
//! // Which rank spends the smallest share of its time in MPI? The others wait for it.
//! let classes = RegionGroups::new().mpi("MPI").others_into("computing");
//! let timelines = Timelines::new(trace.view(), &classes.plan(trace.definitions())?, &job)?;
//! let folder = Folder::default_for(&timelines)?;
//! let mut shares = Vec::new();
//! for (row, usage) in folder.usage(timelines.range(), &job)?.into_iter().enumerate() {
//!     let mpi = usage.named(timelines.classes()).find(|(class, _)| *class == "MPI");
//!     shares.push((mpi.map_or(0.0, |(_, share)| share), row));
//! }
//! shares.sort_by(|a, b| a.0.total_cmp(&b.0));
//! assert_eq!(shares[0].1, 5);
//!
//! // Which calls are abnormal?
//! let mut monitor = Monitor::default();
//! let mut replay = Replay::in_steps(trace.view(), 10);
//! while replay.next_step(&mut monitor, &job)? {}
//! assert!(monitor.finish()?.losses.total().calls > 10_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crate::core::{
    EventSource, Job, LocationId, Nanos, Profile, Table, Ticks, TimeRange, Trace,
};
pub use crate::formats::{OpenOptions, Recording};
pub use crate::{open, open_profile, open_trace};

#[cfg(feature = "anomaly")]
pub use crate::anomaly::{Monitor, Replay, Tail, Watch};
#[cfg(feature = "fold")]
pub use crate::fold::{
    DeviceParams, Devices, Folder, GroupBy, Groups, Op, RegionGroups, RegionMap, Timelines,
};
#[cfg(feature = "spectral")]
pub use crate::spectral::{AxisFilter, Missing, RankParams, Spectra, stored_rows};
#[cfg(feature = "topology")]
pub use crate::topology::{AxisOrder, Shape, Topology};
#[cfg(feature = "track")]
pub use crate::track::cluster::{Clusterer, Dbscan, EpsSearch};
#[cfg(feature = "track")]
pub use crate::track::{Dimension, Extract, Scale, tracking::Observation, tracking::Tracking};
#[cfg(feature = "view")]
pub use crate::view::{Page, Section, Theme};
#[cfg(feature = "wait")]
pub use crate::wait::{activity::Activities, waits::Pattern, waits::WaitStates};

#[cfg(all(
    test,
    feature = "anomaly",
    feature = "fold",
    feature = "spectral",
    feature = "track"
))]
mod tests {
    use std::fmt::Debug;

    /// Compares the debug output, because not all parameters implement `PartialEq`.
    fn assert_same<T: Debug, E: Debug>(default: T, checked: Result<T, E>) {
        let checked = checked.expect("the default parameters pass their check");
        assert_eq!(format!("{default:?}"), format!("{checked:?}"));
    }

    #[test]
    fn defaults_are_the_checked_default_parameters() {
        use crate::anomaly::calls::{Calls, CheckedCallsParams};
        use crate::anomaly::provenance::{CheckedRecorderParams, Recorder};
        use crate::anomaly::server::{CheckedServerParams, Server};
        use crate::anomaly::{Drift, DriftChecked, Sstd, StrictChecked, Tail, TailChecked};
        use crate::spectral::{CheckedNull, CheckedRank, NullParams, RankParams};
        use crate::track::tracking::{TrackChecked, Tracking};
        use crate::track::{Align, Extract, cluster};

        assert_same(CheckedCallsParams::default(), Calls::params().check());
        assert_same(CheckedRecorderParams::default(), Recorder::params().check());
        assert_same(CheckedServerParams::default(), Server::params().check());
        assert_same(TailChecked::default(), Tail::params().check());
        assert_same(StrictChecked::default(), Sstd::params().check());
        assert_same(DriftChecked::default(), Drift::params().check());
        assert_same(
            crate::fold::Checked::default(),
            crate::fold::Folder::params().check(),
        );
        assert_same(CheckedRank::default(), RankParams::default().check());
        assert_same(CheckedNull::default(), NullParams::default().check());
        assert_same(TrackChecked::default(), Tracking::params().check());
        assert_same(Align::default(), Align::params().check());
        assert_same(Extract::default(), Extract::params().check());
        assert_same(
            cluster::Checked::default(),
            cluster::Dbscan::params().check(),
        );
        assert_same(
            cluster::EpsChecked::default(),
            cluster::EpsSearch::params().check(),
        );
        assert_same(
            cluster::HdbscanChecked::default(),
            cluster::Hdbscan::params().check(),
        );
        assert_same(
            cluster::RefineChecked::default(),
            cluster::Refinement::params().check(),
        );
    }
}
