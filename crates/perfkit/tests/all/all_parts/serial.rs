//! Tests that results are the same with and without the feature `parallel`.
//!
//! A program either has this feature or lacks it, so two programs are compared. The one that runs
//! first writes its results to the file in the variable `PERFKIT_RESULTS`, and the other one
//! compares its own with them. `cargo xtask ci` runs both.

use super::results;
use super::work;

use perf_core::samples::cosmo;
use perfkit::core::{Job, Profile};
use std::io::ErrorKind;
use work::Work;

/// Results as text, one line for each piece of work.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, name: &str, work: &Work<'_>) {
        let given = work(&Job::default(), 0);
        self.0 += &format!("{name}: {}\n", given.unwrap());
    }
}

fn lines() -> String {
    let mut all = Lines::default();
    let (made, recordings) = work::recordings("serial").unwrap();
    for path in &recordings {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        all.add(&name, &work::read(path));
    }
    for (name, work) in work::of_archive(&recordings[0]) {
        all.add(name, &work);
    }
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/recordings/jacobi-16"
    );
    let recorded = perfkit::open(path).unwrap().into_trace().unwrap();
    for trace in [&recorded, &cosmo::trace()] {
        let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
        for (name, work) in work::of_trace(trace) {
            all.add(name, &work);
        }
        for (name, work) in work::of_profile(&profile).unwrap() {
            all.add(name, &work);
        }
        for (name, work) in results::of_folds(trace) {
            all.add(&name, &work);
        }
        for (name, work) in results::of_detection(trace, &made.0) {
            all.add(&name, &work);
        }
        for (name, work) in results::of_writers(trace) {
            all.add(name, &work);
        }
    }
    for (name, work) in results::of_devices() {
        all.add(name, &work);
    }
    let planted = work::Planted::new(6000).unwrap();
    for (name, work) in work::of_points(&planted) {
        all.add(name, &work);
    }
    all.0
}

#[test]
fn results_are_those_of_the_other_program() {
    let Some(file) = std::env::var_os("PERFKIT_RESULTS") else {
        println!("skipped: no file to compare with");
        return;
    };
    let own = lines();
    match std::fs::read_to_string(&file) {
        Ok(other) => {
            for (own, other) in own.lines().zip(other.lines()) {
                assert_eq!(own, other);
            }
            assert_eq!(own, other);
        }
        Err(error) if error.kind() == ErrorKind::NotFound => std::fs::write(file, own).unwrap(),
        Err(error) => panic!("{error}"),
    }
}
