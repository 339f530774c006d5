//! Tests that pictures and pages show counters and messages with their values.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use perf_core::samples::cosmo;
use perf_core::{
    Definitions, Event, Events, Job, Location, LocationId, Metric, MetricId, MetricMode, MetricSet,
    MetricSetId, Region, RegionId, SystemTree, Ticks, TimeRange, Trace,
};
use perf_fold::{Across, Counter, Counters, Folder, GroupBy, Groups, Line, RegionMap, Timelines};
use perf_view::timeline::{MatrixPicture, Measure, Part, Picture, View};
use perf_view::{ColourMap, Page, Theme};
use serde_json::Value;

/// Returns a trace of `ranks` ranks. Rank `r` has the power `100 (r + 1)` in the first half of 1,000
/// ticks and twice as much in the second.
fn trace(ranks: u64) -> Trace {
    let mut definitions = Definitions::default();
    definitions.regions = vec![Region::named("main")];
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
    let locations = (0..ranks).map(|key| Location {
        name: format!("rank {key}"),
        key,
        ..Location::default()
    });
    let system = SystemTree::new(vec![], vec![], locations.collect(), &Default::default());
    definitions.system = system.expect("a good tree");
    let events = (0..ranks).map(|rank| {
        let (mut events, region) = (Events::default(), RegionId(0));
        let set = MetricSetId(0);
        let samples = [[100 * (rank + 1)], [200 * (rank + 1)]];
        let [first, second] = &samples;
        for (at, event) in [
            (0, Event::Enter { region }),
            (0, Event::Metric { set, values: first }),
            (
                500,
                Event::Metric {
                    set,
                    values: second,
                },
            ),
            (1000, Event::Leave { region }),
        ] {
            events.push(Ticks(at), event).expect("few events");
        }
        events
    });
    Trace::new(definitions, events.collect()).expect("a good trace")
}

fn timelines(trace: &Trace) -> Timelines {
    let map = RegionMap::by_name(trace.definitions()).expect("few regions");
    Timelines::new(trace.view(), &map, &Job::default()).expect("a good trace")
}

fn counters(trace: &Trace) -> Vec<Counter> {
    Counters::new(trace.view(), &Job::default())
        .expect("a good trace")
        .all
}

#[test]
fn a_picture_shows_a_row_for_each_location() {
    let trace = trace(4);
    let (timelines, counters) = (timelines(&trace), counters(&trace));
    let params = Folder::params()
        .columns(100)
        .check()
        .expect("good parameters");
    let groups = Groups::by(&timelines, GroupBy::All);
    let folder = Folder::new(&timelines, groups, params).expect("a row");
    let fold = folder
        .fold(timelines.range(), &Job::default())
        .expect("it is folded");
    let picture = Picture::new(&folder, &fold).expect("a row");
    let plain = picture.scene();
    let picture = Picture::new(&folder, &fold).expect("a row");
    let scene = picture.counters(&counters, Across::Sum).scene();
    assert!(scene.height > plain.height + 80);
    // The sum of 100 to 400 W over the first half, and twice as much over the second.
    let svg = scene.svg();
    assert!(
        svg.contains("sum 1.50 kW") && svg.contains("0 W to 2.00 kW"),
        "{svg}"
    );
    let canvas = scene.canvas().expect("a small picture");
    let colours: Vec<_> = (0..scene.height)
        .flat_map(|y| (0..scene.width).map(move |x| (x, y)))
        .filter_map(|(x, y)| canvas.pixel(x, y))
        .collect();
    // 50 columns of the least value of rank 0, and of the largest of rank 3, in rows of 14 pixels.
    // The key begins with the first colour, in a column of 10 pixels.
    for (end, key) in [(0.0, 10), (1.0, 0)] {
        let colour = ColourMap::BlueYellow.at(end);
        let count = colours.iter().filter(|it| **it == colour).count();
        assert_eq!(count, 50 * 13 + key);
    }
    assert!(svg.contains(">100 W<") && svg.contains(">800 W<"), "{svg}");
}

#[test]
fn a_value_has_one_colour_in_each_window() {
    let trace = trace(4);
    let (timelines, counters) = (timelines(&trace), counters(&trace));
    let job = Job::default();
    let groups = || Groups::by(&timelines, GroupBy::All);
    let params = Folder::params().columns(100).check().unwrap();
    let folder = Folder::new(&timelines, groups(), params).expect("a row");
    let window = TimeRange {
        start: Ticks(0),
        end: Ticks(400),
    };
    let fold = folder.fold(window, &job).expect("it is folded");
    let picture = Picture::new(&folder, &fold).expect("a row");
    let scene = picture.counters(&counters, Across::Mean).scene();
    let canvas = scene.canvas().expect("a small picture");
    // Of 100 to 800 W in the whole recording, rank 3 has 400 W here.
    let colour = ColourMap::BlueYellow.at(300.0 / 700.0);
    let pixels = (0..scene.height).flat_map(|y| (0..scene.width).map(move |x| (x, y)));
    let count = pixels.filter(|(x, y)| canvas.pixel(*x, *y) == Some(colour));
    assert_eq!(count.count(), 100 * 13);
    let view = || View::new(&timelines, groups()).counters(counters.clone());
    let colours = |section| {
        let html = Page::new("x").with(section).html(&job);
        data(&html.expect("it is written"))["counters"][0]["colours"].clone()
    };
    let part = view().window(window).section(&job).expect("it is drawn");
    let (served, _) = view().served("cells/0", &job).expect("it is drawn");
    for section in [part, served] {
        assert_eq!(colours(section), serde_json::json!([100.0, 800.0]));
    }
}

