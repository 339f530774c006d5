//! Writes a page and a picture of every view into a folder, from made-up recordings: what
//! `cargo xtask pages` opens in a browser.
//!
//! `cargo run --release -p perf-view --example pages -- OUT`

use perf_anomaly::provenance::{Memory, Recorder};
use perf_anomaly::server::{Ranks, StepStats};
use perf_anomaly::{Loss, Monitor, Tail, calls::Calls};
use perf_core::{CancelToken, EventSink, Nanos, Ticks, Trace, match_messages};
use perf_core::{Peer, StreamEvent, StreamKey};
use perf_fold::{Folder, GroupBy, Groups, Line, Op, RegionMap, Timelines};
use perf_spectral::Spectra;
use perf_testdata::{cosmo, wide};
use perf_topology::{Axis, Grid, Shape};
use perf_track::track::{Observation, Tracking};
use perf_track::trend::{Measured, Trends};
use perf_track::{Burst, Bursts, ClusterId, Dimension, Frame, Labels, Scale, Thread};
use perf_view::timeline::{Marker, Picture, View};
use perf_view::{ColourMap, Page, Section, Theme, Unit, anomaly, topology, track};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let mut arguments = std::env::args_os().skip(1);
    let out = arguments.next().ok_or("usage: pages OUT")?;
    let out = Path::new(&out);
    std::fs::create_dir_all(out)?;
    timelines(out)?;
    hostile(out)?;
    many(out)?;
    topology(out)?;
    large(out)?;
    clusters(out)?;
    anomalies(out)?;
    report(out)
}

fn save(out: &Path, name: &str, begin: Instant, bytes: &[u8]) -> Outcome {
    std::fs::write(out.join(name), bytes)?;
    println!(
        "{name:<24} {:>9} bytes {:>8.0?}",
        bytes.len(),
        begin.elapsed()
    );
    Ok(())
}

/// 40 ranks, 4 of which have more and more to do.
fn timelines(out: &Path) -> Outcome {
    let trace = cosmo::trace();
    let timelines = Timelines::new(trace.view(), &RegionMap::by_name(trace.definitions())?)?;
    let groups = Groups::by(&timelines, GroupBy::Node);
    let begin = Instant::now();
    let markers = (40..60).map(|k| {
        let at = Ticks(cosmo::start(k).0 + 5_200_000);
        Marker::new(
            at,
            perf_core::LocationId(k as u32 % 4),
            format!("SPECS late, iteration {k}"),
        )
    });
    let markers: Vec<Marker> = markers.collect();
    let section = View::new(&timelines, groups.clone()).markers(markers.clone());
    let section = section.section(&(), &CancelToken::new())?;
    let page =
        Page::new("COSMO-SPECS, synthetic").lead("40 ranks, 4 of which have more and more clouds.");
    save(
        out,
        "timeline.html",
        begin,
        page.with(section).html().as_bytes(),
    )?;
    for (name, columns, theme) in [
        ("timeline.png", 1000, Theme::light()),
        ("timeline-dark.png", 1000, Theme::dark()),
        ("timeline-narrow.png", 160, Theme::light()),
    ] {
        let begin = Instant::now();
        let params = Folder::params().columns(columns).op(Op::Max).check()?;
        let folder = Folder::new(&timelines, groups.clone(), params)?;
        let fold = folder.fold(timelines.range())?;
        let picture = Picture::new(&folder, &fold)?
            .titled("Folded by max")
            .theme(theme);
        save(out, name, begin, &picture.markers(&markers).scene().png()?)?;
    }
    let params = Folder::params().columns(400).op(Op::Diff).check()?;
    let folder = Folder::new(&timelines, groups, params)?;
    let fold = folder.fold(timelines.range())?;
    let begin = Instant::now();
    let scene = Picture::new(&folder, &fold)?
        .titled("Folded by diff")
        .scene();
    save(out, "timeline.svg", begin, scene.svg().as_bytes())
}

