//! `profile`: computed profiles, written and read back.

use perf_testdata::bundled::recording;
use perfkit_cli::command::output;
use perfkit_cli::failure::Failure;
use serde_json::Value;
use std::path::PathBuf;

/// Creates a new folder for the files of a test.
fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("algebra-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("tests may write here");
    folder
}

fn json(words: &[&str]) -> Value {
    let printed = output([words, &["--json", "--quiet"]].concat()).expect("it works");
    serde_json::from_str(&printed).expect("it is JSON")
}

fn complaint(words: &[&str]) -> String {
    match output(words.iter().copied()) {
        Err(Failure::Usage(text) | Failure::Input(text)) => text,
        other => panic!("expected an error, got {other:?}"),
    }
}

/// Returns the total of a metric in the result.
fn total(document: &Value, name: &str) -> f64 {
    let metrics = document["metrics"].as_array().expect("metrics");
    let metric = metrics.iter().find(|it| it["name"] == name);
    metric.expect("it is listed")["result"]
        .as_f64()
        .expect("a number")
}

#[test]
fn differences_are_read_back() {
    let folder = scratch("diff");
    let to = |name: &str| folder.join(name).display().to_string();
    let [small, large] =
        ["jacobi-16", "jacobi-64"].map(|name| recording(name).display().to_string());
    let none = json(&["profile", "diff", &small, &small]);
    assert_eq!(
        none["locations_matched"],
        serde_json::json!({"all": 16, "common": 16})
    );
    assert!(
        none["metrics"]
            .as_array()
            .expect("metrics")
            .iter()
            .all(|it| it["result"] == 0.0)
    );
    let change = to("change.cubex");
    let found = json(&["profile", "diff", &large, &small, "-o", &change]);
    assert_eq!(found["locations_matched"]["common"], 16);
    // The difference plus the subtrahend is the minuend: half of it is their mean.
    let half = json(&["profile", "mean", &change, &small]);
    let minuend = json(&["profile", "max", &large, &large]);
    for name in ["visits (exclusive)", "time (inclusive)", "exclusive time"] {
        let (half, whole) = (total(&half, name), total(&minuend, name));
        assert!(
            (2.0 * half - whole).abs() <= 1e-9 * whole,
            "{name}: {half} {whole}"
        );
    }
    let whole = json(&["profile", "diff", &large, &small, "--collapse"]);
    assert_eq!(
        whole["locations_matched"],
        serde_json::json!({"all": 1, "common": 1})
    );
    assert_eq!(
        total(&whole, "exclusive time"),
        total(&found, "exclusive time")
    );
    let text = output(["profile", "diff", &large, &small, "--quiet"]).expect("it works");
    assert!(
        text.contains("48 locations are not in all profiles")
            && text.contains("sums over 64 and 16 locations")
            && text.contains("would be a change of 300.0 %"),
        "{text}"
    );
}

#[test]
fn counters_of_one_run_have_no_difference() {
    let folder = scratch("counters");
    // A TAU profile of one function with a value for each counter.
    let profile = |run: &str, counters: &[(&str, u32)]| {
        for (counter, value) in counters {
            let inside = folder.join(run).join(format!("MULTI__{counter}"));
            std::fs::create_dir_all(&inside).expect("tests may write here");
            let text = format!(
                "1 templated_functions_MULTI_{counter}\n# Name Calls Subrs Excl Incl ProfileCalls #\n\
                 \"main\" 1 0 {value} {value} 0 GROUP=\"TAU_DEFAULT\"\n0 aggregates\n"
            );
            std::fs::write(inside.join("profile.0.0.0"), text).expect("tests may write here");
        }
        folder.join(run).display().to_string()
    };
    let one = profile("one", &[("TIME", 70), ("PAPI_TOT_INS", 500)]);
    let other = profile("other", &[("TIME", 40)]);
    for (words, owner) in [([&one, &other], "one"), ([&other, &one], "one")] {
        let [minuend, subtrahend] = words.map(String::as_str);
        let found = json(&["profile", "diff", minuend, subtrahend]);
        let metrics = found["metrics"].as_array().expect("metrics");
        let is_counter = |it: &Value| it["name"].as_str().is_some_and(|it| it.contains("PAPI"));
        assert!(!metrics.is_empty() && !metrics.iter().any(is_counter));
        let text = output(["profile", "diff", minuend, subtrahend, "--quiet"]).expect("it works");
        let line = text.lines().find(|line| line.contains("PAPI_TOT_INS"));
        let expected = format!("that only {owner} has: ");
        assert!(line.is_some_and(|line| line.contains(&expected)), "{text}");
    }
    let counter = "exclusive PAPI_TOT_INS";
    let error = complaint(&["profile", "diff", &one, &other, "--metric", counter]);
    assert_eq!(
        error,
        "--metric exclusive PAPI_TOT_INS: a metric that only one has"
    );
    // The mean is that of the runs with the counter.
    assert_eq!(
        total(&json(&["profile", "mean", &one, &other]), counter),
        500.0
    );
}

