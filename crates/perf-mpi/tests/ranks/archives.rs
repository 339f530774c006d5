//! Tests of archives of which each rank reads a part.

use crate::{Outcome, Test, equal};
use perf_core::{Job, LocationId, Profile, Trace};
use perf_fold::{
    AbsentRule, Boundary, Folder, GroupBy, Groups, Op, RegionMap, StateMap, Ties, Timelines,
};
use perf_formats::OpenOptions;
use perf_formats::otf2::Reader;
use perf_mpi::{Ranks, fold, profile, read};
use std::path::PathBuf;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("each_location_is_read_by_one_rank", parts),
    ("profiles_are_those_of_one_process", profiles),
    ("profiles_of_devices_are_those_of_one_process", devices),
    ("folds_are_those_of_one_process", folds),
    ("more_ranks_than_locations_are_no_problem", few),
    ("an_archive_that_is_not_there_is_an_error_on_all", missing),
];

pub(crate) const NAMES: [&str; 3] = ["jacobi-4", "jacobi-16", "nwchem-md-4"];

pub(crate) fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    folder.join("../../data/recordings").join(name)
}

pub(crate) fn whole(name: &str) -> Result<Trace, perf_formats::Error> {
    let (trace, _) = Reader::open(&path(name), &OpenOptions::new(), &Job::default())?.read()?;
    Ok(trace)
}

fn parts(ranks: &Ranks) -> Outcome {
    for name in NAMES {
        let part = read(ranks, &path(name), &OpenOptions::new(), &Job::default())?;
        let whole = whole(name)?;
        let own: Vec<u32> = part.own.iter().map(|location| location.0).collect();
        let all = ranks.all_gather(&own)?.concat();
        let expected: Vec<u32> = whole.view().ids().map(|location| location.0).collect();
        equal("locations", &all, &expected)?;
        for location in &part.own {
            let (one, other) = (part.trace.location(*location), whole.location(*location));
            let events = |it: Option<perf_core::LocationView<'_>>| it.map(|it| it.len());
            equal("events", &events(one), &events(other))?;
        }
        let events: u64 = ranks.all_gather(&(part.trace.len() as u64))?.iter().sum();
        equal("all events once", &events, &(whole.len() as u64))?;
        // A user may select some of the locations.
        let keys: Vec<u64> = whole
            .definitions()
            .system
            .locations()
            .iter()
            .map(|it| it.key)
            .collect();
        let some = OpenOptions::new().locations(keys[..2].to_vec());
        let part = read(ranks, &path(name), &some, &Job::default())?;
        let own: usize = ranks.all_gather(&part.own.len())?.iter().sum();
        equal("two of them", &own, &2)?;
    }
    Ok(())
}

pub(crate) fn same_profile(found: &Profile, expected: &Profile) -> Outcome {
    let paths = |profile: &Profile| profile.calls().paths().to_vec();
    equal("call paths", &paths(found), &paths(expected))?;
    equal("regions", &found.regions(), &expected.regions())?;
    equal("metrics", &found.metrics(), &expected.metrics())?;
    equal("grids", &found.topologies(), &expected.topologies())?;
    for metric in (0..expected.metrics().len()).filter_map(perf_core::MetricId::from_index) {
        let rows = |profile: &Profile| profile.rows().paths(metric);
        equal(
            &format!("rows of {}", expected.metrics()[metric.index()].metric.name),
            &rows(found),
            &rows(expected),
        )?;
        for path in rows(expected) {
            let row = |profile: &Profile| profile.rows().row(metric, path);
            equal("a row", &row(found)?, &row(expected)?)?;
        }
    }
    Ok(())
}

fn profiles(ranks: &Ranks) -> Outcome {
    let job = Job::default();
    for name in NAMES {
        let part = read(ranks, &path(name), &OpenOptions::new(), &Job::default())?;
        let (found, repaired) = profile(ranks, part.view(), &job)?;
        let (expected, counts) = Profile::from_trace(whole(name)?.view(), &job)?;
        same_profile(&found, &expected)?;
        equal("what was repaired", &repaired, &counts)?;
    }
    Ok(())
}

