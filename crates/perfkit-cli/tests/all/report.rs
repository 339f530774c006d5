//! `report`: the findings as text, JSON and page, and files that cannot be read.

use perf_testdata::bundled::recording as bundled;
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn recording(name: &str) -> String {
    bundled(name).display().to_string()
}

/// Runs `report` with a page in the scratch folder.
fn report(words: &[&str], page: &str) -> Result<String, Failure> {
    let page = scratch(page).display().to_string();
    command::output([&["report"], words, &["--html", &page]].concat())
}

fn json(words: &[&str], page: &str) -> Json {
    let text = report(&[words, &["--json"]].concat(), page).expect("it is analysed");
    serde_json::from_str(&text).expect("it is JSON")
}

fn findings(report: &Json) -> &Vec<Json> {
    report["findings"].as_array().expect("a list")
}

#[test]
fn text_json_table_and_page_agree() {
    let file = recording("jacobi-16");
    let table = scratch("report.csv").display().to_string();
    let text = report(&[&file, "--csv", &table], "report-agree.html").unwrap();
    let object = json(&[&file], "report-agree.html");
    let page = std::fs::read_to_string(scratch("report-agree.html")).expect("a page");
    // Names between backticks are code in the page.
    let page = page.replace("<code>", "`").replace("</code>", "`");
    let table = std::fs::read_to_string(table).expect("a table");
    let found = findings(&object);
    assert_eq!(table.lines().count(), found.len() + 1);
    let places: Vec<_> = found
        .iter()
        .map(|finding| {
            let (rank, sentence) = (
                finding["rank"].as_u64().unwrap(),
                finding["sentence"].as_str().unwrap(),
            );
            assert!(page.contains(&sentence.replace('>', "&gt;")), "{sentence}");
            assert!(text.contains(finding["command"].as_str().unwrap()));
            let paragraph = text.find(sentence).expect("each finding is printed");
            assert!(
                text[..paragraph]
                    .lines()
                    .last()
                    .unwrap()
                    .starts_with(&format!("{rank}. "))
            );
            paragraph
        })
        .collect();
    assert!(places.is_sorted() && found.len() > 3);
    // Findings about waiting precede the finding about its symptom.
    let kinds = found
        .iter()
        .map(|finding| finding["kind"].as_str().unwrap());
    let kinds: Vec<&str> = kinds.take(3).collect();
    assert_eq!(kinds, ["transfers", "load_imbalance", "communication"]);
    // The planted imbalance: ranks 5, 6, 9 and 10 compute longest, in microphysics.
    let imbalance = found
        .iter()
        .find(|finding| finding["kind"] == "load_imbalance");
    let imbalance = imbalance.expect("it is found");
    let sentence = imbalance["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("Ranks 5, 6, 9 and 10 hold up 12 others"),
        "{sentence}"
    );
    assert_eq!(imbalance["place"]["call_path"], "Working > microphysics");
    assert_eq!(imbalance["place"]["rank"], 5);
    let share = imbalance["share"].as_f64().unwrap();
    assert!((0.03..0.06).contains(&share), "{share}");
    assert!(page.contains("Waits and critical path") && page.contains("Efficiencies"));
}

#[test]
fn traces_of_one_program_are_a_series() {
    let files = ["jacobi-4", "jacobi-9", "jacobi-16"].map(recording);
    let object = json(&files.each_ref().map(String::as_str), "report-series.html");
    assert_eq!(object["recordings"].as_array().map(Vec::len), Some(3));
    let scaling = findings(&object)
        .iter()
        .find(|finding| finding["kind"] == "scaling");
    let scaling = scaling.expect("communication grows").clone();
    assert_eq!(
        scaling["place"]["recording"],
        "jacobi-4, jacobi-9, jacobi-16"
    );
    assert!(
        scaling["command"]
            .as_str()
            .unwrap()
            .starts_with("perfkit track ")
    );
}

#[test]
fn a_damaged_file_among_others_is_a_remark() {
    let damaged = scratch("damaged.otf2");
    std::fs::write(&damaged, b"no archive at all").unwrap();
    let damaged = damaged.display().to_string();
    let good = recording("jacobi-4");
    let object = json(&[&damaged, &good], "report-damaged.html");
    assert_eq!(object["unreadable"], 1);
    assert_eq!(object["recordings"][0]["name"], "jacobi-4");
    assert!(!findings(&object).is_empty());
    let skipped = object["skipped"].as_array().unwrap();
    assert!(
        skipped
            .iter()
            .any(|remark| remark["recording"] == damaged.as_str())
    );
    let alone = report(&[&damaged], "report-damaged.html");
    assert!(matches!(alone, Err(Failure::Input(_))), "{alone:?}");
}

