//! Tests of the call stacks of locations, and of the rows into which large pages unfold.

use super::timeline::data;
use perf_core::samples::cosmo;
use perf_core::{Job, LocationId, TimeRange, Trace};
use perf_fold::{GroupBy, Groups, RegionMap, Timelines};
use perf_testdata::{many_ranks, ring};
use perf_view::timeline::{Served, View};
use perf_view::{Error, Page};
use serde_json::Value;

struct Opened {
    trace: Trace,
    map: RegionMap,
    timelines: Timelines,
}

fn opened(trace: Trace) -> Opened {
    let map = RegionMap::by_name(trace.definitions()).expect("few regions");
    let timelines = Timelines::new(trace.view(), &map, &Job::default()).expect("a good trace");
    Opened {
        trace,
        map,
        timelines,
    }
}

fn view(of: &Opened) -> View<'_> {
    let groups = Groups::by(&of.timelines, GroupBy::Location);
    View::new(&of.timelines, groups).calls(of.trace.view(), &of.map)
}

fn page(view: &View<'_>) -> (Value, usize) {
    let section = view.section(&Job::default()).expect("it is drawn");
    let html = Page::new("x").with(section).html(&Job::default());
    let html = html.expect("a page");
    (data(&html), html.len())
}

#[test]
fn a_served_stack_has_the_frames_of_all_depths() {
    let of = opened(cosmo::trace());
    let (_, served): (_, Served) = view(&of).served("cells/0", &Job::default()).expect("rows");
    let all = of.timelines.range();
    let half = TimeRange {
        start: all.start,
        end: perf_core::Ticks(all.end.0 / 2),
    };
    for (window, row) in [(all, 0), (half, 5)] {
        let source = (of.trace.view(), &of.map);
        let text = served.calls(source, (row, window, 300), &Job::default());
        let found: Value = serde_json::from_str(&text.expect("a stack")).expect("JSON");
        let names = found["names"].as_array().expect("names");
        let location = LocationId(row as u32);
        let stack = Timelines::call_stack(of.trace.view(), location, &of.map, &Job::default());
        let stack = stack.expect("a stack");
        let depths = found["depths"].as_array().expect("depths");
        assert_eq!((depths.len(), stack.len()), (2, 2));
        for (depth, runs) in depths.iter().enumerate() {
            let mut column = 0u64;
            for run in runs.as_array().expect("runs") {
                let name = run[1].as_u64().map_or("(idle)", |code| {
                    names[code as usize][0].as_str().expect("a name")
                });
                for _ in 0..run[0].as_u64().expect("a length") {
                    let centre = window.start.0 + (2 * column + 1) * window.len() / 600;
                    let state =
                        stack.state(depth as u32, perf_core::Ticks(centre), Default::default());
                    let expected = match state.class() {
                        Some(class) => stack.classes().name(class),
                        None => "(idle)",
                    };
                    assert_eq!(name, expected, "depth {depth}, column {column}");
                    column += 1;
                }
            }
            assert_eq!(column, 300);
        }
    }
    let source = (of.trace.view(), &of.map);
    for wrong in [(4_000, all, 300), (0, all, 0), (0, all, 1 << 20)] {
        let refused = served.calls(source, wrong, &Job::default());
        assert!(matches!(refused, Err(Error::Outside { .. })), "{wrong:?}");
    }
}

#[test]
fn a_page_holds_the_stacks_that_fit() {
    let of = opened(cosmo::trace());
    let (all, _) = page(&view(&of));
    let calls = &all["calls"];
    assert_eq!(calls["missing"], 0);
    let streams = calls["streams"].as_array().expect("streams");
    assert_eq!(streams.len(), 40);
    assert!(
        streams
            .iter()
            .all(|it| it.as_array().expect("depths").len() == 2)
    );
    let names = calls["names"].as_array().expect("names");
    assert!(names.iter().any(|it| it[0] == "main" && it[1] != "#9a9aa2"));
    // Without a source of call stacks the page has none.
    let groups = Groups::by(&of.timelines, GroupBy::Location);
    let (none, _) = page(&View::new(&of.timelines, groups));
    assert_eq!(none["calls"], Value::Null);
    // A large recording has some of them.
    let of = opened(many_ranks::trace(64, 4_000));
    let (some, _) = page(&view(&of).states(0).finest(512));
    let missing = some["calls"]["missing"].as_u64().expect("a number");
    assert!((1..64).contains(&missing), "{missing}");
}

#[test]
fn a_page_of_ten_thousand_ranks_unfolds_every_block() {
    let of = opened(ring::trace(10_000, 20));
    let groups = Groups::by(&of.timelines, GroupBy::Process).in_blocks(128, 32);
    let view = View::new(&of.timelines, groups)
        .budget(1 << 20)
        .states(1 << 20);
    let (data, bytes) = page(&view.calls(of.trace.view(), &of.map));
    assert!(bytes <= 6_000_000, "{bytes} bytes");
    let groups = data["groups"].as_array().expect("groups");
    let blocks = groups.iter().filter(|it| it["parent"].is_null()).count();
    let ranks = groups.iter().filter(|it| it["streams"] == 1).count();
    assert_eq!(blocks, 32);
    assert_eq!(ranks, 10_000);
    // Ranks after the first rows have cells at one resolution.
    let first = data["members"]["first"].as_u64().expect("a number");
    let rows = data["members"]["cells"][0].as_object().expect("rows");
    assert_eq!(rows.len(), groups.len() - first as usize);
    assert!(data["members"]["columns"].as_u64().expect("a number") >= 32);
}
