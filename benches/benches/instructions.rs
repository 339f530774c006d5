//! Instruction counts of the hot paths, with limits: the gate runs them under valgrind.
//!
//! Counts are the same from run to run, whatever else the machine does. A limit is the count that
//! was measured last and 5 % more; a change that costs more either is mended or says here why.
//! Run without default features, since what a second thread does is not counted reliably:
//! `cargo bench -p perfkit-benches --no-default-features --bench instructions`.

#![allow(missing_docs, reason = "the items are those of gungraun's macros")]

use gungraun::{
    Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};
use perfkit::anomaly::{Detector, Judgement, Model, Sample, Sstd, Tail};
use perfkit::core::{
    CallPathId, CancelToken, Messages, MetricId, Profile, Ticks, TimeRange, Trace, match_messages,
};
use perfkit::fold::{Fold, Folder, RegionMap, Scratch, Timelines};
use perfkit::formats::OpenOptions;
use perfkit::formats::cube::Cube;
use perfkit::formats::otf2::{MemoryArchive, Reader, WriteOptions, write};
use perfkit::formats::paraver;
use perfkit::spectral::{AxisFilter, Correlation, Reference, Spectra};
use perfkit::track::cluster::{Clusterer, Dbscan, Hdbscan, k_distances};
use perfkit::track::{Align, Extract, Labels, Points, Sequences};
use perfkit_benches::inputs;
use std::hint::black_box;

/// A limit a little above what was measured.
fn at_most(measured: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(
        Callgrind::with_args(["cache-sim=no"])
            .hard_limits([(EventKind::Ir, measured + measured / 20)]),
    );
    config
}

/// 16 ranks with 10,000 events each: the figures below are of 160,000 events.
fn archive() -> MemoryArchive {
    inputs::archive(16, 10_000)
}

fn trace() -> Trace {
    inputs::trace(16, 10_000)
}

#[library_benchmark]
#[bench::events(args = (), setup = archive, config = at_most(24_902_833))]
fn otf2_decode(archive: MemoryArchive) -> Trace {
    let reader = Reader::new(archive, &OpenOptions::new().threads(1)).expect("it was just written");
    black_box(reader.read().expect("it was just written").0)
}

#[library_benchmark]
#[bench::events(args = (), setup = archive, config = at_most(46_372_918))]
fn otf2_merge(archive: MemoryArchive) -> u64 {
    let reader = Reader::new(archive, &OpenOptions::new().threads(1)).expect("it was just written");
    let mut stream = reader.merged().expect("it was just written");
    let mut sum = 0_u64;
    while let Some((_, at, _)) = stream.next().expect("it was just written") {
        sum = sum.wrapping_add(at.0);
    }
    black_box(sum)
}

#[library_benchmark]
#[bench::events(args = (), setup = trace, config = at_most(142_408_934))]
fn otf2_write(trace: Trace) -> MemoryArchive {
    let mut archive = MemoryArchive::default();
    let options = WriteOptions::default();
    write(
        trace.view(),
        &mut archive,
        &options,
        &(),
        &CancelToken::new(),
    )
    .expect("memory takes it");
    black_box(archive)
}

#[library_benchmark]
#[bench::events(args = (), setup = trace, config = at_most(33_648_727))]
fn messages(trace: Trace) -> Messages {
    black_box(match_messages(trace.view()))
}

#[library_benchmark]
#[bench::events(args = (), setup = inputs::recorded, config = at_most(20_373_099))]
fn profile(trace: Trace) -> Profile {
    let (profile, _) =
        Profile::from_trace(trace.view(), &(), &CancelToken::new()).expect("calls are few");
    black_box(profile)
}

fn with_map() -> (Trace, RegionMap) {
    let trace = trace();
    let map = RegionMap::by_name(trace.definitions()).expect("there are few regions");
    (trace, map)
}

#[library_benchmark]
#[bench::events(args = (), setup = with_map, config = at_most(19_560_766))]
fn fold_timelines((trace, map): (Trace, RegionMap)) -> Timelines {
    black_box(Timelines::new(trace.view(), &map).expect("every class is known"))
}