/// Names that would break a page that does not escape them.
const HOSTILE: [&str; 6] = [
    "</script><script>document.title='broken'</script>",
    "std::map<int, \"a&b\">::operator[]('x')",
    "<img src=x onerror=alert(1)>",
    "--><!-- ]]> ${1} {{2}} \\u003c",
    "\u{202e}right to left\u{2028}line\u{0}nul",
    "MPI_日本語_🦀",
];

fn renamed() -> Result<Trace, Box<dyn Error>> {
    let mut definitions = wide::definitions(32);
    for (region, name) in definitions.regions.iter_mut().zip(HOSTILE.iter().cycle()) {
        region.name = (*name).into();
    }
    let events = (0..32).map(|rank| wide::events(rank, 32, 3_000));
    Ok(Trace::new(definitions, events.collect())?)
}

/// Hostile names, and messages.
fn hostile(out: &Path) -> Outcome {
    let trace = renamed()?;
    let timelines = Timelines::new(trace.view(), &RegionMap::by_name(trace.definitions())?)?;
    let begin = Instant::now();
    let found = match_messages(trace.view());
    let lines: Vec<Line> = Line::of(&found).collect();
    let groups = Groups::by(&timelines, GroupBy::Process);
    let marker = Marker::new(Ticks(1_000_000), perf_core::LocationId(3), HOSTILE[0]);
    let view = View::new(&timelines, groups.clone()).named(HOSTILE[1], "Time <line>");
    let section = view.lines(lines.iter().copied()).markers([marker]);
    let section = section.section(&(), &CancelToken::new())?;
    let page = Page::new(HOSTILE[0]).lead(HOSTILE[2]).with(section);
    save(out, "hostile.html", begin, page.html().as_bytes())?;
    let window = perf_core::TimeRange {
        start: Ticks(1_000_000),
        end: Ticks(1_060_000),
    };
    let folder = Folder::new(&timelines, groups, Folder::params().columns(700).check()?)?;
    let fold = folder.fold(window)?;
    let lines = folder.lines(window, lines);
    let begin = Instant::now();
    let scene = Picture::new(&folder, &fold)?
        .titled(HOSTILE[1])
        .lines(&lines)
        .scene();
    save(out, "messages.svg", begin, scene.svg().as_bytes())?;
    save(out, "messages.png", begin, &scene.png()?)
}

/// 1024 ranks, 20 million events.
fn many(out: &Path) -> Outcome {
    let trace = wide::trace(1024, 19_500);
    let timelines = Timelines::new(trace.view(), &RegionMap::by_name(trace.definitions())?)?;
    let begin = Instant::now();
    let groups = Groups::by(&timelines, GroupBy::All);
    let found = match_messages(trace.view());
    let view = View::new(&timelines, groups)
        .lines(Line::of(&found))
        .most_rows(1200);
    let section = view.section(&(), &CancelToken::new())?;
    let span = Nanos(timelines.range().len() as i64);
    let lead = format!("1024 ranks, {} events, {span}", trace.len());
    let page = Page::new("Many ranks").lead(lead).with(section);
    save(out, "many.html", begin, page.html().as_bytes())
}

/// A number between -0.5 and 0.5 that looks like noise.
fn noise(cell: usize, seed: usize) -> f64 {
    let mixed =
        (cell + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed ^ mixed >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) >> 40) as f64 / (1 << 24) as f64
        - 0.5
}

