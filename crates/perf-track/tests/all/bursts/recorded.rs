//! Bursts of real recordings: Paraver recordings compared with the established clustering tool,
//! OTF2 recordings with known facts.

use crate::reference;

use perf_core::{Job, Nanos, Trace};
use perf_formats::{OpenOptions, open};
use perf_track::{
    Bursts, Delimiter, Dimension, Dropped, Extract, ExtractParams, Kind, Scale, ScaleMode,
    ZeroDivision,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn trace(path: &Path) -> Trace {
    let recording = open(path, &OpenOptions::new(), &Job::default()).expect("it can be read");
    recording.into_trace().expect("it is a trace")
}

fn corpus(relative: &str) -> Option<Trace> {
    Some(trace(&perf_testdata::corpus::corpus(relative)?))
}

fn bundled(name: &str) -> Trace {
    let data = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/recordings"
    ));
    trace(&data.join(name))
}

fn extract(params: ExtractParams, trace: &Trace) -> (Bursts, Dropped) {
    let extract = params.check().expect("they are valid");
    let found = extract.extract(trace.view(), &Job::default());
    found.expect("the metrics are there")
}

#[test]
fn running_states_of_epoch_are_those_of_the_corpus() {
    for (tasks, states) in [(2, 3_494), (4, 7_508), (16, 30_712)] {
        let Some(trace) = corpus(&format!("paraver/epoch/epoch_{tasks}proc.prv.gz")) else {
            return;
        };
        let Some(rows) = reference::data(&format!("e{tasks}")) else {
            return;
        };
        let params = Extract::params()
            .metric("PAPI_TOT_INS")
            .metric("IPC = PAPI_TOT_INS / PAPI_TOT_CYC")
            .zero_division(ZeroDivision::Zero)
            .min_duration(Nanos(1_000_000));
        let (bursts, dropped) = extract(params, &trace);
        assert_eq!(dropped.found.bursts, states);
        assert_eq!((dropped.cut.bursts, dropped.empty), (0, 0));
        assert_eq!(bursts.processes(), tasks);
        let mut found = BTreeMap::new();
        for row in bursts.complete() {
            let burst = bursts.rows()[row as usize];
            let process = bursts.threads()[burst.thread as usize].process;
            found.insert((process, burst.begin.0), row as usize);
        }
        assert_eq!(found.len(), rows.len(), "{:?}", dropped.missing);
        let scale = Scale::params()
            .mode(ScaleMode::PerExperiment)
            .dimension(Dimension::new("PAPI_TOT_INS").log(true))
            .dimension(Dimension::new("IPC"))
            .check()
            .expect("they are valid");
        let scaled = scale
            .fit(&[&bursts], &Job::default())
            .expect("the metrics are there");
        let points = scaled.experiments[0].points().expect("they are finite");
        for row in &rows {
            let index = found[&(row.task, row.begin)];
            assert_eq!(bursts.rows()[index].end.0, row.end);
            assert_eq!(bursts.columns()[0].values[index], row.raw[0]);
            // Written with six digits.
            assert!((bursts.columns()[1].values[index] - row.raw[1]).abs() < 6e-7);
            let place = scaled.experiments[0].rows().binary_search(&(index as u32));
            let point = points
                .get(place.expect("it is a point"))
                .expect("it is there");
            for (own, theirs) in point.iter().zip(&row.normalised) {
                assert!((own - theirs).abs() < 1e-6, "{own} {theirs}");
            }
        }
    }
}

#[test]
fn callers_of_epoch_are_those_before_its_dominant_bursts() {
    let Some(trace) = corpus("paraver/epoch/epoch_2proc.prv.gz") else {
        return;
    };
    let Some(rows) = reference::data("e2") else {
        return;
    };
    let params = Extract::params().min_duration(Nanos(1_000_000));
    let (bursts, _) = extract(params, &trace);
    let begins: Vec<(u32, i64)> = rows
        .iter()
        .filter(|row| row.cluster.0 == 1)
        .map(|row| (row.task, row.begin))
        .collect();
    let mut sites: BTreeMap<bool, usize> = BTreeMap::new();
    for burst in bursts.rows() {
        let process = bursts.threads()[burst.thread as usize].process;
        if begins.contains(&(process, burst.begin.0)) {
            let chain = bursts.chain(burst.before.expect("MPI was called before"));
            let text = chain.join(" < ");
            let (common, rare) = ("boundary.F90:299", "partlist.F90:856");
            assert!(text.contains(common) || text.contains(rare), "{text}");
            *sites.entry(text.contains(common)).or_default() += 1;
        }
    }
    // Two call sites, 91 % and 9 % of the bursts.
    assert_eq!((sites[&true], sites[&false]), (20, 2));
}

