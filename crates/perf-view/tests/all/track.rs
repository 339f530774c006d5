//! Tests that pages and pictures of clusters show the tracking result, and that names of users stay
//! text.

use crate::synthetic;

use perf_core::Job;
use perf_track::{ClusterId, Dimension, Scale, Scaled};
use perf_view::track::{Clusters, Picture, View};
use perf_view::{Error, Page, Theme, numbered};
use serde_json::Value;
use synthetic::clusters::{bursts, clusters};

fn data(html: &str) -> Value {
    let begin = "<script type=\"application/json\">";
    let from = html.find(begin).expect("a page has data") + begin.len();
    let to = from + html[from..].find("</script>").expect("it ends");
    serde_json::from_str(&html[from..to]).expect("it is JSON")
}

#[test]
fn a_page_has_every_point_region_and_vote() {
    let clusters = clusters(["4 tasks", "8 tasks"], 60);
    let section = View::new(&clusters)
        .section(&Job::default())
        .expect("it is drawn");
    let html = Page::new("x").with(section).html(&Job::default()).unwrap();
    let data = data(&html);
    assert_eq!(
        (
            &data["experiments"][0]["points"],
            &data["experiments"][0]["cells"]
        ),
        (&Value::from(240), &Value::from(240))
    );
    assert_eq!(data["experiments"][0]["noise"], 4);
    let regions = data["regions"].as_array().expect("a list");
    assert_eq!(regions.len(), 3);
    for (at, region) in regions.iter().enumerate() {
        assert_eq!(region["colour"], numbered(at).to_string());
        assert_eq!(region["links"].as_array().expect("a list").len(), 1);
        let votes = region["links"][0]["votes"].as_array().expect("a list");
        assert!(
            votes
                .iter()
                .any(|vote| vote[0] == "callers before" && vote[1] == 1.0)
        );
    }
    // One row for each cluster, and a diagonal that agrees with the tracking.
    let matrices = data["pairs"][0]["matrices"].as_array().expect("a list");
    assert_eq!(matrices[0][0], "evidence");
    let rows = matrices[0][1].as_array().expect("rows");
    for (at, row) in rows.iter().enumerate() {
        assert!(row[at].as_f64().expect("a number") > 0.7);
    }
    assert!(!html.contains("are drawn as"));
    assert!(html.contains("<th class=\"n\" scope=\"col\">8 tasks</th>"));
    // No burst is dropped by a filter of ranges, so that it has no column.
    assert!(html.contains(">noise</th>") && !html.contains("range filter"));
    // The CPU time of the regions of an experiment is that of all bursts except the outlier of each task.
    assert_eq!(data["scale"], "tasks");
    let metrics = data["metrics"].as_array().expect("a list");
    let times = metrics
        .iter()
        .find(|of| of["name"] == "CPU time of all threads");
    let times = times.expect("it is a metric")["series"].as_array();
    for (experiment, tasks) in [4, 8].into_iter().enumerate() {
        let all = bursts(tasks, 60).durations();
        let expected: f64 = all.iter().filter(|time| **time != 3.1e7).sum();
        let each = times.expect("a list").iter();
        let sum: f64 = each
            .map(|series| series[experiment][0].as_f64().expect("a time"))
            .sum();
        assert!((sum / expected - 1.0).abs() < 1e-9, "{sum} of {expected}");
    }
}

#[test]
fn many_points_are_taken_together_and_the_page_says_so() {
    let clusters = clusters(["4 tasks", "8 tasks"], 900);
    let view = View::new(&clusters).most(1_000);
    let section = view.section(&Job::default()).expect("it is drawn");
    let html = Page::new("x").with(section).html(&Job::default()).unwrap();
    assert!(html.contains("10 800 bursts are drawn as"));
    let data = data(&html);
    let cells: u64 = (0..2)
        .map(|experiment| {
            data["experiments"][experiment]["cells"]
                .as_u64()
                .expect("a number")
        })
        .sum();
    assert!(cells <= 1_000, "{cells}");
    assert!(!data["experiments"][0]["counts"].is_null());
}

