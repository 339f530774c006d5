//! List of all readers and analyses. Each returns its result as a short text.

use perf_core::samples::cosmo;
use perf_testdata::clusters;
use perfkit::anomaly::{Monitor, Replay};
use perfkit::core::{EventSource, Job, MetricId, Nanos, Profile, Trace, match_messages};
use perfkit::fold::{Folder, GroupBy, Groups, Op, RegionMap, Selection, Timelines};
use perfkit::formats::otf2::{self, Cut, MemoryArchive, NewArchive, Reader};
use perfkit::formats::{OpenOptions, Recording, cube, paraver};
use perfkit::spectral::{AxisFilter, Missing, NullParams, RankParams, Spectra, stored_rows};
use perfkit::topology::{AxisOrder, Shape, Topology, balanced};
use perfkit::track::cluster::{Dbscan, EpsSearch, Hdbscan, Index, Refinement, k_distances};
use perfkit::track::tracking::{Observation, Tracking};
use perfkit::track::{Align, Bursts, ClusterId, Extract, Labels, Points, Sequences, SpmdScorer};
use std::error::Error;
use std::fmt::{self, Debug, Write};
use std::path::{Path, PathBuf};

/// Result of work: a text that differs if the result differs.
pub(crate) type Given = Result<String, Box<dyn Error>>;

/// Work in a job that reads on the given number of threads.
pub(crate) type Work<'a> = Box<dyn Fn(&Job, usize) -> Given + Send + Sync + 'a>;

/// Length and FNV-1a hash of a text that is too long to keep.
struct Digest(usize, u64);

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        for byte in text.bytes() {
            self.1 = (self.1 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        Ok(())
    }
}

/// Returns the digest of a result's debug output.
pub(crate) fn digest(result: &impl Debug) -> Given {
    let mut digest = Digest(0, 0xcbf2_9ce4_8422_2325);
    write!(digest, "{result:?}")?;
    Ok(format!("{} bytes, {:016x}", digest.0, digest.1))
}

/// Folder of recordings in each format, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Made(pub(crate) PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const TAU: &str = "2 templated_functions_MULTI_TIME
# Name Calls Subrs Excl Incl ProfileCalls
\"main\" 1 2 10 100 0 GROUP=\"TAU_DEFAULT\"
\"main => f\" 2 0 90 90 0 GROUP=\"TAU_CALLPATH\"
0 aggregates
";

const CUBE3: &str = r#"<cube version="3.0"><metrics><metric id="0"><disp_name>Time</disp_name>
<uniq_name>time</uniq_name><dtype>FLOAT</dtype><uom>sec</uom></metric></metrics><program>
<region id="0" mod="a.c" begin="1" end="9"><name>main</name></region><cnode id="0" calleeId="0">
</cnode></program><system><machine Id="0"><name>m</name><node Id="0"><name>n</name>
<process Id="0"><name>p</name><rank>0</rank><thread Id="0"><name>t</name><rank>0</rank></thread>
</process></node></machine></system><severity><matrix metricId="0"><row cnodeId="0">1.5
</row></matrix></severity></cube>"#;