fn folded() -> (Folder, Scratch, Fold) {
    let folder = inputs::folder(16, 10_000, 1_920);
    let (mut scratch, mut fold) = (folder.scratch(), folder.empty());
    let all = folder.timelines().range();
    folder
        .refold(all, &mut scratch, &mut fold)
        .expect("nobody cancels");
    (folder, scratch, fold)
}

#[library_benchmark]
#[bench::cells(args = (), setup = folded, config = at_most(7_533_305))]
fn fold_zoom((folder, mut scratch, mut fold): (Folder, Scratch, Fold)) -> (Folder, Scratch, Fold) {
    let all = folder.timelines().range();
    let window = TimeRange {
        start: Ticks(all.start.0 + all.len() / 4),
        end: all.end,
    };
    folder
        .refold(window, &mut scratch, &mut fold)
        .expect("nobody cancels");
    black_box((folder, scratch, fold))
}

/// A detector that knows 100 functions, and 100,000 more calls of them.
fn watching() -> (Tail, Vec<Sample>, Vec<Judgement>) {
    let samples = inputs::samples(100, 100_000);
    let mut detector = Tail::new(Tail::params().check().expect("defaults"));
    let mut judgements = Vec::new();
    detector.detect(&samples, &mut judgements);
    judgements.clear();
    (detector, samples, judgements)
}

#[library_benchmark]
#[bench::calls(args = (), setup = watching, config = at_most(21_852_710))]
fn anomaly_detect(
    (mut detector, samples, mut judgements): (Tail, Vec<Sample>, Vec<Judgement>),
) -> (Tail, Vec<Sample>, Vec<Judgement>) {
    detector.detect(&samples, &mut judgements);
    black_box((detector, samples, judgements))
}

/// Moments of 1,000 functions, twice.
fn models() -> (Model, Model) {
    let params = Sstd::params().check().expect("defaults");
    let mut detector = Sstd::new(params);
    detector.learn(&inputs::samples(1000, 10_000));
    (detector.snapshot(), detector.snapshot())
}

#[library_benchmark]
#[bench::functions(args = (), setup = models, config = at_most(123_154))]
fn anomaly_merge((mut server, delta): (Model, Model)) -> (Model, Model) {
    server.merge(&delta).expect("models of one kind");
    black_box((server, delta))
}

/// A profile of 64 locations and 2,000 call paths, uncompressed.
fn cubex() -> Vec<u8> {
    inputs::cubex(64, 2_000, false)
}

#[library_benchmark]
#[bench::view(args = (), setup = cubex, config = at_most(17_974_942))]
fn cube_open(bytes: Vec<u8>) -> Cube {
    let cube = Cube::from_bytes(bytes, "bench.cubex", &OpenOptions::new());
    let cube = cube.expect("it was just written");
    let row = cube.profile().row(MetricId(1), CallPathId(77));
    black_box(row.expect("it was just written"));
    cube
}

/// Text of 16 threads.
fn prv() -> String {
    perf_testdata::paraver::text(16, 1_000)
}

#[library_benchmark]
#[bench::records(args = (), setup = prv, config = at_most(125_863_535))]
fn paraver_read(text: String) -> (String, usize) {
    let options = OpenOptions::new().threads(1);
    let reader = paraver::Reader::new(text.as_bytes(), "bench.prv", &options);
    let mut reader = reader.expect("it was just made");
    let mut records = 0;
    while let Some(batch) = reader.next_batch().expect("it was just made") {
        records += batch.len();
    }
    drop(reader);
    (text, black_box(records))
}

const SHAPE: [usize; 3] = [16, 16, 32];

/// 9 views like noise.
fn views() -> Vec<Vec<f64>> {
    let mut random = perf_testdata::wide::Xorshift::new(1);
    let cells = SHAPE.iter().product();
    let mut view = || (0..cells).map(|_| random.below(1_000) as f64).collect();
    (0..9).map(|_| view()).collect()
}

#[library_benchmark]
#[bench::views(args = (), setup = views, config = at_most(25_578_006))]
fn spectra_forward(views: Vec<Vec<f64>>) -> Spectra<f64> {
    let mut builder = Spectra::builder(&SHAPE).expect("a shape");
    builder.extend(&views).expect("finite");
    black_box(builder.finish())
}

