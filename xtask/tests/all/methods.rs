//! Tests that the functions and modules of tests that `docs/methods.md` names as evidence exist.

use std::collections::BTreeSet;
use std::path::Path;

/// Adds the names of all files, folders and functions below a folder of Rust sources.
fn add_names(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().unwrap_or_default();
        names.insert(stem.to_string_lossy().into_owned());
        if path.is_dir() {
            add_names(&path, names);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            let functions = text.split("fn ").skip(1);
            let name = |text: &str| {
                text.split(|it| it != '_' && !char::is_alphanumeric(it))
                    .next()
                    .map(String::from)
            };
            names.extend(functions.filter_map(name));
        }
    }
}

#[test]
fn tests_that_the_methods_name_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut names = BTreeSet::new();
    for folder in ["crates", "examples", "xtask"] {
        add_names(&root.join(folder), &mut names);
    }
    let text = std::fs::read_to_string(root.join("docs/methods.md")).expect("the document");
    let mut missing = Vec::new();
    let mut count = 0;
    for row in text.lines().filter(|line| line.starts_with("| ")) {
        let evidence = row
            .trim_end_matches('|')
            .rsplit('|')
            .next()
            .unwrap_or_default();
        for test in evidence
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|it| it.contains("::"))
        {
            count += 1;
            // `module::*` names all tests of a module.
            let last = test.trim_end_matches("::*").rsplit(['/', ':']).next();
            let last = last.unwrap_or_default();
            if !names.contains(last) {
                missing.push(test);
            }
        }
    }
    assert!(count > 100, "{count} names in the last columns");
    assert!(missing.is_empty(), "docs/methods.md names {missing:?}");
}
