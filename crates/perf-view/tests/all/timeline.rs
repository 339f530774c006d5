//! Tests that pages and pictures of timelines show the folded cells.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use perf_core::samples::cosmo;
use perf_core::{Job, Ticks, TimeRange, Trace, match_messages};
use perf_fold::{
    Boundary, Cell, Folder, GroupBy, Groups, Line, MessageSizes, Op, RegionMap, State, Timelines,
};
use perf_testdata::{many_ranks, planted};
use perf_view::timeline::{Part, Picture, View};
use perf_view::{Error, Page, Palette, Theme};
use serde_json::Value;
use std::collections::HashSet;

pub(super) fn timelines(trace: &Trace) -> Timelines {
    let map = RegionMap::by_name(trace.definitions()).expect("few regions");
    Timelines::new(trace.view(), &map, &Job::default()).expect("a good trace")
}

fn folder(timelines: &Timelines, by: GroupBy, columns: usize, op: Op) -> Folder {
    let params = Folder::params().columns(columns).op(op).check();
    let groups = Groups::by(timelines, by);
    Folder::new(timelines, groups, params.expect("good parameters")).expect("a few rows")
}

/// Returns the data that the script of a page reads.
pub(super) fn data(html: &str) -> Value {
    let begin = "<script type=\"application/json\">";
    let from = html.find(begin).expect("a page has data") + begin.len();
    let to = from + html[from..].find("</script>").expect("it ends");
    serde_json::from_str(&html[from..to]).expect("it is JSON")
}

/// Decodes runs of pairs, as the script does.
pub(super) fn unpacked(text: &str) -> Vec<[u8; 2]> {
    let bytes = STANDARD.decode(text).expect("it is base64");
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let (mut length, mut shift) = (0usize, 0);
        while bytes[at] > 127 {
            length |= usize::from(bytes[at] & 127) << shift;
            (shift, at) = (shift + 7, at + 1);
        }
        length |= usize::from(bytes[at]) << shift;
        out.extend(std::iter::repeat_n([bytes[at + 1], bytes[at + 2]], length));
        at += 3;
    }
    out
}

#[test]
fn every_level_of_a_page_is_a_fold_of_its_resolution() {
    let trace = cosmo::trace();
    let timelines = timelines(&trace);
    let ops = [Op::Max, Op::Diff];
    let view = View::new(&timelines, Groups::by(&timelines, GroupBy::Node)).ops(&ops);
    let section = view
        .finest(2048)
        .states(0)
        .section(&Job::default())
        .expect("it is drawn");
    let data = data(&Page::new("x").with(section).html(&Job::default()).unwrap());
    let states = data["states"].as_array().expect("states");
    for level in data["levels"].as_array().expect("levels") {
        let columns = level["columns"].as_u64().expect("a number") as usize;
        for (at, op) in ops.into_iter().enumerate() {
            let folder = folder(&timelines, GroupBy::Node, columns, op);
            let fold = folder
                .fold(timelines.range(), &Job::default())
                .expect("it folds");
            for (row, found) in fold
                .rows()
                .zip(level["cells"][at].as_array().expect("rows"))
            {
                let cells = unpacked(found.as_str().expect("text"));
                assert_eq!(cells.len(), columns);
                for (cell, [code, share]) in row.cells().iter().zip(cells) {
                    let name = cell.picture().map(|class| fold.classes().name(class));
                    let shown = usize::from(code).checked_sub(3).map(|at| &states[at][0]);
                    assert_eq!(shown.and_then(Value::as_str), name);
                    // The number of streams can be recovered exactly.
                    let streams = f64::from(share) / 255.0 * row.streams() as f64;
                    assert_eq!(streams.round() as u64, cell.winning);
                }
            }
        }
    }
    let all = data["levels"]
        .as_array()
        .expect("levels")
        .iter()
        .map(|level| &level["columns"]);
    assert_eq!(all.collect::<Vec<_>>(), [512, 1024, 2048]);
}