/// Views of one shape by name: a wave of time along x and stripes along y, what goes with either, and
/// noise.
fn views(shape: &Shape) -> Vec<(String, Vec<f64>)> {
    let lens = shape.lens();
    let wave = |cell: usize, turn: f64| {
        let x = shape.coordinates(cell).next().unwrap_or(0) as f64;
        (std::f64::consts::TAU * (x / lens[0] as f64 + turn)).cos()
    };
    let stripe = |cell: usize| {
        let y = shape.coordinates(cell).nth(1).unwrap_or(0);
        f64::from(y.is_multiple_of(2))
    };
    let view = |of: &dyn Fn(usize) -> f64| (0..shape.cells()).map(of).collect::<Vec<f64>>();
    vec![
        (
            "time, main / solve".into(),
            view(&|c| 5e8 + 1e8 * wave(c, 0.0) + 4e7 * stripe(c) + 2e7 * noise(c, 1)),
        ),
        (
            "waiting, main / exchange / MPI_Waitall".into(),
            view(&|c| 2e8 - 1e8 * wave(c, 0.0) + 1e7 * noise(c, 2)),
        ),
        (
            "stripes, main / input / read_rows".into(),
            view(&|c| 1e8 * stripe(c) + 1e7 * noise(c, 3)),
        ),
        (
            "late, main / output".into(),
            view(&|c| 3e8 + 1e8 * wave(c, 0.25) + 6e7 * noise(c, 4)),
        ),
        (
            HOSTILE[2].into(),
            view(&|c| 1e8 + 5e7 * wave(c, 0.1) + 9e7 * noise(c, 5)),
        ),
        ("noise".into(), view(&|c| 1e8 * noise(c, 6))),
    ]
}

fn topology_view(shape: &Shape) -> Result<topology::View, Box<dyn Error>> {
    let views = views(shape);
    let mut builder = Spectra::<f32>::builder(&shape.lens())?;
    let values: Vec<&[f64]> = views.iter().map(|(_, values)| values.as_slice()).collect();
    builder.extend(&values)?;
    let spectra = builder.finish();
    let grid = |at: usize| {
        let (name, values) = &views[at];
        let grid = Grid::new(shape.clone(), values.clone(), vec![true; values.len()])?;
        Ok((name.clone(), grid, Unit::Nanos))
    };
    Ok(topology::View::correlated(
        &spectra,
        0,
        grid,
        10,
        &(),
        &CancelToken::new(),
    )?)
}

fn topology(out: &Path) -> Outcome {
    let axes = ["x", "y", "z"].map(|name| Axis::new(name, 12));
    let shape = Shape::new(axes.into())?;
    let begin = Instant::now();
    let names = (0..shape.cells()).map(|cell| format!("rank {cell}, node {}", cell / 16));
    let view = topology_view(&shape)?.cells(names.collect());
    let page = Page::new("Waves and stripes, synthetic").lead("1,728 ranks on a torus.");
    let page = page.with(view.section(&(), &CancelToken::new())?);
    save(out, "topology.html", begin, page.html().as_bytes())?;
    let values = views(&shape).swap_remove(0).1;
    let grid = Grid::new(shape, values, vec![true; 1728])?;
    for (name, map, theme) in [
        ("cubes.png", ColourMap::GreenYellowRed, Theme::light()),
        ("cubes-safe.png", ColourMap::BlueYellow, Theme::dark()),
    ] {
        let picture = topology::Picture::new(&grid)?
            .titled("time, main / solve")
            .unit(Unit::Nanos);
        let begin = Instant::now();
        save(
            out,
            name,
            begin,
            &picture.map(map).theme(theme).scene().png()?,
        )?;
    }
    Ok(())
}

/// Work of a burst of each phase and how fast it goes, on 4 tasks; a phase of its own after a while.
const PHASES: [(f64, f64, &str); 4] = [
    (6.4e9, 2.1, "solve"),
    (2.0e9, 1.2, "assemble"),
    (2.2e8, 1.6, HOSTILE[2]),
    (5.0e8, 0.6, "output"),
];

