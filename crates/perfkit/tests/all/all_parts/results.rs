//! Further work to compare: every operation, every detector with its records, pictures and pages.

use super::work::{Given, Work, digest};
use perf_core::samples::device;
use perf_testdata::planted;
use perfkit::anomaly::calls::Calls;
use perfkit::anomaly::provenance::{Lines, Memory, Recorder, Store};
use perfkit::anomaly::{Copod, Detector, Drift, Hbos, Monitor, Replay, Sstd, Tail};
use perfkit::core::{EventSource, Job, Profile, Trace};
use perfkit::fold::{
    ClassId, DeviceParams, Devices, Folder, GroupBy, Groups, Hta, HtaParams, Nesting, Op,
    RegionMap, Selection, Timelines, WorkRules, device_copies,
};
use perfkit::formats::{chrome, cube};
use perfkit::spectral::{AxisFilter, Missing, RankParams, Spectra, stored_rows};
use perfkit::topology::{AxisOrder, Shape, Topology, balanced};
use perfkit::view::{Page, Unit, anomaly, timeline, topology};
use std::error::Error;
use std::path::Path;

const OPS: [Op; 9] = [
    Op::Max,
    Op::Min,
    Op::Diff,
    Op::Idle,
    Op::Share,
    Op::Entropy,
    Op::Count(ClassId(1)),
    Op::Outliers(2),
    Op::Any(ClassId(1)),
];

/// Returns folds by every operation and grouping, with their pictures.
pub(crate) fn of_folds(trace: &Trace) -> Vec<(String, Work<'_>)> {
    let mut all: Vec<(String, Work<'_>)> = Vec::new();
    let kinds = [
        (Selection::default(), Nesting::Flat),
        (Selection::Exact, Nesting::Flat),
        (Selection::default(), Nesting::Nested),
    ];
    for op in OPS {
        for (selection, nesting) in kinds {
            let selects = !matches!(op, Op::Share | Op::Entropy | Op::Count(_));
            if nesting == Nesting::Nested && !selects {
                continue;
            }
            let work = move |by: GroupBy| -> Given {
                let map = RegionMap::by_name(trace.definitions())?;
                let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
                let params = Folder::params().columns(700).op(op);
                let params = params.selection(selection).nesting(nesting);
                let folder = Folder::new(&timelines, Groups::by(&timelines, by), params.check()?)?;
                let fold = folder.fold(timelines.range(), &Job::default())?;
                digest(&(fold.cells(), fold.to_trace()?))
            };
            all.push((
                format!("{op:?}, {selection:?}, {nesting:?}"),
                Box::new(move |_, _| Ok(work(GroupBy::All)? + &work(GroupBy::Process)?)),
            ));
        }
    }
    let drawn: Work<'_> = Box::new(move |job, _| {
        let map = RegionMap::by_name(trace.definitions())?;
        let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
        let groups = Groups::by(&timelines, GroupBy::Process);
        let folder = Folder::new(&timelines, groups.clone(), Default::default())?;
        let fold = folder.fold(timelines.range(), &Job::default())?;
        let scene = timeline::Picture::new(&folder, &fold)?.scene();
        let section = timeline::View::new(&timelines, groups).section(job)?;
        let html = Page::new("timeline")
            .with(section)
            .html(&Job::default())
            .unwrap();
        digest(&(scene.png()?, scene.svg(), html))
    });
    all.push(("a timeline, drawn".into(), drawn));
    all
}

/// Returns the analyses of devices.
pub(crate) fn of_devices() -> Vec<(&'static str, Work<'static>)> {
    let find = |trace: &Trace| -> Given {
        let view = trace.view();
        let params = DeviceParams::default().keep_gaps(true);
        let devices = Devices::new(view, &params, &Job::default())?;
        let hta = Hta::of(view, &HtaParams::default(), &Job::default())?;
        digest(&(
            devices,
            hta,
            device_copies(view, &WorkRules::default(), &Job::default()).unwrap(),
        ))
    };
    vec![
        ("a device", Box::new(move |_, _| find(&device::trace()))),
        ("84 streams", Box::new(move |_, _| find(&planted::trace()))),
    ]
}

fn detector(name: &str) -> Result<Box<dyn Detector>, Box<dyn Error>> {
    Ok(match name {
        "sstd" => Box::new(Sstd::default()),
        "hbos" => Box::new(Hbos::default()),
        "copod" => Box::new(Copod::default()),
        _ => Box::new(Tail::default()),
    })
}