/// Returns the recordings of a test: bundled ones, and generated ones in a folder called `name`.
pub(crate) fn recordings(name: &str) -> Result<(Made, Vec<PathBuf>), Box<dyn Error>> {
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data");
    let mut all: Vec<PathBuf> = [
        "recordings/jacobi-16/eztrace_log.otf2",
        "recordings/nwchem-md-4/eztrace_log.otf2",
        "streams",
        "gpu/planted-6x14.json.gz",
        "streams/miniapp.tsv",
    ]
    .map(|name| bundled.join(name))
    .into();
    let folder = std::env::temp_dir().join(format!("perfkit-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("tau"))?;
    let made = Made(folder.clone());
    let job = Job::default();
    let trace = cosmo::trace();
    let options = otf2::WriteOptions::default().with_chunks(4096, 4096);
    let mut archive = NewArchive::new(folder.join("cosmo"))?;
    otf2::write(trace.view(), &mut archive, &options, &job)?;
    let path = folder.join("cosmo.prv");
    paraver::write_files(trace.view(), &path, &job)?;
    let (profile, _) = Profile::from_trace(trace.view(), &job)?;
    for (name, compress) in [("plain.cubex", false), ("packed.cubex", true)] {
        let options = cube::WriteOptions::new().compress(compress);
        let file = std::fs::File::create(folder.join(name))?;
        cube::write(&profile, file, &options, &Job::default())?;
    }
    for thread in 0..3 {
        std::fs::write(folder.join(format!("tau/profile.{thread}.0.0")), TAU)?;
    }
    std::fs::write(folder.join("old.cube"), CUBE3)?;
    let names = [
        "cosmo",
        "cosmo.prv",
        "plain.cubex",
        "packed.cubex",
        "tau",
        "old.cube",
    ];
    all.extend(names.map(|name| folder.join(name)));
    Ok((made, all))
}

/// Reads a recording, and all rows of a profile.
pub(crate) fn read(path: &Path) -> Work<'_> {
    Box::new(move |job, threads| {
        let options = OpenOptions::new().threads(threads);
        let found = perfkit::formats::open(path, &options, job)?;
        digest_of(&found)
    })
}

fn digest_of(found: &Recording) -> Given {
    match (found.trace(), found.profile()) {
        (Some(trace), _) => digest(&(trace, &found.diagnostics)),
        (_, Some(profile)) => Ok(format!(
            "{} {}",
            digest(&(
                profile.system(),
                profile.calls().paths(),
                &found.diagnostics
            ))?,
            rows_of(profile)?
        )),
        _ => Err("neither a trace nor a profile".into()),
    }
}

fn rows_of(profile: &Profile) -> Given {
    let mut rows = Vec::new();
    for metric in (0..profile.metrics().len()).filter_map(MetricId::from_index) {
        for path in profile.paths(metric) {
            rows.push((metric, path, profile.row(metric, path)?));
        }
    }
    digest(&rows)
}

/// Returns the analyses of a trace.
pub(crate) fn of_trace(trace: &Trace) -> Vec<(&'static str, Work<'_>)> {
    let view = trace.view();
    let mut all: Vec<(&'static str, Work<'_>)> = vec![
        (
            "profile",
            Box::new(move |job, _| {
                let (profile, counts) = Profile::from_trace(view, job)?;
                Ok(format!("{} {}", digest(&counts)?, rows_of(&profile)?))
            }),
        ),
        (
            "messages",
            Box::new(move |job, _| digest(&match_messages(view, job)?)),
        ),
        (
            "timelines",
            Box::new(move |job, _| {
                let states = RegionMap::by_name(trace.definitions())?;
                let timelines = Timelines::new(view, &states, job)?;
                let window = timelines.range();
                let streams = 0..timelines.len() as u32;
                let all: Vec<Vec<_>> = streams
                    .map(|stream| timelines.segments(stream, window).collect())
                    .collect();
                digest(&(all, timelines.repairs()))
            }),
        ),
        (
            "bursts",
            Box::new(move |job, _| {
                let extract = Extract::params().all_counters(true).check()?;
                let (bursts, dropped) = extract.extract(view, job)?;
                let rows = (bursts.threads(), bursts.rows(), bursts.kinds());
                digest(&(
                    rows,
                    bursts.columns(),
                    bursts.chains().collect::<Vec<_>>(),
                    dropped,
                ))
            }),
        ),
        #[cfg(feature = "wait")]
        (
            "wait states and delays",
            Box::new(move |job, _| {
                let activities = perfkit::wait::activity::Activities::of(view, job)?;
                let waits = perfkit::wait::waits::WaitStates::of_activities(&activities, job)?;
                let delays = perfkit::wait::delay::DelayCosts::of(view, &activities, &waits, job)?;
                digest(&(waits, delays))
            }),
        ),
        (
            "OTF2, written",
            Box::new(move |job, _| {
                let mut archive = MemoryArchive::default();
                let options = otf2::WriteOptions::default();
                otf2::write(view, &mut archive, &options, job)?;
                digest(&archive)
            }),
        ),
        (
            "Paraver, written",
            Box::new(move |job, _| {
                let mut text = Vec::new();
                paraver::write_trace(view, &mut text, "out.prv", job)?;
                digest(&text)
            }),
        ),
        (
            "anomalies",
            Box::new(move |job, _| {
                let mut monitor = Monitor::default().job(job);
                let mut replay = Replay::new(view, Nanos(10_000_000));
                while replay.next_step(&mut monitor, job)? {
                    job.advance("replay", 1, replay.steps());
                }
                let report = monitor.finish()?;
                let losses = &report.losses;
                let worst = (losses.worst_functions(), losses.worst_ranks());
                digest(&(losses.total(), worst))
            }),
        ),
    ];
    for (name, op, selection) in [
        ("fold", Op::Max, Selection::default()),
        ("fold, differences", Op::Diff, Selection::default()),
        ("fold, exact", Op::Share, Selection::Exact),
    ] {
        let work = move |job: &Job, _: usize| {
            let states = RegionMap::by_name(trace.definitions())?;
            let timelines = Timelines::new(view, &states, &Job::default())?;
            let params = Folder::params().columns(3000).op(op).selection(selection);
            let groups = Groups::by(&timelines, GroupBy::Process);
            let folder = Folder::new(&timelines, groups, params.check()?)?;
            let (mut fold, mut scratch) = (folder.empty(), folder.scratch());
            let window = timelines.range();
            folder.refold(window, &mut scratch, &mut fold, job)?;
            let usage = folder.usage(window, job)?;
            digest(&(fold.cells(), usage))
        };
        all.push((name, Box::new(work)));
    }
    all.push((
        "usage",
        Box::new(move |job, _| {
            let states = RegionMap::by_name(trace.definitions())?;
            let timelines = Timelines::new(view, &states, &Job::default())?;
            let groups = Groups::by(&timelines, GroupBy::Process);
            let folder = Folder::new(&timelines, groups, Default::default())?;
            digest(&folder.usage(timelines.range(), job)?)
        }),
    ));
    all
}

/// Returns the operations on archives.
pub(crate) fn of_archive(path: &Path) -> Vec<(&'static str, Work<'_>)> {
    let cut: Work<'_> = Box::new(move |job, _| {
        let reader = Reader::open(path, &OpenOptions::new(), &Job::default())?;
        let mut part = MemoryArchive::default();
        otf2::cut(&reader, &Cut::new(), &mut part, job)?;
        digest(&part)
    });
    let merged: Work<'_> = Box::new(move |job, threads| {
        let options = OpenOptions::new().threads(threads);
        let reader = Reader::open(path, &options, job)?;
        let mut merged = reader.merged()?;
        let mut all = Digest(0, 7);
        while let Some((location, at, event)) = merged.next()? {
            write!(all, "{location:?} {at:?} {event:?}")?;
        }
        Ok(format!("{} {:016x}", all.0, all.1))
    });
    vec![("cut", cut), ("merged", merged)]
}

