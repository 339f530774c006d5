//! `wait`: findings, efficiencies, what-if questions and files; and `--clocks` of all subcommands.

use perf_testdata::bundled::recording as bundled;
use perf_testdata::corpus::corpus;
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

fn scratch(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.display().to_string()
}

fn recording(name: &str) -> String {
    bundled(name).display().to_string()
}

fn json(words: &[&str]) -> Json {
    let text = command::output([words, &["--json"]].concat()).expect("it is analysed");
    serde_json::from_str(&text).expect("it is JSON")
}

fn rows<'a>(document: &'a Json, table: &str) -> &'a Vec<Json> {
    document[table]["rows"].as_array().expect("a table")
}

/// Returns the waiting time of all ranks in nanoseconds.
fn waiting(document: &Json) -> i64 {
    let all = &rows(document, "wait_states")[0];
    assert_eq!(all["kind"], "all waiting");
    all["total"].as_i64().expect("a time")
}

#[test]
fn csv_and_cube_hold_the_waiting_time_of_the_table() {
    let file = recording("jacobi-9");
    let (csv, cube) = (scratch("wait.csv"), scratch("wait.cubex"));
    let words = [
        "wait", &file, "--clocks", "correct", "--csv", &csv, "--cube", &cube,
    ];
    let total = waiting(&json(&words));
    let table = std::fs::read_to_string(&csv).expect("it is written");
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let at = |name: &str| head.iter().position(|it| *it == name).expect(name);
    let (duration, is_waiting) = (at("duration [ns]"), at("waiting"));
    let (cause, location) = (at("cause location"), at("location"));
    let mut sum = 0;
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        if cells[is_waiting] == "true" {
            sum += cells[duration].parse::<i64>().expect("a time");
            assert!(
                !cells[cause].is_empty() && cells[cause] != cells[location],
                "{line}"
            );
        }
    }
    assert_eq!(sum, total);
    let profile = perfkit::open_profile(&cube).expect("it is a profile");
    let sum = |name: &str| {
        let metric = profile.metric(name).expect(name);
        let paths = profile.paths(metric).into_iter();
        let values = paths.map(|path| profile.total(metric, path).expect("it is read").as_f64());
        values.sum::<f64>()
    };
    assert_eq!(sum("waiting"), total as f64);
    // Delay costs divide the waiting time by cause.
    assert!((sum("delay") / total as f64 - 1.0).abs() < 1e-6);
    assert!(sum("critical path") > 0.0 && sum("exclusive time") > 0.0);
    let path = "Working > microphysics";
    let words = [
        "correlate",
        &cube,
        "--topology",
        "3x3",
        "--path",
        path,
        "--metric",
        "exclusive time",
    ];
    let text = command::output(words).expect("it is correlated");
    assert!(text.contains("delay"), "{text}");
}

#[test]
fn planted_imbalance_is_found_with_its_ranks() {
    for (name, ranks) in [
        ("jacobi-4", "rank 3 "),
        ("jacobi-9", "rank 4 "),
        ("jacobi-16", "ranks 5, 6, 9 and 10 "),
    ] {
        let document = json(&["wait", &recording(name), "--clocks", "correct"]);
        let findings = document["findings"].as_array().expect("a list").iter();
        let mut delays = findings.filter(|it| it["call_path"] == "Working > microphysics");
        let first = delays.next().expect("it is found");
        let sentence = first["sentence"].as_str().expect("a sentence");
        assert!(
            sentence.starts_with(ranks) && sentence.contains("20."),
            "{sentence}"
        );
        assert_eq!(
            document["clocks_corrected"]
                .as_str()
                .map(|it| it.contains("+-")),
            Some(true)
        );
    }
}

