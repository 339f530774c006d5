//! Generated inputs of the benches: traces and OTF2 archives, folders of timelines, Cube profiles,
//! calls for detectors, burst sequences and severity views.

use perf_testdata::xorshift::Xorshift;
use perfkit::anomaly::{FunctionId, Sample};
use perfkit::core::{
    CallPathId, CallTree, Job, Limits, Location, LocationGroup, LocationGroupId, Metric, MetricId,
    Nanos, Profile, ProfileMetric, Region, RegionId, RowStore, Scope, Severities, SystemNode,
    SystemNodeId, SystemTree, Trace, ValueType,
};
use perfkit::fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
use perfkit::formats::cube;
use perfkit::formats::otf2::{MemoryArchive, WriteOptions, write};
use perfkit::track::{ClusterId, Sequences};
use std::sync::Arc;

/// Returns a wide trace.
pub fn trace(ranks: u32, events: usize) -> Trace {
    perf_testdata::many_ranks::trace(ranks, events)
}

/// Returns the archive of a wide trace in memory.
///
/// # Panics
///
/// Never, because writing to memory does not fail.
pub fn archive(ranks: u32, events: usize) -> MemoryArchive {
    let mut archive = MemoryArchive::default();
    let trace = trace(ranks, events);
    write(
        trace.view(),
        &mut archive,
        &WriteOptions::default(),
        &Job::default(),
    )
    .expect("writing to memory does not fail");
    archive
}

/// Returns a folder of a wide trace with one row of `columns` cells for each location.
///
/// # Panics
///
/// Never, because the parameters are valid.
pub fn folder(ranks: u32, events: usize, columns: usize) -> Folder {
    let trace = trace(ranks, events);
    let map = RegionMap::by_name(trace.definitions()).expect("there are few regions");
    let timelines =
        Timelines::new(trace.view(), &map, &Job::default()).expect("every class is known");
    let groups = Groups::by(&timelines, GroupBy::Location);
    let params = Folder::params()
        .columns(columns)
        .check()
        .expect("there are columns");
    Folder::new(&timelines, groups, params).expect("the groups are those of the timelines")
}

/// Returns the bundled recording of 64 ranks: 157,696 events with few call paths, as in real
/// programs.
///
/// # Panics
///
/// Panics if the recording is missing from the repository.
pub fn recorded() -> Trace {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/recordings/jacobi-64");
    let recording = perfkit::open(path).expect("it is in the repository");
    recording.into_trace().expect("it is a trace")
}

/// Rows that are computed on request, so that a profile of any size needs no memory.
#[derive(Debug)]
struct Computed {
    locations: u32,
    paths: u32,
}

impl RowStore for Computed {
    fn row(
        &self,
        metric: MetricId,
        path: CallPathId,
    ) -> perfkit::core::Result<Option<Arc<Severities>>> {
        let value = |at: u32| (path.0 * 31 + at * 7) % 1009 + metric.0;
        let values = (0..self.locations).map(value);
        Ok(Some(Arc::new(match metric.0 {
            0 => Severities::U64(values.map(u64::from).collect()),
            _ => Severities::F64(values.map(f64::from).collect()),
        })))
    }

    fn paths(&self, _: MetricId) -> Vec<CallPathId> {
        (0..self.paths).map(CallPathId).collect()
    }
}

/// Returns a profile of 4 metrics, one of them inclusive, in which every view has values
/// everywhere.
///
/// # Panics
///
/// Never, because all references are valid.
pub fn profile(locations: u32, paths: u32) -> Profile {
    let machine = SystemNode {
        name: "machine".into(),
        class: "machine".into(),
        ..SystemNode::default()
    };
    let group = |rank: u32| LocationGroup {
        name: format!("MPI Rank {rank}"),
        parent: Some(SystemNodeId(0)),
        ..LocationGroup::default()
    };
    let location = |rank: u32| Location {
        name: "Master thread".into(),
        group: Some(LocationGroupId(rank)),
        key: rank.into(),
        ..Location::default()
    };
    let groups = (0..locations).map(group).collect();
    let all = (0..locations).map(location).collect();
    let system = SystemTree::new(vec![machine], groups, all, &Limits::default());
    let system = system.expect("groups and machine are there");
    let mut calls = CallTree::default();
    for at in 0..paths {
        let parent = at.checked_sub(1).map(|before| CallPathId(before / 8));
        calls
            .child(parent, RegionId(at))
            .expect("parents come first");
    }
    let regions = (0..paths).map(|at| Region::named(format!("region {at}")));
    let metric = |name: &str, value_type, scope| ProfileMetric {
        metric: Metric {
            name: name.into(),
            value_type,
            ..Metric::default()
        },
        scope,
        ..ProfileMetric::default()
    };
    let metrics = vec![
        metric("visits", ValueType::U64, Scope::Exclusive),
        metric("time", ValueType::F64, Scope::Inclusive),
        metric("wait", ValueType::F64, Scope::Exclusive),
        metric("bytes", ValueType::F64, Scope::Exclusive),
    ];
    let rows = Arc::new(Computed { locations, paths });
    Profile::new(system, regions.collect(), calls, metrics, rows).expect("regions are there")
}