fn spectra() -> (Spectra<f64>, Reference<f64>) {
    let mut builder = Spectra::builder(&SHAPE).expect("a shape");
    builder.extend(&views()).expect("finite");
    let spectra = builder.finish();
    let filter = AxisFilter::new(&[1.0, 1.0, 0.0]).expect("weights");
    let reference = spectra.reference(0, &filter).expect("it is there");
    (spectra, reference.expect("it varies"))
}

#[library_benchmark]
#[bench::eight(args = (), setup = spectra, config = at_most(1_868_279))]
fn spectra_correlate(
    (spectra, reference): (Spectra<f64>, Reference<f64>),
) -> (Spectra<f64>, Reference<f64>, Vec<Correlation>) {
    let each = (1..9).map(|view| spectra.correlate(&reference, view).expect("it is there"));
    let each = each.collect();
    (spectra, reference, black_box(each))
}

/// 20,000 points: the figures below are of that many.
fn phases() -> Vec<f64> {
    perf_testdata::clusters::phases(20_000, 1).values
}

fn with_eps(eps: f64) -> (Vec<f64>, Dbscan) {
    let params = Dbscan::params().eps(eps).min_points(10).check();
    (phases(), Dbscan::new(params.expect("in range")))
}

#[library_benchmark]
#[bench::dense(args = (0.01), setup = with_eps, config = at_most(6_567_324))]
#[bench::sparse(args = (0.002), setup = with_eps, config = at_most(30_907_827))]
fn dbscan((values, dbscan): (Vec<f64>, Dbscan)) -> Labels {
    let points = Points::new(&values, 2).expect("finite");
    let labels = dbscan.cluster(points, &(), &CancelToken::new());
    black_box(labels.expect("nobody cancels"))
}

#[library_benchmark]
#[bench::ninth(args = (), setup = phases, config = at_most(154_122_793))]
fn k_distance(values: Vec<f64>) -> Vec<f64> {
    let points = Points::new(&values, 2).expect("finite");
    let distances = k_distances(points, 9, &(), &CancelToken::new());
    black_box(distances.expect("nobody cancels"))
}

#[library_benchmark]
#[bench::phases(args = (), setup = phases, config = at_most(761_099_311))]
fn hdbscan(values: Vec<f64>) -> Labels {
    let points = Points::new(&values, 2).expect("finite");
    let params = Hdbscan::params().min_cluster_size(100).min_points(10);
    let hdbscan = Hdbscan::new(params.check().expect("in range"));
    let labels = hdbscan.cluster(points, &(), &CancelToken::new());
    black_box(labels.expect("nobody cancels"))
}

#[library_benchmark]
#[bench::events(args = (), setup = trace, config = at_most(129_265_565))]
fn bursts(trace: Trace) -> Trace {
    let extract = Extract::params().metric("duration").check();
    let extract = extract.expect("they are valid");
    let bursts = extract.extract(trace.view(), &(), &CancelToken::new());
    black_box(bursts.expect("nobody cancels"));
    trace
}

/// 64 sequences of 300 bursts, 5 % of them edited.
fn sequences() -> (Sequences, Vec<f64>) {
    inputs::sequences(64, 300, 50)
}

#[library_benchmark]
#[bench::edited(args = (), setup = sequences, config = at_most(182_474_709))]
fn alignment((sequences, shares): (Sequences, Vec<f64>)) -> (Sequences, Vec<f64>) {
    let align = Align::params().check().expect("they are valid");
    let aligned = align.align(&sequences, &shares, &(), &CancelToken::new());
    black_box(aligned.expect("nobody cancels"));
    (sequences, shares)
}

library_benchmark_group!(
    name = hot_paths,
    benchmarks = [
        otf2_decode,
        otf2_merge,
        otf2_write,
        messages,
        profile,
        fold_timelines,
        fold_zoom,
        anomaly_detect,
        anomaly_merge,
        cube_open,
        paraver_read,
        spectra_forward,
        spectra_correlate,
        dbscan,
        k_distance,
        hdbscan,
        bursts,
        alignment
    ]
);
main!(library_benchmark_groups = hot_paths);