/// Returns the index of a view whose values are not all equal.
fn varied(spectra: &Spectra<f64>) -> usize {
    let found = spectra.views().iter().position(|view| !view.is_constant());
    found.unwrap_or(0)
}

/// Returns the analyses of a profile.
pub(crate) fn of_profile(
    profile: &Profile,
) -> Result<Vec<(&'static str, Work<'_>)>, Box<dyn Error>> {
    let metrics: Vec<MetricId> = (0..profile.metrics().len())
        .filter_map(MetricId::from_index)
        .collect();
    // Rows are processed in batches; the list is long enough for a cancellation to take effect
    // between two of them.
    let rows = stored_rows(profile, &metrics).repeat(8);
    let ranks = profile.system().locations().len();
    let shape = Shape::of(&balanced(ranks, 2))?;
    let grid = Topology::by_order(shape, AxisOrder::LastFastest, ranks);
    let dims = grid.shape().lens();
    let build = move |job: &Job| {
        let mut builder = Spectra::<f64>::builder(&grid.shape().lens())?;
        builder.add_rows(profile, &grid, &rows, Missing::Fill, job)?;
        Ok::<_, Box<dyn Error>>(builder.finish())
    };
    let build = std::sync::Arc::new(build);
    let filter = std::sync::Arc::new(AxisFilter::all(dims.len()));
    let spectra: Work<'_> = {
        let build = build.clone();
        Box::new(move |job, _| {
            let spectra = build(job)?;
            let views = 0..spectra.views().len();
            let all: Result<Vec<_>, _> = views.map(|view| spectra.spectrum(view)).collect();
            digest(&all?)
        })
    };
    let rank: Work<'_> = {
        let (build, filter) = (build.clone(), filter.clone());
        Box::new(move |job, _| {
            let spectra = build(&Job::default())?;
            let (own, count) = (varied(&spectra), spectra.views().len());
            let others: Vec<usize> = (0..count).filter(|view| *view != own).collect();
            let params = RankParams::default().check()?;
            digest(&spectra.rank_among(own, &others, &*filter, &params, job)?)
        })
    };
    let pairs: Work<'_> = {
        let (build, filter) = (build.clone(), filter.clone());
        Box::new(move |job, _| {
            let spectra = build(&Job::default())?;
            let params = RankParams::default().top(5).check()?;
            digest(&spectra.pairs(&*filter, &params, job)?)
        })
    };
    let confidence: Work<'_> = Box::new(move |job, _| {
        let spectra = build(&Job::default())?;
        let params = NullParams::default().count(40).check()?;
        let views = [0, 1, 2];
        digest(&spectra.confidence(varied(&spectra), &views, &*filter, &params, job)?)
    });
    let written = |compress: bool| -> Work<'_> {
        Box::new(move |job, _| {
            let (mut bytes, options) = (Vec::new(), cube::WriteOptions::new());
            let options = options.compress(compress);
            cube::write(profile, &mut bytes, &options, job)?;
            digest(&bytes)
        })
    };
    Ok(vec![
        ("Cube, written", written(false)),
        ("Cube, written and packed", written(true)),
        ("spectra", spectra),
        ("rank", rank),
        ("pairs", pairs),
        ("confidence", confidence),
    ])
}