#[test]
fn pictures_show_equal_regions_in_equal_colours() {
    let clusters = clusters(["four", "eight"], 60);
    let picture = Picture::new(&clusters).titled("Three phases, twice as many tasks");
    let scene = picture.scene();
    let svg = scene.svg();
    // One circle for each burst, one for the mean in each experiment, two for a badge.
    let circles = |colour: &str| svg.matches(&format!("{colour}\"/>")).count();
    for at in 0..3 {
        let bursts = [80, 76, 80][at] + [160, 152, 160][at];
        let found = circles(&numbered(at).to_string());
        assert!(
            found > bursts && found < bursts + 60,
            "region {}: {found}",
            at + 1
        );
    }
    for text in [
        "Three phases, twice as many tasks",
        "four",
        "eight",
        "work, logarithmic",
        "region 1",
        "in none",
    ] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(!svg.contains("<animate"));
    assert!(
        picture
            .clone()
            .moving(true)
            .scene()
            .svg()
            .contains("<animate")
    );
    let canvas = picture
        .clone()
        .theme(Theme::dark())
        .scene()
        .canvas()
        .expect("it is small");
    assert_eq!(canvas.pixel(2, 2), Some(Theme::dark().paper));
    assert_eq!(scene, picture.scene());
    let trend = picture.trend("rate").expect("a metric");
    assert!(trend.svg().contains("quartiles, whiskers and extremes"));
    assert!(picture.trend("nothing").is_none());
    let matrices = picture.matrices(0, 1).expect("two experiments").svg();
    assert!(matrices.contains("evidence") && matrices.contains("callers before"));
    assert!(picture.matrices(1, 0).is_none());
}

#[test]
fn names_of_users_are_text() {
    let clusters = clusters(["</script><script>alert(1)</script>", "<b>&\"'"], 30);
    let section = View::new(&clusters)
        .named("<i>", "<i>")
        .section(&Job::default());
    let html = Page::new("x")
        .with(section.expect("it is drawn"))
        .html(&Job::default())
        .unwrap();
    assert!(!html.contains("<script>alert") && !html.contains("<b>&\"") && !html.contains("<i>"));
    let svg = Picture::new(&clusters).titled("<i>").scene().svg();
    assert!(!svg.contains("<script") && !svg.contains("<b>") && !svg.contains("<i>"));
}

#[test]
fn what_does_not_belong_together_is_an_error() {
    let bursts = bursts(2, 6);
    let scale = Scale::params()
        .dimension(Dimension::new("work"))
        .check()
        .expect("good");
    let scaled = scale.fit(&[&bursts], &Job::default()).expect("it fits");
    let few = Clusters::of_experiment("x", &scaled, &[ClusterId(1)]);
    assert!(matches!(
        few,
        Err(Error::Mismatch {
            expected: 12,
            got: 1,
            ..
        })
    ));
    let none = Clusters::of_experiment("x", &Scaled::default(), &[]);
    assert!(matches!(none, Err(Error::Empty { .. })));
    // An arbitrarily large cluster number must not take memory.
    let mut labels = vec![ClusterId(1); 12];
    labels[3] = ClusterId(u32::MAX);
    let mut found = Clusters::of_experiment("x", &scaled, &labels).expect("they are labels");
    assert_eq!((found.regions(), found.points()), (1, 12));
    assert!(matches!(
        found.metric("m", "", &[1.0]),
        Err(Error::Mismatch { .. })
    ));
}

#[test]
fn shares_are_of_the_time_where_it_is_known() {
    let bursts = bursts(2, 6);
    let scale = Scale::params().dimension(Dimension::new("work"));
    let scaled = scale
        .check()
        .expect("good")
        .fit(&[&bursts], &Job::default());
    let scaled = scaled.expect("it fits");
    let labels: Vec<ClusterId> = (0..12).map(|at| ClusterId(1 + at / 9)).collect();
    let mut found = Clusters::of_experiment("x", &scaled, &labels).expect("they are labels");
    let legend = |found: &Clusters| Picture::new(found).scene().svg();
    assert!(legend(&found).contains("cluster 1, 75 %"));
    // Nine bursts of 1 ns, three of 9 ns.
    let times: Vec<f64> = (0..12).map(|at| if at < 9 { 1.0 } else { 9.0 }).collect();
    found
        .metric("duration", "ns", &times)
        .expect("a value a point");
    assert!(
        legend(&found).contains("cluster 1, 25 %") && legend(&found).contains("cluster 2, 75 %")
    );
}
