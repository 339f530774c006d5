//! Lost time in the output of `detect`: by path and step, compared with replays, and in calls that were not judged.

use super::{HEAD, json, rows, run, scratch, text};
use perf_testdata::bundled::recording as bundled;
use perf_testdata::corpus::corpus;

#[test]
fn a_run_without_judged_calls_is_not_called_healthy() {
    let file = scratch("few.tsv");
    std::fs::write(&file, format!("{HEAD}{}", rows(0..5))).expect("tests may write here");
    let printed = run(&[text(&file)]).expect("it ends");
    assert!(
        printed.starts_with("nothing is known about lost time"),
        "{printed}"
    );
}

#[test]
fn two_ranks_are_compared_with_each_other() {
    let file = scratch("two_ranks.tsv");
    let mut lines = String::from(HEAD);
    for rank in 0..2 {
        let mut at = 1000;
        for call in 0..400 {
            let step = call / 20;
            for kind in ["ENTRY", "EXIT"] {
                lines += &format!("{step}\t{at}\t0\t{rank}\t0\t{kind}\tsolve\t\t\t\n");
                at += 1000 + 300 * rank + call * 37 % 11;
            }
        }
    }
    std::fs::write(&file, lines).expect("tests may write here");
    let printed = run(&[text(&file)]).expect("it ends");
    let slow = "1. rank 1 is 30 % slower than rank 0 since step 0, nearly all of it in solve: ";
    assert!(printed.contains(slow), "{printed}");
    assert!(printed.contains("  two ranks of a program are compared with each other: "));
    let found = &json(&[text(&file)])["slow_ranks"]["rows"];
    assert_eq!(
        (&found[0]["rank"], &found[0]["peer"]),
        (&1.into(), &0.into())
    );
    let factor = found[0]["function factor"].as_f64().expect("a number");
    assert!((factor - 1.3).abs() < 0.01, "{found}");
}

#[test]
fn waiting_in_mpi_is_no_time_lost() {
    let file = scratch("waits.tsv");
    let waits = rows(0..200).replace("solve", "MPI_Wait");
    std::fs::write(&file, format!("{HEAD}{waits}")).expect("tests may write here");
    let printed = run(&[text(&file)]).expect("it ends");
    let sum = "calls that wait for others took 4.90 ms longer than usual, 18.9 % of 25.89 ms in the calls of all ranks; \
               no time lost in other calls\n  1. 1 slow call of 200 of MPI_Wait on rank 2 in step 3: 4.90 ms of waiting for \
               others\n";
    assert!(printed.starts_with(sum), "{printed}");
    let found = json(&[text(&file)]);
    assert_eq!(found["time_lost_ns"], 0);
    assert_eq!(found["lost_time"]["waiting"], found["in_slow_calls_ns"]);
    assert_eq!(found["causes"][0]["waits"], true);
    let page = scratch("waits.html");
    run(&[text(&file), "--html", text(&page)]).expect("it ends");
    let page = std::fs::read_to_string(page).expect("it was written");
    assert!(page.contains("\"waiting\":true") && page.contains("\"waits\":true"));
}

#[test]
fn the_longest_calls_that_were_not_judged_are_listed() {
    let file = scratch("unjudged.tsv");
    let load = |at: usize| {
        let length = if at == 3 { 70_000 } else { 40 };
        let begin = 3_000_000 + 100_000 * at;
        format!(
            "0\t{begin}\t0\t2\t0\tENTRY\tload\t\t\t\n0\t{}\t0\t2\t0\tEXIT\tload\t\t\t\n",
            begin + length
        )
    };
    let loads: String = (0..5).map(load).collect();
    std::fs::write(&file, format!("{HEAD}{}{loads}", rows(0..50))).expect("tests may write here");
    let found = json(&[text(&file)]);
    let first = &found["not_judged"]["rows"][0];
    assert_eq!(
        (
            &first["function"],
            &first["run time"],
            &first["calls known"],
            &first["rank"]
        ),
        (&"load".into(), &70_000_000.into(), &3.into(), &2.into())
    );
    assert_eq!(found["anomalies"], 0);
    let page = scratch("unjudged.html");
    let printed = run(&[text(&file), "--html", text(&page)]).expect("it ends");
    assert!(
        printed.contains("longest calls that were not judged"),
        "{printed}"
    );
    let line = printed
        .lines()
        .find(|line| line.trim_start().starts_with("load"));
    let line = line.expect("it is listed");
    assert!(line.contains("70.00 ms            3"), "{line}");
    let page = std::fs::read_to_string(page).expect("it was written");
    assert!(page.contains("Longest calls that were not judged"));
}