/// The bursts of some tasks and the phase of each: 0 for those that are like no other.
fn bursts(tasks: u32, steps: usize) -> Result<(Bursts, Vec<ClusterId>), Box<dyn Error>> {
    let mut bursts = Bursts::with_units([("instructions", ""), ("ipc", "")]);
    let mut labels = Vec::new();
    for process in 0..tasks {
        let thread = bursts.add_thread(Thread {
            process,
            ..Thread::default()
        })?;
        for step in 0..steps {
            let phases = if tasks > 4 { 4 } else { 3 };
            let cell = process as usize * steps + step;
            let (work, rate, name) = PHASES[step % phases];
            let alone = step % 97 == 96;
            let wide = if alone { 3.0 } else { 0.15 };
            // The work is divided; the second phase gets slower with more tasks, the third is replicated.
            let share = if step % phases == 2 {
                1.0
            } else {
                f64::from(tasks) / 4.0
            };
            let slow = if step % phases == 1 {
                (4.0 / f64::from(tasks)).powf(0.3)
            } else {
                1.0
            };
            let work = work / share * (wide * noise(cell, 1)).exp();
            let rate = rate * slow * (0.7 * wide * noise(cell, 2)).exp();
            let begin = Nanos(step as i64 * 20_000_000_000);
            let end = Nanos(begin.0 + (work / rate / 2.5) as i64);
            let before = Some(bursts.add_chain(&[name])?);
            let burst = Burst {
                thread,
                begin,
                end,
                before,
                after: None,
            };
            bursts.push(burst, &[work, rate])?;
            labels.push(ClusterId(if alone {
                0
            } else {
                step as u32 % phases as u32 + 1
            }));
        }
    }
    Ok((bursts, labels))
}

/// Runs on more and more tasks, tracked.
fn tracked(runs: &[(&str, u32)], steps: usize) -> Result<track::Clusters, Box<dyn Error>> {
    let all: Result<Vec<_>, _> = runs
        .iter()
        .map(|(_, tasks)| bursts(*tasks, steps))
        .collect();
    let all = all?;
    let scale = Scale::params()
        .dimension(Dimension::new("instructions").log(true))
        .dimension(Dimension::new("ipc"));
    let every: Vec<&Bursts> = all.iter().map(|(bursts, _)| bursts).collect();
    let scaled = scale.check()?.fit(&every)?;
    let mut seen = Vec::new();
    let mut measured = Vec::new();
    for ((name, _), ((bursts, labels), of)) in runs.iter().zip(all.iter().zip(&scaled.frames)) {
        let frame = Frame::new(*name, bursts.clone(), Labels::new(labels.clone()))?;
        seen.push(Observation::of(&frame, of.points()?, of.rows())?);
        measured.push(Measured::of(bursts, of.rows(), labels)?);
    }
    let cancel = CancelToken::new();
    let tracking = Tracking::of(&seen, &Tracking::params().check()?, &(), &cancel)?;
    let trends = Trends::of(&tracking, measured)?;
    let labels: Vec<&[ClusterId]> = all.iter().map(|(_, labels)| labels.as_slice()).collect();
    Ok(track::Clusters::of(&tracking, &trends, &scaled, &labels)?)
}

const RUNS: [(&str, u32); 4] = [
    ("4 tasks", 4),
    ("8 tasks", 8),
    ("16 <tasks>", 16),
    ("32 tasks", 32),
];

/// Clusters through four runs, and 2.4 million bursts of two.
fn clusters(out: &Path) -> Outcome {
    let found = tracked(&RUNS, 120)?;
    let begin = Instant::now();
    let section = track::View::new(&found).section(&(), &CancelToken::new())?;
    let page =
        Page::new("Four runs, synthetic").lead("Three phases, and a fourth from 8 tasks on.");
    save(
        out,
        "track.html",
        begin,
        page.with(section).html().as_bytes(),
    )?;
    for (name, theme) in [
        ("track.png", Theme::light()),
        ("track-dark.png", Theme::dark()),
    ] {
        let begin = Instant::now();
        let picture = track::Picture::new(&found)
            .titled("Phases from 4 to 32 tasks")
            .theme(theme);
        save(out, name, begin, &picture.scene().png()?)?;
        if theme == Theme::light() {
            save(
                out,
                "track.svg",
                begin,
                picture.clone().moving(true).scene().svg().as_bytes(),
            )?;
            let matrices = picture.matrices(0, 1).ok_or("frames that were compared")?;
            save(out, "track-matrices.png", begin, &matrices.png()?)?;
            let trend = picture.trend("ipc").ok_or("a metric")?;
            save(out, "track-trend.png", begin, &trend.png()?)?;
        }
    }
    let found = tracked(&[("64 tasks", 64), ("128 tasks", 128)], 12_500)?;
    let begin = Instant::now();
    let section = track::View::new(&found).section(&(), &CancelToken::new())?;
    let page = Page::new("2,400,000 bursts").with(section);
    save(out, "track-many.html", begin, page.html().as_bytes())
}

