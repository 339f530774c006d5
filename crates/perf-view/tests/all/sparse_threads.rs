//! Tests that rows of threads look as busy as their number says.

use super::timeline::{data, timelines, unpacked};
use perf_core::{
    Definitions, Event, Events, Job, Location, LocationKind, Region, RegionId, SystemTree, Ticks,
    TimeRange, Trace,
};
use perf_fold::{Folder, GroupBy, Groups};
use perf_testdata::xorshift::Xorshift;
use perf_view::timeline::{Part, Picture, View};
use perf_view::{Page, Theme};
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns a stream of a device and eight threads, of which each works in a function of its own in
/// half of the pieces of 1,000 ticks.
fn sparse_threads() -> Trace {
    with_events_of(9)
}

/// Returns the same of a device and eight threads, of which only the first `recorded` streams have
/// events.
fn with_events_of(recorded: u32) -> Trace {
    let mut locations = vec![Location {
        name: "stream 7".into(),
        kind: LocationKind::AcceleratorStream,
        ..Location::default()
    }];
    locations.extend((1..9).map(|key| Location {
        name: format!("thread {key}"),
        key,
        ..Location::default()
    }));
    let mut definitions = Definitions::default();
    definitions.regions = (0..9).map(|at| Region::named(format!("f{at}"))).collect();
    definitions.system =
        SystemTree::new(vec![], vec![], locations, &Default::default()).expect("a good trace");
    let mut random = Xorshift::new(4);
    let events = (0..9).map(|at| {
        let mut events = Events::default();
        let region = RegionId(at);
        for piece in (0..40).filter(|_| at < recorded && random.below(2) == 0) {
            let begin = Ticks(1_000 * piece);
            let end = Ticks(1_000 * piece + 1_000);
            events
                .push(begin, Event::Enter { region })
                .expect("a good trace");
            events
                .push(end, Event::Leave { region })
                .expect("a good trace");
        }
        events
    });
    Trace::new(definitions, events.collect()).expect("a good trace")
}

#[test]
fn idle_cells_are_as_strong_as_their_threads_are_busy() {
    let trace = sparse_threads();
    let timelines = timelines(&trace);
    let groups = || Groups::by(&timelines, GroupBy::All);
    let params = Folder::params().columns(400).check().unwrap();
    let folder = Folder::new(&timelines, groups(), params).unwrap();
    let (window, job) = (timelines.range(), Job::default());
    let fold = folder.fold(window, &job).unwrap();
    let row = fold.row(0).expect("threads");
    assert_eq!(row.label(), "All threads");
    let busy = folder.usage(window, &job).unwrap()[0].busy_share(LocationKind::CpuThread);
    assert!((0.3..0.7).contains(&busy), "{busy}");

    // The picture: idle is the most frequent state, but the strength of its grey is the busy share.
    let picture = Picture::new(&folder, &fold).unwrap();
    let scene = picture.scene();
    let canvas = scene.canvas().expect("it is small");
    let theme = Theme::light();
    let left = 16 + 11 * 7 + 10;
    let mut working = 0.0;
    for (column, cell) in (0..).zip(row.cells()) {
        assert_eq!(cell.picture(), None, "idle is the most frequent state");
        let share = 1.0 - (cell.idle + cell.absent) as f64 / cell.total as f64;
        let colour = if cell.absent == cell.total {
            theme.absent
        } else {
            theme.idle.mix(theme.quiet, share)
        };
        assert_eq!(canvas.pixel(left + column, 60), Some(colour), "{column}");
        working += share / 400.0;
    }
    assert!((working - busy).abs() < 0.01, "{working} {busy}");
    let text = scene.svg();
    assert!(text.contains(&format!("{:.0} % busy", 100.0 * busy)));
    assert!(text.contains("stronger grey: more streams work"));
    assert!(!text.contains("fainter: fewer streams agree"));

    // The page has the same cells and the same share.
    let section = View::new(&timelines, groups()).finest(400).states(0);
    let section = section.section(&job).expect("it is drawn");
    let data = data(&Page::new("x").with(section).html(&job).unwrap());
    let shown = data["groups"][0]["busy"].as_f64().expect("a share");
    assert!((shown - busy).abs() < 1e-3);
    assert_eq!(data["groups"][0]["device"], Value::Null);
    assert_eq!(data["groups"][1]["device"], true);
    assert_eq!(data["ops"][0][0], "usual");
    let level = data["levels"].as_array().and_then(|it| it.last()).unwrap();
    let cells = unpacked(level["cells"][0][0].as_str().expect("text"));
    let idle = cells
        .iter()
        .map(|[_, agreement]| f64::from(*agreement) / 255.0);
    let working = 1.0 - idle.sum::<f64>() / cells.len() as f64;
    assert!((working - busy).abs() < 0.01, "{working} {busy}");
}