#[test]
fn threads_of_openmp_applications_and_samples_are_read() {
    // ImageMagick on 8 threads of one process.
    let Some(trace) = corpus("paraver/imagemagick_omp/omp8.prv.gz") else {
        return;
    };
    let params = Extract::params().metric("ipc").min_duration(Nanos(100_000));
    let (bursts, dropped) = extract(params, &trace);
    assert_eq!((bursts.threads().len(), bursts.processes()), (8, 1));
    assert_eq!(dropped.complete.bursts, 27_033);

    // LULESH and a pseudo-application of counters: two applications of four and four tasks.
    let file = "paraver/lulesh/lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv";
    let Some(trace) = corpus(file) else { return };
    let (bursts, dropped) = extract(Extract::params().metric("ipc"), &trace);
    // The counters are on threads of their own, which have no states.
    assert_eq!((bursts.processes(), dropped.idle_threads), (8, 12));
    let mut known = BTreeMap::new();
    for thread in bursts.threads() {
        known
            .entry(thread.process)
            .or_insert_with(Vec::new)
            .push(thread.name.clone());
    }
    assert!(known.values().all(|names| names.len() == 1), "{known:?}");

    // A sampled program without communication.
    let Some(trace) = corpus("paraver/namd/444.namd.prv") else {
        return;
    };
    let (bursts, _) = extract(Extract::params(), &trace);
    assert_eq!(bursts.threads().len(), 1);
    assert!(bursts.rows().iter().all(|burst| burst.before.is_none()));
    // Some of its counters have their names in parentheses.
    let (counted, _) = extract(Extract::params().also("ipc"), &trace);
    let ipc = &counted.column("ipc").expect("it was asked for").values;
    assert!(ipc.iter().any(|ipc| (0.5..4.0).contains(ipc)), "{ipc:?}");
    // It has two running states, which the functions within them do not divide.
    assert_eq!(bursts.len(), 2);
    let pieces = Delimiter::Calls(vec!["Running".into()]);
    let (bursts, _) = extract(Extract::params().delimiter(pieces), &trace);
    assert_eq!(bursts.len(), 78);
}

/// The trace names two parallel functions. The third phase, reading the picture, is serial.
#[test]
fn serial_phases_of_openmp_applications_have_a_position() {
    let Some(trace) = corpus("paraver/imagemagick_omp/omp8.prv.gz") else {
        return;
    };
    let params = Extract::params().metric("ipc").min_duration(Nanos(100_000));
    let (bursts, _) = extract(params, &trace);
    let mut found: BTreeMap<String, (usize, u32)> = BTreeMap::new();
    for row in bursts.complete() {
        let burst = bursts.rows()[row as usize];
        let within = burst.position.within.expect("each has a position");
        let of = found.entry(bursts.chain(within).join(" < ")).or_default();
        *of = (of.0 + 1, of.1.max(burst.thread));
    }
    let count = |name: &str| found.get(name).copied().unwrap_or_default();
    let serial = "outside parallel functions, before GetPixelBlue";
    assert!(
        count(serial).0 > 10_000 && count(serial).1 == 0,
        "{found:?}"
    );
    assert!(
        count("GetPixelBlue pixel-accessor.h:92").1 == 7,
        "{found:?}"
    );
    assert!(
        count("GetPixelGreen pixel-accessor.h:186").1 == 7,
        "{found:?}"
    );
    assert!(count("outside parallel functions, after GetPixelGreen").0 > 0);
}

#[test]
fn work_between_calls_of_the_bundled_recordings() {
    for (name, ranks) in [("jacobi-4", 4), ("jacobi-9", 9), ("jacobi-16", 16)] {
        let trace = bundled(name);
        let calls = Delimiter::Calls(vec!["microphysics".into()]);
        let (bursts, dropped) = extract(Extract::params().delimiter(calls).metric("work"), &trace);
        assert_eq!(bursts.processes(), ranks);
        assert_eq!(
            (bursts.len(), dropped.complete.bursts),
            (50 * ranks, 50 * ranks as u64)
        );
        // Under the cloud 0.5 + 0.4 i updates per cell of 720 x 720, elsewhere 0.5.
        let cells = 720.0 * 720.0 / ranks as f64;
        let work = &bursts.column("work").expect("it was asked for").values;
        for (row, work) in bursts.rows().iter().zip(work) {
            let clear = (work / cells - 0.5).abs() < 1e-3;
            let cloud = ((work / cells - 0.5) / 0.4).round() >= 1.0;
            assert!(clear || cloud, "{row:?}: {work}");
        }
        // Most of the time between MPI calls is computation, and each burst has its work.
        let (bursts, dropped) = extract(Extract::params().also("work"), &trace);
        assert!(bursts.kinds().iter().all(|kind| *kind == Kind::Complete));
        assert_eq!(dropped.found, dropped.complete);
        assert!(bursts.rows().iter().any(|row| row.before.is_some()));
    }
}