/// 12 ranks of 100 steps, of which one waits for two others now and then, and one has a slow function
/// in the end.
fn found() -> Result<anomaly::Anomalies, Box<dyn Error>> {
    let calls = Calls::new(Calls::params().check()?);
    let recorder = Recorder::new(Recorder::params().check()?, Box::new(Memory::new()));
    let tail = Tail::new(Tail::params().check()?);
    let mut sink = Monitor::new(calls, Box::new(tail)).record(recorder);
    let regions = [
        "main",
        "solve",
        "assemble",
        HOSTILE[2],
        "MPI_Wait",
        "MPI_Allreduce",
    ];
    let [main, solve, assemble, hostile, wait, reduce] = regions.map(|name| sink.region(0, name));
    let streams: Vec<_> = (0..12)
        .map(|rank| {
            sink.stream(StreamKey {
                rank,
                ..StreamKey::default()
            })
        })
        .collect();
    for stream in &streams {
        sink.push(*stream, Nanos(0), StreamEvent::Enter(main));
    }
    for step in 0..100_i64 {
        for (rank, stream) in streams.iter().enumerate() {
            for at in 0..8 {
                let seed = (step * 8 + at) as usize * 12 + rank;
                let mut now = step * 8_000_000 + at * 1_000_000 + 1_000;
                let mut push = |after: f64, event| {
                    now += after as i64;
                    sink.push(*stream, Nanos(now), event);
                };
                let late = rank == 7 && step % 9 == 4 && at == 3;
                let grown = rank == 3 && step > 80 && (step + at) % 6 == 0;
                push(0.0, StreamEvent::Enter(solve));
                push(2e3, StreamEvent::Enter(assemble));
                push(
                    4e4 * (0.3 * noise(seed, 1)).exp(),
                    StreamEvent::Enter(hostile),
                );
                push(
                    6e3 * (0.2 * noise(seed, 2)).exp(),
                    StreamEvent::Exit(hostile),
                );
                let slow = if grown { 2.5e5 } else { 0.0 };
                push(
                    slow + 2e4 * (0.3 * noise(seed, 3)).exp(),
                    StreamEvent::Exit(assemble),
                );
                push(1e3, StreamEvent::Enter(wait));
                let peer = |rank, bytes| Peer {
                    rank,
                    tag: 1,
                    bytes,
                };
                push(500.0, StreamEvent::Send(peer(rank as u32 + 1, 65_536)));
                let slow = if late { 4e5 } else { 0.0 };
                push(
                    slow + 2e4 * (0.5 * noise(seed, 4)).exp(),
                    StreamEvent::Receive(peer(rank as u32 / 2, 512)),
                );
                push(500.0, StreamEvent::Exit(wait));
                push(1e3, StreamEvent::Enter(reduce));
                push(
                    3e4 * (0.6 * noise(seed, 5)).exp(),
                    StreamEvent::Exit(reduce),
                );
                push(1e3, StreamEvent::Exit(solve));
            }
        }
        sink.end_step(step as u64);
    }
    Ok(anomaly::Anomalies::of(&mut sink.finish()?)?)
}

