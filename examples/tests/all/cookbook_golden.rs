//! Tests that the cookbook shows the short examples unchanged, with their output. `cargo xtask
//! golden` rewrites both.
//!
//! The programs are not compiled again, because `cargo test` links every example of this package
//! before it runs tests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Maximum number of lines of a short example.
const MAX_LINES: usize = 80;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the names of the short examples: the programs directly in the folder `examples`.
fn names() -> BTreeSet<String> {
    let entries = std::fs::read_dir(env!("CARGO_MANIFEST_DIR")).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let programs = paths.filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let stem = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    programs.filter_map(stem).collect()
}

/// Runs an example in the folder of the workspace and returns its output.
fn run(name: &str, source: &Path) -> String {
    let test = std::env::current_exe().expect("a test has a path");
    let folder = test.ancestors().nth(2).expect("tests lie in `deps`");
    let program = folder.join("examples").join(name);
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    let time = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    // `cargo test --test all` does not build examples, so the program may be missing or stale.
    assert!(
        time(&program) >= time(source),
        "{name} is older than its source: run `cargo build -p perfkit-examples --examples`"
    );
    let output = Command::new(&program).current_dir(root()).output();
    let output = output.expect("the example runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    String::from_utf8(output.stdout).expect("examples print UTF-8")
}

/// Returns the range of the text between a fence that opens with `fence`, after `from`, and the
/// next fence.
fn block(text: &str, from: usize, fence: &str) -> Option<std::ops::Range<usize>> {
    let begin = from + text.get(from..)?.find(fence)? + fence.len();
    let end = begin + text.get(begin..)?.find("```\n")?;
    Some(begin..end)
}

#[test]
fn cookbook_shows_each_example_and_what_it_prints() {
    let page = root().join("docs/cookbook.md");
    let mut text = read(&page);
    let before = text.clone();
    for name in names() {
        let source = root().join("examples").join(&name).with_extension("rs");
        let link = format!("](../examples/{name}.rs)");
        let places: Vec<usize> = text.match_indices(&link).map(|(at, _)| at).collect();
        let [at] = places[..] else {
            panic!("{name}: the cookbook links to it {} times", places.len());
        };
        let shown = block(&text, at, "```rust\n").expect("a program follows the link");
        text.replace_range(shown, &read(&source));
        let printed = block(&text, at, "```text\n").expect("its output follows the program");
        text.replace_range(printed, &run(&name, &source));
    }
    if std::env::var_os("PERFKIT_GOLDEN").is_some_and(|mode| mode == "overwrite") {
        // Other tests read the page at the same time.
        if text != before {
            std::fs::write(&page, text).expect("the cookbook can be written");
        }
        return;
    }
    for (number, (is, shown)) in text.lines().zip(before.lines()).enumerate() {
        let line = number + 1;
        assert_eq!(
            shown, is,
            "line {line} of the cookbook; `cargo xtask golden` rewrites it"
        );
    }
    assert_eq!(
        before.len(),
        text.len(),
        "`cargo xtask golden` rewrites the cookbook"
    );
}

#[test]
fn each_example_is_short_and_begins_with_its_task() {
    for name in names() {
        let text = read(&root().join("examples").join(&name).with_extension("rs"));
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "{name}: {lines} lines");
        let first = text.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("//! ") && first.ends_with('.'),
            "{name}: {first}"
        );
    }
}
