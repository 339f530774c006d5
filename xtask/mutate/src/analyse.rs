//! Opens a damaged recording, and runs all analyses and writers on it, which may return an error,
//! but must end and must not panic.

use crate::verdict::Verdict;
use perfkit::anomaly::provenance::Recorder;
use perfkit::anomaly::server::{Client, Local, Server};
use perfkit::anomaly::{Monitor, Replay};
use perfkit::core::{
    CartMembers, EventSource, Job, MetricId, Nanos, Profile, Ticks, TimeRange, Trace,
    match_messages,
};
use perfkit::fold::{
    DeviceParams, Devices, Folder, GroupBy, Groups, Hta, HtaParams, Op, RegionMap, Selection, Span,
    Timelines, WorkRules, device_copies,
};
use perfkit::formats::{Content, OpenOptions, Recording, chrome, cube, otf2, paraver, perfetto};
use perfkit::spectral::{AxisFilter, Missing, RankParams, Spectra, stored_rows};
use perfkit::topology::{AxisOrder, Ranks, Shape, Topology, balanced};
use perfkit::track::cluster::{Clusterer, Dbscan};
use perfkit::track::{Dimension, Extract, Scale};
use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;

type Done = Result<(), Box<dyn Error>>;

/// Opens a recording on one thread and analyses it, then opens it strictly and with a time window.
pub fn open(path: &Path) -> Verdict {
    let options = || OpenOptions::new().threads(1);
    let verdict = match perfkit::formats::open(path, &options(), &Job::default()) {
        Ok(found) => recording(&found),
        Err(error) => Verdict::of(&error),
    };
    let window = TimeRange::new(Ticks(1_000), Ticks(1 << 50));
    let others = [options().strict(true), options().window(window)];
    others.iter().fold(verdict, |verdict, options| {
        match perfkit::formats::open(path, options, &Job::default()) {
            Ok(_) => verdict,
            Err(error) => match Verdict::of(&error) {
                Verdict::Unlocated(what) => Verdict::Unlocated(what),
                _ => verdict,
            },
        }
    })
}

/// Reads an OTF2 archive in the other supported ways: record by record, in order of time, and cut.
pub fn archive(path: &Path) -> Verdict {
    let job = Job::default();
    let read = || {
        let reader = otf2::Reader::open(path, &OpenOptions::new().threads(1), &Job::default())?;
        for id in reader.definitions().system.location_ids() {
            // Damage is an error here; the other ways of reading repair it.
            let walked = reader.records(id, |event| {
                let _ = event.fields();
                ControlFlow::Continue(())
            });
            if let Err(error) = walked
                && let Verdict::Unlocated(what) = Verdict::of(&error)
            {
                return Ok(Verdict::Unlocated(what));
            }
        }
        let mut merged = reader.merged()?;
        while merged.next()?.is_some() {}
        let window = TimeRange::new(Ticks(1_000), Ticks(1 << 50));
        let cut = otf2::Cut::new();
        let cut = match window {
            Some(window) => cut.window(window),
            None => cut,
        };
        let mut part = otf2::MemoryArchive::default();
        if reader.anchor().is_some() {
            otf2::cut(&reader, &cut, &mut part, &job)?;
        }
        Ok::<_, perfkit::formats::Error>(Verdict::Value)
    };
    read().unwrap_or_else(|error| Verdict::of(&error))
}

/// Analyses a recording.
pub fn recording(found: &Recording) -> Verdict {
    let read = if found.diagnostics.is_empty() {
        Verdict::Value
    } else {
        Verdict::Repair
    };
    match &found.content {
        Content::Trace(trace) => read.and(self::trace(trace)),
        Content::Profile(profile) => read.and(self::profile(profile)),
        _ => read,
    }
}

/// Runs the analyses and writers of a trace: profile, messages, folds, bursts and anomalies.
pub fn trace(trace: &Trace) -> Verdict {
    // An analysis may refuse a trace, so errors are ignored.
    let _ = folds(trace);
    let _ = devices(trace);
    let _ = bursts(trace);
    let _ = anomalies(trace);
    let _ = written(trace);
    let made = Profile::from_trace(trace.view(), &Job::default());
    match made {
        Ok((profile, _)) => self::profile(&profile),
        Err(_) => Verdict::Value,
    }
}

fn folds(trace: &Trace) -> Done {
    let states = RegionMap::by_name(trace.definitions())?;
    let timelines = Timelines::new(trace.view(), &states, &Job::default())?;
    let window = timelines.range();
    for (by, op, selection) in [
        (GroupBy::All, Op::Max, Selection::default()),
        (GroupBy::Process, Op::Diff, Selection::Exact),
    ] {
        let params = Folder::params().columns(100).op(op).selection(selection);
        let folder = Folder::new(&timelines, Groups::by(&timelines, by), params.check()?)?;
        let fold = folder.fold(window, &Job::default())?;
        folder.usage(window, &Job::default())?;
        let folded = fold.to_trace()?;
        chrome::write(folded.view(), &mut std::io::sink(), &Job::default())?;
    }
    Ok(())
}