#[test]
fn streams_without_states_are_in_no_share() {
    let (trace, all) = (with_events_of(4), sparse_threads());
    let (timelines, job) = (timelines(&trace), Job::default());
    let groups = || Groups::by(&timelines, GroupBy::All);
    let params = Folder::params().columns(400).check().unwrap();
    let folder = Folder::new(&timelines, groups(), params).unwrap();
    let fold = folder.fold(timelines.range(), &job).unwrap();
    let text = Picture::new(&folder, &fold).unwrap().scene().svg();
    let remark = "5 of 9 streams recorded no states; no share counts them";
    assert!(text.contains(remark), "{text}");
    let section = View::new(&timelines, groups()).section(&job).unwrap();
    let html = Page::new("x").with(section).html(&job).unwrap();
    assert!(html.contains(remark));
    let group = &data(&html)["groups"][0];
    assert_eq!(
        (&group["streams"], &group["withoutStates"]),
        (&8.into(), &5.into())
    );
    let busy = group["busy"].as_f64().expect("a share");
    assert!((0.3..0.7).contains(&busy), "{busy}");
    // A recording in which all streams have states says nothing.
    let timelines = super::timeline::timelines(&all);
    let section = View::new(&timelines, Groups::by(&timelines, GroupBy::All));
    let section = section.section(&job).unwrap();
    let html = Page::new("x").with(section).html(&job).unwrap();
    assert!(!html.contains("no states") && data(&html)["groups"][0]["withoutStates"].is_null());
}

#[test]
fn the_legend_has_shares_of_the_streams_of_each_kind() {
    let trace = sparse_threads();
    let timelines = timelines(&trace);
    let groups = || Groups::by(&timelines, GroupBy::All);
    let job = Job::default();
    let headings = [
        "All threads, share of the time of 8 streams:",
        "Devices, share of the time of 1 stream:",
    ];
    let params = Folder::params().columns(400).check().unwrap();
    let folder = Folder::new(&timelines, groups(), params).unwrap();
    let fold = folder.fold(timelines.range(), &job).unwrap();
    let text = Picture::new(&folder, &fold).unwrap().scene().svg();
    assert!(headings.iter().all(|heading| text.contains(heading)));
    let (section, served) = View::new(&timelines, groups())
        .served("cells/0", &job)
        .unwrap();
    let html = Page::new("x").with(section).html(&job).unwrap();
    assert!(headings.iter().all(|heading| html.contains(heading)));
    assert_eq!(
        data(&html)["parts"][0],
        serde_json::json!([headings[1], [1]])
    );
    let part = Part {
        window: timelines.range(),
        columns: 10,
        op: 0,
        rows: vec![0, 1],
    };
    let reply: Value = serde_json::from_str(&served.cells(&part, &job).unwrap()).unwrap();
    let legend = reply["legend"].as_array().expect("two kinds");
    assert_eq!(legend.len(), 2);
    for kind in legend {
        let shares = kind[1].as_array().unwrap().iter();
        let sum: f64 = shares.map(|entry| entry[2][0].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }
    assert_eq!(legend[0][1][0][0], "f0");
}

#[test]
fn functions_have_one_colour_in_each_window_and_picture() {
    let trace = sparse_threads();
    let timelines = timelines(&trace);
    let groups = || Groups::by(&timelines, GroupBy::Location);
    let job = Job::default();
    let colours = |view: View<'_>| {
        let section = view.section(&job).unwrap();
        let html = Page::new("x").with(section).html(&job).unwrap();
        let states = data(&html)["states"].as_array().unwrap().clone();
        let text = |value: &Value| value.as_str().unwrap().to_string();
        let pairs = states.iter().map(|it| (text(&it[0]), text(&it[1])));
        pairs.collect::<BTreeMap<_, _>>()
    };
    let whole = colours(View::new(&timelines, groups()));
    // Nine functions have six shades, so the order of their times matters.
    let drawn = |window| {
        let params = Folder::params().columns(50).check().unwrap();
        let folder = Folder::new(&timelines, groups(), params).unwrap();
        let fold = folder.fold(window, &job).unwrap();
        let scene = Picture::new(&folder, &fold).unwrap().scene();
        (fold, scene.canvas().unwrap())
    };
    for start in [0, 7, 20, 31] {
        let window = TimeRange {
            start: Ticks(1_000 * start),
            end: Ticks(1_000 * start + 8_000),
        };
        for (name, colour) in colours(View::new(&timelines, groups()).window(window)) {
            assert_eq!(whole[&name], colour, "{name} from {start}");
        }
        let (fold, canvas) = drawn(window);
        let label = fold.rows().map(|row| row.label().len()).max().unwrap();
        let left = 16 + 7 * label as u32 + 10;
        for (at, row) in fold.rows().enumerate() {
            for (column, cell) in (0..).zip(row.cells()) {
                let Some(class) = cell.picture() else {
                    continue;
                };
                let name = fold.classes().name(class);
                let pixel = canvas
                    .pixel(left + column, 16 + 40 * at as u32 + 20)
                    .unwrap();
                assert_eq!(pixel.to_string(), whole[name], "{name} from {start}");
            }
        }
    }
}
