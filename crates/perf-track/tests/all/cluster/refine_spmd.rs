//! Aggregative refinement driven by the SPMD score: on constructed data and on a recording.

use perf_core::{Job, Nanos};
use perf_formats::OpenOptions;
use perf_formats::paraver::read_trace;
use perf_testdata::corpus::corpus;
use perf_track::cluster::{
    Clusterer, Dbscan, RefineMode, RefineParams, Refined, Refinement, Score,
};
use perf_track::{
    Align, Burst, Bursts, ClusterId, Dimension, Extract, Labels, Mode, Points, Scale, ScaleMode,
    Sequences, SpmdScorer, Thread, time_shares,
};

/// Returns four threads that alternate a long and a short step, 12 times. The short step on the
/// upper two threads lies `apart` from that on the lower two.
fn by_hand(apart: f64) -> (Bursts, Vec<u32>, Vec<f64>) {
    let mut bursts = Bursts::new([]);
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for thread in 0..4 {
        let process = thread;
        let known = bursts.add_thread(Thread {
            process,
            ..Thread::default()
        });
        let thread = known.expect("there are few");
        for step in 0..24_i64 {
            let is_short = step % 2 == 1;
            let (begin, end) = (
                Nanos(100 * step),
                Nanos(100 * step + if is_short { 10 } else { 90 }),
            );
            rows.push(bursts.len() as u32);
            let burst = Burst {
                thread,
                begin,
                end,
                ..Burst::default()
            };
            bursts.push(burst, &[]).expect("its thread is known");
            // Spread over 0.12 without two at the same place.
            let place = 0.618_034 * step as f64 + 0.371_9 * f64::from(thread);
            let within = 0.12 * (place - place.floor());
            values.push(match (is_short, thread >= 2) {
                (false, _) => within,
                (true, false) => 2.0 + within,
                (true, true) => 2.0 + apart + within,
            });
        }
    }
    (bursts, rows, values)
}

fn scorer<'a>(bursts: &'a Bursts, rows: &'a [u32]) -> SpmdScorer<'a> {
    let align = Align::default();
    SpmdScorer::new(bursts, rows, align)
}

fn refine(bursts: &Bursts, rows: &[u32], points: Points<'_>, params: RefineParams) -> Refined {
    let durations = bursts.durations();
    let weights: Vec<f64> = rows.iter().map(|&row| durations[row as usize]).collect();
    let refinement = Refinement::new(params.check().expect("in range"));
    let scorer = scorer(bursts, rows);
    let refined = refinement.run(points, &weights, &scorer, &Job::default());
    refined.expect("not cancelled")
}

#[test]
fn scores_are_those_of_the_columns() {
    let (bursts, rows, values) = by_hand(0.5);
    let labels = |eps| {
        let dbscan = Dbscan::new(
            Dbscan::params()
                .eps(eps)
                .min_points(2)
                .check()
                .expect("in range"),
        );
        let points = Points::new(&values, 1).expect("finite");
        dbscan
            .cluster(points, &Job::default())
            .expect("not cancelled")
    };
    let scorer = scorer(&bursts, &rows);
    // The long step on all threads; the short ones on half of them in each column.
    let apart = labels(0.03);
    assert_eq!(
        scorer.scores(&apart, &Job::default()).expect("one each"),
        [1.0, 0.5, 0.5]
    );
    let columns = scorer
        .simultaneous(&apart, &Job::default())
        .expect("one each");
    assert_eq!(columns.len(), 24);
    assert_eq!(columns[0], [ClusterId(1)]);
    assert_eq!(columns[1], [ClusterId(2), ClusterId(3)]);
    assert_eq!(
        scorer
            .scores(&labels(0.45), &Job::default())
            .expect("one each"),
        [1.0, 1.0]
    );
    assert!(scorer.scores(&Labels::default(), &Job::default()).is_err());
}