#[test]
fn cut_and_remapped_profiles_keep_their_totals() {
    let folder = scratch("cut");
    let file = recording("jacobi-16").display().to_string();
    let to = folder.join("part.cubex").display().to_string();
    let before = json(&["profile", "max", &file, &file]);
    let inspected = json(&["inspect", &file]);
    assert!(inspected["events"].is_number() || inspected.is_object());
    let pruned = json(&["profile", "cut", &file, "--prune", "1", "-o", &to]);
    let name = "exclusive time";
    assert_eq!(total(&pruned, name), total(&before, name));
    assert_eq!(
        total(&json(&["profile", "max", &to, &to]), name),
        total(&before, name)
    );
    // The table has the scope of the option.
    let csv = to.replace(".cubex", ".csv");
    for (scope, column) in [
        ("inclusive", "visits (inclusive)"),
        ("exclusive", "visits (exclusive)"),
    ] {
        json(&[
            "profile", "max", &file, &file, "--scope", scope, "--csv", &csv,
        ]);
        let table = std::fs::read_to_string(&csv).expect("it is written");
        let head = table.lines().next().expect("a head");
        assert!(head.contains(column), "{head}");
    }
    let spec = folder.join("spec");
    std::fs::write(&spec, "# groups\nMPI = MPI_*\n").expect("tests may write here");
    let spec = spec.display().to_string();
    let groups = json(&["profile", "remap", &file, "--spec", &spec, "--top", "99"]);
    assert_eq!(total(&groups, name), total(&before, name));
    let paths = groups["paths"].as_array().expect("paths").iter();
    let names: Vec<&str> = paths.filter_map(|it| it["path"].as_str()).collect();
    assert!(
        names.iter().any(|name| name.ends_with("> MPI")),
        "{names:?}"
    );
    assert!(!names.iter().any(|name| name.contains("MPI_")), "{names:?}");
}

#[test]
fn metrics_are_derived_by_a_specification() {
    let folder = scratch("derived");
    let file = recording("jacobi-16").display().to_string();
    let spec = folder.join("mpi.spec");
    let text = "<metrics><metric><uniq_name>time</uniq_name>
        <metric type='PREDERIVED_EXCLUSIVE'><uniq_name>mpi</uniq_name><cubepl>
            ${is_mpi}[${calculation::callpath::id}] * metric::time(e)
        </cubepl><cubeplinit>{ global(is_mpi); ${i} = 0;
            while (${i} < ${cube::#callpaths}) {
                ${region} = ${cube::callpath::calleeid}[${i}];
                if (${cube::region::name}[${region}] =~ /^MPI_/) { ${is_mpi}[${i}] = 1; };
                ${i} = ${i} + 1;
            }; }
        </cubeplinit></metric></metric></metrics>";
    std::fs::write(&spec, text).expect("tests may write here");
    let spec = spec.display().to_string();
    let derived = json(&[
        "profile", "remap", &file, "--spec", &spec, "--metric", "mpi", "--top", "99",
    ]);
    let mpi = total(&derived, "mpi (exclusive)");
    let paths = derived["paths"].as_array().expect("paths").iter();
    let named = paths.filter(|it| it["path"].as_str().is_some_and(|it| it.contains("> MPI_")));
    let sum: f64 = named.filter_map(|it| it["result"].as_f64()).sum();
    assert!(mpi > 0.0 && (mpi - sum).abs() < 1e-9 * mpi, "{mpi} {sum}");
    // The recording has no specification of its own, and a defect has a place.
    assert!(complaint(&["profile", "remap", &file]).contains("--spec"));
    std::fs::write(&spec, text.replace("metric::time(e)", "\n metric::tme(e)")).expect("writable");
    let message = complaint(&["profile", "remap", &file, "--spec", &spec]);
    assert!(
        message.contains("line 4, column 10: this part of CubePL (there is no metric `tme`)"),
        "{message}"
    );
}

#[test]
fn wrong_operands_are_explained() {
    let folder = scratch("wrong");
    let file = recording("jacobi-16").display().to_string();
    let spec = folder.join("spec");
    std::fs::write(&spec, "MPI = MPI_*\nno rule\n").expect("tests may write here");
    let spec = spec.display().to_string();
    for (words, expected) in [
        (
            &["profile", "remap", &file, "--spec", &spec][..],
            "line 2: expected `NEW NAME = PATTERN`",
        ),
        (
            &["profile", "cut", &file, "--root", "9999"],
            "--root 9999: no such call path",
        ),
        (&["profile", "cut", &file], "<--root <PATH>|--prune <PATH>>"),
        (
            &["profile", "cut", &file, "--root", "0", "--prune", "0"],
            "no call path remains",
        ),
        (&["profile", "mean", &file], "2 values required"),
        (&["profile", "diff", &file, &spec], "spec"),
        (
            &["profile", "diff", &file, &file, "-o", &file],
            "both input and output",
        ),
        (&["correlate", &file, &file], "--path"),
    ] {
        let message = complaint(words);
        assert!(message.contains(expected), "{words:?}: {message}");
    }
}
