//! Results of `correlate` in files: profiles with correlations as metrics.

use super::{complaint, json, multi, run, scratch};
use perf_testdata::bundled::recording as bundled;
use perf_testdata::corpus::corpus;
use perfkit::core::Job;
use std::path::Path;

#[test]
fn what_readers_found_is_in_the_object() {
    let folder = multi("findings", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    std::fs::remove_file(folder.join("MULTI__TIME/profile.3.0.0")).expect("it was written");
    let list = json(&folder, &["--path", "work", "--topology", "2x2"]);
    let found = list["findings"].as_array().expect("a list");
    let missing = found.iter().find(|found| found["rule"] == "missing-file");
    assert_eq!(missing.expect("a file is missing")["count"], 1);
}

/// Viewers do not add correlations: over the call tree and over locations they aggregate to
/// extremes.
#[test]
fn correlations_go_back_as_extremes() {
    use perfkit::core::{CallPathId, Combine, Profile, Scope};
    let file = bundled("jacobi-16");
    let cube = scratch("extremes.cubex");
    let words = ["--path", "1", "--top", "9999"];
    let list = json(
        &file,
        &[&words[..], &["--cube", &cube.display().to_string()]].concat(),
    );
    let back = perfkit_cli::recording::profile(&cube).expect("it is a profile");
    let profile: Profile = back.profile;
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let views = list["views"].as_array().expect("a list");
    assert!(views.len() > 10);
    for view in views {
        let text = |key: &str| view[key].as_str().expect("a name").to_string();
        let find = |word: &str| profile.metric(&format!("{word} of {}", text("metric")));
        let paths = 0..profile.calls().paths().len() as u32;
        let mut paths = paths.map(CallPathId);
        let is_it =
            |path: &CallPathId| profile.calls().name(*path, profile.regions()) == text("path");
        let path = paths.find(is_it).expect("the call path is there");
        for (word, key, combine) in [
            ("correlation", "max", Combine::Maximum),
            ("anticorrelation", "min", Combine::Minimum),
        ] {
            let metric = find(word).expect("it was added");
            let about = &profile.metrics()[metric.index()];
            assert_eq!((about.combine, about.scope), (combine, Scope::Exclusive));
            let row = profile
                .row(metric, path)
                .expect("it is read")
                .expect("a row");
            let row = row.to_f64();
            assert_eq!(row, vec![row[0]; profile.system().locations().len()]);
            // Numbers read from text may differ in the last digit.
            assert!((row[0] - number(&view[key])).abs() < 1e-15, "{view}");
            // The whole machine has the value of each location.
            let total = profile.total(metric, path).expect("it is read").as_f64();
            assert_eq!(total, row[0]);
            // A collapsed call path has an extreme value in `-1.0..=1.0`.
            let below = profile
                .scoped(metric, path, Scope::Inclusive)
                .expect("it is read");
            let below = below.expect("a row").to_f64()[0];
            match combine {
                Combine::Maximum => assert!((row[0]..=1.0).contains(&below)),
                _ => assert!((-1.0..=row[0]).contains(&below)),
            }
        }
        let [max, min] = ["max", "min"].map(|key| number(&view[key]));
        let r = if max.abs() >= min.abs() { max } else { min };
        assert!((number(&view["r"]).abs() - r.abs()).abs() < 1e-9, "{view}");
    }
    // A second run on the results: names stay unique, and its results are also equal at all
    // locations.
    let again = scratch("extremes-again.cubex");
    let words = [
        "--path",
        "1",
        "--same-metric",
        "--cube",
        &again.display().to_string(),
    ];
    run(&cube, &words).expect("it writes");
    let back = perfkit_cli::recording::profile(&again).expect("it is a profile");
    let count = |name: &str| {
        let metrics = back.profile.metrics().iter();
        metrics.filter(|about| about.metric.name == name).count()
    };
    assert_eq!(
        (
            count("correlation of time"),
            count("correlation of time (2)")
        ),
        (1, 1)
    );
}

/// Results are added to the archive of the profile, and its other content stays.
#[test]
fn archives_keep_what_they_hold() {
    use perfkit::formats::{OpenOptions, cube::Cube};
    let Some(file) = corpus("cube/metacg/inputimbalance-001.cubex") else {
        return;
    };
    let to = scratch("kept.cubex");
    let words = ["--path", "1", "--cube", &to.display().to_string()];
    run(&file, &words).expect("it writes");
    let open =
        |path: &Path| Cube::open(path, &OpenOptions::new(), &Job::default()).expect("an archive");
    let (before, after) = (open(&file), open(&to));
    let spec = |cube: &Cube| {
        cube.member("remapping.spec")
            .expect("it is read")
            .expect("it is there")
    };
    assert_eq!(spec(&before), spec(&after));
    assert_eq!(before.profile().properties(), after.profile().properties());
}

#[test]
fn results_are_whole_or_not_there() {
    let folder = multi("outputs", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    let to = scratch("outputs-there");
    let _ = std::fs::remove_dir_all(&to);
    std::fs::create_dir_all(&to).expect("tests may write here");
    let [csv, cube] = ["a.csv", "a.cubex"].map(|name| to.join(name).display().to_string());
    let words = ["--path", "work", "--topology", "2x2"];
    let more = ["--csv", &csv, "--cube", &cube];
    run(&folder, &[&words[..], &more].concat()).expect("it writes");
    let count = || std::fs::read_dir(&to).expect("it is there").count();
    assert_eq!(count(), 2);
    let said = complaint(
        &folder,
        &[&words[..], &["--csv", &to.display().to_string()]].concat(),
    );
    assert!(said.contains("outputs-there"), "{said}");
    let nowhere = to.join("none/a.csv").display().to_string();
    let said = complaint(&folder, &[&words[..], &["--csv", &nowhere]].concat());
    assert!(said.contains("none/a.csv"), "{said}");
    assert_eq!(count(), 2);
    let said = complaint(Path::new(&cube), &["--path", "work", "--cube", &cube]);
    assert!(said.contains("is both input and output"), "{said}");
}
