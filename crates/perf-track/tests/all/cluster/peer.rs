//! DBSCAN compared with the results of an established tool for the same bursts.

use crate::common;

use common::peer;
use perf_core::Job;
use perf_track::cluster::{Border, Dbscan};
use perf_track::{ClusterId, Points};

/// Labels by total time equal those of the tool for all core points, border points by its rule, and
/// noise. The coordinates in the file are rounded to six decimals after clustering; in these
/// recordings no point lies that close to a border.
#[test]
fn labels_equal_those_of_the_established_tool() {
    let sets = [
        ("e2.DATA.csv", 0.04, 4, 7, 26),
        ("e4.DATA.csv", 0.04, 4, 10, 21),
        ("e16.DATA.csv", 0.04, 4, 19, 7),
        ("b10k_01.DATA.csv.gz", 0.01, 10, 12, 111),
    ];
    for (name, eps, least, clusters, noise) in sets {
        let Some(peer) = peer::read(name) else { return };
        let points = Points::new(&peer.values, 2).expect("finite");
        let with = |border| {
            let params = Dbscan::params().eps(eps).min_points(least).border(border);
            let dbscan = Dbscan::new(params.check().expect("in range"));
            let scan = dbscan.scan(points, &Job::default());
            scan.expect("not cancelled")
        };
        let scan = with(Border::PeerCompatible);
        let labels = scan.labels().by_weight(&peer.durations).expect("one each");
        assert_eq!(
            (labels.clusters(), labels.noise()),
            (clusters, noise),
            "{name}"
        );
        let differ = labels.as_slice().iter().zip(peer.labels.as_slice());
        let differ = differ.filter(|(ours, theirs)| ours != theirs).count();
        assert_eq!(differ, 0, "{name}");

        // The default rule changes border points only.
        let own = with(Border::LowestCore);
        assert_eq!(own.core(), scan.core(), "{name}");
        let places = own.labels().as_slice().iter().zip(scan.labels().as_slice());
        for ((ours, theirs), core) in places.zip(scan.core()) {
            assert!(!core || ours == theirs, "{name}");
            assert_eq!(
                *ours == ClusterId::NOISE,
                *theirs == ClusterId::NOISE,
                "{name}"
            );
        }
    }
}