/// Returns the detection by each detector: the file of records, the report after a second
/// judgement, and the page.
pub(crate) fn of_detection<'a>(trace: &'a Trace, folder: &'a Path) -> Vec<(String, Work<'a>)> {
    let work = move |name: &'static str| -> Work<'a> {
        Box::new(move |_, threads| {
            let file = folder.join(format!("{name}-{threads}.jsonl"));
            let recorder = |store: Box<dyn Store>| -> Result<Recorder, Box<dyn Error>> {
                Ok(Recorder::new(Default::default(), store))
            };
            let report = |store: Box<dyn Store>| -> Result<_, Box<dyn Error>> {
                let calls = Calls::default();
                let monitor = Monitor::new(calls, detector(name)?).record(recorder(store)?);
                let mut monitor = monitor.watch_drift(Drift::default());
                let mut replay = Replay::in_steps(trace.view(), 40);
                while replay.next_step(&mut monitor, &Job::default())? {}
                Ok(monitor.finish()?)
            };
            let mut kept = report(Box::new(Lines::create(&file)?))?;
            let before = std::fs::read(&file)?;
            let pruned = kept.prune(&Job::default())?;
            drop(kept);
            let after = std::fs::read(&file)?;
            let mut again = report(Box::new(Memory::new()))?;
            let losses = &again.losses;
            let worst = (
                losses.worst_functions(),
                losses.worst_ranks(),
                losses.worst_paths(),
            );
            let told = digest(&(losses.total(), worst, before, after, pruned))?;
            let model = anomaly::Anomalies::of(&mut again)?;
            let section = anomaly::View::new(&model).section(&Job::default())?;
            let scene = anomaly::Picture::new(&model).scene();
            let page = Page::new("anomalies")
                .with(section)
                .html(&Job::default())
                .unwrap();
            Ok(told + &digest(&(page, scene.png()?, model.json()))?)
        })
    };
    let names = ["tail", "sstd", "hbos", "copod"];
    let all = names.map(|name| (format!("detection, {name}"), work(name)));
    all.into()
}

/// Returns writers of a trace and its profile other than OTF2 and Paraver, and the drawing of a
/// topology.
pub(crate) fn of_writers(trace: &Trace) -> Vec<(&'static str, Work<'_>)> {
    let json: Work<'_> = Box::new(move |job, _| {
        let mut bytes = Vec::new();
        let written = chrome::write(trace.view(), &mut bytes, job)?;
        digest(&(bytes, written))
    });
    let profile: Work<'_> = Box::new(move |job, _| {
        let (profile, _) = Profile::from_trace(trace.view(), job)?;
        let options = cube::WriteOptions::new().compress(true);
        let mut bytes = std::io::Cursor::new(Vec::new());
        cube::write(&profile, &mut bytes, &options, &Job::default())?;
        digest(&bytes.into_inner())
    });
    let drawn: Work<'_> = Box::new(move |job, _| {
        let (profile, _) = Profile::from_trace(trace.view(), job)?;
        let metrics = [profile.metric("exclusive time").ok_or("no time")?];
        let rows = stored_rows(&profile, &metrics);
        let ranks = profile.system().locations().len();
        let shape = Shape::of(&balanced(ranks, 2))?;
        let lens = shape.lens();
        let grid = Topology::by_order(shape, AxisOrder::LastFastest, ranks);
        let mut builder = Spectra::<f32>::builder(&lens)?;
        builder.add_rows(&profile, &grid, &rows, Missing::Fill, job)?;
        let spectra = builder.finish();
        let filter = AxisFilter::all(lens.len());
        let params = RankParams::default().top(3).pearson(true).check()?;
        let found: Result<Vec<_>, _> = (0..spectra.views().len())
            .map(|view| spectra.rank(view, &filter, &params, &Job::default()))
            .collect();
        let shown = grid
            .view_of(&profile, metrics[0], rows[0].1)?
            .ok_or("no row")?;
        let view = topology::View::new("time", shown, Unit::Nanos);
        let section = view.section(job)?;
        Ok(digest(&found?)?
            + &digest(
                &Page::new("grid")
                    .with(section)
                    .html(&Job::default())
                    .unwrap(),
            )?)
    });
    #[cfg(feature = "perfetto")]
    let perfetto: Work<'_> = Box::new(move |job, _| {
        let mut bytes = Vec::new();
        let written = perfkit::formats::perfetto::write(trace.view(), &mut bytes, job)?;
        digest(&(bytes, written))
    });
    vec![
        #[cfg(feature = "perfetto")]
        ("Perfetto, written", perfetto),
        ("Chrome, written", json),
        ("Cube, written", profile),
        ("single precision, and a grid, drawn", drawn),
    ]
}
