//! Pages of folded timelines.

use super::{HOSTILE, Outcome, save};
use perf_core::samples::cosmo;
use perf_core::{
    Event, Events, Job, Metric, MetricId, MetricMode, MetricSet, MetricSetId, Nanos, Region,
    RegionId, Ticks, Trace, match_messages,
};
use perf_fold::{Counters, Folder, GroupBy, Groups, Line, Op, RegionMap, Timelines};
use perf_testdata::many_ranks;
use perf_view::timeline::{Marker, Picture, View};
use perf_view::{Page, Theme};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// Writes pages of 40 ranks, 4 of which have a growing load.
pub(super) fn folded(out: &Path) -> Outcome {
    let trace = cosmo::trace();
    let map = RegionMap::by_name(trace.definitions())?;
    let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
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
    // One section has cells at several resolutions, the other one states: both must agree.
    let view = View::new(&timelines, groups.clone())
        .calls(trace.view(), &map)
        .command("fold cosmo");
    let section = view.states(0).markers(markers.clone());
    let section = section.section(&Job::default())?;
    let exact = View::new(&timelines, groups.clone()).named("Exact", "exact");
    let exact = exact.section(&Job::default())?;
    let page =
        Page::new("COSMO-SPECS, synthetic").lead("40 ranks, 4 of which have more and more clouds.");
    save(
        out,
        "timeline.html",
        begin,
        page.with(section)
            .with(exact)
            .html(&Job::default())?
            .as_bytes(),
    )?;
    for (name, columns, theme) in [
        ("timeline.png", 1000, Theme::light()),
        ("timeline-dark.png", 1000, Theme::dark()),
        ("timeline-narrow.png", 160, Theme::light()),
    ] {
        let begin = Instant::now();
        let params = Folder::params().columns(columns).op(Op::Max).check()?;
        let folder = Folder::new(&timelines, groups.clone(), params)?;
        let fold = folder.fold(timelines.range(), &Job::default())?;
        let picture = Picture::new(&folder, &fold)?
            .titled("Folded by max")
            .theme(theme);
        save(out, name, begin, &picture.markers(&markers).scene().png()?)?;
    }
    let params = Folder::params().columns(400).op(Op::Diff).check()?;
    let folder = Folder::new(&timelines, groups, params)?;
    let fold = folder.fold(timelines.range(), &Job::default())?;
    let begin = Instant::now();
    let scene = Picture::new(&folder, &fold)?
        .titled("Folded by diff")
        .scene();
    save(out, "timeline.svg", begin, scene.svg().as_bytes())
}

fn renamed() -> Result<Trace, Box<dyn Error>> {
    let mut definitions = many_ranks::definitions(32);
    for (region, name) in definitions.regions.iter_mut().zip(HOSTILE.iter().cycle()) {
        region.name = (*name).into();
    }
    let events = (0..32).map(|rank| many_ranks::events(rank, 32, 3_000));
    Ok(Trace::new(definitions, events.collect())?)
}

/// Writes pages with hostile names and messages.
pub(super) fn hostile(out: &Path) -> Outcome {
    let trace = renamed()?;
    let timelines = Timelines::new(
        trace.view(),
        &RegionMap::by_name(trace.definitions())?,
        &Job::default(),
    )?;
    let begin = Instant::now();
    let found = match_messages(trace.view(), &Job::default())?;
    let lines: Vec<Line> = Line::of(&found).collect();
    let groups = Groups::by(&timelines, GroupBy::Process);
    let marker = Marker::new(Ticks(1_000_000), perf_core::LocationId(3), HOSTILE[0]);
    let view = View::new(&timelines, groups.clone()).named(HOSTILE[1], "Time <line>");
    let section = view.lines(lines.iter().copied()).markers([marker]);
    let section = section.section(&Job::default())?;
    let page = Page::new(HOSTILE[0]).lead(HOSTILE[2]).with(section);
    save(
        out,
        "hostile.html",
        begin,
        page.html(&Job::default())?.as_bytes(),
    )?;
    let window = perf_core::TimeRange {
        start: Ticks(1_000_000),
        end: Ticks(1_060_000),
    };
    let folder = Folder::new(&timelines, groups, Folder::params().columns(700).check()?)?;
    let fold = folder.fold(window, &Job::default())?;
    let lines = folder.lines(window, lines);
    let begin = Instant::now();
    let scene = Picture::new(&folder, &fold)?
        .titled(HOSTILE[1])
        .lines(&lines)
        .scene();
    save(out, "messages.svg", begin, scene.svg().as_bytes())?;
    save(out, "messages.png", begin, &scene.png()?)
}

/// Writes a page of 1024 ranks with 20 million events.
pub(super) fn many(out: &Path) -> Outcome {
    let trace = many_ranks::trace(1024, 19_500);
    let timelines = Timelines::new(
        trace.view(),
        &RegionMap::by_name(trace.definitions())?,
        &Job::default(),
    )?;
    let begin = Instant::now();
    let groups = Groups::by(&timelines, GroupBy::All);
    let found = match_messages(trace.view(), &Job::default())?;
    let view = View::new(&timelines, groups)
        .lines(Line::of(&found))
        .most_rows(1200)
        .states(0);
    let section = view.section(&Job::default())?;
    let span = Nanos(timelines.range().len() as i64);
    let lead = format!("1024 ranks, {} events, {span}", trace.len());
    let page = Page::new("Many ranks").lead(lead).with(section);
    save(
        out,
        "many.html",
        begin,
        page.html(&Job::default())?.as_bytes(),
    )
}

/// Writes a page of 64 ranks on four nodes with a counter of power. Rank `r` takes `100 + r` W in the first
/// half of 1 ms and twice as much in the second. Rank 37 works longer than the others.
pub(super) fn sampled(out: &Path) -> Outcome {
    let mut definitions = many_ranks::definitions(64);
    definitions.regions = vec![Region::named("work"), Region::named("MPI_Barrier")];
    definitions.metrics = vec![Metric {
        name: "power".into(),
        unit: "W".into(),
        mode: MetricMode::Absolute,
        ..Metric::default()
    }];
    definitions.metric_sets = vec![MetricSet {
        members: vec![MetricId(0)],
        ..MetricSet::default()
    }];
    let (work, barrier, set) = (RegionId(0), RegionId(1), MetricSetId(0));
    let events = (0..64_u64).map(|rank| {
        let mut events = Events::default();
        let end = Ticks(900_000 + 1_000 * (rank % 7) + if rank == 37 { 60_000 } else { 0 });
        let power = 100 + rank;
        for (at, event) in [
            (Ticks(0), Event::Enter { region: work }),
            (
                Ticks(0),
                Event::Metric {
                    set,
                    values: &[power],
                },
            ),
            (
                Ticks(500_000),
                Event::Metric {
                    set,
                    values: &[2 * power],
                },
            ),
            (end, Event::Leave { region: work }),
            (end, Event::Enter { region: barrier }),
            (Ticks(1_000_000), Event::Leave { region: barrier }),
        ] {
            events.push(at, event)?;
        }
        Ok::<_, perf_core::Error>(events)
    });
    let trace = Trace::new(definitions, events.collect::<Result<_, _>>()?)?;
    let map = RegionMap::by_name(trace.definitions())?;
    let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    let counters = Counters::new(trace.view(), &Job::default())?.all;
    let begin = Instant::now();
    let view = View::new(&timelines, Groups::by(&timelines, GroupBy::All)).counters(counters);
    let page = Page::new("A counter").with(view.section(&Job::default())?);
    save(
        out,
        "sampled.html",
        begin,
        page.html(&Job::default())?.as_bytes(),
    )
}