#[test]
fn served_cells_are_folds_of_the_window() {
    let trace = many_ranks::trace(16, 4_000);
    let timelines = timelines(&trace);
    let (by, ops) = (GroupBy::Process, [Op::Max, Op::Diff, Op::Entropy]);
    let messages = match_messages(trace.view(), &Job::default()).expect("not cancelled");
    let view = View::new(&timelines, Groups::by(&timelines, by)).ops(&ops);
    let view = view.lines(Line::of(&messages));
    let job = Job::default();
    let (section, served) = view.served("cells/0", &job).expect("it is drawn");
    let html = Page::new("x").with(section).html(&job).unwrap();
    // Only a served page may ask for data, and it has no cells of its own.
    assert!(html.contains("connect-src 'self'"));
    let data = data(&html);
    assert_eq!(data["levels"], serde_json::json!([]));
    let states = data["states"].as_array().expect("states");
    let all = timelines.range();
    let mut random = perf_testdata::xorshift::Xorshift::new(7);
    for _ in 0..20 {
        let start = all.start.0 + random.below(all.len());
        let end = start + 1 + random.below(all.len());
        let window = TimeRange::new(Ticks(start), Ticks(end)).expect("in order");
        let op = random.below(ops.len() as u64) as usize;
        let columns = 1 + random.below(700) as usize;
        let part = Part {
            window,
            columns,
            op,
            rows: vec![0, 2, 1],
        };
        let reply: Value =
            serde_json::from_str(&served.cells(&part, &job).expect("a fold")).unwrap();
        let fold = folder(&timelines, by, columns, ops[op])
            .fold(window, &job)
            .unwrap();
        for (number, row) in fold.rows().take(3).enumerate() {
            let cells = unpacked(reply["rows"][number.to_string()].as_str().expect("cells"));
            assert_eq!(cells.len(), columns);
            for ([code, agreement], cell) in cells.iter().zip(row.cells()) {
                let state = states.get(usize::from(*code).wrapping_sub(3));
                let name = state.and_then(|state| state[0].as_str());
                let picture = cell.picture().map(|class| timelines.classes().name(class));
                assert_eq!(name, picture, "{cell:?}");
                if picture.is_some() {
                    assert_eq!(*agreement, (255.0 * cell.agreement()).round() as u8);
                }
            }
        }
        // Busy shares are those of the window.
        let usage = folder(&timelines, by, 1, Op::Max)
            .usage(window, &job)
            .unwrap();
        for (number, usage) in usage.iter().enumerate() {
            let busy = reply["shares"][number.to_string()][0]
                .as_f64()
                .expect("a share");
            assert!((busy - usage.utilisation.utilisation()).abs() < 1e-4);
        }
        // Sizes are those of the messages sent in the window.
        let sizes = MessageSizes::of(window, Line::of(&messages));
        let sizes = sizes
            .classes
            .iter()
            .map(|(class, of)| (u64::from(*class), of.count, of.bytes));
        let sent = reply["sizes"].as_array().expect("sizes");
        let sent = sent.iter().map(|it| {
            let number = |at: usize| it[at].as_u64().expect("a number");
            (number(0), number(1), number(2))
        });
        assert!(sizes.eq(sent), "{}", reply["sizes"]);
        // Messages are those with a part in the window.
        let inside = |line: &Line| {
            let (first, last) = (line.sent.min(line.received), line.sent.max(line.received));
            first < window.end && last >= window.start
        };
        let expected = Line::of(&messages).filter(inside).count() as u64;
        let bundles = reply["links"]["bundles"].as_array().expect("messages");
        let drawn: u64 = bundles.iter().filter_map(|it| it[4].as_u64()).sum();
        let others =
            [&reply["inside"], &reply["elsewhere"]].map(|it| it.as_u64().expect("a number"));
        assert_eq!(drawn + others[0] + others[1], expected);
    }
    for wrong in [
        Part {
            window: all,
            columns: 0,
            op: 0,
            rows: vec![0],
        },
        Part {
            window: all,
            columns: Part::MOST_COLUMNS + 1,
            op: 0,
            rows: vec![0],
        },
        Part {
            window: all,
            columns: 9,
            op: ops.len(),
            rows: vec![0],
        },
        Part {
            window: all,
            columns: 9,
            op: usize::MAX,
            rows: vec![0],
        },
        Part {
            window: all,
            columns: 9,
            op: 0,
            rows: vec![usize::MAX],
        },
        Part {
            window: all,
            columns: 9,
            op: 0,
            rows: vec![0; Part::MOST_ROWS + 1],
        },
    ] {
        assert!(served.cells(&wrong, &job).is_err(), "{wrong:?}");
    }
    let part = Part {
        window: all,
        columns: 9,
        op: 0,
        rows: vec![0],
    };
    job.cancel();
    assert!(served.cells(&part, &job).is_err());
}

