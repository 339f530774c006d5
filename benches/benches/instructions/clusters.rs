//! Correlation, clustering and tracking.

use super::at_most;
use gungraun::{library_benchmark, library_benchmark_group};
use perfkit::core::Job;
use perfkit::spectral::{
    AxisFilter, CheckedRelations, Correlation, Kinship, Reference, Relations, Spectra,
};
use perfkit::track::cluster::{Clusterer, Dbscan, Hdbscan, k_distances};
use perfkit::track::tracking::{Observation, Tracking};
use perfkit::track::{Align, ClusterId, Labels, Points, Sequences};
use perfkit_benches::inputs;
use std::hint::black_box;

const SHAPE: [usize; 3] = [16, 16, 32];

/// Returns 9 views of noise.
fn views() -> Vec<Vec<f64>> {
    let mut random = perf_testdata::xorshift::Xorshift::new(1);
    let cells = SHAPE.iter().product();
    let mut view = || (0..cells).map(|_| random.below(1_000) as f64).collect();
    (0..9).map(|_| view()).collect()
}

#[library_benchmark]
#[bench::views(args = (), setup = views, config = at_most(25_091_120))]
fn spectra_forward(views: Vec<Vec<f64>>) -> Spectra<f64> {
    let mut builder = Spectra::builder(&SHAPE).expect("a shape");
    builder.extend(&views, &Job::default()).expect("finite");
    black_box(builder.finish())
}

fn spectra() -> (Spectra<f64>, Reference<f64>) {
    let mut builder = Spectra::builder(&SHAPE).expect("a shape");
    builder.extend(&views(), &Job::default()).expect("finite");
    let spectra = builder.finish();
    let filter = AxisFilter::new(&[1.0, 1.0, 0.0]).expect("weights");
    let reference = spectra
        .reference(0, &filter, &Job::default())
        .expect("it is there");
    (spectra, reference.expect("it varies"))
}

// Raised by 5.5 %, because the nearest of several shifts with equal magnitude is determined.
#[library_benchmark]
#[bench::eight(args = (), setup = spectra, config = at_most(1_664_674))]
fn spectra_correlate(
    (spectra, reference): (Spectra<f64>, Reference<f64>),
) -> (Spectra<f64>, Reference<f64>, Vec<Correlation>) {
    let each = (1..9).map(|view| {
        spectra
            .correlate(&reference, view, &Job::default())
            .expect("it is there")
    });
    let each = each.collect();
    (spectra, reference, black_box(each))
}

/// Returns 64 views on 8 x 8 x 8 cells.
fn many_spectra() -> Spectra<f64> {
    let dims = [8, 8, 8];
    let mut builder = Spectra::builder(&dims).expect("a shape");
    let views = inputs::views(&dims, 64);
    builder.extend(&views, &Job::default()).expect("finite");
    builder.finish()
}

// Raised by 10 % when pairs were tested more strictly; with all 64 closest pairs tested, it was 26 %.
#[library_benchmark]
#[bench::pairs(args = (), setup = many_spectra, config = at_most(40_585_188))]
fn spectra_relations(spectra: Spectra<f64>) -> (Spectra<f64>, Relations) {
    let (all, kin) = (AxisFilter::all(3), Kinship::unrelated(64));
    let params = CheckedRelations::default();
    let relations = spectra.relations(&all, &kin, &params, &Job::default());
    let relations = relations.expect("lengths agree");
    (spectra, black_box(relations))
}

/// Returns 20,000 points, the number that the limits are for.
fn phases() -> Vec<f64> {
    perf_testdata::clusters::phases(20_000, 1).values
}

fn with_eps(eps: f64) -> (Vec<f64>, Dbscan) {
    let params = Dbscan::params().eps(eps).min_points(10).check();
    (phases(), Dbscan::new(params.expect("in range")))
}

#[library_benchmark]
#[bench::dense(args = (0.01), setup = with_eps, config = at_most(6_533_763))]
#[bench::sparse(args = (0.002), setup = with_eps, config = at_most(30_883_354))]
fn dbscan((values, dbscan): (Vec<f64>, Dbscan)) -> Labels {
    let points = Points::new(&values, 2).expect("finite");
    let labels = dbscan.cluster(points, &Job::default());
    black_box(labels.expect("not cancelled"))
}

#[library_benchmark]
#[bench::ninth(args = (), setup = phases, config = at_most(162_751_797))]
fn k_distance(values: Vec<f64>) -> Vec<f64> {
    let points = Points::new(&values, 2).expect("finite");
    let distances = k_distances(points, 9, &Job::default());
    black_box(distances.expect("not cancelled"))
}

#[library_benchmark]
#[bench::phases(args = (), setup = phases, config = at_most(757_980_203))]
fn hdbscan(values: Vec<f64>) -> Labels {
    let points = Points::new(&values, 2).expect("finite");
    let params = Hdbscan::params().min_cluster_size(100).min_points(10);
    let hdbscan = Hdbscan::new(params.check().expect("in range"));
    let labels = hdbscan.cluster(points, &Job::default());
    black_box(labels.expect("not cancelled"))
}

/// Returns points of twelve phases, and the phase of each point.
fn clustered() -> (Vec<f64>, Vec<ClusterId>) {
    let phases = perf_testdata::clusters::phases(20_000, 1);
    let labels = phases.truth.iter().map(|phase| ClusterId(*phase));
    (phases.values, labels.collect())
}

#[library_benchmark]
#[bench::three(args = (), setup = clustered, config = at_most(595_916_939))]
fn tracking((values, labels): (Vec<f64>, Vec<ClusterId>)) -> Tracking {
    let times = vec![1.0; labels.len()];
    let experiment = |name: &str| {
        let points = Points::new(&values, 2).expect("finite");
        Observation::new(name, 16, points, &labels, &times).expect("of one length")
    };
    let experiments = [experiment("a"), experiment("b"), experiment("c")];
    let params = Tracking::params().check().expect("defaults");
    let tracking = Tracking::of(&experiments, &params, &Job::default());
    black_box(tracking.expect("not cancelled"))
}

/// Returns 64 sequences of 300 bursts, 5 % of which are edited.
fn sequences() -> (Sequences, Vec<f64>) {
    inputs::sequences(64, 300, 50)
}

#[library_benchmark]
#[bench::edited(args = (), setup = sequences, config = at_most(175_808_722))]
fn alignment((sequences, shares): (Sequences, Vec<f64>)) -> (Sequences, Vec<f64>) {
    let align = Align::default();
    let aligned = align.align(&sequences, &shares, &Job::default());
    black_box(aligned.expect("not cancelled"));
    (sequences, shares)
}

library_benchmark_group!(
    name = clustering,
    benchmarks = [
        spectra_forward,
        spectra_correlate,
        spectra_relations,
        dbscan,
        k_distance,
        hdbscan,
        alignment,
        tracking
    ]
);