/// Returns the data that the script of a page reads.
fn data(html: &str) -> Value {
    let begin = "<script type=\"application/json\">";
    let from = html.find(begin).expect("a page has data") + begin.len();
    let to = from + html[from..].find("</script>").expect("it ends");
    serde_json::from_str(&html[from..to]).expect("it is JSON")
}

fn floats(text: &Value) -> Vec<f32> {
    let bytes = STANDARD
        .decode(text.as_str().expect("a text"))
        .expect("base64");
    let four = bytes.chunks_exact(4);
    four.map(|it| f32::from_le_bytes([it[0], it[1], it[2], it[3]]))
        .collect()
}

#[test]
fn pages_hold_counters_and_served_pages_compute_them() {
    let trace = trace(40);
    let (timelines, counters) = (timelines(&trace), counters(&trace));
    let job = Job::default();
    let view = || {
        let groups = Groups::by(&timelines, GroupBy::All);
        View::new(&timelines, groups).counters(counters.clone())
    };
    let section = view().section(&job).expect("it is drawn");
    let page = Page::new("x")
        .with(section)
        .html(&job)
        .expect("it is written");
    let found = data(&page);
    // 40 locations are blocks of two.
    assert_eq!(
        found["counters"][0]["rows"].as_array().map(Vec::len),
        Some(20)
    );
    assert_eq!(found["counters"][0]["locations"], 40);
    let track = &found["tracks"][0];
    let mean = floats(&track["lines"][0]);
    assert_eq!(track["columns"], mean.len());
    assert_eq!((mean[0], mean[mean.len() - 1]), (2050.0, 4100.0));
    let codes = STANDARD
        .decode(track["rows"][0].as_str().expect("a text"))
        .expect("base64");
    assert_eq!(codes.len(), 2 * mean.len());
    let last = codes.len() - 2;
    assert_eq!(
        (&codes[..2], track["range"][0].as_f64()),
        (&[1, 0][..], Some(150.0))
    );
    // Twice 150 W, in a range that ends at 7,900 W.
    let code = u16::from_le_bytes([codes[last], codes[last + 1]]);
    assert_eq!(
        f64::from(code),
        (1.0_f64 + 65_534.0 * 150.0 / 7_750.0).round()
    );
    let (section, served) = view().served("cells/0", &job).expect("it is drawn");
    let page = Page::new("x")
        .with(section)
        .html(&job)
        .expect("it is written");
    assert_eq!(data(&page)["tracks"], serde_json::json!([]));
    for (start, end, columns) in [(0, 1000, 7), (480, 530, 50), (499, 501, 2)] {
        let window = TimeRange {
            start: Ticks(start),
            end: Ticks(end),
        };
        let part = Part {
            window,
            columns,
            op: 0,
            rows: vec![0],
        };
        let reply: Value =
            serde_json::from_str(&served.cells(&part, &job).expect("a part")).expect("JSON");
        let track = &reply["tracks"][0];
        for (line, across) in [Across::Mean, Across::Sum, Across::Max]
            .into_iter()
            .enumerate()
        {
            let cells = counters[0].combined(window, columns, across);
            let expected: Vec<f32> = cells.iter().map(|cell| cell.mean as f32).collect();
            assert_eq!(
                floats(&track["lines"][line]),
                expected,
                "{window:?} {across:?}"
            );
        }
    }
}

#[test]
fn matrices_have_a_cell_for_each_pair_and_join_many_rows() {
    let trace = cosmo::trace();
    let timelines = timelines(&trace);
    let groups = Groups::by(&timelines, GroupBy::Process);
    let folder = Folder::new(&timelines, groups, Default::default()).expect("40 rows");
    let line = |from, to, bytes| Line {
        from: LocationId(from),
        sent: Ticks(5),
        to: LocationId(to),
        received: Ticks(9),
        bytes,
    };
    let matrix = folder.messages(
        timelines.range(),
        [line(0, 39, 10), line(3, 7, 1000), line(3, 7, 1000)],
    );
    let count = |measure, colour| {
        let scene = MatrixPicture::new(&matrix, measure)
            .theme(Theme::light())
            .scene();
        let canvas = scene.canvas().expect("a small picture");
        // The scale below the matrix has all colours too, once in each of its 12 rows of pixels.
        let pixels = (0..scene.height - 110).flat_map(|y| (0..scene.width).map(move |x| (x, y)));
        pixels
            .filter(|(x, y)| canvas.pixel(*x, *y) == Some(colour))
            .count()
    };
    let full = ColourMap::BlueYellow.at(1.0);
    // A cell has 16 pixels, less one between cells.
    assert_eq!(count(Measure::Bytes, full), 15 * 15);
    assert_eq!(count(Measure::Time, full), 2 * 15 * 15);
    let joined = matrix.in_blocks(5);
    assert_eq!(joined.labels().len(), 5);
    assert_eq!(joined.labels()[4], "MPI Rank 32 to MPI Rank 39");
    assert_eq!(joined.pairs[&(0, 0)].traffic.count, 2);
    assert_eq!(joined.pairs[&(0, 4)].traffic.bytes, 10);
}
