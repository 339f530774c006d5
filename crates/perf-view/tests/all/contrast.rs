//! Tests that the text of pages is readable: every text colour of a style has enough contrast with
//! every background.

use crate::synthetic;

use perf_core::Job;
use perf_view::anomaly::{self, Anomalies};
use perf_view::{Card, Colour, Page, Section, Theme, track};
use std::collections::BTreeSet;

/// Returns the variables in `property:var(--NAME)` of a style.
fn named(style: &str, property: &str) -> BTreeSet<String> {
    let begin = format!("{property}:var(--");
    let found = style.match_indices(&begin).filter(|(at, _)| {
        // Skip other properties that end with the same name: `color`, not `border-color`.
        let before = style[..*at].chars().next_back();
        before.is_none_or(|letter| matches!(letter, ';' | '{' | '\n'))
    });
    let name = |(at, _): (usize, &str)| {
        style[at + begin.len()..]
            .split(')')
            .next()
            .map(String::from)
    };
    found.filter_map(name).collect()
}

fn colour(theme: &Theme, name: &str) -> Colour {
    match name {
        "paper" => theme.paper,
        "ink" => theme.ink,
        "quiet" => theme.quiet,
        "idle" => theme.idle,
        "absent" => theme.absent,
        "equal" => theme.equal,
        "alarm" => theme.alarm,
        other => panic!("text or paper of `{other}`"),
    }
}

#[test]
fn text_stands_out_from_its_paper() {
    let job = Job::default();
    let clusters = synthetic::clusters::clusters(["4 tasks", "8 tasks"], 24);
    let mut report = synthetic::anomalies::report(synthetic::anomalies::tail());
    let found = Anomalies::of(&mut report).expect("the store is read");
    let html = Page::new("x")
        .with(Section::overview(
            "o",
            "Overview",
            &[Card::new("a", "b", "c")],
        ))
        .with(
            track::View::new(&clusters)
                .section(&job)
                .expect("it is drawn"),
        )
        .with(
            anomaly::View::new(&found)
                .section(&job)
                .expect("it is drawn"),
        )
        .html(&Job::default())
        .unwrap();
    let style = html
        .split("<style>")
        .nth(1)
        .and_then(|rest| rest.split("</style>").next());
    let style = style.expect("a page has a style");
    let (texts, papers) = (named(style, "color"), named(style, "background"));
    assert!(texts.contains("ink") && texts.contains("quiet") && texts.contains("alarm"));
    assert!(papers.contains("paper") && papers.contains("absent") && papers.contains("equal"));
    for theme in [Theme::light(), Theme::dark()] {
        for text in &texts {
            for paper in &papers {
                // Selected rows and rows under the pointer contain ink text only.
                if paper == "equal" && text != "ink" {
                    continue;
                }
                let ratio = colour(&theme, text).contrast(colour(&theme, paper));
                assert!(ratio >= 4.5, "{text} on {paper}: {ratio:.2}");
            }
        }
        // Bars, points and discs are graphics and not text, for which a contrast of 3 is enough.
        assert!(theme.alarm.contrast(theme.paper) >= 3.0);
    }
}
