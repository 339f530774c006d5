//! Tests of archives with nested accelerator call paths, functions of equal name, and inconsistent
//! clocks.
//!
//! The expected numbers were computed from the text of `otf2-print` by independent programs.

use crate::common::archives;

use perf_core::{
    CallPathId, ClockCount, Definitions, Event, Events, Job, LocationId, Profile, Region, RegionId,
    Ticks, Trace, Unify, Value, match_messages,
};
use perf_formats::{OpenOptions, otf2};
use perf_testdata::corpus::corpus;
use std::collections::BTreeMap;
use std::path::Path;

/// Returns inclusive time, exclusive time and visits by call path name.
fn paths(trace: &Trace) -> BTreeMap<String, [u64; 3]> {
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
    let value = |metric: &str, path| match profile
        .total(profile.metric(metric).unwrap(), path)
        .unwrap()
    {
        Value::U64(value) => value,
        other => panic!("{other:?}"),
    };
    let mut found: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for path in (0..profile.calls().paths().len()).filter_map(CallPathId::from_index) {
        let sums = found
            .entry(profile.calls().name(path, profile.regions()))
            .or_default();
        for (sum, metric) in sums.iter_mut().zip(["time", "exclusive time", "visits"]) {
            *sum += value(metric, path);
        }
    }
    found
}

#[test]
fn offloaded_functions_of_a_xeon_phi_have_call_paths() {
    let Some(path) = corpus("otf2/casita-1_xeonphi_jacobi_01") else {
        return;
    };
    let opened = perf_formats::open(&path, &OpenOptions::new(), &Job::default()).unwrap();
    let found = paths(&opened.into_trace().unwrap());
    let offload = "!$omp targetmap @jacobi_target.c:174";
    let inner = format!("{offload} > !$omp parallel @jacobi_target.c:122");
    assert_eq!(found[&inner], [920_769_748, 612_911_368, 100]);
    let barrier = format!("{inner} > !$omp barrier");
    assert_eq!(found[&barrier], [307_858_380, 307_858_380, 200]);
    assert_eq!(found[offload][0] - found[offload][1], found[&inner][0]);
    assert!(!found.contains_key("!$omp parallel @jacobi_target.c:122"));
    assert!(!found.contains_key("!$omp barrier"));
    // Exclusive times add up to the time of the roots.
    let total: u64 = found.values().map(|sums| sums[1]).sum();
    assert_eq!((total, found.len()), (27_748_961_217, 94));
}

#[test]
fn clocks_disagree_where_messages_say_so_and_nowhere_else() {
    let counts = |path: &Path| {
        let opened = perf_formats::open(path, &OpenOptions::new(), &Job::default()).unwrap();
        match_messages(opened.into_trace().unwrap().view(), &Job::default())
            .unwrap()
            .clock_violations()
    };
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings");
    let jacobi = counts(&recordings.join("jacobi-16"));
    let expected = ClockCount {
        checked: 4_800,
        violated: 2_158,
        largest: 30_473_200,
    };
    assert_eq!(jacobi.messages, expected);
    assert!(jacobi.is_any());
    let in_pairs: u64 = jacobi.pairs.iter().map(|pair| pair.count.violated).sum();
    assert_eq!(in_pairs, 2_158);
    // Score-P corrects the clocks.
    let Some(path) = corpus("otf2/casita-10_scorep_mpi_tags") else {
        return;
    };
    let corrected = counts(&path);
    assert!(corrected.messages.checked > 0);
    assert!(!corrected.is_any(), "{corrected:?}");
}

/// Returns an archive of two ranks that each define `init` of `a.c`; one of them also defines
/// `init` of `b.c`.
fn archive() -> otf2::MemoryArchive {
    let mut definitions = Definitions::default();
    let at = |file: &str| Region {
        file: Some(file.into()),
        lines: Some((12, 40)),
        ..Region::named("init")
    };
    definitions.regions = vec![at("a.c"), at("a.c"), at("b.c")];
    definitions.system = archives::locations(0..2);
    let rank = |regions: &[u32]| {
        let mut events = Events::default();
        for (at, region) in (0..).step_by(10).zip(regions) {
            events.push_enter(Ticks(at), RegionId(*region));
            events.push_leave(Ticks(at + 5), RegionId(*region));
        }
        events
    };
    let trace = Trace::new(definitions, vec![rank(&[0, 2]), rank(&[1])]).unwrap();
    archives::written(&trace, &otf2::WriteOptions::default())
}

#[test]
fn functions_of_one_name_and_two_files_are_two_regions() {
    let archive = archive();
    let regions = |unify| {
        let options = OpenOptions::new().unify(unify);
        let reader = otf2::Reader::new(&archive, &options, &Job::default()).unwrap();
        let trace = reader.read().unwrap().0;
        let region = |location| match trace.location(LocationId(location)).unwrap().all().event(0) {
            Some(Event::Enter { region }) => region.0,
            other => panic!("{other:?}"),
        };
        (trace.definitions().regions.len(), region(0), region(1))
    };
    assert_eq!(regions(Unify::Location), (2, 0, 0));
    assert_eq!(regions(Unify::Name), (1, 0, 0));
    assert_eq!(regions(Unify::Never), (3, 0, 1));
}
