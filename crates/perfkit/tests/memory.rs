//! What work says beforehand that it takes of memory is what it takes, within a fifth.
//!
//! Memory is counted by the allocator of this program, so that the figures are the same each time.

#![cfg(all(
    feature = "otf2",
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
use perf_testdata::{clusters, wide};
use perfkit::core::{CancelToken, Trace};
use perfkit::fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
use perfkit::formats::OpenOptions;
use perfkit::formats::otf2::{self, MemoryArchive, Reader, WriteOptions};
use perfkit::spectral::{Spectra, Transform};
use perfkit::track::Points;
use perfkit::track::cluster::{Dbscan, Index, KdTree};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static COUNTED: Counted = Counted::up_to(usize::MAX);

/// One test at a time, since all memory of the process is counted.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `work` in a pool of so many threads that exist before memory is counted.
fn peak<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> (R, usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.build().unwrap();
    pool.install(|| memory::of(work))
}

/// Said and taken differ by a fifth at most.
fn agree(what: &str, said: usize, taken: usize) {
    println!(
        "| {what} | {said} | {taken} | {:.3} |",
        taken as f64 / said as f64
    );
    let ratio = taken as f64 / said as f64;
    assert!((0.8..=1.2).contains(&ratio), "{what}: {taken} of {said}");
}

fn archive(trace: &Trace) -> MemoryArchive {
    let mut archive = MemoryArchive::default();
    let options = WriteOptions::default();
    otf2::write(
        trace.view(),
        &mut archive,
        &options,
        &(),
        &CancelToken::new(),
    )
    .unwrap();
    archive
}

#[test]
fn traces() {
    let _alone = alone();
    for (ranks, events) in [(32, 500_000), (64, 40_000)] {
        let archive = archive(&wide::trace(ranks, events));
        for threads in [1, 2] {
            let options = OpenOptions::new().threads(threads);
            let reader = Reader::new(&archive, &options).unwrap();
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
        let trace = wide::trace(ranks, events);
        let said = Timelines::estimate(trace.view());
        let map = RegionMap::by_name(trace.definitions()).unwrap();
        for threads in [1, 2] {
            let make = || Timelines::new(trace.view(), &map).unwrap();
            let (timelines, taken) = peak(threads, make);
            let what = format!("timelines, {ranks} x {events} events, {threads} threads");
            agree(&what, said, taken);
            for by in [GroupBy::Location, GroupBy::All] {
                let groups = Groups::by(&timelines, by);
                let params = Folder::params().columns(20_000).check().unwrap();
                let folder = Folder::new(&timelines, groups, params).unwrap();
                // What is said depends on the pool.
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                let said = pool.build().unwrap().install(|| folder.memory());
                let (_, taken) = peak(threads, || folder.fold(timelines.range()).unwrap());
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
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let said = pool.build().unwrap().install(|| plan.memory(count));
            let mut builder = Spectra::<f64>::builder(&dims).unwrap();
            let (_, taken) = peak(threads, || builder.extend(&views).unwrap());
            agree(
                &format!("spectra, {count} of {dims:?}, {threads} threads"),
                said,
                taken,
            );
        }
    }
}

#[test]
fn clusters_of_points() {
    let _alone = alone();
    let values = clusters::phases(200_000, 5).values;
    let points = Points::new(&values, 2).unwrap();
    for threads in [1, 2] {
        let (_, taken) = peak(threads, || KdTree::new(points));
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
            let scan = || dbscan.scan(points, &(), &CancelToken::new()).unwrap();
            let (_, taken) = peak(threads, scan);
            let what = format!("dbscan, eps {eps}, {index:?}, {threads} threads");
            agree(&what, said, taken);
        }
    }
}
