//! Tests that the dependencies between packages are those of the tables in `docs/architecture.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Analyses depend on core types only: not on each other, and not on file formats.
const ANALYSES: [&str; 5] = [
    "perf-anomaly",
    "perf-fold",
    "perf-spectral",
    "perf-track",
    "perf-wait",
];

/// Platform for which packages are counted, because the system-specific dependencies differ.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Returns the rows of the table below a heading as cells, without back quotes.
fn table(heading: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/architecture.md");
    let text = std::fs::read_to_string(path).expect("the document is there");
    let below = text.split_once(&format!("\n{heading}\n"));
    let (_, below) = below.unwrap_or_else(|| panic!("no heading `{heading}`"));
    let lines = below.lines().skip_while(|line| !line.starts_with('|'));
    let rows = lines.take_while(|line| line.starts_with('|')).skip(2);
    let cell = |text: &str| text.trim().replace('`', "");
    rows.map(|row| row.trim_matches('|').split('|').map(cell).collect())
        .collect()
}

/// Runs cargo in the workspace and returns its output.
fn cargo(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.args(arguments).output().expect("cargo is there");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("cargo prints text")
}

/// Dependencies of a package.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arrows {
    /// Packages of the workspace, followed by `?` if a feature enables them.
    ours: BTreeSet<String>,
    /// Packages of the workspace that only its tests, examples and benches use.
    tests: BTreeSet<String>,
    /// External packages, followed by `?` if a feature enables them.
    outside: BTreeSet<String>,
}

/// Returns the dependencies in the manifests.
fn built() -> BTreeMap<String, Arrows> {
    let metadata = ["metadata", "--format-version=1", "--no-deps", "--offline"];
    let metadata: Value = serde_json::from_str(&cargo(&metadata)).expect("it is JSON");
    let packages = metadata["packages"].as_array().expect("it lists packages");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let names: BTreeSet<String> = packages.iter().map(|it| text(&it["name"])).collect();
    let arrows = |package: &Value| {
        let mut arrows = Arrows::default();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let name = text(&dependency["name"]);
            let is_ours = names.contains(&name);
            let of_feature = if dependency["optional"] == true {
                "?"
            } else {
                ""
            };
            let named = format!("{name}{of_feature}");
            let is_new = match (dependency["kind"].as_str(), is_ours) {
                (Some("dev"), true) => arrows.tests.insert(named),
                (Some("dev"), false) => true,
                (_, true) => arrows.ours.insert(named),
                (_, false) => arrows.outside.insert(named),
            };
            assert!(is_new, "{} names {name} twice", package["name"]);
        }
        (text(&package["name"]), arrows)
    };
    packages.iter().map(arrows).collect()
}

/// Returns the dependencies in the document.
fn written() -> BTreeMap<String, Arrows> {
    let set = |cell: &String| -> BTreeSet<String> {
        let names = cell.split(", ").filter(|name| !name.is_empty());
        names.map(String::from).collect()
    };
    let arrows = |row: Vec<String>| {
        let [name, ours, tests, outside] = &row[..] else {
            panic!("a row has not four cells: {row:?}");
        };
        let [ours, tests, outside] = [set(ours), set(tests), set(outside)];
        let arrows = Arrows {
            ours,
            tests,
            outside,
        };
        (name.clone(), arrows)
    };
    table("## Arrows").into_iter().map(arrows).collect()
}

#[test]
fn the_document_has_the_arrows_of_the_manifests() {
    let (built, written) = (built(), written());
    for (name, arrows) in &built {
        assert_eq!(
            written.get(name),
            Some(arrows),
            "{name}: document, manifest"
        );
    }
    let gone: Vec<_> = written
        .keys()
        .filter(|it| !built.contains_key(*it))
        .collect();
    assert!(
        gone.is_empty(),
        "the document has {gone:?}, the workspace not"
    );
}

/// Tests the rules that hold even if the tables change.
#[test]
fn arrows_point_down() {
    let built = built();
    let ours = |name: &str| -> Vec<&str> {
        let names = built[name].ours.iter();
        names.map(|name| name.trim_end_matches('?')).collect()
    };
    assert!(ours("perf-core").is_empty());
    for name in ["perf-topology", "perf-formats", "perf-testdata"] {
        assert_eq!(ours(name), ["perf-core"], "{name}");
    }
    for name in ANALYSES {
        let rest: Vec<_> = ours(name);
        let allowed = |name: &&str| ["perf-core", "perf-topology"].contains(name);
        assert!(rest.iter().all(allowed), "{name}: {rest:?}");
    }
    // perf-view draws results and must not read files.
    assert!(!ours("perf-view").contains(&"perf-formats"));
    for (name, arrows) in built.iter().filter(|(name, _)| is_library(name)) {
        let own = ours(name);
        assert!(!own.contains(&"perf-testdata"), "{name}");
        assert!(!own.contains(&"perf-live"), "{name}");
        assert!(!own.contains(&"perf-mpi"), "{name}");
        assert!(!own.contains(&"perfkit"), "{name}");
        assert!(!arrows.tests.contains("perfkit"), "{name}");
    }
}

fn is_library(name: &str) -> bool {
    name.starts_with("perf-") || name == "perfkit"
}

/// Tests the number of packages that a user of one analysis compiles.
#[test]
fn the_document_counts_what_each_crate_compiles() {
    let rows = table("### Packages that are compiled");
    let listed: BTreeSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    let built = built();
    // No published crate depends on perf-testdata, and perf-mpi is compiled with the MPI library of
    // the system.
    let others = ["perf-testdata", "perf-mpi"];
    let libraries = built.keys().map(String::as_str).filter(|it| is_library(it));
    let libraries: BTreeSet<&str> = libraries.filter(|it| !others.contains(it)).collect();
    assert_eq!(listed, libraries);
    for row in &rows {
        let found = [
            row[0].clone(),
            count(&row[0], &[]),
            count(&row[0], &["--no-default-features"]),
        ];
        assert_eq!(row[..], found, "document, cargo tree");
    }
}

/// Returns the number of packages that are compiled for one package, including itself.
fn count(package: &str, options: &[&str]) -> String {
    let tree = [
        "tree",
        "--locked",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
    ];
    let which = [
        "--target",
        TARGET,
        "--format",
        "{p}",
        "--no-dedupe",
        "--package",
        package,
    ];
    let text = cargo(&[&tree[..], &which, options].concat());
    // Name and version; the rest of the line is the source.
    let package = |line: &str| {
        let words: Vec<&str> = line.split(' ').take(2).collect();
        words.join(" ")
    };
    let packages: BTreeSet<String> = text.lines().map(package).collect();
    packages.len().to_string()
}