#[test]
fn clocks_that_disagree_are_the_first_line() {
    let file = recording("jacobi-16");
    let text = command::output(["wait", &file, "--clocks", "keep"]).expect("it is analysed");
    let warnings: Vec<&str> = text.lines().skip(1).take(3).collect();
    assert!(
        warnings.iter().all(|line| line.starts_with("warning: ")),
        "{text}"
    );
    assert!(
        warnings[0].contains("2 158 of 4 800 messages") && warnings[2].contains("--clocks correct")
    );
}

#[test]
fn clocks_that_disagree_are_corrected_by_default() {
    let file = recording("jacobi-16");
    let usual = command::output(["wait", &file]).expect("it is analysed");
    let asked = command::output(["wait", &file, "--clocks", "correct"]).expect("it is analysed");
    assert_eq!(usual, asked);
    assert!(
        usual.contains("clocks: they disagree, and are corrected by"),
        "{usual}"
    );
}

#[test]
fn all_subcommands_correct_clocks() {
    let file = recording("jacobi-4");
    let violated = |words: &[&str]| -> i64 {
        let document = json(&[&["inspect"], words].concat());
        let rows = rows(&document, "clocks").iter();
        rows.map(|row| row["violated"].as_i64().expect("a count"))
            .sum()
    };
    assert_eq!(violated(&[&file]), 450);
    assert_eq!(violated(&[&file, "--clocks", "correct"]), 0);
    let converted = scratch("corrected.prv");
    let page = scratch("corrected.html");
    command::output(["convert", &file, &converted, "--clocks", "correct"]).expect("it is written");
    assert_eq!(violated(&[&converted]), 0);
    for words in [
        &["fold"][..],
        &["detect"],
        &["bursts"],
        &["report", "--html", &page],
        &["wait"],
    ] {
        let words = [words, &[&file, "--clocks", "correct"]].concat();
        let document = json(&words);
        // Each document names the correction, or starts before the recorded times.
        let text = document.to_string();
        let is_named = text.contains("clocks-corrected") || text.contains("clocks_corrected");
        let is_moved = document["start_ns"].as_i64().is_some_and(|start| start < 0);
        assert!(
            is_named || is_moved || words[0] == "report",
            "{words:?}: {text}"
        );
        assert!(!text.contains("clock_violation"), "{words:?}");
    }
    let stream = bundled("")
        .join("../streams/miniapp.tsv")
        .display()
        .to_string();
    let refused = command::output(["detect", &stream, "--clocks", "correct"]);
    assert!(matches!(refused, Err(Failure::Usage(_))), "{refused:?}");
}

