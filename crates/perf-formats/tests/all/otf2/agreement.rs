//! Different ways of reading an archive return the same events.

use perf_core::{Events, Job, Location, Merge as _, Ticks, TimeRange, Trace};
use perf_formats::otf2::{MemoryArchive, Reader, rules};
use perf_formats::{Error, OpenOptions, open};
use perf_testdata::corpus::corpus;
use std::path::PathBuf;

/// Small archives of several producers.
const SOME: [&str; 7] = [
    "pipit-pingpong",
    "eztrace-heat4",
    "eztrace-heat4-ompt",
    "apex-json-converter",
    "casita-1_xeonphi_jacobi_01",
    "casita-2_cuda_simple",
    "tracer-stencil4d-32",
];

fn archives(names: &[&str]) -> Vec<PathBuf> {
    let found = |name: &&str| corpus(&format!("otf2/{name}"));
    names.iter().filter_map(found).collect()
}

fn read(path: &std::path::Path, options: OpenOptions) -> Trace {
    open(path, &options, &Job::default())
        .unwrap()
        .into_trace()
        .unwrap()
}

fn keys(trace: &Trace) -> Vec<u64> {
    let locations = trace.definitions().system.locations();
    locations
        .iter()
        .map(|location: &Location| location.key)
        .collect()
}

#[test]
fn any_number_of_threads_reads_the_same() {
    for path in archives(
        &[
            &SOME[..],
            &["casita-2_jacobi_blame_cpu_015", "apex-vortex-3nice"],
        ]
        .concat(),
    ) {
        let one = open(&path, &OpenOptions::new().threads(1), &Job::default()).unwrap();
        for threads in [0, 2, 8] {
            let many = open(&path, &OpenOptions::new().threads(threads), &Job::default()).unwrap();
            assert_eq!(one, many, "{} with {threads} threads", path.display());
        }
    }
}

#[test]
fn the_merged_stream_is_all_events_sorted_by_time_and_location() {
    for path in archives(&SOME) {
        let reader = Reader::open(&path, &OpenOptions::new(), &Job::default()).unwrap();
        let (trace, found) = reader.read().unwrap();
        let mut all = Vec::new();
        for (location, events) in trace.events().iter().enumerate() {
            for index in 0..events.len() {
                all.push((events.time(index).unwrap(), location, index));
            }
        }
        all.sort_unstable();
        let mut merged = reader.merged().unwrap();
        for (time, location, index) in all {
            let events = &trace.events()[location];
            let (id, at, event) = merged.next().unwrap().expect("as many events");
            assert_eq!((id.index(), at), (location, time));
            assert_eq!(Some(event), events.event(index));
            let attributes: Vec<_> = merged.attributes().collect();
            assert_eq!(attributes, events.attributes(index).collect::<Vec<_>>());
        }
        assert!(merged.next().unwrap().is_none());
        assert!(merged.next().unwrap().is_none());
        // Findings about the counts of whole locations are known only at the end.
        for (rule, finding) in merged.diagnostics().iter() {
            assert_eq!(found.count(rule), finding.count, "{}", rule.name);
        }
    }
}

#[test]
fn raw_records_are_as_many_as_events_and_correct_to_their_times() {
    for path in archives(&SOME) {
        let reader = Reader::open(&path, &OpenOptions::new(), &Job::default()).unwrap();
        let (trace, _) = reader.read().unwrap();
        for id in reader.definitions().system.location_ids() {
            let local = reader.local_definitions(id).unwrap();
            let mut times = Vec::new();
            let walked = reader.records(id, |event| {
                assert!(event.fields().is_some(), "{}", event.name());
                times.push(local.correct(event.time));
                std::ops::ControlFlow::Continue(())
            });
            walked.unwrap();
            assert_eq!(times, trace.events()[id.index()].times());
        }
    }
}