/// Tests streams of devices, which have bytes outside of any region, and random events that need
/// repairs.
fn devices(ranks: &Ranks) -> Outcome {
    let job = Job::default();
    let mut traces = vec![perf_core::samples::device::trace()];
    traces.extend((0..20).map(|seed| perf_testdata::random::trace(seed, 7, 60)));
    for trace in traces {
        let ids: Vec<LocationId> = trace.view().ids().collect();
        let own = &ids[ranks.block(ids.len())];
        let expected = Profile::from_trace(trace.view(), &job);
        let found = profile(ranks, trace.view().only(own), &job);
        match (found, expected) {
            (Ok((found, repaired)), Ok((expected, counts))) => {
                same_profile(&found, &expected)?;
                equal("what was repaired", &repaired, &counts)?;
            }
            (found, expected) => equal("an error", &found.is_err(), &expected.is_err())?,
        }
    }
    Ok(())
}

fn folds(ranks: &Ranks) -> Outcome {
    let job = Job::default();
    for (name, columns) in [("jacobi-4", 97), ("jacobi-16", 300), ("nwchem-md-4", 64)] {
        let part = read(ranks, &path(name), &OpenOptions::new(), &Job::default())?;
        let map = RegionMap::by_name(part.trace.definitions())?;
        let timelines = Timelines::new(part.trace.view(), &map, &Job::default())?;
        let trace = whole(name)?;
        let all = Timelines::new(trace.view(), &map, &Job::default())?;
        let class = map.classes().id("MPI_Recv").unwrap_or_default();
        for by in [GroupBy::All, GroupBy::Process] {
            let groups = Groups::by(&timelines, by);
            let own = (&timelines, &part.own[..]);
            let found = fold(
                ranks,
                own,
                &groups,
                columns,
                Boundary::AtOrBefore,
                None,
                &job,
            )?;
            equal("the window", &found.window, &all.range())?;
            for op in [
                Op::Max,
                Op::Min,
                Op::Diff,
                Op::Idle,
                Op::Count(class),
                Op::Outliers(2),
            ] {
                let params = Folder::params().columns(columns).op(op).check()?;
                let folder = Folder::new(&all, Groups::by(&all, by), params)?;
                let expected = folder.fold(all.range(), &Job::default())?;
                equal("pixels", &found.centres, &expected.centres().to_vec())?;
                equal("rows", &found.rows.len(), &expected.rows().count())?;
                for (at, row) in expected.rows().enumerate() {
                    let cells = found.cells(at, &op, Ties::default(), AbsentRule::default());
                    equal("a row", &cells.as_slice(), &row.cells())?;
                    equal("a label", &found.rows[at].label.as_str(), &row.label())?;
                }
            }
        }
    }
    Ok(())
}

/// Tests an archive with one location, where all ranks except one have none.
fn few(ranks: &Ranks) -> Outcome {
    let job = Job::default();
    let trace = whole("jacobi-4")?;
    let key = trace.definitions().system.locations()[1].key;
    let some = OpenOptions::new().locations(vec![key]);
    let part = read(ranks, &path("jacobi-4"), &some, &Job::default())?;
    let own: usize = ranks.all_gather(&part.own.len())?.iter().sum();
    equal("locations", &own, &1)?;
    let (expected, counts) = {
        let (trace, _) = Reader::open(&path("jacobi-4"), &some, &Job::default())?.read()?;
        Profile::from_trace(trace.view().only(&[LocationId(1)]), &job)?
    };
    let (found, repaired) = profile(ranks, part.view(), &job)?;
    same_profile(&found, &expected)?;
    equal("what was repaired", &repaired, &counts)?;
    let timelines = Timelines::new(
        part.trace.view(),
        &RegionMap::by_name(part.trace.definitions())?,
        &Job::default(),
    )?;
    let groups = Groups::by(&timelines, GroupBy::Process);
    let found = fold(
        ranks,
        (&timelines, &part.own[..]),
        &groups,
        10,
        Boundary::AtOrBefore,
        None,
        &job,
    )?;
    equal("pixels", &found.centres.len(), &10)
}

fn missing(ranks: &Ranks) -> Outcome {
    // The archive is missing on one rank only.
    let name = if ranks.is_root() {
        "no-such-run"
    } else {
        "jacobi-4"
    };
    let found = read(ranks, &path(name), &OpenOptions::new(), &Job::default());
    equal("an error", &found.is_err(), &true)?;
    let told = found
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    equal(
        "who",
        &(told.starts_with("rank 0: ") || ranks.is_root()),
        &true,
    )
}