#[test]
fn recordings_without_waiting_say_why() {
    let cube = scratch("wait-profile.cubex");
    command::output(["convert", &recording("jacobi-4"), &cube]).expect("it is written");
    let refused = command::output(["wait", &cube]);
    assert!(
        matches!(&refused, Err(Failure::Input(text)) if text.contains("a profile has sums")),
        "{refused:?}"
    );
    let alone = scratch("wait-alone.json");
    let call =
        |process: u32| format!(r#"{{"ph":"X","name":"f","pid":{process},"tid":1,"ts":0,"dur":9}}"#);
    std::fs::write(&alone, format!("[{},{}]", call(1), call(2))).expect("tests may write here");
    let text = command::output(["wait", &alone]).expect("it is no error");
    assert!(
        text.contains("no messages, collectives") && text.contains("perfkit report"),
        "{text}"
    );
    for option in ["--csv", "--cube", "--html"] {
        let file = scratch("wait-nothing");
        let refused = command::output(["wait", &alone, option, &file]);
        assert!(
            matches!(&refused, Err(Failure::Input(text)) if text.contains("is not written")),
            "{refused:?}"
        );
        assert!(!Path::new(&file).exists());
    }
}

#[test]
fn questions_about_nothing_are_refused() {
    let file = recording("jacobi-4");
    for (question, words) in [
        ("rank 77 = median", "a rank from 0 to 3"),
        ("region mircophysics x 0.5", "did you mean `microphysics`"),
        ("microphysics x 0.5", "`region microphysics x FACTOR`"),
        ("region dynamics x -1", "a factor from 0 to 10,000"),
        ("faster", "expected"),
    ] {
        let refused = command::output(["wait", &file, "--what-if", question]);
        assert!(
            matches!(&refused, Err(Failure::Usage(text)) if text.contains(words)),
            "{question}: {refused:?}"
        );
    }
    let document = json(&[
        "wait",
        &file,
        "--clocks",
        "correct",
        "--what-if",
        "region microphysics x 1",
        "--what-if",
        "region microphysics = mean",
    ]);
    let saved: Vec<i64> = rows(&document, "what_if")
        .iter()
        .map(|row| row["saved"].as_i64().expect("a time"))
        .collect();
    assert!(saved[0] == 0 && saved[1] > 100_000_000, "{saved:?}");
}

#[test]
fn efficiencies_of_epoch_are_the_published_ones() {
    let Some(facts) = corpus("pop/epoch.json") else {
        return;
    };
    let facts = std::fs::read_to_string(facts).expect("it is text");
    let facts: Json = serde_json::from_str(&facts).expect("it is JSON");
    let names = ["2", "4", "16"].map(|count| format!("paraver/epoch/epoch_{count}proc.prv.gz"));
    let files: Option<Vec<_>> = names.iter().map(|name| corpus(name)).collect();
    let Some(files) = files else { return };
    let files: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let words: Vec<&str> = ["wait"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    let document = json(&words);
    let names = [
        ("parallel efficiency", "Parallel efficiency"),
        ("load balance", "Load balance"),
        ("communication efficiency", "Communication efficiency"),
        ("serialisation efficiency", "Serialization efficiency"),
        ("transfer efficiency", "Transfer efficiency"),
    ];
    // The published scaling is relative to a run on one process.
    let scaling = [
        ("computation scaling", "Computation scalability"),
        ("IPC scaling", "IPC scalability"),
        ("instruction scaling", "Instruction scalability"),
        ("frequency scaling", "Frequency scalability"),
    ];
    let published = |run: &str, name: &str| facts["runs"][run][name].as_f64().expect("a number");
    let found = rows(&document, "efficiencies");
    assert_eq!(found.len(), 3);
    for (row, run) in found.iter().zip(["2", "4", "16"]) {
        for (own, other) in names {
            let (own, other) = (row[own].as_f64().expect("a number"), published(run, other));
            assert!(
                (own - other).abs() < 1e-5,
                "{run}: {own}, published {other}"
            );
        }
        for (own, other) in scaling {
            let own = row[own].as_f64().expect("a number");
            let ratio = 100.0 * published(run, other) / published("2", other);
            assert!(
                (own - ratio).abs() < 1e-4,
                "{run}: {own}, published {ratio}"
            );
        }
    }
}

#[test]
fn culprits_of_training_jobs_are_the_first_finding() {
    for (name, culprit) in [("AR", "data-parallel rank 0, stage 0 "), ("ST", "stage 3 ")] {
        let Some(file) = corpus(&format!("stragglers/timeline-{name}.json.gz")) else {
            return;
        };
        let document = json(&["wait", &file.display().to_string()]);
        let sentence = document["findings"][0]["sentence"]
            .as_str()
            .expect("a finding");
        assert!(sentence.starts_with(culprit), "{sentence}");
        assert!(!rows(&document, "steps").is_empty() && !rows(&document, "parts").is_empty());
    }
}

#[test]
fn recordings_of_others_are_explained() {
    for (file, first) in [
        (
            "otf2/casita-4_mpi_ls_barr/traces.otf2",
            Some("rank 0 holds up 3 others"),
        ),
        ("otf2/tracer-stencil4d-32/traces.otf2", None),
        (
            "paraver/lulesh/lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv",
            Some("ranks 0 and 1 hold up 6 others"),
        ),
        ("paraver/epoch/epoch_2proc.prv.gz", None),
    ] {
        let Some(path) = corpus(file) else { return };
        let document = json(&["wait", &path.display().to_string()]);
        let sentence = document["findings"][0]["sentence"].as_str();
        match first {
            Some(first) => assert!(
                sentence.is_some_and(|it| it.starts_with(first)),
                "{file}: {sentence:?}"
            ),
            None => assert_eq!(sentence, None, "{file}"),
        }
    }
}

/// Counts the pixels of a colour in a picture.
fn pixels_of(file: &str, colour: [u8; 3]) -> usize {
    let bytes = std::io::BufReader::new(std::fs::File::open(file).expect("it is drawn"));
    let mut reader = png::Decoder::new(bytes).read_info().expect("it is a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("it fits")];
    reader.next_frame(&mut pixels).expect("it is whole");
    pixels.chunks(3).filter(|pixel| *pixel == colour).count()
}

#[test]
fn timelines_show_waits_and_the_critical_path() {
    const ALARM: [u8; 3] = [0xb3, 0x16, 0x1f];
    let file = recording("jacobi-4");
    let (plain, waits, page) = (
        scratch("plain.png"),
        scratch("waits.png"),
        scratch("waits.html"),
    );
    let fold = ["fold", &file, "--by", "process", "--clocks", "correct"];
    command::output([&fold[..], &["--png", &plain]].concat()).expect("it is drawn");
    let drawn = ["--waits", "--png", &waits, "--html", &page];
    command::output([&fold[..], &drawn].concat()).expect("it is drawn");
    // The critical path extends from the start of the run to its end.
    assert_eq!(pixels_of(&plain, ALARM), 0);
    assert!(pixels_of(&waits, ALARM) > 1_000);
    let text = std::fs::read_to_string(&page).expect("a page");
    assert!(text.contains("Waits and critical path"));
    let alone = scratch("waits-alone.json");
    let text = r#"[{"ph":"X","name":"f","pid":1,"tid":1,"ts":0,"dur":9}]"#;
    std::fs::write(&alone, text).expect("tests may write here");
    let refused = command::output(["fold", &alone, "--waits"]);
    assert!(matches!(&refused, Err(Failure::Input(text)) if text.contains("one location")));
}

#[test]
fn pages_and_pictures_hold_the_results() {
    let file = recording("jacobi-9");
    let (page, picture, vector) = (
        scratch("wait.html"),
        scratch("wait.png"),
        scratch("wait.svg"),
    );
    let words = [
        "wait", &file, "--clocks", "correct", "--html", &page, "--png", &picture,
    ];
    let document = json(&[&words[..], &["--svg", &vector]].concat());
    let page = std::fs::read_to_string(page).expect("a page");
    // Names between backticks are code in the page.
    let page = page.replace("<code>", "`").replace("</code>", "`");
    for finding in document["findings"].as_array().expect("a list") {
        let sentence = finding["sentence"].as_str().expect("a sentence");
        assert!(page.contains(&sentence.replace('>', "&gt;")), "{sentence}");
    }
    for heading in [
        "Efficiencies",
        "Wait states",
        "Root causes",
        "Critical path",
    ] {
        assert!(page.contains(heading), "{heading}");
    }
    let vector = std::fs::read_to_string(vector).expect("a picture");
    assert!(vector.contains("hatched: waits for others") && vector.contains("line: critical path"));
    assert!(
        std::fs::read(picture)
            .expect("a picture")
            .starts_with(b"\x89PNG")
    );
    // The coloured table of a series has a cell for each factor and run.
    let series = scratch("series.svg");
    let files = ["jacobi-4", "jacobi-9"].map(recording);
    let words = [
        "wait", &files[0], &files[1], "--clocks", "correct", "--svg", &series,
    ];
    command::output(words).expect("it is drawn");
    let series = std::fs::read_to_string(series).expect("a picture");
    assert!(series.contains("4 ranks") && series.contains("9 ranks"));
    let name = "computation scaling";
    assert!(
        series.contains(name) && series.contains("100.00 %"),
        "{name}"
    );
}