/// Points of twelve phases that 16 threads execute one after the other.
#[derive(Debug)]
pub(crate) struct Planted {
    values: Vec<f64>,
    bursts: Bursts,
    rows: Vec<u32>,
    labels: Vec<ClusterId>,
}

impl Planted {
    /// Creates `points` points.
    pub(crate) fn new(points: usize) -> Result<Self, Box<dyn Error>> {
        let phases = clusters::phases(points, 5);
        let mut bursts = Bursts::new(["x"]);
        for process in 0..clusters::THREADS {
            bursts.add_thread(perfkit::track::Thread {
                process,
                ..Default::default()
            })?;
        }
        for (thread, begin, end) in phases.bursts() {
            bursts.push(
                perfkit::track::Burst {
                    thread,
                    begin: Nanos(begin),
                    end: Nanos(end),
                    ..Default::default()
                },
                &[1.0],
            )?;
        }
        let labels = phases.truth.iter().map(|phase| ClusterId(*phase));
        Ok(Planted {
            labels: labels.collect(),
            rows: (0..points as u32).collect(),
            values: phases.values,
            bursts,
        })
    }

    pub(crate) fn points(&self) -> perfkit::track::Result<Points<'_>> {
        Points::new(&self.values, 2)
    }
}

/// Returns the clustering of points.
pub(crate) fn of_points(planted: &Planted) -> Vec<(&'static str, Work<'_>)> {
    let mut all: Vec<(&'static str, Work<'_>)> = Vec::new();
    for (name, index) in [("dbscan", Index::default()), ("dbscan, tree", Index::Tree)] {
        let work = move |job: &Job, _: usize| {
            let params = Dbscan::params().eps(0.01).min_points(10).index(index);
            let scan = Dbscan::new(params.check()?);
            digest(&scan.scan(planted.points()?, job)?)
        };
        all.push((name, Box::new(work)));
    }
    all.push((
        "hdbscan",
        Box::new(|job, _| {
            let scan = Hdbscan::default();
            digest(&scan.scan(planted.points()?, job)?)
        }),
    ));
    all.push((
        "k-distances",
        Box::new(|job, _| digest(&k_distances(planted.points()?, 4, job)?)),
    ));
    all.push((
        "eps",
        Box::new(|job, _| {
            let search = EpsSearch::default();
            digest(&search.choose(planted.points()?, job)?)
        }),
    ));
    all.push((
        "refinement",
        Box::new(|job, _| {
            let refinement = Refinement::default();
            let align = Align::default();
            let scorer = SpmdScorer::new(&planted.bursts, &planted.rows, align);
            let weights = planted.bursts.durations();
            let points = planted.points()?;
            digest(&refinement.run(points, &weights, &scorer, job)?)
        }),
    ));
    all.push((
        "alignment",
        Box::new(|job, _| {
            let labels = Labels::new(planted.labels.clone());
            let sequences = Sequences::of(&planted.bursts, &labels)?;
            let shares = vec![1.0 / 13.0; 13];
            let align = Align::default();
            digest(&align.align(&sequences, &shares, job)?)
        }),
    ));
    all.push((
        "tracking",
        Box::new(|job, _| {
            let times = planted.bursts.durations();
            let experiment = |name: &str| {
                let points = planted.points()?;
                Observation::new(name, 16, points, &planted.labels, &times)
            };
            let experiments = [experiment("a")?, experiment("b")?, experiment("c")?];
            let params = Tracking::params().check()?;
            digest(&Tracking::of(&experiments, &params, job)?)
        }),
    ));
    all
}
