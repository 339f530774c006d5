//! Clocks that disagree are named by `fold` and by the page of `serve`.

use perf_testdata::bundled::recording as bundled;
use perfkit::core::Job;
use perfkit_cli::command::output;
use perfkit_cli::failure;
use perfkit_cli::serve::{Answer, Options, Pages, Request};
use serde_json::Value;
use std::ffi::OsString;

const SENTENCE: &str = "399 of 800 messages arrive before they are sent";

#[test]
fn the_text_of_fold_names_them() {
    let file = bundled("jacobi-4").display().to_string();
    let text = output(["fold", &file, "--quiet"]).expect("it is folded");
    assert!(text.contains(SENTENCE), "{text}");
    assert!(
        text.contains("after a correction: `--clocks correct`"),
        "{text}"
    );
    let words = ["fold", &file, "--quiet", "--clocks", "correct"];
    let corrected = output(words).expect("it is folded");
    assert!(!corrected.contains("arrive before"), "{corrected}");
    let json = output(["fold", &file, "--quiet", "--json"]).expect("it is folded");
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    let row = &json["clocks"]["rows"][0];
    assert_eq!(
        (&row["checked"], &row["violated"]),
        (&800.into(), &399.into())
    );
}

#[test]
fn the_served_page_names_them() {
    let remarks = |words: &[&str]| {
        let file: OsString = bundled("jacobi-4").into();
        let words = words.iter().map(OsString::from);
        let words: Vec<OsString> = [file, "--quiet".into()].into_iter().chain(words).collect();
        let options: Options = failure::options(words).expect("good options");
        let pages = Pages::open(&options).expect("it opens");
        let path = format!("{}cells/0", pages.path());
        let request = Request {
            method: "GET",
            host: Some("127.0.0.1:80"),
            path: &path,
            query: "from=100000000&to=500000000&columns=9&op=0&rows=0",
        };
        match pages.answer(request, &Job::default()) {
            Answer::Json(text) => {
                let answer: Value = serde_json::from_str(&text).expect("it is JSON");
                answer["remarks"].to_string()
            }
            other => panic!("{other:?}"),
        }
    };
    let kept = remarks(&[]);
    assert!(kept.contains(SENTENCE), "{kept}");
    assert!(
        kept.contains("perfkit serve") && kept.contains("--clocks correct"),
        "{kept}"
    );
    assert_eq!(remarks(&["--clocks", "correct"]), "[]");
}
