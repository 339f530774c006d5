//! Tests that results do not depend on the number of threads.

use super::results;
use super::work;

#[cfg(feature = "linfa")]
use super::linfa;

use perf_core::samples::cosmo;
use perfkit::core::{Job, Profile};
use std::path::{Path, PathBuf};
use work::Work;

/// Returns the `most` smallest files below a folder that can be opened, each of at most 8 MB.
fn few(place: &Path, most: usize) -> Vec<PathBuf> {
    let mut open = vec![place.to_path_buf()];
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        match std::fs::read_dir(&path) {
            Ok(entries) => open.extend(entries.flatten().map(|entry| entry.path())),
            Err(_) => files.push((path.metadata().map_or(0, |it| it.len()), path)),
        }
    }
    files.retain(|(size, _)| (50..8_000_000).contains(size));
    files.sort();
    let opens = |path: &PathBuf| work::read(path)(&Job::default(), 1).is_ok();
    let files = files.into_iter().map(|(_, path)| path);
    files.filter(opens).take(most).collect()
}

/// Compares the results on one, two and eight threads; outside of the gate on one and three.
fn compare(name: &str, work: &Work<'_>) {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        pool.install(|| work(&Job::default(), threads).map_err(|error| error.to_string()))
    };
    let one = on(1);
    assert!(one.is_ok(), "{name}: {one:?}");
    for &threads in perf_testdata::repeats(&[2, 8][..], &[3]) {
        assert_eq!(on(threads), one, "{name} on {threads} threads");
    }
}

#[test]
fn recordings_read_alike() {
    let (_made, recordings) = work::recordings("threads").unwrap();
    for path in &recordings {
        compare(&path.display().to_string(), &work::read(path));
    }
    for (name, work) in work::of_archive(&recordings[0]) {
        compare(name, &work);
    }
}

#[test]
fn traces_are_analysed_alike() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/recordings/jacobi-16"
    );
    let recorded = perfkit::open(path).unwrap().into_trace().unwrap();
    let generated = cosmo::trace();
    for trace in perf_testdata::repeats(&[&recorded, &generated][..], &[&recorded]) {
        for (name, work) in work::of_trace(trace) {
            compare(name, &work);
        }
        let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
        for (name, work) in work::of_profile(&profile).unwrap() {
            compare(name, &work);
        }
    }
}

#[test]
fn all_that_is_found_and_drawn_is_alike() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/recordings/jacobi-16"
    );
    let recorded = perfkit::open(path).unwrap().into_trace().unwrap();
    let (made, _) = work::recordings("threads-results").unwrap();
    let generated = cosmo::trace();
    for trace in perf_testdata::repeats(&[&recorded, &generated][..], &[&recorded]) {
        for (name, work) in results::of_folds(trace) {
            compare(&name, &work);
        }
        for (name, work) in results::of_detection(trace, &made.0) {
            compare(&name, &work);
        }
        for (name, work) in results::of_writers(trace) {
            compare(name, &work);
        }
    }
    for (name, work) in results::of_devices() {
        compare(name, &work);
    }
}

/// Tests recordings of other tools, a few of each format.
#[test]
fn recordings_by_others_read_alike() {
    let names = [
        "cube/cube3/experiment1.cube",
        "gpu/kineto",
        "gpu/pipit",
        "chimbuko",
        "otf2",
        "paraver",
        "tau",
    ];
    for name in names {
        let Some(place) = perf_testdata::corpus::corpus(name) else {
            return;
        };
        for path in few(&place, 3) {
            compare(&path.display().to_string(), &work::read(&path));
        }
    }
}

/// Tests a database of Nsight Systems, which needs the feature `nsys`.
#[cfg(feature = "nsys")]
#[test]
fn databases_read_alike() {
    let Some(place) = perf_testdata::corpus::corpus("gpu/pipit") else {
        return;
    };
    let found = few(&place, 3);
    let is_database = |path: &&PathBuf| path.extension().is_some_and(|it| it == "sqlite");
    assert!(found.iter().any(|path| is_database(&path)), "{found:?}");
    for path in found.iter().filter(is_database) {
        compare(&path.display().to_string(), &work::read(path));
    }
}

#[cfg(feature = "linfa")]
#[test]
fn points_are_clustered_alike_by_linfa() {
    let planted = work::Planted::new(2000).unwrap();
    for (name, work) in linfa::of_points(&planted) {
        compare(name, &work);
    }
}

#[test]
fn points_are_clustered_alike() {
    let planted = work::Planted::new(6000).unwrap();
    for (name, work) in work::of_points(&planted) {
        compare(name, &work);
    }
}