fn slice(events: &Events, window: TimeRange) -> Vec<(Ticks, String, usize)> {
    events
        .range(window)
        .map(|index| {
            let event = format!("{:?}", events.event(index).unwrap());
            let attributes = events.attributes(index).count();
            (events.time(index).unwrap(), event, attributes)
        })
        .collect()
}

#[test]
fn a_window_or_some_locations_are_a_slice_of_all() {
    for path in archives(&[&SOME[..], &["casita-2_jacobi_blame_gpu_005"]].concat()) {
        let all = read(&path, OpenOptions::new());
        let range = all.range().unwrap();
        let part = |share: u64| Ticks(range.start.0 + range.len() / 8 * share);
        for (from, to) in [(0, 3), (3, 5), (4, 8), (2, 2)] {
            let window = TimeRange::new(part(from), part(to)).unwrap();
            let some = read(&path, OpenOptions::new().window(window));
            for (whole, cut) in all.events().iter().zip(some.events()) {
                assert_eq!(slice(whole, window), slice(cut, TimeRange::ALL));
            }
            let reader =
                Reader::open(&path, &OpenOptions::new().window(window), &Job::default()).unwrap();
            let mut merged = reader.merged().unwrap();
            let mut count = 0;
            while let Some((_, at, _)) = merged.next().unwrap() {
                assert!(window.contains(at));
                count += 1;
            }
            assert_eq!(count, some.len());
        }
        let wanted: Vec<u64> = keys(&all).into_iter().step_by(2).collect();
        let some = read(&path, OpenOptions::new().locations(wanted.clone()));
        for ((key, whole), cut) in keys(&all).into_iter().zip(all.events()).zip(some.events()) {
            if wanted.contains(&key) {
                assert_eq!(whole, cut);
            } else {
                assert!(cut.is_absent());
            }
        }
    }
}

#[test]
fn bytes_in_memory_are_as_good_as_a_folder() {
    for path in archives(&SOME) {
        let members = MemoryArchive::read(&path).unwrap();
        let reader = Reader::new(&members, &OpenOptions::new(), &Job::default()).unwrap();
        assert_eq!(reader.read().unwrap().0, read(&path, OpenOptions::new()));
    }
}

#[test]
fn strict_reading_takes_clean_archives_and_no_others() {
    let strict = OpenOptions::new().strict(true);
    for path in archives(&[
        "pipit-pingpong",
        "sstmacro-otf2",
        "casita-4_mpi_ls_barr",
        "syn-cosmo",
    ]) {
        let recording = open(&path, &strict, &Job::default()).unwrap();
        assert_eq!(recording.diagnostics.repairs(), 0);
    }
    for path in archives(&["eztrace-heat4"]) {
        let error = open(&path, &strict, &Job::default()).unwrap_err();
        let Error::Strict { rule, place } = &error else {
            panic!("{error}");
        };
        assert_eq!(*rule, rules::DUPLICATE_DEFINITION);
        assert_eq!(place.to_string(), "eztrace_log.def, byte 244, Group 0");
    }
}

/// Aborted runs leave no anchor, or no global definitions, or neither.
#[test]
fn what_is_left_of_an_aborted_run_is_read() {
    for path in archives(&[
        "eztrace-hpcc4",
        "casita-2_jacobi_blame_cpu_015",
        "tracer-stencil4d-32",
    ]) {
        let whole = read(&path, OpenOptions::new());
        let mut members = MemoryArchive::read(&path).unwrap();
        let name = Reader::new(&members, &OpenOptions::new(), &Job::default())
            .unwrap()
            .name()
            .to_string();
        members.remove(&format!("{name}.otf2"));
        let (trace, found) = Reader::new(&members, &OpenOptions::new(), &Job::default())
            .unwrap()
            .read()
            .unwrap();
        assert_eq!(trace.events(), whole.events());
        assert_eq!(found.count(rules::NO_ANCHOR), 1);

        assert_eq!(found.count(rules::STALE_FILES), 0);

        members.remove(&format!("{name}.def"));
        let reader = Reader::new(&members, &OpenOptions::new(), &Job::default()).unwrap();
        let (trace, found) = reader.read().unwrap();
        assert_eq!(found.count(rules::NO_DEFINITIONS), 1);
        assert_eq!(trace.len(), whole.len());
        assert_eq!(keys(&trace), keys(&whole));
        for (salvaged, complete) in trace.events().iter().zip(whole.events()) {
            assert_eq!(salvaged.times(), complete.times());
        }
        assert!(
            trace
                .definitions()
                .regions
                .iter()
                .all(|region| region.name.starts_with("region "))
        );
        // The merged stream creates placeholders incrementally, and returns the same events.
        let mut merged = reader.merged().unwrap();
        let mut count = 0;
        while merged.next().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, whole.len());
        assert_eq!(
            merged.definitions().regions.len(),
            trace.definitions().regions.len()
        );
    }
}

