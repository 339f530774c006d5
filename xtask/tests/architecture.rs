//! The arrows between packages are those of `docs/architecture.md`, which has them as tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Functions of core types: none knows another, and none knows a file.
const ANALYSES: [&str; 5] = [
    "perf-anomaly",
    "perf-fold",
    "perf-spectral",
    "perf-track",
    "perf-wait",
];

/// What packages are counted for: others count differently what they need of the system.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The rows of the table below a heading, without the back quotes: cells by column.
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

/// Runs cargo in the workspace; what it prints.
fn cargo(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.args(arguments).output().expect("cargo is there");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("cargo prints text")
}

/// What a package depends on.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arrows {
    /// Packages of the workspace; `?` behind those that a feature brings.
    ours: BTreeSet<String>,
    /// Packages of the workspace that only tests, examples and benches of the package use.
    tests: BTreeSet<String>,
    /// Packages of others; `?` behind those that a feature brings.
    outside: BTreeSet<String>,
}

/// As the manifests have it.
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

/// As the document has it.
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

/// What stays when the table changes.
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
    // Pictures are of results, never of files.
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

/// Who embeds one analysis compiles what it needs and no more.
#[test]
fn the_document_counts_what_each_crate_compiles() {
    let rows = table("### Packages that are compiled");
    let listed: BTreeSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    let built = built();
    // Nobody depends on perf-testdata, and perf-mpi is compiled with the MPI of the system.
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

/// How many packages are compiled for one, itself counted, too.
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
    // Name and version: the rest says where it comes from.
    let package = |line: &str| {
        let words: Vec<&str> = line.split(' ').take(2).collect();
        words.join(" ")
    };
    let packages: BTreeSet<String> = text.lines().map(package).collect();
    packages.len().to_string()
}