/// Returns the profile of [`profile`] as a Cube archive in memory.
///
/// # Panics
///
/// Never, because writing to memory does not fail.
pub fn cubex(locations: u32, paths: u32, packed: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = cube::WriteOptions::new().compress(packed);
    cube::write(
        &profile(locations, paths),
        &mut bytes,
        &options,
        &Job::default(),
    )
    .expect("writing to memory does not fail");
    bytes
}

/// Returns a Cube3 document of one metric with a row for each call path and a value for each
/// thread.
pub fn cube3(paths: usize, threads: usize) -> Vec<u8> {
    let mut text = String::from(
        "<cube version=\"3.0\"><metrics><metric id=\"0\"><disp_name>Time</disp_name>\
         <uniq_name>time</uniq_name><dtype>FLOAT</dtype><uom>sec</uom></metric></metrics><program>\
         <region id=\"0\" mod=\"a.c\" begin=\"1\" end=\"9\"><name>main</name></region>",
    );
    for path in 0..paths {
        text += &format!("<cnode id=\"{path}\" calleeId=\"0\"></cnode>");
    }
    text += "</program><system><machine Id=\"0\"><name>m</name><node Id=\"0\"><name>n</name>";
    for rank in 0..threads {
        text += &format!(
            "<process Id=\"{rank}\"><name>p</name><rank>{rank}</rank><thread Id=\"{rank}\">\
             <name>t</name><rank>0</rank></thread></process>"
        );
    }
    text += "</node></machine></system><severity><matrix metricId=\"0\">";
    for path in 0..paths {
        text += &format!("<row cnodeId=\"{path}\">");
        for rank in 0..threads {
            text += &format!("{}.25\n", (path * 7 + rank) % 977);
        }
        text += "</row>";
    }
    text += "</matrix></severity></cube>";
    text.into_bytes()
}

/// Returns calls of `functions` functions in turn. Each function has its own usual run time in
/// nanoseconds, with a spread of about 10 %. Every ten-thousandth call takes ten times as long.
pub fn samples(functions: u32, calls: usize) -> Vec<Sample> {
    let mut random = Xorshift::new(1);
    (0..calls)
        .map(|at| {
            let function = at as u32 % functions;
            let usual = 10_000 + 7_919 * u64::from(function);
            // The sum of four uniform distributions is close to a normal one.
            let spread: u64 = (0..4).map(|_| random.below(usual / 10)).sum();
            let slow = if at % 10_000 == 9_999 { 10 } else { 1 };
            Sample {
                function: FunctionId(function),
                runtime: Nanos((slow * (usual + spread)) as i64),
                first: false,
            }
        })
        .collect()
}

/// Returns one random sequence of 20 clusters for all threads, and the share of each cluster in the
/// time, noise first. On each thread `edits` bursts in a thousand are replaced, removed or
/// inserted.
pub fn sequences(threads: usize, length: usize, edits: usize) -> (Sequences, Vec<f64>) {
    const CLUSTERS: u64 = 20;
    let mut random = Xorshift::new(1);
    let any = |random: &mut Xorshift| ClusterId(1 + random.below(CLUSTERS) as u32);
    let base: Vec<ClusterId> = (0..length).map(|_| any(&mut random)).collect();
    let edited = (0..threads).map(|_| {
        let mut own = Vec::with_capacity(length);
        for id in &base {
            match (random.below(1_000) < edits as u64, random.below(3)) {
                (false, _) => own.push(*id),
                (true, 0) => own.push(any(&mut random)),
                (true, 1) => {}
                (true, _) => own.extend([*id, any(&mut random)]),
            }
        }
        own
    });
    let sequences = Sequences::new(edited.collect());
    // The time of a cluster decreases with its number, because clusters are numbered by time.
    let total: u64 = (1..=CLUSTERS).sum();
    let share = |id: u64| (CLUSTERS + 1 - id) as f64 / total as f64;
    let shares = std::iter::once(0.0).chain((1..=CLUSTERS).map(share));
    (sequences, shares.collect())
}

/// Returns a view of a shape: low modes, bands and noise, in parts that depend on `number`. Views
/// with an even number share a mode with the first view.
pub fn synthetic(dims: &[usize], number: u64) -> Vec<f64> {
    let points: usize = dims.iter().product();
    let mut state = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let related = number.is_multiple_of(2);
    let noise = match number {
        0 => 0.3,
        _ if related => 0.2 + 4.0 * next(),
        _ => 1.0,
    };
    let (axis, phase) = (
        if related {
            0
        } else {
            number as usize % dims.len()
        },
        next(),
    );
    let below: usize = dims[axis + 1..].iter().product();
    let low = |x: usize| {
        let at = (x / below % dims[axis]) as f64 / dims[axis] as f64;
        ((at + phase) * std::f64::consts::TAU).sin()
    };
    (0..points)
        .map(|x| low(x) + noise * (next() - 0.5) + f64::from(u8::from(x % 64 < 8)) * 0.2)
        .collect()
}

/// Returns the first views of a shape.
pub fn views(dims: &[usize], count: usize) -> Vec<Vec<f64>> {
    let numbers = 0..count as u64;
    numbers.map(|number| synthetic(dims, number)).collect()
}
