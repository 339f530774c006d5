//! Tests that memory estimates agree with the memory that is actually used, within 20 %.
//!
//! The allocator of this program counts the memory, so that the numbers are the same in each run.

#![cfg(all(
    feature = "otf2",
    feature = "cube",
    feature = "fold",
    feature = "spectral",
    feature = "track",
    feature = "anomaly"
))]
#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

use perf_testdata::memory::{self, Counted};
use perf_testdata::xorshift::Xorshift;
use perf_testdata::{clusters, many_ranks};
use perfkit::anomaly::calls::Calls;
use perfkit::anomaly::server::{Client, Delta, Exchange, Server, View};
use perfkit::anomaly::{Detector, Model, Sstd, Tail, Watch};
use perfkit::core::{Job, Messages, Nanos, Profile, Trace, match_messages};
use perfkit::fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
use perfkit::formats::otf2::{self, MemoryArchive, Reader, WriteOptions};
use perfkit::formats::{OpenOptions, cube};
use perfkit::spectral::{Spectra, Transform};
use perfkit::track::cluster::{Dbscan, Index, KdTree};
use perfkit::track::{Align, AlignMethod, ClusterId, Points, Sequences};
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static COUNTED: Counted = Counted::up_to(usize::MAX);

/// Estimates found to be wrong so far.
static WRONG: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Guard that lets one test run at a time, because the memory of the whole process is counted.
struct Alone(#[allow(dead_code, reason = "it is held")] MutexGuard<'static, ()>);

fn alone() -> Alone {
    static ONE: Mutex<()> = Mutex::new(());
    Alone(ONE.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Drop for Alone {
    /// Reports all wrong estimates at once.
    fn drop(&mut self) {
        let mut wrong = WRONG.lock().unwrap_or_else(PoisonError::into_inner);
        let wrong = std::mem::take(&mut *wrong);
        assert!(
            wrong.is_empty() || std::thread::panicking(),
            "{}",
            wrong.join("\n")
        );
    }
}

/// Runs `work` in a pool of `threads` threads and returns its peak memory. The threads are created
/// before memory is counted.
fn peak<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> (R, usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.build().unwrap();
    pool.install(|| memory::of(work))
}

/// Returns the result of `make`, and the memory that it holds.
fn held<R>(make: impl FnOnce() -> R) -> (R, usize) {
    memory::reset();
    let before = memory::peak();
    let made = make();
    memory::reset();
    (made, memory::peak().saturating_sub(before))
}

/// Asserts that the estimate and the memory used differ by at most 20 %.
fn agree(what: &str, said: usize, taken: usize) {
    within(what, said..=said, taken);
}

/// Asserts that the memory used is at most 20 % outside of the range. The upper end of the range is
/// the estimate.
fn within(what: &str, range: RangeInclusive<usize>, taken: usize) {
    let said = *range.end();
    let ratio = taken as f64 / said as f64;
    println!("| {what} | {said} | {taken} | {ratio:.3} |");
    if (taken as f64) < 0.8 * *range.start() as f64 || ratio > 1.2 {
        let mut wrong = WRONG.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.push(format!("{what}: {taken} of {said}"));
    }
}

fn archive(trace: &Trace) -> MemoryArchive {
    let mut archive = MemoryArchive::default();
    let options = WriteOptions::default();
    otf2::write(trace.view(), &mut archive, &options, &Job::default()).unwrap();
    archive
}

#[test]
fn traces() {
    let _alone = alone();
    // A few long streams, and many short ones.
    let all = [
        (1, 800_000),
        (4, 300_000),
        (5, 150_000),
        (32, 50_000),
        (64, 40_000),
        (512, 2_000),
    ];
    for (ranks, events) in all {
        let archive = archive(&many_ranks::trace(ranks, events));
        for threads in [1, 2] {
            let options = OpenOptions::new().threads(threads);
            let reader = Reader::new(&archive, &options, &Job::default()).unwrap();
            let said = reader.estimate().unwrap().memory;
            let (read, taken) = peak(threads, || reader.read().unwrap());
            let what = format!("OTF2, {ranks} x {events} events, {threads} threads");
            agree(&what, said as usize, taken);
            drop(read);
        }
    }
}

#[test]
fn folds() {
    let _alone = alone();
    for (ranks, events) in [(4, 200_000), (256, 4_000)] {
        let trace = many_ranks::trace(ranks, events);
        let said = Timelines::estimate(trace.view());
        let map = RegionMap::by_name(trace.definitions()).unwrap();
        for threads in [1, 2] {
            let make = || Timelines::new(trace.view(), &map, &Job::default()).unwrap();
            let (timelines, taken) = peak(threads, make);
            let what = format!("timelines, {ranks} x {events} events, {threads} threads");
            agree(&what, said, taken);
            for by in [GroupBy::Location, GroupBy::All] {
                let groups = Groups::by(&timelines, by);
                let params = Folder::params().columns(20_000).check().unwrap();
                let folder = Folder::new(&timelines, groups, params).unwrap();
                // The estimate depends on the number of threads of the pool.
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                let said = pool.build().unwrap().install(|| folder.memory());
                let (_, taken) = peak(threads, || {
                    folder.fold(timelines.range(), &Job::default()).unwrap()
                });
                agree(
                    &format!("fold, {by:?} of {ranks}, {threads} threads"),
                    said,
                    taken,
                );
            }
        }
    }
}

#[test]
fn spectra() {
    let _alone = alone();
    for (dims, count) in [
        (vec![32, 32, 16], 200),
        (vec![128, 64, 64], 6),
        (vec![27, 81], 400),
    ] {
        let points: usize = dims.iter().product();
        let value = |view: usize, at: usize| ((at * 31 + view * 17 + at * view) % 1009) as f64;
        let view = |view: usize| (0..points).map(|at| value(view, at)).collect();
        let views: Vec<Vec<f64>> = (0..count).map(view).collect();
        let plan = Transform::<f64>::new(&dims).unwrap();
        let said_of = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| plan.memory(count))
        };
        for threads in [1, 2] {
            let said = said_of(threads);
            let mut builder = Spectra::<f64>::builder(&dims).unwrap();
            let (_, taken) = peak(threads, || builder.extend(&views, &Job::default()).unwrap());
            let what = format!("spectra, {count} of {dims:?}, {threads} threads");
            // On a busy machine one thread may have done all of the work before another begins.
            within(&what, said_of(1)..=said, taken);
        }
    }
}

#[test]
fn clusters_of_points() {
    let _alone = alone();
    let values = clusters::phases(200_000, 5).values;
    let points = Points::new(&values, 2).unwrap();
    for threads in [1, 2] {
        let (_, taken) = peak(threads, || KdTree::new(points, &Job::default()).unwrap());
        agree("k-d tree, 200000 points", KdTree::memory(200_000, 2), taken);
        for (eps, index) in [
            (0.01, Index::default()),
            (0.002, Index::default()),
            (0.0002, Index::default()),
            (0.01, Index::Tree),
        ] {
            let params = Dbscan::params().eps(eps).min_points(10).index(index);
            let dbscan = Dbscan::new(params.check().unwrap());
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let said = pool.build().unwrap().install(|| dbscan.memory(points));
            let scan = || dbscan.scan(points, &Job::default()).unwrap();
            let (_, taken) = peak(threads, scan);
            let what = format!("dbscan, eps {eps}, {index:?}, {threads} threads");
            agree(&what, said, taken);
        }
    }
}

#[test]
fn messages() {
    let _alone = alone();
    for (ranks, events) in [(16, 20_000), (64, 60_000)] {
        let trace = many_ranks::trace(ranks, events);
        let said = Messages::estimate(trace.view());
        let (_, taken) = peak(1, || match_messages(trace.view(), &Job::default()).unwrap());
        agree(&format!("messages, {ranks} x {events} events"), said, taken);
    }
}

#[test]
fn profiles() {
    let _alone = alone();
    let recordings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/recordings/");
    let read = |name: &str| {
        let path = format!("{recordings}{name}");
        perfkit::open(path).unwrap().into_trace().unwrap()
    };
    for (name, trace) in [
        ("64 ranks of a solver", read("jacobi-64")),
        (
            "256 ranks whose call paths differ",
            many_ranks::trace(256, 600),
        ),
        (
            "32 ranks whose call paths differ",
            many_ranks::trace(32, 5_000),
        ),
    ] {
        let job = Job::default();
        let said = Profile::estimate(trace.view(), &job).unwrap();
        let make = || Profile::from_trace(trace.view(), &job).unwrap().0;
        let (profile, taken) = peak(1, make);
        agree(&format!("profile of {name}"), said, taken);

        let mut file = std::io::Cursor::new(Vec::new());
        cube::write(
            &profile,
            &mut file,
            &cube::WriteOptions::new(),
            &Job::default(),
        )
        .unwrap();
        let options = OpenOptions::new();
        let read = cube::Cube::from_bytes(file.into_inner(), "x.cubex", &options, &Job::default())
            .unwrap();
        let profile = read.profile();
        let time = profile.metric("time").unwrap();
        let paths: Vec<_> = profile.paths(time).into_iter().take(200).collect();
        let said = profile.memory_of_rows(time) / profile.paths(time).len() * paths.len();
        // The read-ahead buffer of 64 KiB is allocated with the second row.
        for path in &paths {
            profile.row(time, *path).unwrap();
        }
        let rows = || -> Vec<_> {
            let rows = paths.iter().map(|path| profile.row(time, *path).unwrap());
            rows.collect()
        };
        let (_, taken) = held(rows);
        agree(&format!("rows of Cube, {name}"), said, taken);
    }
}

/// Tests that an alignment keeps within its memory budget, apart from memory that grows with the
/// number of bursts.
#[test]
fn alignments() {
    let _alone = alone();
    let mut random = Xorshift::new(5);
    let sequence = |length: usize, random: &mut Xorshift| -> Vec<ClusterId> {
        (0..length)
            .map(|_| ClusterId(1 + random.below(9) as u32))
            .collect()
    };
    let threads: Vec<_> = (0..8).map(|_| sequence(1_000, &mut random)).collect();
    let bursts = 8 * 1_000;
    let sequences = Sequences::new(threads);
    let shares = [0.1; 10];
    for method in [AlignMethod::Star, AlignMethod::Progressive] {
        for memory in [1 << 17, 1 << 19, 1 << 21] {
            for count in [1, 2] {
                let align = Align::params().method(method).memory(memory).rounds(1);
                let align = align.check().unwrap();
                let job = Job::default();
                let work = || align.align(&sequences, &shares, &job).unwrap();
                let (_, taken) = peak(count, work);
                let granted = count * memory + 320 * bursts;
                println!(
                    "| {method:?}, {count} threads, {memory} granted | {granted} | {taken} | {:.3} |",
                    taken as f64 / granted as f64
                );
                if taken > granted {
                    let mut wrong = WRONG.lock().unwrap_or_else(PoisonError::into_inner);
                    wrong.push(format!("{method:?}, {count}: {taken} of {granted}"));
                }
            }
        }
    }
}

/// Client connection that keeps all deltas and answers them with a local server.
#[derive(Debug)]
struct Kept {
    /// Server that answers the deltas.
    server: Server,
    /// Deltas sent so far.
    deltas: Vec<Delta>,
    /// Answer to the last delta.
    view: Option<View>,
}

impl Exchange for Kept {
    fn send(&mut self, delta: &Delta) -> perfkit::anomaly::Result<()> {
        self.view = Some(self.server.take(delta)?);
        self.deltas.push(delta.clone());
        Ok(())
    }

    fn receive(&mut self) -> perfkit::anomaly::Result<Option<View>> {
        Ok(self.view.take())
    }
}

/// Returns the deltas of a rank that calls `functions` functions four times in each step.
fn deltas(rank: u32, functions: u64, steps: u64) -> Vec<Delta> {
    let mut watch = Watch::new(Calls::default(), 0, rank);
    let regions: Vec<_> = (0..functions)
        .map(|id| watch.region(&format!("a function of this program, number {id}")))
        .collect();
    let mut detector = Tail::new(Tail::params().learn_first(true).check().unwrap());
    let kept = Kept {
        server: Server::default(),
        deltas: Vec::new(),
        view: None,
    };
    let mut client = Client::new(rank.into(), kept);
    let mut random = Xorshift::new(rank.into());
    let mut now = 0;
    for _ in 0..steps {
        for region in &regions {
            for _ in 0..4 {
                let runtime = 20_000 + random.below(400_000) as i64;
                watch.enter(0, *region, Nanos(now));
                watch.exit(0, *region, Nanos(now + runtime));
                now += runtime + 100;
            }
        }
        watch.end_step();
        let mut judgements = Vec::new();
        detector
            .detect(
                watch.sink().batch().samples(),
                &mut judgements,
                &Job::default(),
            )
            .unwrap();
        client
            .step(watch.sink(), &judgements, &mut detector)
            .unwrap();
    }
    std::mem::take(&mut client.exchange_mut().deltas)
}

#[test]
fn models_and_servers() {
    let _alone = alone();
    let mut random = Xorshift::new(3);
    let mut sample = |function: u32| perfkit::anomaly::Sample {
        function: perfkit::anomaly::FunctionId(function),
        runtime: Nanos(10_000 + random.below(1_000_000) as i64),
        first: false,
    };
    let samples: Vec<_> = (0..150_000).map(|at| sample(at % 1_500)).collect();
    type Make = fn() -> Box<dyn Detector>;
    let make: [(&str, Make); 2] = [
        ("tail", || Box::new(Tail::default())),
        ("sstd", || Box::new(Sstd::default())),
    ];
    for (name, make) in make {
        let mut detector = make();
        detector.learn(&samples);
        let bytes = detector.snapshot().encode();
        let (model, taken) = held(|| Model::decode(&bytes).unwrap());
        agree(
            &format!("model of 1,500 functions, {name}"),
            model.memory(),
            taken,
        );
        let (model, taken) = held(|| detector.snapshot());
        agree(
            &format!("snapshot of the same, {name}"),
            model.memory(),
            taken,
        );
    }
    for (ranks, functions, steps) in [(50, 40, 70), (4, 2_000, 3)] {
        let all: Vec<_> = (0..ranks)
            .map(|rank| deltas(rank, functions, steps))
            .collect();
        let serve = || {
            let mut server = Server::default();
            for delta in all.iter().flatten() {
                server.take(delta).unwrap();
            }
            server
        };
        let (server, taken) = held(serve);
        let what = format!("server, {ranks} ranks, {functions} functions, {steps} steps");
        agree(&what, server.memory(), taken);
    }
}
