//! The output of the subcommands equals their golden files. `cargo xtask golden` rewrites the
//! files.
//!
//! The bundled recordings are fixtures, so that the text does not change from run to run.

use perf_testdata::bundled::{devices as planted, recording as bundled};
use perf_testdata::golden::{check, look};
use perfkit::core::{Job, Profile};
use perfkit::formats::cube;
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use std::path::{Path, PathBuf};

fn print(command: &str, words: &[&str]) -> Result<String, Failure> {
    command::output([&[command], words].concat())
}

pub(crate) fn golden(name: &str, command: &str, words: &[&str]) {
    let printed = match print(command, words) {
        Ok(text) => text,
        Err(failure) => panic!("{name}: {failure:?}"),
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    check(&folder.join(name), &printed, env!("CARGO_TARGET_TMPDIR"));
}

fn recording(name: &str) -> String {
    bundled(name).display().to_string()
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn inspect() {
    golden(
        "inspect.txt",
        "inspect",
        &[&recording("jacobi-4"), "--top", "3"],
    );
    golden(
        "inspect.json",
        "inspect",
        &[&recording("jacobi-4"), "--top", "3", "--json"],
    );
}

#[test]
fn inspect_a_profile() {
    // Profile of a bundled recording, without results of correlation because their last digits
    // depend on the processor.
    let cube = scratch("inspect.cubex").display().to_string();
    let file = recording("jacobi-16");
    let trace = perfkit::open(&file).expect("it opens").into_trace();
    let trace = trace.expect("it is a trace");
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).expect("it has one");
    let to = std::fs::File::create(&cube).expect("a file can be made");
    cube::write(&profile, to, &cube::WriteOptions::new(), &Job::default()).expect("it writes");
    let shown = ["--top", "4"];
    golden(
        "inspect-profile.txt",
        "inspect",
        &[&[cube.as_str()], &shown[..]].concat(),
    );
    let shown = ["--top", "2", "--metric", "visits", "--json"];
    golden(
        "inspect-profile.json",
        "inspect",
        &[&[cube.as_str()], &shown[..]].concat(),
    );
    let wrong = print("inspect", &[&cube, "--metric", "vists"]);
    assert!(matches!(wrong, Err(Failure::Input(text)) if text.contains("`visits`")));
    let of_trace = print("inspect", &[&file, "--metric", "time"]);
    assert!(matches!(of_trace, Err(Failure::Usage(_))));
}

/// TAU profiles that are flat, with paths of at most two functions, and with whole call paths:
/// `main` has 10 us of exclusive time, `a` 20, `b` 30 below `a` and 5 below `main`.
#[test]
fn inspect_profiles_of_tau() {
    let flat = "\"main\" 1 2 10 65\n\"a\" 1 1 20 50\n\"b\" 2 0 35 35\n";
    let both = "\"main => a\" 1 1 20 50\n\"main => b\" 1 0 5 5\n";
    for (name, paths) in [
        ("flat", String::new()),
        ("depth", format!("{both}\"a => b\" 1 0 30 30\n")),
        ("paths", format!("{both}\"main => a => b\" 1 0 30 30\n")),
    ] {
        let folder = scratch(&format!("tau-{name}"));
        std::fs::create_dir_all(&folder).expect("tests may write here");
        let lines = format!("{flat}{paths}").replace('\n', " 0 GROUP=\"TAU_USER\"\n");
        let text = format!(
            "{} templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls #\n{lines}0 aggregates\n",
            lines.lines().count()
        );
        for process in 0..2 {
            let file = folder.join(format!("profile.{process}.0.0"));
            std::fs::write(file, &text).expect("tests may write here");
        }
        let file = folder.display().to_string();
        golden(&format!("inspect-tau-{name}.txt"), "inspect", &[&file]);
    }
}

#[test]
fn inspect_profiles_of_others() {
    use perf_testdata::corpus::corpus;
    for (file, metric, total) in [
        ("cube/pycubexr/blast.p64.r1.cubex", "visits", None),
        ("cube/cube3/experiment1.cube", "time", Some(5358.56)),
        ("cube/metacg/drops-filtered2.cubex", "visits", None),
        (
            "cube/cupybe/mapflow40_c01.cubex",
            "visits",
            Some(981_147_101.0),
        ),
        ("tau/cpi-mpi4", "", None),
        ("tau/ppk/LoadImbalance-8.ppk", "", None),
    ] {
        let Some(path) = corpus(file) else { return };
        let path = path.display().to_string();
        let text = print("inspect", &[&path, "--top", "3"]);
        assert!(
            text.is_ok_and(|text| text.contains("top call paths by exclusive")),
            "{file}"
        );
        let printed = print("inspect", &[&path, "--json"]).expect(file);
        let object: serde_json::Value = serde_json::from_str(&printed).expect("it is JSON");
        let metrics = object["metrics"]["rows"].as_array().expect("a list");
        let name = match metric {
            "" => object["by"].as_str().expect("there is a time"),
            name => name,
        };
        let found = metrics.iter().find(|about| about["metric"] == name);
        let found = found.expect(name);
        let sum = found["total"].as_f64().expect("a number");
        assert!(sum > 0.0, "{file}");
        if let Some(total) = total {
            assert!((sum / total - 1.0).abs() < 1e-5, "{file}: {sum}");
        }
    }
}

#[test]
fn wait() {
    let corrected = ["--clocks", "correct", "--top", "3"];
    let sixteen = recording("jacobi-16");
    let questions = [
        "--what-if",
        "region microphysics = mean",
        "--what-if",
        "rank 5 = median; MPI_* x 0.5",
    ];
    let words = [&[sixteen.as_str()][..], &corrected, &questions].concat();
    golden("wait.txt", "wait", &words);
    let four = recording("jacobi-4");
    golden(
        "wait-kept.txt",
        "explain",
        &[&four, "--top", "1", "--clocks", "keep"],
    );
    let words = [
        &[four.as_str()][..],
        &corrected[..2],
        &["--top", "1", "--json"],
    ]
    .concat();
    golden("wait.json", "wait", &words);
    let nine = recording("jacobi-9");
    let words = [&[four.as_str(), &nine, &sixteen][..], &corrected].concat();
    golden("wait-series.txt", "wait", &words);
    golden(
        "wait-devices.txt",
        "wait",
        &[&planted().display().to_string()],
    );
}

#[test]
fn report() {
    let page = scratch("report.html").display().to_string();
    golden(
        "report.txt",
        "report",
        &[&recording("jacobi-16"), "--html", &page],
    );
}

#[test]
fn fold() {
    let file = recording("jacobi-16");
    golden(
        "fold.txt",
        "fold",
        &[&file, "--op", "diff", "--from", "0.1s", "--to", "450ms"],
    );
    let group = ["--group", "MPI=MPI_*", "--by", "process"];
    golden(
        "fold-process.txt",
        "fold",
        &[&[file.as_str()], group.as_slice()].concat(),
    );
    golden(
        "fold.json",
        "fold",
        &[&file, "--op", "max", "--columns", "500", "--json"],
    );
    let picture = scratch("fold.png");
    let to = picture.display().to_string();
    for op in [
        "min",
        "share",
        "entropy",
        "any=microphysics",
        "count=MPI_Recv",
        "outliers=4",
    ] {
        print(
            "fold",
            &[&file, "--op", op, "--columns", "300", "--png", &to],
        )
        .expect(op);
        assert!(look(&picture).2 > 2_000, "{op}: {:?}", look(&picture));
    }
}

#[test]
fn imbalance_is_seen() {
    // Planted: ranks 5, 6, 9 and 10 do increasing microphysics while all others wait. Late in the
    // run ranks therefore differ, and the outliers are in microphysics.
    let file = recording("jacobi-16");
    let words = [
        file.as_str(),
        "--op",
        "diff",
        "--from",
        "350ms",
        "--to",
        "470ms",
        "--json",
    ];
    let printed = print("fold", &words).expect("it folds");
    let result: serde_json::Value = serde_json::from_str(&printed).expect("it is JSON");
    let shown = result["shown"]["rows"].as_array().expect("a list");
    let is_busy = |shown: &serde_json::Value| {
        shown["state"] == "microphysics" && shown["share"].as_f64() > Some(10.0)
    };
    assert!(shown.iter().any(is_busy), "{shown:?}");
}

#[test]
fn correlate() {
    let file = recording("jacobi-64");
    let known = [
        "--metric",
        "exclusive time",
        "--path",
        "Working > radiation",
    ];
    let words = [&[file.as_str(), "--topology", "4x4x4"], known.as_slice()].concat();
    let with = |more: &[&'static str]| [words.as_slice(), more].concat();
    golden("correlate.txt", "correlate", &with(&["--top", "8"]));
    let filtered = ["--same-metric", "--axes", "0,0,1", "--top", "8"];
    golden("correlate-filtered.txt", "correlate", &with(&filtered));

    // Planted: radiation and surface share a pattern along the first axis of this order, which the
    // imbalance below the cloud hides. Surface is nearly the opposite of radiation, and equals it
    // after removing the variation along the other axes.
    let printed = print(
        "correlate",
        &with(&["--same-metric", "--axes", "0,0,1", "--json"]),
    );
    let result: serde_json::Value =
        serde_json::from_str(&printed.expect("it correlates")).expect("it is JSON");
    let views = result["views"].as_array().expect("there are some");
    let of = |path: &str| {
        let found = views.iter().find(|view| view["path"] == path).expect(path);
        ["zero", "pearson"].map(|key| found[key].as_f64().expect(key))
    };
    let [surface, plain] = of("Working > surface");
    assert!(surface > 0.99 && plain < -0.7, "{surface} {plain}");
    let [microphysics, plain] = of("Working > microphysics");
    assert!(
        microphysics.abs() < 0.3 && plain > 0.9,
        "{microphysics} {plain}"
    );

    // The results become metrics of the original profile, which is read as a profile again.
    let cube = scratch("correlate.cubex").display().to_string();
    let csv = scratch("correlate.csv").display().to_string();
    let write = [words.as_slice(), &["--cube", &cube, "--csv", &csv]].concat();
    print("correlate", &write).expect("it writes");
    let rows = std::fs::read_to_string(&csv).expect("it was written");
    assert!(rows.starts_with(
        "metric,scope,call path,r,shift,max,max shift,min,min shift,unshifted,Pearson,kin,p bound\ntime,"
    ));
    let again = [
        "--metric",
        "anticorrelation of exclusive time",
        "--path",
        "Working > surface",
    ];
    let again = [&[cube.as_str(), "--topology", "4x4x4"], again.as_slice()].concat();
    print("correlate", &again).expect("the metric is there");
}

#[test]
fn bursts() {
    let file = recording("jacobi-9");
    golden("bursts.txt", "bursts", &[&file]);

    let csv = scratch("bursts.csv").display().to_string();
    let words = [&file, "--min-duration", "20us", "--json", "--csv", &csv];
    let printed = print("bursts", &words).expect("it has bursts");
    let result: serde_json::Value = serde_json::from_str(&printed).expect("it is JSON");
    assert_eq!(result["processes"], 9);
    assert_eq!(result["threads"]["rows"].as_array().map(Vec::len), Some(9));
    let extraction = &result["extraction"];
    let count = |field: &serde_json::Value| field["bursts"].as_u64().expect("a number");
    let filters = ["duration", "cut", "interrupted"];
    let filtered: u64 = filters.iter().map(|name| count(&extraction[name])).sum();
    let missing = extraction["missing"].as_array().expect("a list").iter();
    let missing: u64 = missing.map(count).sum();
    // All dropped bursts are counted.
    let kept = count(&extraction["complete"]);
    assert_eq!(kept + filtered + missing, count(&extraction["found"]));
    assert!(kept > 0);
    let rows = std::fs::read_to_string(csv).expect("it was written");
    assert!(rows.lines().count() as u64 > kept);

    for (words, says) in [
        (vec!["no-such-trace"], "no-such-trace"),
        (vec![file.as_str(), "--metrics", "sheep"], "sheep"),
    ] {
        let failure = print("bursts", &words).expect_err("it is wrong");
        let text = format!("{failure:?}");
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn detect() {
    let file = recording("nwchem-md-4");
    golden("detect.txt", "detect", &[&file]);
    // The kept records contain the path of the source, and the tests run in this folder, so that
    // its length is the same on all machines.
    let words = [
        "../../data/recordings/nwchem-md-4",
        "--method",
        "sstd",
        "--rank-by",
        "time",
        "--top",
        "2",
        "--json",
    ];
    golden("detect-sstd.json", "detect", &words);
    // Comparison with the records of another method.
    let old = scratch("detect-old.jsonl").display().to_string();
    let words = [file.as_str(), "--method", "sstd", "--provenance", &old];
    print("detect", &words).expect("it detects");
    let words = [file.as_str(), "--compare", &old, "--top", "3"];
    golden("detect-compared.txt", "detect", &words);

    // Planted: ranks 5, 6, 9 and 10 do increasing microphysics, so that they are slower than their
    // peers.
    let printed = print("detect", &[&recording("jacobi-16"), "--json"]).expect("it detects");
    let result: serde_json::Value = serde_json::from_str(&printed).expect("it is JSON");
    let slow = result["slow_ranks"]["rows"].as_array().expect("a list");
    let worst = slow.iter().take(4);
    let mut ranks: Vec<_> = worst
        .clone()
        .filter_map(|row| row["rank"].as_u64())
        .collect();
    ranks.sort_unstable();
    assert_eq!(ranks, [5, 6, 9, 10]);
    for row in worst {
        assert_eq!(row["function"], "microphysics", "{row}");
        assert!(
            row["factor"].as_f64().is_some_and(|factor| factor > 5.0),
            "{row}"
        );
    }
}

#[test]
fn cluster() {
    let file = recording("jacobi-9");
    let words = [file.as_str(), "--min-duration", "20us", "--eps", "0.04"];
    golden("cluster.txt", "cluster", &words);

    let outputs = ["cluster.csv", "cluster.svg", "cluster.png"];
    let outputs = outputs.map(|name| scratch(name).display().to_string());
    let [csv, svg, png] = &outputs;
    let more = ["--json", "--csv", csv, "--svg", svg, "--png", png];
    for mode in ["optimal", "published"] {
        let words = [words.as_slice(), &["--mode", mode], &more].concat();
        let printed = print("cluster", &words).expect("it clusters");
        let result: serde_json::Value = serde_json::from_str(&printed).expect("it is JSON");
        let clusters = result["clusters"]["rows"].as_array().expect("a list");
        let sizes = clusters
            .iter()
            .filter_map(|cluster| cluster["bursts"].as_u64());
        assert_eq!(
            sizes.sum::<u64>(),
            result["extraction"]["complete"]["bursts"]
        );
        assert!(clusters.len() >= 3 && clusters[0]["mean work"].is_number());
        assert_eq!(result["eps"], 0.04);
        let score = result["spmd_score"].as_f64();
        assert!(score.is_some_and(|score| score > 0.2 && score <= 1.0));
    }
    assert!(look(Path::new(png)).2 > 100);
    let text = std::fs::read_to_string(svg).expect("it was drawn");
    assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));

    // Only a Paraver trace can be coloured.
    let words = [words.as_slice(), &["--recolour", "out.prv"]].concat();
    let failure = print("cluster", &words).expect_err("it is an OTF2 archive");
    assert!(format!("{failure:?}").contains("Paraver"), "{failure:?}");
}

#[test]
fn track() {
    let files = ["jacobi-4", "jacobi-9", "jacobi-16"].map(recording);
    let [few, more, most] = &files;
    let words = [
        few.as_str(),
        more,
        most,
        "--min-duration",
        "20us",
        "--eps",
        "0.04",
    ];
    let with = |more: &[&'static str]| [words.as_slice(), more].concat();
    golden("track.txt", "track", &with(&["--top", "4"]));
    golden(
        "track-published.txt",
        "track",
        &with(&["--mode", "published", "--top", "4"]),
    );

    // Planted: all three phases share one grid of cells, so that the work of a burst is inversely
    // proportional to the number of ranks.
    let outputs =
        ["track.svg", "track.png", "track.csv"].map(|name| scratch(name).display().to_string());
    let [svg, png, csv] = &outputs;
    let all = [
        words.as_slice(),
        &["--json", "--svg", svg, "--png", png, "--csv", csv],
    ]
    .concat();
    let printed = print("track", &all).expect("it tracks");
    let result: serde_json::Value = serde_json::from_str(&printed).expect("it is JSON");
    let objects = result["regions"].as_array().expect("there are some");
    for object in &objects[..3] {
        assert_eq!(object["members"].as_array().map(Vec::len), Some(3));
        let mut laws = result["scaling_models"]["rows"]
            .as_array()
            .expect("a list")
            .iter();
        let law = laws.find(|law| law["tracked region"] == object["id"] && law["metric"] == "work");
        let exponent = law.expect("a law")["exponent"].as_f64();
        let exponent = exponent.expect("a number");
        assert!((exponent + 1.0).abs() < 0.1, "{exponent}");
        assert!(object["confidence"].as_f64().is_some_and(|c| c > 0.5));
    }
    for experiment in result["experiments"].as_array().expect("three") {
        let balance = &experiment["balance"];
        let time = |name: &str| balance[name]["time"].as_u64().expect("a time");
        let (tracked, untracked) = (time("tracked"), time("untracked"));
        assert!(untracked * 50 < tracked, "{balance}");
        // Every nanosecond belongs to exactly one class.
        let parts = balance.as_object().expect("classes").keys();
        let sum: u64 = parts.map(|name| time(name)).sum();
        assert_eq!(sum, 2 * time("total"));
        assert!(time("missing") > 0 && time("duration") > 0);
    }
    assert!(look(Path::new(png)).2 > 1_000);
    let text = std::fs::read_to_string(svg).expect("it was drawn");
    assert!(text.contains("<animate ") && text.ends_with("</svg>\n"));
    let rows = std::fs::read_to_string(csv).expect("it was written");
    assert!(rows.starts_with("tracked region,experiment,tasks,clusters,metric,unit,"));

    // Windows of one recording are experiments, too.
    let cut = [
        few.as_str(),
        "--min-duration",
        "20us",
        "--eps",
        "0.04",
        "--windows",
        "3",
        "--json",
    ];
    let printed = print("track", &cut).expect("it tracks");
    let result: serde_json::Value = serde_json::from_str(&printed).expect("it is JSON");
    assert_eq!(result["experiments"].as_array().map(Vec::len), Some(3));
}

#[test]
fn wrong_arguments_are_usage_and_wrong_files_are_input() {
    let file = recording("jacobi-4");
    // A grid of 4 ranks is refused before its options are checked.
    let grid = recording("jacobi-16");
    let usage: [(&str, &[&str]); 24] = [
        ("utilisation", &[]),
        ("utilisation", &[&file, "--work", "kernels=*"]),
        ("utilisation", &[&file, "--gaps", "few"]),
        ("track", &[]),
        ("track", &[&file, "--eps", "wide"]),
        ("track", &[&file, "--eps", "-1"]),
        ("track", &[&file, "--metrics", "heat"]),
        ("track", &[&file, "--windows", "0"]),
        ("correlate", &[&file, "--surrogates", "9"]),
        ("correlate", &[&grid, "--path", "0", "--topology", "2xy"]),
        ("correlate", &[&grid, "--path", "0", "--axes", "1,2,3"]),
        ("fold", &["/nonexistent", "--op", "best"]),
        ("fold", &["/nonexistent", "--columns", "0"]),
        ("fold", &[&file, "--from", "600s"]),
        (
            "fold",
            &[&file, "--columns", "9000000", "--png", "/nonexistent/x.png"],
        ),
        ("inspect", &[]),
        ("inspect", &[&file, &file]),
        ("inspect", &[&file, "--unknown"]),
        ("fold", &[&file, "--op", "best"]),
        ("fold", &[&file, "--op", "any=nothing"]),
        ("fold", &[&file, "--by", "colour"]),
        ("fold", &[&file, "--columns", "0"]),
        ("fold", &[&file, "--from", "5s", "--to", "1s"]),
        ("fold", &[&file, "--columns", "99999999999"]),
    ];
    for (command, words) in usage {
        assert!(
            matches!(print(command, words), Err(Failure::Usage(_))),
            "{words:?}"
        );
    }
    let names: [(&str, &[&str]); 2] = [
        ("correlate", &[&grid, "--path", "nowhere"]),
        ("correlate", &[&grid, "--path", "0", "--metric", "none"]),
    ];
    for (command, words) in names {
        assert!(
            matches!(print(command, words), Err(Failure::Input(_))),
            "{words:?}"
        );
    }
    let readme = recording("README.md");
    for words in [["/nonexistent/traces.otf2"], [readme.as_str()]] {
        for command in ["inspect", "fold"] {
            assert!(
                matches!(print(command, &words), Err(Failure::Input(_))),
                "{words:?}"
            );
        }
    }
}