/// One of the first calls of a function takes 1 ms. That is no alarm, but it is listed, and so is the time in first calls.
#[test]
fn long_calls_that_are_not_certain_are_listed() {
    let file = scratch("long.tsv");
    let load = |at: usize| {
        let length = match at {
            0 => 400_000,
            20 => 1000,
            _ => 5 + at % 3,
        };
        let begin = 3_000_000 + 1_000_000 * at;
        format!(
            "0\t{begin}\t0\t2\t0\tENTRY\tload\t\t\t\n0\t{}\t0\t2\t0\tEXIT\tload\t\t\t\n",
            begin + length
        )
    };
    let loads: String = (0..58).map(load).collect();
    std::fs::write(&file, format!("{HEAD}{}{loads}", rows(0..50))).expect("tests may write here");
    let found = json(&[text(&file)]);
    assert_eq!(found["anomalies"], 0);
    let [long] = &found["long_calls"]["rows"].as_array().expect("a list")[..] else {
        panic!("{}", found["long_calls"])
    };
    let numbers = ["run time", "longest before", "calls before"].map(|name| long[name].as_u64());
    assert_eq!(numbers, [Some(1_000_000), Some(7000), Some(19)]);
    let page = scratch("long.html");
    let printed = run(&[text(&file), "--html", text(&page)]).expect("it ends");
    let heading = "\nlong, but not certain at 10 false alarms in a million: ";
    assert!(printed.contains(heading), "{printed}");
    let line = "  1. load on rank 2, thread 0, step 0, from 23.000 s: 1.00 ms, 142 times the longest of 19 earlier calls\n";
    assert!(printed.contains(line), "{printed}");
    assert_eq!(found["first_calls"]["calls"], 2);
    let few = "\n  only 1 step: slow phases are found in runs of at least 4 steps\n";
    assert!(printed.contains(few), "{printed}");
    let time = "  not judged: 400.10 ms in 2 first calls of functions on a thread, most in load (400.00 ms)\n";
    assert!(printed.contains(time), "{printed}");
    let page = std::fs::read_to_string(page).expect("it was written");
    assert!(page.contains("Long calls that are not certain to be abnormal"));
    assert!(page.contains(time.trim()));
}

/// Text, JSON and page have the same causes in the same order, whatever the number of listed calls is.
#[cfg(target_os = "linux")]
#[test]
fn text_json_and_page_have_the_same_causes() {
    let recording = bundled("nwchem-md-4");
    let page = scratch("causes.html");
    let arguments = [text(&recording), "--top", "4"];
    let printed = run(&[&arguments[..], &["--html", text(&page)]].concat()).expect("it ends");
    let found = json(&[text(&recording), "--top", "1"]);
    let causes = found["causes"].as_array().expect("a list");
    let sentences = causes.iter().filter_map(|cause| cause["sentence"].as_str());
    let sentences: Vec<&str> = sentences.collect();
    assert_eq!(sentences.len(), 4);
    let page = std::fs::read_to_string(page).expect("it was written");
    let (_, list) = page.split_once("<ol class=\"causes\">").expect("causes");
    let (list, _) = list.split_once("</ol>").expect("the list ends");
    let items = list.split("<li>").skip(1);
    let items: Vec<&str> = items
        .filter_map(|item| item.strip_suffix("</li>"))
        .collect();
    assert_eq!(items, sentences);
    for (at, sentence) in sentences.iter().enumerate() {
        assert!(
            printed.contains(&format!("\n  {}. {sentence}\n", at + 1)),
            "{printed}"
        );
    }
    // The longest single calls are known although only one call is listed.
    let single = causes
        .iter()
        .filter(|cause| cause["kind"] == "single calls");
    assert!(single.clone().all(|cause| cause["longest"].is_array()) && single.count() == 2);
}

#[cfg(target_os = "linux")]
#[test]
fn time_lost_is_told_by_path_and_step() {
    let recording = bundled("nwchem-md-4");
    let found = json(&[text(&recording)]);
    let sum = |field: &str, what: &str| {
        let all = found[field]["rows"].as_array().expect("a list").iter();
        all.map(|one| one[what].as_u64().expect("a number"))
            .sum::<u64>()
    };
    for field in ["by_function", "by_path", "by_step"] {
        for (what, total) in [
            ("anomalies", "anomalies"),
            ("in slow calls", "in_slow_calls_ns"),
        ] {
            assert_eq!(
                Some(sum(field, what)),
                found[total].as_u64(),
                "{field} {what}"
            );
        }
    }
    // All causes add up to the time lost, also over ranks.
    let parts = ["calls", "modes", "ranks", "phases"].map(|one| found["lost_time"][one].as_u64());
    let parts: u64 = parts.into_iter().flatten().sum();
    assert_eq!(found["time_lost_ns"].as_u64(), Some(parts));
    assert!(sum("by_rank", "time lost").abs_diff(parts) < 1000);
    let steps = found["by_step"]["rows"].as_array().expect("a list");
    let steps: Vec<_> = steps.iter().map(|one| one["step"].as_u64()).collect();
    assert!(steps.is_sorted() && steps.len() > 2);
    let worst = &found["by_path"]["rows"][0];
    let name = worst["call path"].as_str().expect("a text");
    assert!(name.contains(" > "), "{worst}");
}