/// A folder that also contains files of an earlier run, which are identified only by their names.
#[test]
fn stale_files_are_left_out_without_an_anchor() {
    for path in archives(&["casita-2_cuda_simple"]) {
        let whole = read(&path, OpenOptions::new());
        let mut members = MemoryArchive::read(&path).unwrap();
        let files = members.iter().filter(|(name, _)| name.ends_with(".evt"));
        let stale = files.count() - whole.events().len();
        members.remove("traces.otf2");
        let reader = Reader::new(&members, &OpenOptions::new(), &Job::default()).unwrap();
        let (trace, found) = reader.read().unwrap();
        assert_eq!(trace.events(), whole.events());
        assert!(stale > 0);
        assert_eq!(found.count(rules::STALE_FILES), stale as u64);
    }
}

#[test]
fn a_missing_event_file_makes_its_location_absent() {
    for path in archives(&["tracer-stencil4d-32"]) {
        let mut members = MemoryArchive::read(&path).unwrap();
        members.remove("traces/3.evt");
        members.insert("traces/5.evt", Vec::new());
        let (trace, found) = Reader::new(&members, &OpenOptions::new(), &Job::default())
            .unwrap()
            .read()
            .unwrap();
        assert_eq!(found.count(rules::MISSING_EVENTS), 2);
        let absent: Vec<bool> = trace.events().iter().map(Events::is_absent).collect();
        let expected: Vec<bool> = (0..32).map(|at| at == 3 || at == 5).collect();
        assert_eq!(absent, expected);
        let mut sum = found.clone();
        sum.merge(&found);
        assert_eq!(sum.count(rules::MISSING_EVENTS), 4);
    }
}

#[test]
fn public_types_go_from_thread_to_thread() {
    fn check<T: Send + Sync>() {}
    check::<Reader<'_>>();
    check::<MemoryArchive>();
    check::<perf_formats::Recording>();
    check::<perf_formats::Formats>();
    check::<perf_formats::Error>();
    check::<perf_formats::otf2::Merged<'_>>();
}

#[test]
fn a_missing_file_and_an_unknown_format_are_errors_with_their_path() {
    let error = open("/nowhere/traces.otf2", &OpenOptions::new(), &Job::default()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }));
    assert!(
        error.to_string().contains("/nowhere/traces.otf2"),
        "{error}"
    );
    // `fn main() -> Result` prints `Debug`: a sentence without repeated parts.
    let text = format!("{error:?}");
    assert_eq!(text, error.to_string());
    assert_eq!(text.matches("No such file").count(), 1, "{text}");
    let error = open(
        env!("CARGO_MANIFEST_DIR"),
        &OpenOptions::new(),
        &Job::default(),
    )
    .unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    assert!(
        error.to_string().contains("a folder in which no file"),
        "{error}"
    );
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs");
    let error = open(source, &OpenOptions::new(), &Job::default()).unwrap_err();
    assert!(matches!(error, Error::UnknownFormat { .. }), "{error}");
}