#[test]
fn numbers_of_a_page_are_those_of_the_fold() {
    let trace = cosmo::trace();
    let timelines = timelines(&trace);
    let wait = timelines.classes().id("MPI_Allreduce").expect("they wait");
    let view = View::new(&timelines, Groups::by(&timelines, GroupBy::All));
    let ops = [Op::Entropy, Op::Count(wait), Op::Max];
    let section = view.ops(&ops).finest(512).states(0);
    let section = section.section(&Job::default());
    let data = data(
        &Page::new("x")
            .with(section.expect("it is drawn"))
            .html(&Job::default())
            .unwrap(),
    );
    // Operations that return states come first.
    assert_eq!(data["ops"][0][0], "max");
    for (at, op) in [(1, Op::Entropy), (2, Op::Count(wait))] {
        let most = data["ops"][at][3][0].as_f64().expect("a number");
        let folder = folder(&timelines, GroupBy::All, 512, op);
        let fold = folder
            .fold(timelines.range(), &Job::default())
            .expect("it folds");
        let most = if most > 0.0 { most } else { 40.0 };
        let cells = unpacked(data["levels"][0]["cells"][at][0].as_str().expect("text"));
        let mut largest: f64 = 0.0;
        for (cell, [code, share]) in fold.cells().iter().zip(cells) {
            let number = f64::from(cell.value.number().expect("a number"));
            assert_eq!(Value::from(code), data["number"][0]);
            assert!((f64::from(share) / 255.0 * most - number).abs() <= most / 500.0);
            largest = largest.max(number);
        }
        assert!(largest > 0.1 && largest <= most, "{largest} of {most}");
    }
}

#[test]
fn small_pages_have_the_states_of_all_streams() {
    let trace = many_ranks::trace(16, 400);
    let timelines = timelines(&trace);
    let page = |view: View<'_>| {
        let section = view.section(&Job::default()).expect("it is drawn");
        data(&Page::new("x").with(section).html(&Job::default()).unwrap())
    };
    let view = || View::new(&timelines, Groups::by(&timelines, GroupBy::Process));
    let data = page(view());
    assert_eq!(data["levels"], serde_json::json!([]));
    let local = &data["local"];
    assert_eq!(local["length"], Value::from(timelines.range().len()));
    let streams = local["streams"].as_array().expect("streams");
    for (number, pair) in (0..).zip(streams) {
        let mut bytes = STANDARD
            .decode(pair[0].as_str().expect("text"))
            .expect("base64")
            .into_iter();
        let mut next = || {
            let (mut value, mut shift) = (0u64, 0);
            loop {
                let byte = bytes.next()?;
                value |= u64::from(byte & 127) << shift;
                shift += 7;
                if byte < 128 {
                    return Some(value);
                }
            }
        };
        let mut at = timelines.range().start.0;
        let mut changes = 0;
        while let Some(step) = next() {
            at += step;
            let code = next().expect("a code");
            let state = timelines.state(number, Ticks(at), Boundary::AtOrBefore);
            let expected = match state {
                State::Absent => 0,
                State::Idle => 1,
                State::Class(class) => {
                    let name = timelines.classes().name(class);
                    let classes = local["classes"].as_array().expect("classes");
                    2 + classes.iter().position(|it| it[0] == name).expect("it") as u64
                }
            };
            assert_eq!(code, expected, "stream {number} at {at}");
            changes += 1;
        }
        let window = timelines.range();
        assert!(changes >= timelines.segments(number, window).count());
    }
    // Larger recordings, other rules and operations without a script have cells instead.
    for view in [
        view().states(1_000),
        view().rules(Folder::params().boundary(Boundary::Strict)),
        view().ops(&[Op::Share]),
    ] {
        let data = page(view.finest(512));
        assert_eq!(data["local"], Value::Null);
        assert_eq!(data["levels"].as_array().expect("levels").len(), 1);
    }
}

#[test]
fn groups_of_one_are_shown_once_and_the_page_keeps_to_its_rows() {
    let trace = cosmo::trace();
    let timelines = timelines(&trace);
    let view = |most| {
        let view = View::new(&timelines, Groups::by(&timelines, GroupBy::Node)).finest(64);
        let section = view.most_rows(most).section(&Job::default());
        let html = Page::new("x")
            .with(section.expect("it is drawn"))
            .html(&Job::default())
            .unwrap();
        (
            data(&html)["groups"].as_array().expect("groups").clone(),
            html,
        )
    };
    // 4 nodes with 10 processes of one thread each.
    let (groups, _) = view(100);
    assert_eq!(groups.len(), 44);
    assert!(groups.iter().all(|group| group["parent"] != 4));
    assert_eq!(
        (&groups[4]["parent"], &groups[4]["streams"]),
        (&Value::from(0), &Value::from(1))
    );
    let (groups, html) = view(20);
    assert_eq!(groups.len(), 14);
    assert!(html.contains("3 rows have more members"));
}

