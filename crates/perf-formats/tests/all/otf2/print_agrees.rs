//! Compares the reader with `otf2-print`, if that tool is installed: the events of each location
//! and their corrected times.

use perf_core::Job;
use perf_formats::otf2::{Reader, record_name};
use perf_formats::{OpenOptions, Unify};
use perf_testdata::corpus::corpus;
use std::collections::BTreeMap;
use std::process::Command;

/// Number of events and sum of their times by location and name.
type Sums = BTreeMap<(u64, String), (u64, u128)>;

/// Converts `MpiIrecvRequest` to `MPI_IRECV_REQUEST`.
fn shout(name: &str) -> String {
    let mut loud = String::new();
    for (at, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && at > 0 {
            loud.push('_');
        }
        loud.push(letter.to_ascii_uppercase());
    }
    loud
}

fn printed(text: &str) -> Sums {
    let mut sums = Sums::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(location), Some(time)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        // Other lines are headings and continuation lines of an event.
        let (Ok(location), Ok(time)) = (location.parse(), time.parse::<u128>()) else {
            continue;
        };
        let sum = sums.entry((location, name.to_string())).or_default();
        *sum = (sum.0 + 1, sum.1 + time);
    }
    sums
}

/// Returns `true` if the tool is installed. In a complete test run, it must be.
fn has_otf2_print() -> bool {
    let is_there = Command::new("otf2-print").arg("--version").output().is_ok();
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(is_there || !is_ci, "otf2-print is not installed");
    if !is_there {
        println!("skipped: otf2-print is not installed");
    }
    is_there
}

#[test]
fn otf2_print_sees_the_same_events() {
    if !has_otf2_print() {
        return;
    }
    for name in [
        "pipit-pingpong",
        "sstmacro-otf2",
        "casita-10_scorep_mpi_tags",
        "casita-1_scorep-ompt-host-nested",
        "casita-1_xeonphi_jacobi_01",
        "casita-2_cuda_simple",
        "casita-4_mpi_ls_barr",
        "tracer-stencil4d-32",
        "syn-cosmo",
        "apex-json-converter",
        "eztrace-heat4",
        "eztrace-heat4-ompt",
    ] {
        let Some(path) = corpus(&format!("otf2/{name}")) else {
            return;
        };
        let options = OpenOptions::new().unify(Unify::Never);
        let reader = Reader::open(&path, &options, &Job::default()).unwrap();
        let anchor = path.join(format!("{}.otf2", reader.name()));
        let output = Command::new("otf2-print").arg(anchor).output().unwrap();
        let printed = printed(&String::from_utf8_lossy(&output.stdout));

        let (trace, _) = reader.read().unwrap();
        let definitions = trace.definitions();
        let mut read = Sums::new();
        for (location, events) in definitions.system.locations().iter().zip(trace.events()) {
            for index in 0..events.len() {
                let event = events.event(index).unwrap();
                let name = shout(record_name(&event, &definitions.kinds));
                let sum = read.entry((location.key, name)).or_default();
                *sum = (sum.0 + 1, sum.1 + u128::from(events.time(index).unwrap().0));
            }
        }
        assert_eq!(read, printed, "{name}");
    }
}
