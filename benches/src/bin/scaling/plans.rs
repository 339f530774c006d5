//! [`PLANS`]: curves to measure, each with its program, arguments and sizes, and the size that
//! corresponds to a million ranks.

use std::path::Path;

/// Curve of measurements.
pub(super) struct Plan {
    /// Name in the table of results.
    pub(super) name: &'static str,
    /// Title of the curve.
    pub(super) title: &'static str,
    /// Quantity that grows.
    pub(super) axis: &'static str,
    /// Sizes to measure.
    pub(super) sizes: &'static [u64],
    /// Size of a run on 2^20 ranks, with an explanation; `None` if the cost does not depend on
    /// ranks.
    pub(super) million: Option<(f64, &'static str)>,
    /// Program to run.
    pub(super) program: &'static str,
    /// Arguments that generate an input; `None` if the program generates its own.
    pub(super) prepare: Option<&'static str>,
    /// Arguments of the measured run.
    pub(super) told: &'static str,
}

/// Returns the arguments with `SIZE` and `FOLDER` replaced.
pub(super) fn words(template: &str, size: u64, folder: &Path) -> Vec<String> {
    let word = |word: &str| match word {
        "SIZE" => size.to_string(),
        "FOLDER" => folder.display().to_string(),
        other => other.to_string(),
    };
    template.split(' ').map(word).collect()
}

const MILLION: f64 = 1_048_576.0;
const WIDE: &[u64] = &[64, 256, 1_024, 4_096, 16_384];
const HERE: &str = "perfkit-bench-scaling";
const OTF2: &str = "perfkit-bench-otf2";
const ANOMALY: &str = "perfkit-bench-anomaly";
/// The archive in a folder can be opened by the name of the folder.
const DECODE: &str = "decode FOLDER --threads 1";

pub(super) const PLANS: &[Plan] = &[
    Plan {
        name: "otf2-locations",
        title: "reading OTF2",
        axis: "locations of 1,000 events",
        sizes: WIDE,
        million: Some((MILLION, "one location for each rank")),
        program: OTF2,
        prepare: Some("generate FOLDER --locations SIZE --events 1000"),
        told: DECODE,
    },
    Plan {
        name: "otf2-events",
        title: "reading OTF2",
        axis: "events on each of 64 locations",
        sizes: &[1_000, 4_000, 16_000, 64_000, 256_000],
        million: None,
        program: OTF2,
        prepare: Some("generate FOLDER --locations 64 --events SIZE"),
        told: DECODE,
    },
    Plan {
        name: "profile-locations",
        title: "a profile of 20 call paths",
        axis: "locations of 1,000 events",
        sizes: WIDE,
        million: Some((MILLION, "one location for each rank")),
        program: HERE,
        prepare: None,
        told: "one profile SIZE 1000",
    },
    Plan {
        name: "fold-locations",
        title: "timelines and a fold of all",
        axis: "locations of 1,000 events",
        sizes: WIDE,
        million: Some((MILLION, "one location for each rank")),
        program: HERE,
        prepare: None,
        told: "one fold SIZE 1000",
    },
    Plan {
        name: "correlate-points",
        title: "correlating 16 views",
        axis: "points of the grid",
        sizes: &[4_096, 16_384, 65_536, 262_144, 1_048_576],
        million: Some((MILLION, "one point for each rank")),
        program: HERE,
        prepare: None,
        told: "one correlate SIZE 16",
    },
    Plan {
        name: "correlate-views",
        title: "correlating views",
        axis: "views of 4,096 points",
        sizes: WIDE,
        million: None,
        program: HERE,
        prepare: None,
        told: "one correlate 4096 SIZE",
    },
    Plan {
        name: "dbscan-points",
        title: "DBSCAN",
        axis: "points, equally dense",
        sizes: &[10_000, 40_000, 160_000, 640_000, 2_560_000, 10_240_000],
        million: Some((100.0 * MILLION, "100 bursts for each rank")),
        program: HERE,
        prepare: None,
        told: "one dbscan SIZE",
    },
    Plan {
        name: "track-experiments",
        title: "tracking",
        axis: "experiments of 20 clusters",
        sizes: &[2, 4, 8, 16, 32],
        million: None,
        program: HERE,
        prepare: None,
        told: "one track SIZE 20 500",
    },
    Plan {
        name: "detect-events",
        title: "detection",
        axis: "events of 100 functions",
        sizes: &[125_000, 500_000, 2_000_000, 8_000_000, 32_000_000],
        million: None,
        program: ANOMALY,
        prepare: None,
        told: "labels SIZE 100",
    },
    Plan {
        name: "detect-functions",
        title: "detection",
        axis: "functions in 2 million events",
        sizes: &[10, 100, 1_000, 10_000, 100_000],
        million: None,
        program: ANOMALY,
        prepare: None,
        told: "labels 2000000 SIZE",
    },
    Plan {
        name: "server-ranks",
        title: "the server's step",
        axis: "ranks of 100 functions",
        sizes: &[160, 640, 2_560, 10_240, 40_960],
        million: Some((MILLION, "one delta for each rank")),
        program: ANOMALY,
        prepare: None,
        told: "server SIZE 100 moments 100",
    },
];
