//! Work for the cancellation bench: profiles, messages, timelines, folds, utilisation of devices,
//! bursts and anomalies of generated traces.

use crate::Make;
use perf_testdata::many_ranks;
use perfkit::anomaly::{Monitor, Replay};
use perfkit::core::samples::device;
use perfkit::core::{EventSource, Job, Profile, Trace, match_messages};
use perfkit::fold::{
    DeviceParams, Devices, Folder, GroupBy, Groups, Op, RegionMap, Selection, Timelines,
};
use perfkit::track::Extract;
use perfkit_benches::inputs;
use std::error::Error;

/// Number of events of a single location, in which no end of a location interrupts the work.
const EVENTS: usize = 8_000_000;

pub(crate) const ALL: &[(&str, Make)] = &[
    ("profile", || {
        let trace = inputs::trace(1, EVENTS);
        Ok(Box::new(move |job| {
            Profile::from_trace(trace.view(), job)?;
            Ok(())
        }))
    }),
    ("profile, devices", || {
        let trace = devices(1_500_000);
        Ok(Box::new(move |job| {
            Profile::from_trace(trace.view(), job)?;
            Ok(())
        }))
    }),
    ("profile, call paths of their own", || {
        let trace = many_ranks::paths(PATHS);
        Ok(Box::new(move |job| {
            Profile::from_trace(trace.view(), job)?;
            Ok(())
        }))
    }),
    ("messages", || {
        let trace = inputs::trace(8, EVENTS / 2);
        Ok(Box::new(move |job| {
            match_messages(trace.view(), job)?;
            Ok(())
        }))
    }),
    ("timelines", || {
        let trace = inputs::trace(1, EVENTS);
        Ok(Box::new(move |job| {
            let map = RegionMap::by_name(trace.definitions())?;
            Timelines::new(trace.view(), &map, job)?;
            Ok(())
        }))
    }),
    ("timelines, devices", || {
        let trace = devices(1_500_000);
        Ok(Box::new(move |job| {
            let map = RegionMap::by_name(trace.definitions())?;
            Timelines::new(trace.view(), &map, job)?;
            Ok(())
        }))
    }),
    ("fold, one row", || {
        refold(folder(64, Op::Max, Selection::default())?)
    }),
    ("fold, shares of one row", || {
        refold(folder(64, Op::Share, Selection::Exact)?)
    }),
    ("fold, one stream", || {
        refold(folder(1, Op::Share, Selection::Exact)?)
    }),
    ("usage", || {
        let folder = folder(64, Op::Max, Selection::default())?;
        Ok(Box::new(move |job| {
            folder.usage(folder.timelines().range(), job)?;
            Ok(())
        }))
    }),
    ("devices", || {
        let trace = devices(1_500_000);
        Ok(Box::new(move |job| {
            Devices::new(trace.view(), &DeviceParams::default(), job)?;
            Ok(())
        }))
    }),
    ("bursts", || {
        let trace = inputs::trace(1, EVENTS);
        Ok(Box::new(move |job| {
            let extract = Extract::params().all_counters(true).check()?;
            extract.extract(trace.view(), job)?;
            Ok(())
        }))
    }),
    ("bursts, call paths of their own", || {
        let trace = many_ranks::paths(PATHS);
        Ok(Box::new(move |job| {
            let extract = Extract::default();
            extract.extract(trace.view(), job)?;
            Ok(())
        }))
    }),
    ("anomalies", || anomalies(100)),
    ("anomalies, one step", || anomalies(1)),
];

/// Number of calls, each with a call path of its own.
const PATHS: u32 = 4_000_000;

fn anomalies(steps: u64) -> Result<crate::Work, Box<dyn Error>> {
    let trace = inputs::trace(1, EVENTS / 2);
    Ok(Box::new(move |job| {
        let mut monitor = Monitor::default().job(job);
        let mut replay = Replay::in_steps(trace.view(), steps);
        while replay.next_step(&mut monitor, job)? {}
        Ok(())
    }))
}

/// Returns a device of two streams that is busy all the time.
fn devices(pieces: u64) -> Trace {
    let piece = |at: u64| {
        let (stream, start) = ((at % 2) as u32, at * 10);
        (Some(start), stream, "kernel", start, start + 9)
    };
    let all: Vec<_> = (0..pieces).map(piece).collect();
    device::build(&all)
}

fn folder(ranks: u32, op: Op, selection: Selection) -> Result<Folder, Box<dyn Error>> {
    let trace = inputs::trace(ranks, EVENTS / ranks as usize);
    let map = RegionMap::by_name(trace.definitions())?;
    let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    let params = Folder::params().columns(1920).op(op).selection(selection);
    let groups = Groups::by(&timelines, GroupBy::All);
    Ok(Folder::new(&timelines, groups, params.check()?)?)
}

fn refold(folder: Folder) -> Result<crate::Work, Box<dyn Error>> {
    Ok(Box::new(move |job| {
        let (mut fold, mut scratch) = (folder.empty(), folder.scratch());
        let window = folder.timelines().range();
        folder.refold(window, &mut scratch, &mut fold, job)?;
        Ok(())
    }))
}
