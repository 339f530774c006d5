//! Tests that pages and pictures of anomalies show the results, and that names of users stay text.

use crate::synthetic;

use perf_anomaly::provenance::Kind;
use perf_anomaly::server::Ranking;
use perf_anomaly::{Copod, Detector, Hbos, Monitor, Sstd, StrictParams};
use perf_core::{EventSink, Job, Nanos, StreamEvent, StreamKey};
use perf_view::anomaly::{Anomalies, Picture, View};
use perf_view::{Page, Theme};
use serde_json::Value;
use synthetic::anomalies::{report, tail};

fn data(html: &str) -> Value {
    let begin = "<script type=\"application/json\">";
    let from = html.find(begin).expect("a page has data") + begin.len();
    let to = from + html[from..].find("</script>").expect("it ends");
    serde_json::from_str(&html[from..to]).expect("it is JSON")
}

#[test]
fn the_model_is_what_was_found() {
    let mut report = report(tail());
    let total = report.losses.total();
    assert_eq!(total.too_slow, 12);
    let found = Anomalies::of(&mut report).expect("the store is read");
    let json: Value =
        serde_json::from_str(&found.json().expect("it has numbers")).expect("it is JSON");
    let ranks = json["ranks"].as_array().expect("a list");
    assert_eq!(ranks.len(), 4);
    assert_eq!(
        (&ranks[2]["name"], &ranks[2]["slow"]),
        (&Value::from("rank 2"), &Value::from(12))
    );
    // Every statistic of every rank.
    let of = |by| {
        report
            .ranks
            .ranked(by)
            .into_iter()
            .find(|rank| rank.rank == 2)
            .expect("it is there")
    };
    let values = ranks[2]["values"].as_array().expect("a list");
    assert_eq!(values[0].as_f64(), Some(of(Ranking::Total).anomalies.sum()));
    assert_eq!(values[3].as_f64(), of(Ranking::Maximum).anomalies.max());
    assert_eq!(values[5].as_f64(), Some(total.time.0 as f64));
    // The counts add up to all anomalies; with four ranks no rank is only in the rest.
    let steps = json["steps"].as_array().expect("a list").iter();
    let counts = steps.flat_map(|rank| rank[1].as_array().expect("steps"));
    let sum: u64 = counts.map(|step| step[1].as_u64().expect("a count")).sum();
    assert_eq!(
        (sum, json["rest"].as_array().map(Vec::len)),
        (total.anomalies(), Some(0))
    );
    // The worst call comes first, with its stack, neighbours and messages.
    let calls = json["calls"].as_array().expect("a list");
    let worst = &calls[0];
    let name = |at: &Value| json["names"][at.as_u64().expect("a number") as usize].clone();
    assert_eq!(
        (name(&worst["call"][0]), name(&worst["stack"][0][0])),
        ("MPI_Wait".into(), "main".into())
    );
    assert_eq!(worst["messages"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        (&worst["messages"][0][1], &worst["messages"][0][2]),
        (&Value::from(true), &Value::from(1))
    );
    assert!(worst["lost"].as_i64().expect("a time") > 380_000);
    assert!(calls.iter().any(|call| call["is"] == "normal"));
    // The bins hold all calls of the function except the first one of each rank, and there are
    // thresholds.
    let function = &json["functions"][0];
    assert_eq!(
        (&function["name"], &function["calls"]),
        (&Value::from("MPI_Wait"), &Value::from(4_000))
    );
    let normal = function["distribution"]["normal"][0]
        .as_array()
        .expect("a range");
    let bins = function["distribution"]["bins"].as_array().expect("bins");
    assert_eq!(
        bins.iter()
            .map(|bin| bin[2].as_u64().expect("a count"))
            .sum::<u64>(),
        3_996
    );
    assert!(normal[0].as_f64() < Some(20_000.0) && normal[1].as_f64() < Some(300_000.0));
}

#[test]
fn a_page_keeps_names_as_text_and_says_what_it_leaves_out() {
    let found = Anomalies::of(&mut report(tail())).expect("the store is read");
    let html = |most| {
        let view = View::new(&found).most(most);
        let section = view.section(&Job::default()).expect("it is drawn");
        Page::new("x").with(section).html(&Job::default()).unwrap()
    };
    let page = html(4_000);
    assert!(!page.contains("<img src=x") && page.contains("12 abnormal calls of"));
    assert!(!page.contains("there is no record"));
    let short = html(5);
    assert!(short.contains(
        "7 more abnormal calls are counted, but there is no record of them in this page"
    ));
    assert_eq!(data(&short)["calls"].as_array().map(Vec::len), Some(5));
    // Both pages have the same data except for the calls.
    assert_eq!(data(&page)["ranks"], data(&short)["ranks"]);
}

#[test]
fn pictures_have_bars_points_thresholds_and_arrows() {
    let found = Anomalies::of(&mut report(tail())).expect("the store is read");
    let picture = Picture::new(&found)
        .titled("Who waits")
        .by(Ranking::TimeLost);
    let svg = picture.scene().svg();
    for text in [
        "Who waits",
        "Ranks by time lost",
        "Anomalies by step and rank",
        "Run times of MPI_Wait",
        "MPI_Wait on rank 2",
    ] {
        assert!(svg.contains(text), "{text}");
    }
    let alarm = Theme::light().alarm.to_string();
    let stack = picture.stack(0).expect("the worst call").svg();
    // Two arrows, to the lines of ranks 1 and 3.
    assert_eq!(stack.matches("<polygon").count(), 2);
    assert!(stack.contains(">rank 1<") && stack.contains(">rank 3<") && stack.contains(&alarm));
    assert!(!stack.contains("<img"));
    let last = found.records().len();
    assert_eq!(found.records()[last - 1].kind, Kind::Normal);
    assert!(picture.stack(last).is_none());
    let distribution = picture.distribution("MPI_Wait").expect("a model").svg();
    // One mark for each recorded call, and two thresholds for each mode.
    let recorded = found
        .records()
        .iter()
        .filter(|one| one.function == "MPI_Wait" && one.kind == Kind::Anomaly);
    // The legend has a mark too, and names the thresholds.
    assert_eq!(
        distribution.matches("<polygon").count(),
        recorded.count() + 1
    );
    for text in ["normal and observed", "limit of normal", "abnormal call"] {
        assert!(distribution.contains(&format!(">{text}<")), "{text}");
    }
    assert!(picture.distribution("main").is_none());
    let (light, dark) = (
        picture.ranking(),
        picture.clone().theme(Theme::dark()).ranking(),
    );
    assert!(light.png().expect("it is small").starts_with(b"\x89PNG"));
    assert_eq!((light.width, light.height), (dark.width, dark.height));
    assert!(picture.steps().svg().matches("<circle").count() >= 12);
}

#[test]
fn detectors_without_distributions_have_the_rest() {
    let strict = StrictParams::default().check().expect("good");
    let found = Anomalies::of(&mut report(Box::new(Sstd::new(strict)))).expect("the store is read");
    let json: Value =
        serde_json::from_str(&found.json().expect("it has numbers")).expect("it is JSON");
    assert!(!json["functions"].as_array().expect("a list").is_empty());
    assert!(Picture::new(&found).scene().png().is_ok());
    let section = View::new(&found)
        .section(&Job::default())
        .expect("it is drawn");
    assert!(
        Page::new("x")
            .with(section)
            .html(&Job::default())
            .unwrap()
            .contains("MPI_Wait")
    );
    // A page without any anomalies works, too.
    let nothing = Anomalies::new();
    assert!(View::new(&nothing).section(&Job::default()).is_ok());
    assert!(Picture::new(&nothing).scene().png().is_ok());
}

#[test]
fn histograms_are_distributions_in_nanoseconds() {
    let strict = || StrictParams::default().check().expect("good");
    let detectors: [Box<dyn Detector>; 2] = [
        Box::new(Hbos::new(strict())),
        Box::new(Copod::new(strict())),
    ];
    for detector in detectors {
        let name = detector.name();
        let found = Anomalies::of(&mut report(detector)).expect("the store is read");
        let json: Value =
            serde_json::from_str(&found.json().expect("it has numbers")).expect("it is JSON");
        let functions = json["functions"].as_array().expect("a list");
        let function = functions.iter().find(|one| one["name"] == "MPI_Wait");
        let distribution = &function.expect("it lost time")["distribution"];
        let bins = distribution["bins"].as_array().expect("bins");
        let counted: u64 = bins.iter().filter_map(|bin| bin[2].as_u64()).sum();
        let facts = distribution["facts"].as_array().expect("facts");
        let calls = facts
            .iter()
            .find(|fact| fact[0] == "calls")
            .expect("a fact");
        assert_eq!(Some(counted as f64), calls[1].as_f64(), "{name}");
        // Only HBOS reports normal ranges as times.
        let normal = distribution["normal"].as_array().expect("ranges");
        assert_eq!(normal.is_empty(), name == "copod", "{name}");
        let picture = Picture::new(&found);
        assert!(picture.distribution("MPI_Wait").is_some(), "{name}");
    }
}

#[test]
fn a_view_stops_when_asked() {
    let job = Job::default();
    job.cancel();
    let nothing = Anomalies::new();
    assert!(View::new(&nothing).section(&job).is_err());
}

/// Each of four ranks makes 50 calls in a step. From step 10 on, five of them take twice as long.
#[test]
fn time_lost_in_new_modes_is_on_the_page() {
    let mut monitor = Monitor::default();
    let region = monitor.region(0, "solve");
    let key = |rank| StreamKey {
        program: 0,
        rank,
        thread: 0,
    };
    let streams: Vec<_> = (0..4).map(|rank| monitor.stream(key(rank))).collect();
    for step in 0..30 {
        for stream in &streams {
            let mut at = Nanos(1_000_000_000 * step as i64);
            for call in 0..50 {
                let factor = if step >= 10 && call % 10 == 3 { 2 } else { 1 };
                monitor.push(*stream, at, StreamEvent::Enter(region));
                at.0 += factor * (1_000_000 + (7_919 * call) % 50_000);
                monitor.push(*stream, at, StreamEvent::Exit(region));
            }
        }
        monitor.end_step(step);
    }
    let mut report = monitor.finish().expect("no store");
    let lost = report.lost_time();
    // 100 calls of each rank lose about 1 ms.
    assert!(
        (390_000_000..430_000_000).contains(&lost.modes.0),
        "{lost:?}"
    );
    let found = Anomalies::of(&mut report).expect("no store");
    let json: Value =
        serde_json::from_str(&found.json().expect("it has numbers")).expect("it is JSON");
    let times = |of: &str, at: usize| -> i64 {
        let rows = json[of].as_array().expect("a list").iter();
        rows.map(|row| row[at].as_i64().expect("a time")).sum()
    };
    let calls = report.losses.total().time.0;
    let all = calls + times("modes", 3) + times("slow", 3) + times("phases", 2);
    // Parts of ranks are rounded.
    assert!(all.abs_diff(lost.total().0) <= 4, "{all} of {lost:?}");
    let ranks = json["ranks"].as_array().expect("a list").iter();
    let of_ranks: f64 = ranks
        .map(|rank| rank["values"][5].as_f64().expect("a time"))
        .sum();
    assert!((of_ranks - all as f64).abs() <= 4.0, "{of_ranks} of {all}");
}

/// Two programs have a function of the same name. The table of functions says of which each is.
#[test]
fn functions_of_several_programs_name_their_program() {
    let mut monitor = Monitor::default();
    let regions = [0, 1].map(|program| monitor.region(program, "solve"));
    let streams = [0, 1].map(|program| {
        let (rank, thread) = (0, 0);
        monitor.stream(StreamKey {
            program,
            rank,
            thread,
        })
    });
    for step in 0..10 {
        for (stream, region) in streams.into_iter().zip(regions) {
            let mut at = Nanos(1_000_000_000 * step as i64);
            for call in 0..100 {
                let factor = if (step, call) == (7, 50) { 9 } else { 1 };
                monitor.push(stream, at, StreamEvent::Enter(region));
                at.0 += factor * (1_000_000 + (7_919 * call) % 50_000);
                monitor.push(stream, at, StreamEvent::Exit(region));
            }
        }
        monitor.end_step(step);
    }
    let mut report = monitor.finish().expect("no store");
    let found = Anomalies::of(&mut report).expect("no store");
    let section = View::new(&found).section(&Job::default());
    let page = Page::new("two").with(section.expect("it is drawn"));
    let html = page.html(&Job::default()).expect("it is drawn");
    let functions = data(&html)["functions"].clone();
    assert_eq!(
        (&functions[0]["program"], &functions[1]["program"]),
        (&0.into(), &1.into())
    );
    for program in [0, 1] {
        assert!(
            html.contains(&format!("solve</button> of program {program}")),
            "{program}"
        );
    }
}