/// Computes the utilisation of devices, and checks that idle and busy time add up to the span for
/// any recording.
fn devices(trace: &Trace) -> Done {
    let view = trace.view();
    for span in [Span::Own, Span::Job, Span::Window(TimeRange::ALL)] {
        let params = DeviceParams::new().span(span).keep_gaps(true);
        for device in Devices::new(view, &params, &Job::default())?.devices() {
            let gaps: u64 = device.gaps.iter().map(|gap| gap.range.len()).sum();
            assert_eq!(gaps, device.all_idle(), "gaps are not the idle time");
        }
    }
    for params in [
        HtaParams::default(),
        HtaParams::default().round_inwards(false),
    ] {
        Hta::of(
            view,
            &params.include_last_profiler_step(true),
            &Job::default(),
        )?;
    }
    device_copies(view, &WorkRules::default(), &Job::default())?;
    Ok(())
}

fn bursts(trace: &Trace) -> Done {
    let job = Job::default();
    let extract = Extract::params().all_counters(true).check()?;
    let (bursts, _) = extract.extract(trace.view(), &job)?;
    let scale = Scale::params().dimension(Dimension::new("duration").log(true));
    let scaled = scale.check()?.fit(&[&bursts], &Job::default())?;
    let dbscan = Dbscan::new(Dbscan::params().eps(0.05).check()?);
    for experiment in &scaled.experiments {
        dbscan.cluster(experiment.points()?, &job)?;
    }
    Ok(())
}

fn anomalies(trace: &Trace) -> Done {
    let recorder = Recorder::default();
    let server = Local::new(Server::default());
    let mut monitor = Monitor::default()
        .record(recorder)
        .share(Client::new(0, server));
    let clock = trace.definitions().clock;
    let range = trace.view().range();
    let nanos = |ticks| clock.nanos(ticks).unwrap_or_default().0;
    let length = range.map_or(0, |range| {
        nanos(range.end).saturating_sub(nanos(range.start))
    });
    let mut replay = Replay::new(trace.view(), Nanos((length / 100).max(1_000)));
    // With a wrong clock there can be too many steps to run all of them.
    for _ in 0..1000 {
        if !replay.next_step(&mut monitor, &Job::default())? {
            break;
        }
    }
    monitor.finish()?;
    Ok(())
}

fn written(trace: &Trace) -> Done {
    let job = Job::default();
    match_messages(trace.view(), &Job::default())?;
    let mut archive = otf2::MemoryArchive::default();
    let otf2 = otf2::write(trace.view(), &mut archive, &Default::default(), &job);
    paraver::write_trace(trace.view(), std::io::sink(), "out.prv", &job)?;
    chrome::write(trace.view(), &mut std::io::sink(), &job)?;
    perfetto::write(trace.view(), &mut std::io::sink(), &job)?;
    otf2?;
    Ok(())
}

/// Reads the rows of a profile, correlates them, and writes the profile.
pub fn profile(profile: &Profile) -> Verdict {
    let verdict = rows(profile);
    let _ = correlations(profile, &metrics(profile));
    let _ = cube::write(
        profile,
        std::io::sink(),
        &cube::WriteOptions::new(),
        &Job::default(),
    );
    verdict
}

fn metrics(profile: &Profile) -> Vec<MetricId> {
    let all = 0..profile.metrics().len();
    all.filter_map(MetricId::from_index).collect()
}

/// Reads the rows of a profile, each of which is only loaded on request.
pub fn rows(profile: &Profile) -> Verdict {
    let mut verdict = Verdict::Value;
    for metric in metrics(profile) {
        for path in profile.paths(metric) {
            if let Err(error) = profile.row(metric, path) {
                verdict = verdict.and(Verdict::of_row(&error));
            }
        }
    }
    verdict
}

/// Maximum number of rows that are correlated. All rows cost the same, even damaged ones.
const ROWS: usize = 24;
/// Maximum number of cells of a grid. The cost of larger grids is the responsibility of the caller.
const CELLS: usize = 1 << 14;

fn correlations(profile: &Profile, metrics: &[MetricId]) -> Done {
    let system = profile.system();
    let count = system.groups().len().max(1);
    let shape = Shape::of(&balanced(count, 3))?;
    let mut grids = vec![Topology::by_process(shape, AxisOrder::FirstFastest, system)];
    for cart in profile.topologies() {
        let ranks = match cart.of {
            CartMembers::Groups => Ranks::Groups,
            CartMembers::Nodes => Ranks::Nodes,
            _ => Ranks::Locations,
        };
        grids.extend(Topology::from_cart(cart, ranks, system));
    }
    grids.retain(|grid| grid.shape().cells() <= CELLS);
    let mut rows = stored_rows(profile, metrics);
    rows.truncate(ROWS);
    for grid in &grids {
        let lens = grid.shape().lens();
        let mut builder = Spectra::<f64>::builder(&lens)?;
        let (missing, job) = (Missing::Fill, Job::default());
        builder.add_rows(profile, grid, &rows, missing, &job)?;
        let params = RankParams::default().top(3).check()?;
        builder
            .finish()
            .rank(0, &AxisFilter::all(lens.len()), &params, &Job::default())?;
    }
    Ok(())
}