#[test]
fn a_budget_leaves_fine_levels_out() {
    let trace = many_ranks::trace(16, 4_000);
    let timelines = timelines(&trace);
    let page = |budget| {
        let view = View::new(&timelines, Groups::by(&timelines, GroupBy::All)).budget(budget);
        let view = view.states(0);
        let section = view.section(&Job::default()).expect("it is drawn");
        Page::new("x").with(section).html(&Job::default()).unwrap()
    };
    let (small, large) = (page(1), page(4 << 20));
    let levels = |html: &str| data(html)["levels"].as_array().expect("levels").len();
    assert_eq!((levels(&small), levels(&large)), (1, 5));
    assert!(small.contains("This page holds 512 columns"));
}

/// Returns the messages of the page and those of its trace: times of both ends in nanoseconds since
/// the start, and bytes.
fn messages(trace: &Trace) -> (Value, Vec<[i64; 3]>) {
    let timelines = timelines(trace);
    let found = match_messages(trace.view(), &Job::default()).expect("not cancelled");
    let lines: Vec<Line> = Line::of(&found).collect();
    let clock = timelines.clock();
    let nanos = |at| clock.nanos(at).expect("a short trace").0;
    let start = nanos(timelines.range().start);
    let between = lines.iter().filter(|line| line.from != line.to);
    let known = between.map(|line| {
        let bytes = i64::try_from(line.bytes).expect("a short message");
        [
            nanos(line.sent) - start,
            nanos(line.received) - start,
            bytes,
        ]
    });
    let view = View::new(&timelines, Groups::by(&timelines, GroupBy::Process)).finest(512);
    let section = view.lines(lines.clone()).section(&Job::default());
    let html = Page::new("x")
        .with(section.expect("it is drawn"))
        .html(&Job::default())
        .expect("not cancelled");
    (data(&html)["links"].clone(), known.collect())
}

fn whole(value: &Value) -> i64 {
    value.as_i64().expect("a whole number")
}

#[test]
fn messages_of_a_page_have_their_own_times() {
    let (links, mut known) = messages(&many_ranks::trace(8, 400));
    assert_eq!(links["columns"], Value::Null);
    let bundles = links["bundles"].as_array().expect("a list");
    let found = bundles.iter().map(|one| {
        assert_eq!(one[4], 1, "one message");
        [&one[1], &one[3], &one[5]].map(whole)
    });
    let mut found: Vec<_> = found.collect();
    found.sort_unstable();
    known.sort_unstable();
    assert!(found.len() > 50 && found == known, "{}", found.len());
}

#[test]
fn a_bundle_of_messages_has_the_times_of_one_of_them() {
    let (links, known) = messages(&many_ranks::trace(64, 5_000));
    assert!(
        links["columns"]
            .as_u64()
            .is_some_and(|columns| columns >= 16)
    );
    let bundles = links["bundles"].as_array().expect("a list");
    assert!(bundles.len() <= 8_000, "{}", bundles.len());
    let count: i64 = bundles.iter().map(|one| whole(&one[4])).sum();
    let bytes: i64 = bundles.iter().map(|one| whole(&one[5])).sum();
    assert_eq!(count, known.len() as i64);
    assert_eq!(bytes, known.iter().map(|one| one[2]).sum::<i64>());
    let times: HashSet<_> = known.iter().map(|one| [one[0], one[1]]).collect();
    for one in bundles {
        assert!(times.contains(&[&one[1], &one[3]].map(whole)), "{one}");
    }
}

#[test]
fn a_page_names_the_window_of_its_numbers_and_the_command_for_more() {
    let trace = cosmo::trace();
    let timelines = timelines(&trace);
    let view = View::new(&timelines, Groups::by(&timelines, GroupBy::Node)).finest(512);
    let section = view
        .command("fold 'a b'")
        .section(&Job::default())
        .expect("it is drawn");
    let html = Page::new("x").with(section).html(&Job::default()).unwrap();
    assert_eq!(data(&html)["command"], "fold 'a b'");
    assert!(html.contains("time in each state, <span class=\"whole\">0.0 ms to 438.0 ms"));
    let table = "Table of the <span class=\"which\">folded rows</span>, over <span class=\"whole\">0.0 ms to 438.0 ms";
    assert!(html.contains(table));
}

#[test]
fn pictures_of_work_in_step_with_the_pixels_say_so() {
    let trace = planted::trace();
    let timelines = timelines(&trace);
    let legend = |columns| {
        let folder = folder(&timelines, GroupBy::Device, columns, Op::Idle);
        let fold = folder
            .fold(timelines.range(), &Job::default())
            .expect("it folds");
        let picture = Picture::new(&folder, &fold).expect("it has cells");
        picture.scene().svg()
    };
    let remark = "more or less of a row than its busy share";
    assert!(legend(240).contains(remark));
    assert!(!legend(900).contains(remark));
}