#[test]
fn simultaneous_clusters_are_one_phase() {
    for apart in [0.3, 50.0] {
        let (bursts, rows, values) = by_hand(apart);
        let points = Points::new(&values, 1).expect("finite");
        let refined = refine(&bursts, &rows, points, Refinement::params().min_points(6));
        // The long steps take more time. The short ones are two clusters at every radius, near or
        // far, but one phase, because they are always in the same columns.
        assert_eq!(refined.labels.sizes().expect("dense"), [48, 48], "{apart}");
        assert_eq!(refined.labels.as_slice()[0], ClusterId(1));
        assert_eq!(refined.labels.as_slice()[1], ClusterId(2));
        // The long step was settled at once, and no later step examined it again.
        let first = refined
            .tree
            .iter()
            .find(|node| node.score >= 1.0)
            .expect("one is");
        assert_eq!((first.step, first.points), (0, 48));
    }
}

/// Refinement as published for EPOCH with 16 tasks, in the space of the established tool. With its
/// alignment the result is that of the tool: 13 clusters, and 3 bursts of noise, in 10 steps from
/// 0.0128 to 0.0570. The optimal alignment gives a better score than a single radius.
#[test]
fn refinement_of_a_recording_beats_one_radius() {
    let Some(path) = corpus("paraver/epoch/epoch_16proc.prv.gz") else {
        return;
    };
    let (trace, _) =
        read_trace(&path, &OpenOptions::new(), &Job::default()).expect("it is a trace");
    let extract = Extract::params().min_duration(Nanos(1_000_000));
    let extract = extract.metric("instructions").metric("ipc").check();
    let extract = extract.expect("in range");
    let found = extract.extract(trace.view(), &Job::default());
    let (bursts, _) = found.expect("it has both");
    let scale = Scale::params().mode(ScaleMode::PerExperiment);
    let scale = scale.dimension(Dimension::new("instructions").log(true));
    let scale = scale.dimension(Dimension::new("ipc").log(false)).check();
    let scaled = scale
        .expect("in range")
        .fit(&[&bursts], &Job::default())
        .expect("it has both");
    let experiment = &scaled.experiments[0];
    let params = Refinement::params()
        .for_threads(16)
        .mode(RefineMode::Published);
    let points = experiment.points().expect("finite");
    let align = Mode::Published.align(Align::params());
    let align = align.check().expect("in range");
    let published = SpmdScorer::new(&bursts, experiment.rows(), align);
    let weights: Vec<f64> = experiment
        .rows()
        .iter()
        .map(|&row| bursts.durations()[row as usize])
        .collect();
    let refinement = Refinement::new(params.clone().check().expect("in range"));
    let by_peer = refinement.run(points, &weights, &published, &Job::default());
    let by_peer = by_peer.expect("not cancelled");
    let refined = refine(&bursts, experiment.rows(), points, params);
    // The radii and the result of the established tool.
    assert_eq!(by_peer.eps, refined.eps);
    assert_eq!((by_peer.labels.clusters(), by_peer.labels.noise()), (13, 3));
    assert_eq!(refined.eps.len(), 10);
    assert!((refined.eps[0] - 0.012_846).abs() < 1e-5);
    assert!((refined.eps[9] - 0.056_95).abs() < 1e-5);
    let global = |labels: &Labels| {
        let all = experiment.spread(labels.as_slice(), &bursts, ClusterId::NOISE);
        let all = Labels::new(all.expect("one each"));
        let sequences = Sequences::of(&bursts, &all).expect("one each");
        let shares = time_shares(&bursts, &all).expect("one each");
        let align = Align::default();
        let aligned = align.align(&sequences, &shares, &Job::default());
        aligned.expect("not cancelled").score(&shares).global
    };
    let params = Dbscan::params().eps(0.04).min_points(4);
    let plain = Dbscan::new(params.check().expect("in range"));
    let plain = plain.cluster(experiment.points().expect("finite"), &Job::default());
    let (refined, plain) = (
        global(&refined.labels),
        global(&plain.expect("not cancelled")),
    );
    println!("refined {refined}, one radius {plain}");
    assert!(refined > plain, "{refined} {plain}");
}