#[test]
fn recordings_are_not_written_over() {
    let copy = scratch("report-kept.json.gz");
    std::fs::copy(perf_testdata::bundled::devices(), &copy).unwrap();
    let kept = copy.display().to_string();
    for words in [
        ["report", &kept, "--html", &kept],
        ["report", &recording("jacobi-4"), "--html", &kept],
    ] {
        let refused = command::output(words);
        assert!(matches!(refused, Err(Failure::Usage(_))), "{refused:?}");
    }
    assert!(perfkit::open(&copy).is_ok());
}

#[test]
fn uneven_devices_precede_their_idle_time() {
    let file = perf_testdata::bundled::devices().display().to_string();
    let object = json(&[&file], "report-devices.html");
    let kinds = findings(&object)
        .iter()
        .map(|finding| finding["kind"].as_str().unwrap());
    let kinds: Vec<_> = kinds.take(2).collect();
    assert_eq!(kinds, ["device_imbalance", "device_idle"]);
    // Busy shares of 15, 30, 45, 60, 75 and 90 % are planted, with a ratio of 90 / 52.5.
    let ratio = findings(&object)[0]["figure"]["value"].as_f64().unwrap();
    assert!((ratio - 90.0 / 52.5).abs() < 1e-9, "{ratio}");
    let idle = findings(&object)[1]["share"].as_f64().unwrap();
    assert!((idle - 0.475).abs() < 1e-9, "{idle}");
}

/// Splits a command line at blanks outside single quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            letter => words.last_mut().expect("never empty").push(letter),
        }
    }
    words
}

#[test]
fn each_next_command_runs() {
    let devices = perf_testdata::bundled::devices().display().to_string();
    let series = ["jacobi-4", "jacobi-9", "nwchem-md-4"].map(recording);
    let mut files: Vec<&str> = series.iter().map(String::as_str).collect();
    files.push(&devices);
    let object = json(&files, "report-commands.html");
    let closer = scratch("report-closer.html").display().to_string();
    let commands = findings(&object)
        .iter()
        .map(|finding| finding["command"].as_str().unwrap());
    let commands: std::collections::BTreeSet<_> = commands.collect();
    assert!(commands.len() > 8);
    for command in commands {
        let words = words(&command.replace("closer.html", &closer));
        assert_eq!(words[0], "perfkit");
        assert!(command::output(&words[1..]).is_ok(), "{command}");
    }
}

#[test]
fn files_of_ranks_are_one_job() {
    let folder = "gpu/param/dlrm_kineto/";
    let names = [
        "worker0_step_12.1694128201545",
        "worker2_step_12.1694128201554",
    ];
    let file = |name| perf_testdata::corpus::corpus(&format!("{folder}{name}.pt.trace.json"));
    let (Some(one), Some(other)) = (file(names[0]), file(names[1])) else {
        return;
    };
    let files = [one.display().to_string(), other.display().to_string()];
    let object = json(&files.each_ref().map(String::as_str), "report-ranks.html");
    assert_eq!(object["recordings"].as_array().map(Vec::len), Some(1));
    for finding in findings(&object) {
        let command = finding["command"].as_str().unwrap();
        let takes_several = ["perfkit fold ", "perfkit utilisation "];
        assert!(
            takes_several.iter().any(|start| command.starts_with(start)),
            "{command}"
        );
    }
    let first = &findings(&object)[0];
    assert_eq!(first["kind"], "device_idle");
    assert!(
        first["share"]
            .as_f64()
            .is_some_and(|share| (0.4..0.7).contains(&share))
    );
}

#[test]
fn threads_of_a_static_schedule_are_imbalanced() {
    let file = "paraver/par_labs/boada_lab3_for_row_mandel-omp_8_STATIC.prv";
    let Some(file) = perf_testdata::corpus::corpus(file) else {
        return;
    };
    let object = json(&[&file.display().to_string()], "report-threads.html");
    let imbalance = &findings(&object)[0];
    assert_eq!(imbalance["kind"], "load_imbalance");
    let path = &findings(&object)[1];
    assert_eq!(path["kind"], "uneven_call_path");
    assert_eq!(path["place"]["call_path"], "mandelbrot._omp_fn.0 > Running");
    let ratio = imbalance["figure"]["value"].as_f64().unwrap();
    assert!((3.0..3.2).contains(&ratio), "{ratio}");
}

#[test]
fn a_balanced_run_has_no_load_imbalance() {
    let Some(file) = perf_testdata::corpus::corpus("paraver/epoch/epoch_16proc.prv.gz") else {
        return;
    };
    let object = json(&[&file.display().to_string()], "report-balanced.html");
    let kinds = findings(&object)
        .iter()
        .map(|finding| finding["kind"].as_str().unwrap());
    assert!(
        kinds
            .clone()
            .all(|kind| kind != "load_imbalance" && kind != "communication")
    );
    let healthy = object["healthy"].as_array().unwrap().iter();
    let texts: Vec<_> = healthy
        .map(|remark| remark["text"].as_str().unwrap())
        .collect();
    assert!(
        texts
            .iter()
            .any(|text| text.starts_with("no load imbalance above 5 %")),
        "{texts:?}"
    );
}