/// Anomalies of a few ranks, and counts of 2,048.
fn anomalies(out: &Path) -> Outcome {
    let found = found()?;
    let begin = Instant::now();
    let section = anomaly::View::new(&found).section(&(), &CancelToken::new())?;
    let page = Page::new("Two ranks that are not as the others, synthetic").with(section);
    save(out, "anomaly.html", begin, page.html().as_bytes())?;
    for (name, theme) in [
        ("anomaly.png", Theme::light()),
        ("anomaly-dark.png", Theme::dark()),
    ] {
        let begin = Instant::now();
        let picture = anomaly::Picture::new(&found)
            .titled("Two ranks of twelve are abnormal")
            .theme(theme);
        save(out, name, begin, &picture.scene().png()?)?;
        if theme == Theme::light() {
            save(out, "anomaly.svg", begin, picture.scene().svg().as_bytes())?;
            let stack = picture.stack(0).ok_or("a call")?;
            save(out, "anomaly-stack.png", begin, &stack.png()?)?;
        }
    }
    let mut ranks = Ranks::default();
    for rank in 0..2048_u32 {
        for step in 0..128 {
            let cell = rank as usize * 128 + step as usize;
            let high = if rank == 1234 { 40.0 } else { 3.0 };
            let too_slow = (high * (noise(cell, 1) + 0.5).powi(3)) as u64;
            let mut stats = StepStats::default();
            (stats.rank, stats.step) = (rank, step);
            let time = Nanos(too_slow as i64 * 1_000_000);
            stats.loss = Loss {
                calls: 1000,
                too_slow,
                time,
                ..Loss::default()
            };
            ranks.add(&stats, 128, 4096);
        }
    }
    let found = anomaly::Anomalies::new().with_ranks(&ranks);
    let begin = Instant::now();
    let section = anomaly::View::new(&found).section(&(), &CancelToken::new())?;
    let page = Page::new("2,048 ranks of 128 steps").with(section);
    save(out, "anomaly-many.html", begin, page.html().as_bytes())
}

/// Several views in one page: an overview, then detail.
fn report(out: &Path) -> Outcome {
    let trace = cosmo::trace();
    let timelines = Timelines::new(trace.view(), &RegionMap::by_name(trace.definitions())?)?;
    let begin = Instant::now();
    let cancel = CancelToken::new();
    let all = View::new(&timelines, Groups::by(&timelines, GroupBy::All)).finest(2048);
    let nodes = View::new(&timelines, Groups::by(&timelines, GroupBy::Node)).finest(2048);
    let shape = Shape::of(&[4, 4, 4, 4])?;
    let summary =
        ["4 of 40 ranks have more and more to do; the others wait for them in MPI_Allreduce."];
    let page = Page::new("A report")
        .lead("An overview, then detail.")
        .with(Section::text("summary", "Summary", &summary))
        .with(all.named("All ranks", "overview").section(&(), &cancel)?)
        .with(nodes.named("By node", "timeline").section(&(), &cancel)?)
        .with(topology_view(&shape)?.section(&(), &cancel)?);
    save(out, "report.html", begin, page.html().as_bytes())
}

/// 1,835,008 ranks, one of which is slow.
fn large(out: &Path) -> Outcome {
    let shape = Shape::of(&[128, 128, 112])?;
    let mut values = views(&shape).swap_remove(0).1;
    values[1_000_000] = 3e9;
    let begin = Instant::now();
    let waiting: Vec<f64> = values.iter().map(|value| 1e9 - value).collect();
    let grid = |values| Grid::new(shape.clone(), values, vec![true; shape.cells()]);
    let mut view = topology::View::new("time, main / solve", grid(values)?, Unit::Nanos);
    let other = view.add("waiting", grid(waiting)?, Unit::Nanos)?;
    let found = topology::Found {
        view: other,
        r: -1.0,
        shift: vec![0; 3],
    };
    view.list(&[1.0; 3], vec![found])?;
    let page = Page::new("1,835,008 ranks").with(view.section(&(), &CancelToken::new())?);
    save(out, "large.html", begin, page.html().as_bytes())
}
