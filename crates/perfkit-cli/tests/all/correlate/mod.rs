//! `correlate` on each kind of profile and with each kind of topology, and its messages about
//! invalid input.

mod agreement;
mod detected;
mod grids;
mod relations;
#[cfg(feature = "serve")]
mod served;
mod written;

use perf_testdata::bundled::recording as bundled;
use perf_testdata::corpus::corpus;
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn run(file: &Path, words: &[&str]) -> Result<String, Failure> {
    let mut all = vec!["correlate".into(), OsString::from(file)];
    all.extend(words.iter().map(OsString::from));
    command::output(all)
}

fn json(file: &Path, words: &[&str]) -> serde_json::Value {
    let words = [words, &["--json"]].concat();
    match run(file, &words) {
        Ok(text) => serde_json::from_str(&text).expect("it is JSON"),
        Err(failure) => panic!("{}: {failure:?}", file.display()),
    }
}

/// Returns the message about invalid input.
fn complaint(file: &Path, words: &[&str]) -> String {
    match run(file, words) {
        Err(Failure::Input(text) | Failure::Usage(text)) => text,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Writes a TAU profile of four processes with two metrics. `work` of each process has the given
/// values, and `idle` is the rest up to 20.
fn multi(name: &str, values: [[u32; 4]; 2]) -> PathBuf {
    let folder = scratch(name);
    for (metric, values) in ["TIME", "PAPI_FP_OPS"].iter().zip(values) {
        let folder = folder.join(format!("MULTI__{metric}"));
        std::fs::create_dir_all(&folder).expect("tests may write here");
        for (process, work) in values.iter().enumerate() {
            let text = format!(
                "2 templated_functions_MULTI_{metric}\n# Name Calls Subrs Excl Incl ProfileCalls #\n\
                 \"work\" 1 0 {work} {work} 0 GROUP=\"TAU_USER\"\n\
                 \"idle\" 1 0 {0} {0} 0 GROUP=\"TAU_USER\"\n0 aggregates\n",
                20 - work
            );
            let file = folder.join(format!("profile.{process}.0.0"));
            std::fs::write(file, text).expect("tests may write here");
        }
    }
    folder
}

#[test]
fn a_folder_of_several_metrics() {
    let folder = multi("multi", [[1, 2, 3, 4], [2, 4, 6, 8]]);
    let words = ["--metric", "TIME", "--path", "work", "--topology", "2x2"];
    let list = json(&folder, &words);
    assert_eq!(list["dims"], serde_json::json!([2, 2]));
    let view = |metric: &str, path: &str| {
        let views = list["views"].as_array().expect("a list");
        let found = views
            .iter()
            .find(|view| view["metric"] == metric && view["path"] == path);
        found.expect("it is a view of the profile")["r"].as_f64()
    };
    // Twice the work has the same pattern, and the rest has the opposite one.
    let near = |r: Option<f64>, expected: f64| (r.expect("a number") - expected).abs() < 1e-12;
    assert!(near(view("PAPI_FP_OPS", "work"), 1.0));
    assert!(near(view("TIME", "idle").map(f64::abs), 1.0));
}

#[test]
fn views_that_do_not_vary_are_hidden() {
    let folder = multi("flat", [[1, 2, 3, 4], [5, 5, 5, 5]]);
    let words = ["--metric", "TIME", "--path", "work", "--topology", "2x2"];
    let counters = |words: &[&str]| {
        let list = json(&folder, words);
        let views = list["views"].as_array().expect("a list").clone();
        let is_counter = |view: &&serde_json::Value| {
            let metric = view["metric"].as_str();
            metric.is_some_and(|metric| metric.contains("PAPI"))
        };
        let count = views.iter().filter(is_counter).count();
        assert!(count < views.len());
        (count, list["notes"].to_string())
    };
    let (shown, notes) = counters(&words);
    assert_eq!(shown, 0);
    assert!(
        notes.contains("6 with r = 0 at any shift are hidden"),
        "{notes}"
    );
    let (shown, notes) = counters(&[&words[..], &["--kin"]].concat());
    assert_eq!(shown, 4);
    assert!(!notes.contains("hidden"), "{notes}");
    if let Some(file) = corpus("tau/cpi-mpi4") {
        let text = run(&file, &["--path", "0", "--topology", "2x2x1"]).expect("it correlates");
        let expected = "nothing is listed: every view that varies is kin of the reference";
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn each_rule_has_its_errors() {
    let folder = multi("rules", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    let table = scratch("table.txt");
    let with = |text: &str| {
        std::fs::write(&table, text).expect("tests may write here");
        format!("table:{}", table.display())
    };
    let rule = with("0 0\n(1,0)\n\nx=0 y=1\n1 1\n");
    let list = json(&folder, &["--path", "work", "--topology", &rule]);
    assert_eq!(list["dims"], serde_json::json!([2, 2]));
    let said = |topology: &str| complaint(&folder, &["--path", "work", "--topology", topology]);
    for (text, expected) in [
        ("0 0\nnowhere\n", "line 2: no coordinates"),
        ("0 0\n1\n", "line 2: 1 coordinates, 2 in the lines before"),
        ("", "no coordinates"),
    ] {
        let said = said(&with(text));
        assert!(
            said.contains(expected) && said.contains("table.txt"),
            "{said}"
        );
    }
    // Missing lines, extra lines and lines with the same cell are counted and printed.
    for (text, dims, counts, note) in [
        (
            "0 0\n0 1\n1 0\n",
            [2, 2],
            [1, 0, 0],
            "1 of 4 locations have no coordinates in the table",
        ),
        (
            "0 0\n0 1\n1 0\n1 1\n5 5\n",
            [2, 2],
            [0, 1, 0],
            "there should be 4",
        ),
        (
            "0 0\n0 0\n1 0\n1 1\n",
            [2, 2],
            [0, 0, 1],
            "1 cells hold several locations",
        ),
    ] {
        let rule = with(text);
        let list = json(&folder, &["--path", "work", "--topology", &rule]);
        assert_eq!(list["dims"], serde_json::json!(dims), "{text}");
        let keys = ["locations_unplaced", "locations_unknown", "cells_shared"];
        assert_eq!(
            keys.map(|key| list[key].clone()),
            counts.map(serde_json::Value::from),
            "{text}"
        );
        let shown = run(&folder, &["--path", "work", "--topology", &rule]).expect("it fits");
        assert!(shown.contains(note), "{shown}");
    }
    assert!(said("table:/nowhere").contains("/nowhere"));
    assert!(said("cube:torus").contains("no grid `torus`"));
    assert!(said("rack").contains("rack"));
    assert!(said("4x0").contains("axis 1"));
    let said = complaint(&folder, &["--path", "wor"]);
    assert!(said.contains("did you mean 0 `work`?"), "{said}");
    let said = complaint(&folder, &["--path", "work", "--metric", "JOULES"]);
    assert!(said.contains("PAPI_FP_OPS"), "{said}");
    let said = complaint(Path::new("/nowhere"), &["--path", "0"]);
    assert!(said.contains("/nowhere"), "{said}");
}

#[test]
fn filters_that_take_nothing_or_everything_say_so() {
    let folder = multi("filters", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    let shown = |axes: &str| {
        let words = ["--path", "work", "--topology", "2x2", "--axes", axes];
        run(&folder, &words).expect("it correlates")
    };
    assert!(shown("1,1").contains("nothing is filtered away"));
    let everything = shown("0,0");
    assert!(
        everything.contains("everything is filtered away, and every r is 0"),
        "{everything}"
    );
    assert!(!everything.contains("0.999"), "{everything}");
    let some = shown("1,0");
    assert!(!some.contains("filtered away"), "{some}");
}

/// The order of the text of the paper: by the largest R, which is never below 0.
#[test]
fn opposites_are_last_in_the_order_of_the_paper() {
    let file = bundled("jacobi-16");
    let r = |list: &serde_json::Value, key: &str| -> Vec<f64> {
        let views = list["views"].as_array().expect("a list").iter();
        views
            .map(|view| view[key].as_f64().expect("a number"))
            .collect()
    };
    let usual = json(&file, &["--path", "1", "--top", "999"]);
    let paper = json(&file, &["--path", "1", "--top", "999", "--paper"]);
    assert_eq!(
        (&usual["score"], &paper["score"]),
        (&"magnitude".into(), &"max".into())
    );
    assert!(r(&usual, "r").iter().any(|r| *r < 0.0));
    assert_eq!(r(&paper, "r"), r(&paper, "max"));
    assert!(
        r(&paper, "r")
            .windows(2)
            .all(|two| two[0] >= two[1] - 1e-9 && two[1] >= 0.0)
    );
    let text = run(&file, &["--path", "1", "--paper"]).expect("it correlates");
    assert!(
        text.contains("note        in order of the largest r"),
        "{text}"
    );
}

#[test]
fn a_tolerance_out_of_range_names_option_and_range() {
    let words = ["--path", "Working > radiation", "--topology", "4x4x4"];
    for wrong in ["1", "-0.1", "7", "NaN"] {
        let option = format!("--tolerance={wrong}");
        let words = [&words[..], &[option.as_str()]].concat();
        let said = complaint(&bundled("jacobi-64"), &words);
        let expected = format!("--tolerance {wrong}: not a number from 0 to below 1");
        assert_eq!(said, expected);
    }
}

#[test]
fn one_axis_has_nothing_behind_it() {
    let text = |grid: &str| {
        let words = ["--path", "Working > radiation", "--topology", grid];
        run(&bundled("jacobi-64"), &words).expect("it correlates")
    };
    for grid in ["64", "1x64"] {
        assert!(!text(grid).contains("--axes"), "{}", text(grid));
    }
    assert!(text("4x4x4").contains("what lies behind: --axes"));
}

/// Notes refer to the listed views.
#[test]
fn notes_count_listed_views() {
    let list = |top: &str| {
        let words = [
            "--path",
            "Working > radiation",
            "--topology",
            "4x4x4",
            "--top",
            top,
        ];
        json(&bundled("jacobi-64"), &words)["notes"].to_string()
    };
    assert!(list("1000").contains("listed view"), "{}", list("1000"));
    assert!(!list("0").contains("listed view"), "{}", list("0"));
}

#[test]
fn surrogates_tell_what_a_correlation_is_worth() {
    let words = [
        "--metric",
        "exclusive time",
        "--path",
        "Working > radiation",
    ];
    let words = [
        &words[..],
        &["--topology", "4x4x4", "--axes", "0,0,1", "--same-metric"],
    ]
    .concat();
    let csv = scratch("chances.csv");
    let csv_words = ["--surrogates", "39", "--csv", &csv.display().to_string()];
    let list = json(
        &bundled("jacobi-64"),
        &[&words[..], &csv_words[..]].concat(),
    );
    assert_eq!(list["surrogates"], 39);
    let band = list["null_band"].as_f64().expect("a number");
    assert!((0.0..=1.0).contains(&band), "{band}");
    for view in list["views"].as_array().expect("a list") {
        let [p, of_all] = ["p", "p_of_all"].map(|key| view[key].as_f64().expect(key));
        assert!(0.025 <= p && p <= of_all && of_all <= 1.0, "{view}");
    }
    let rows = std::fs::read_to_string(&csv).expect("it was written");
    assert!(
        rows.lines()
            .next()
            .is_some_and(|head| head.ends_with(",Pearson,kin,p bound,p,p of all"))
    );
    let text = run(
        &bundled("jacobi-64"),
        &[&words[..], &["--surrogates", "9"]].concat(),
    );
    let text = text.expect("it correlates");
    assert!(text.contains("p of all"));
    // None of nine surrogates is as close: one in ten, including the reference.
    assert!(text.contains("<= 0.100"), "{text}");
    let page = scratch("chances.html");
    let page_words = ["--surrogates", "9", "--html", &page.display().to_string()];
    run(
        &bundled("jacobi-64"),
        &[&words[..], &page_words[..]].concat(),
    )
    .expect("it draws");
    let page = std::fs::read_to_string(&page).expect("it was written");
    assert!(page.contains("Correlations by chance"));
    assert!(page.contains("9 surrogates: 95 % of them"));
    let said = complaint(
        &bundled("jacobi-64"),
        &[&words[..], &["--surrogates", "0"]].concat(),
    );
    assert!(said.contains("--surrogates"), "{said}");
    assert!(json(&bundled("jacobi-64"), &words)["views"][0]["p"].is_null());
}

#[test]
fn misspelled_names_are_guessed() {
    let folder = multi("guessed", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    let said = complaint(&folder, &["--path", "wrok"]);
    assert!(
        said.contains("did you mean 0 `work`?") || said.contains("did you mean 1 `work`?"),
        "{said}"
    );
    let said = complaint(&folder, &["--path", "work", "--metric", "PAPI_FP_OP"]);
    assert!(said.contains("`PAPI_FP_OPS`"), "{said}");
    let said = complaint(&folder, &["--path", "work", "--metric", "TIEM"]);
    assert!(said.contains("`TIME`"), "{said}");
    // A caller was left out.
    let said = complaint(&bundled("jacobi-64"), &["--path", "Working > MPI_Recv"]);
    let meant = "did you mean 5 `Working > exchange_halo > MPI_Recv`";
    assert!(said.contains(meant), "{said}");
}

/// Two runs of one program on 64 processes: call paths match by name. A call path that correlates
/// with time in one run does so with the same call path of the other run, also across metrics.
#[test]
fn two_runs_meet_by_call_path() {
    use perfkit::core::{Job, MetricId, Profile};
    use perfkit::spectral::{AxisFilter, Missing, RankParams, Spectra, same_paths};
    use perfkit::topology::{AxisOrder, Shape, Topology};
    let read = |name: &str| -> Option<Profile> {
        let path = corpus(&format!("cube/lulesh/lulesh.{name}.r1.cubex"))?;
        Some(
            perfkit_cli::recording::profile(&path)
                .expect("it opens")
                .profile,
        )
    };
    let (Some(small), Some(large)) = (read("p64.size25"), read("p64.size45")) else {
        return;
    };
    let name = |profile: &Profile, path| profile.calls().name(path, profile.regions());
    let pairs = same_paths(&small, &large);
    assert_eq!(
        pairs.len(),
        small.calls().paths().len().min(large.calls().paths().len())
    );
    for (one, other) in &pairs {
        assert_eq!(name(&small, *one), name(&large, *other));
    }
    let shape = Shape::of(&[4, 4, 4]).expect("a shape");
    let place = |profile: &Profile| {
        Topology::by_process(shape.clone(), AxisOrder::FirstFastest, profile.system())
    };
    let rows = |metric: &str, profile: &Profile, of_large: bool| -> Vec<_> {
        let metric: MetricId = profile.metric(metric).expect("Score-P has it");
        let path = |(one, other): &(_, _)| if of_large { *other } else { *one };
        pairs.iter().map(|pair| (metric, path(pair))).collect()
    };
    let mut builder = Spectra::<f64>::builder(&[4, 4, 4]).expect("a shape");
    let job = Job::default();
    for (profile, metric, of_large) in [
        (&small, "time", false),
        (&large, "time", true),
        (&large, "visits", true),
    ] {
        let rows = rows(metric, profile, of_large);
        let grid = place(profile);
        builder
            .add_rows(profile, &grid, &rows, Missing::Refuse, &job)
            .expect("all 64 processes are there");
    }
    let spectra = builder.finish();
    let count = pairs.len();
    let wanted: Vec<_> = (0..count)
        .flat_map(|at| [(at, at + count), (at, at + 2 * count)])
        .collect();
    let filter = AxisFilter::new(&[1.0; 3]).expect("weights");
    let params = RankParams::default().check().expect("defaults");
    let found = spectra
        .correlate_pairs(&wanted, &filter, &params, &Job::default())
        .expect("views");
    assert_eq!(found.len(), wanted.len());
    // Without filter and shift R is Pearson's coefficient of the rows, which are in the order of
    // the ranks in both runs.
    let row = |view: usize| -> Vec<f64> {
        let (profile, metric, of_large) = [
            (&small, "time", false),
            (&large, "time", true),
            (&large, "visits", true),
        ][view / count];
        let (metric, path) = rows(metric, profile, of_large)[view % count];
        let row = profile.row(metric, path).expect("it is read");
        row.map_or_else(|| vec![0.0; 64], |row| row.to_f64())
    };
    let pearson = |a: &[f64], b: &[f64]| {
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let (mean_a, mean_b) = (mean(a), mean(b));
        let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
            a.iter()
                .zip(b)
                .map(|(a, b)| f(a - mean_a, b - mean_b))
                .sum()
        };
        let norm = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
        if norm > 0.0 {
            sum(&|a, b| a * b) / norm
        } else {
            0.0
        }
    };
    for (pair, (one, other)) in found.iter().zip(&wanted) {
        assert_eq!((pair.reference, pair.found.view), (*one, *other));
        let zero = pair.found.correlation.zero;
        let expected = pearson(&row(*one), &row(*other));
        assert!((zero - expected).abs() < 1e-9, "{zero} {expected}");
    }
    let alike = |of: usize, least: f64| {
        let own = found.iter().skip(of).step_by(2);
        own.filter(|pair| pair.found.correlation.zero.abs() > least)
            .count()
    };
    assert!(alike(0, 0.5) >= 3, "time with time: {found:?}");
    assert!(alike(1, 0.1) >= 2, "time with visits: {found:?}");
}

#[test]
fn a_trace_on_its_machine() {
    let list = json(
        &bundled("jacobi-16"),
        &["--path", "1", "--topology", "node,process,thread"],
    );
    assert_eq!(list["locations_unplaced"], 0);
    assert!(
        list["views"]
            .as_array()
            .is_some_and(|views| !views.is_empty())
    );
}

#[test]
fn profiles_of_others() {
    for (file, words, dims) in [
        (
            "tau/cpi-mpi4",
            &["--path", "0", "--topology", "2x2x1", "--kin"][..],
            vec![2, 2, 1],
        ),
        (
            "otf2/tracer-stencil4d-32",
            &["--path", "0", "--metric", "exclusive time"],
            vec![32],
        ),
        (
            "tau/ppk/LoadImbalance-8.ppk",
            &["--path", "3", "--topology", "2x2x2"],
            vec![2, 2, 2],
        ),
        (
            "cube/lulesh/lulesh.p343.size25.r1.cubex",
            &["--path", "1", "--metric", "time", "--topology", "7x7x7"],
            vec![7, 7, 7],
        ),
        (
            "cube/cube3/experiment1.cube",
            &["--path", "2"],
            vec![16, 4, 2],
        ),
    ] {
        let Some(path) = corpus(file) else { return };
        let list = json(&path, words);
        assert_eq!(list["dims"], serde_json::json!(dims), "{file}");
        assert_eq!(list["locations_unplaced"], 0, "{file}");
        let views = list["views"].as_array().expect("a list");
        let r: Vec<f64> = views.iter().filter_map(|view| view["r"].as_f64()).collect();
        assert!(r.len() > 1, "{file}");
        assert!(r.is_sorted_by(|a, b| a.abs() >= b.abs()), "{file}: {r:?}");
    }
}