#[test]
fn pixels_have_the_colours_of_states() {
    let trace = cosmo::trace();
    let timelines = timelines(&trace);
    let folder = folder(&timelines, GroupBy::All, 500, Op::Max);
    let fold = folder
        .fold(timelines.range(), &Job::default())
        .expect("it folds");
    let picture = Picture::new(&folder, &fold).expect("it has cells");
    let canvas = picture.scene().canvas().expect("it is small");
    let palette = Palette::plan(["SPECS", "MPI_Allreduce", "COSMO", "MPI_Sendrecv"]);
    let row = fold.row(0).expect("one row");
    // The label has 11 characters.
    let left = 16 + 11 * 7 + 10;
    for (column, cell) in row.cells().iter().enumerate() {
        let name = fold.classes().name(cell.picture().expect("all are busy"));
        let weight = 0.35 + 0.65 * cell.agreement();
        let colour = Theme::light().paper.mix(palette.of(name), weight);
        assert_eq!(
            canvas.pixel(left + column as u32, 60),
            Some(colour),
            "{column} {name}"
        );
    }
}

#[test]
fn svg_has_one_rectangle_a_run_and_the_same_bytes_each_time() {
    let trace = cosmo::trace();
    let timelines = timelines(&trace);
    let folder = folder(&timelines, GroupBy::All, 300, Op::Diff);
    let fold = folder
        .fold(timelines.range(), &Job::default())
        .expect("it folds");
    let svg = || {
        Picture::new(&folder, &fold)
            .expect("cells")
            .titled("a<b")
            .scene()
            .svg()
    };
    let first = svg();
    assert_eq!(first, svg());
    let cells = fold.row(0).expect("one row").cells();
    let runs = cells
        .chunk_by(|a, b| Cell::picture(a) == Cell::picture(b))
        .count();
    // The paper, the runs, and two swatches of the legend: the only painted state and uniform cells.
    assert_eq!(first.matches("<rect").count(), 1 + runs + 2);
    assert!(first.contains("<title>a&lt;b: 40 streams in 1 rows from 0.0 ms to 438.0 ms</title>"));
}

#[test]
fn hostile_names_stay_names() {
    let hostile = "</script><img src=x onerror=alert(1)>\u{202e}\"'&\0";
    let mut definitions = many_ranks::definitions(2);
    definitions
        .regions
        .iter_mut()
        .for_each(|region| region.name = hostile.into());
    let events = (0..2).map(|rank| many_ranks::events(rank, 2, 400));
    let trace = Trace::new(definitions, events.collect()).expect("one stream a location");
    let timelines = timelines(&trace);
    let view = View::new(&timelines, Groups::by(&timelines, GroupBy::Process));
    let section = view.named(hostile, hostile).section(&Job::default());
    let html = Page::new(hostile)
        .lead(hostile)
        .with(section.expect("it is drawn"))
        .html(&Job::default())
        .unwrap();
    assert!(!html.contains("<img src=x") && !html.contains("</script><img"));
    assert!(!html.contains(['\u{202e}', '\0']));
    assert_eq!(
        html.matches("<script").count(),
        html.matches("</script>").count()
    );
    assert!(!html.contains("http:") && !html.contains("https:") && !html.contains("url("));
    let folder = folder(&timelines, GroupBy::All, 100, Op::Max);
    let fold = folder
        .fold(timelines.range(), &Job::default())
        .expect("it folds");
    let scene = Picture::new(&folder, &fold)
        .expect("cells")
        .titled(hostile)
        .scene();
    assert!(!scene.svg().contains("<img"));
    assert!(scene.png().is_ok());
}

#[test]
fn nothing_to_draw_is_said() {
    let trace = cosmo::trace();
    let timelines = timelines(&trace);
    let job = Job::default();
    let none = View::new(&timelines, Groups::none(&timelines)).section(&job);
    assert!(matches!(none, Err(Error::Empty { what: "no rows" })));
    let groups = Groups::by(&timelines, GroupBy::All);
    let window = perf_core::TimeRange {
        start: Ticks(5),
        end: Ticks(5),
    };
    let none = View::new(&timelines, groups.clone())
        .window(window)
        .section(&job);
    assert!(matches!(none, Err(Error::Empty { what: "no time" })));
    let none = View::new(&timelines, groups.clone()).ops(&[]).section(&job);
    assert!(matches!(none, Err(Error::Empty { .. })));
    job.cancel();
    let stopped = View::new(&timelines, groups).section(&job);
    assert!(stopped.is_err());
}