#[test]
fn lost_time_of_training_jobs_is_compared_with_a_replay() {
    let Some(timeline) = corpus("stragglers/timeline-AR.json.gz") else {
        return;
    };
    let found = json(&[text(&timeline)]);
    let seconds = |name: &str| found["replay"][name].as_f64().expect("a time") / 1e9;
    // The slow worker costs 1007 s of 2038.8 s, by a replay with ideal durations there.
    let saved = seconds("saved_without_ranks_ns");
    assert!((saved / 1007.0 - 1.0).abs() < 0.05, "{saved}");
    assert!(seconds("saved_ns") >= saved && (seconds("replayed_ns") - 2038.8).abs() < 0.1);
}

/// Stage 3 of both processes has calls of 203 and 139 ms where the others have 143 and 67 ms: 256 each.
#[test]
fn slow_pipeline_stages_are_named() {
    let Some(timeline) = corpus("stragglers/timeline-ST.json.gz") else {
        return;
    };
    let found = json(&[text(&timeline)]);
    assert_eq!(found["pipeline_stages"], 4);
    let slow = found["slow_ranks"]["rows"].as_array().expect("a list");
    let ranks: Vec<_> = slow.iter().map(|one| one["rank"].as_u64()).collect();
    assert_eq!(ranks, [Some(7), Some(3)]);
    let lost: f64 = slow
        .iter()
        .filter_map(|one| one["time lost"].as_f64())
        .sum();
    assert!((lost / 33.9e9 - 1.0).abs() < 0.03, "{lost}");
    let printed = run(&[text(&timeline)]).expect("it ends");
    let place = "stage s of process p is rank 4 p + s";
    assert!(printed.contains(place), "{printed}");
}

#[test]
fn a_stream_of_which_no_line_can_be_read_is_an_error_with_the_first_place() {
    let file = scratch("unreadable.tsv");
    let head = "step\tts_us\tprogram\trank\tthread\tkind\tname\ttag\tpartner\tbytes\n";
    let lines: Vec<String> = (0..40)
        .map(|at| format!("0\t{at}\t0\t0\t0\tENTRY\tsolve\t0\t-1\t0\n"))
        .collect();
    std::fs::write(&file, head.to_string() + &lines.concat()).expect("it can be written");
    let error = run(&[text(&file)]).expect_err("nothing was read");
    let error = format!("{error:?}");
    assert!(error.contains("no event could be read: 40 x"), "{error}");
    assert!(
        error.contains("`-1`") && error.contains("unreadable.tsv"),
        "{error}"
    );
}

#[test]
fn a_run_without_calls_is_not_called_healthy() {
    let file = scratch("none.tsv");
    let rows = rows(0..5).replace("ENTRY", "ENTER");
    std::fs::write(&file, format!("{HEAD}{rows}")).expect("tests may write here");
    let printed = run(&[text(&file)]).expect("it ends");
    let first = "nothing is known about lost time: there are no complete calls";
    assert!(printed.starts_with(first), "{printed}");
}

#[test]
fn a_mode_far_from_its_usual_time_is_described_by_both_times() {
    let file = scratch("far-mode.tsv");
    let free = |at: usize| {
        let length = if at > 1000 && at % 20 == 3 { 50_000 } else { 1 };
        let begin = 3_000_000 + 100_000 * at;
        format!(
            "{0}\t{begin}\t0\t2\t0\tENTRY\tfree\t\t\t\n{0}\t{1}\t0\t2\t0\tEXIT\tfree\t\t\t\n",
            at / 100,
            begin + length
        )
    };
    let calls: String = (0..2000).map(free).collect();
    std::fs::write(&file, format!("{HEAD}{calls}")).expect("tests may write here");
    let printed = run(&[text(&file)]).expect("it ends");
    let line = printed.lines().find(|line| line.contains("a mode at"));
    let line = line.unwrap_or(&printed);
    assert!(
        line.contains("a mode at 50.00 ms (usually 1.00 us) of free"),
        "{line}"
    );
}
