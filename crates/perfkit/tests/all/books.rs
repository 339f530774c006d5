//! Tests of the documentation files: links have targets, and each recipe of the cookbook has its
//! parts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the documentation pages, relative to the root of the repository.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "examples/README.md",
    ]
    .iter()
    .map(|page| root().join(page))
    .collect();
    let docs = std::fs::read_dir(root().join("docs")).expect("the folder is there");
    let docs = docs.map(|entry| entry.expect("readable").path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|end| end == "md")));
    pages.sort();
    pages
}

/// Returns a page without its code blocks.
fn prose(page: &Path) -> String {
    let text =
        std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the link anchor of a heading, as common viewers generate it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(page: &Path) -> BTreeSet<String> {
    let prose = prose(page);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

/// Returns the targets of links, except for external ones.
fn links(prose: &str) -> Vec<String> {
    let starts = prose.match_indices("](").map(|(at, _)| &prose[at + 2..]);
    let targets = starts.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    let is_ours = |target: &&str| !target.contains("://") && !target.contains(char::is_whitespace);
    targets.filter(is_ours).map(str::to_owned).collect()
}

/// Returns `true` for a source file and the fragment of a line that it has, such as `L12`.
fn has_line(target: &Path, fragment: &str) -> bool {
    let line: Option<usize> = fragment.strip_prefix('L').and_then(|it| it.parse().ok());
    let is_source = target.extension().is_some_and(|end| end == "rs");
    let text = std::fs::read_to_string(target).unwrap_or_default();
    is_source && line.is_some_and(|line| (1..=text.lines().count()).contains(&line))
}

#[test]
fn links_have_existing_targets() {
    let mut wrong = Vec::new();
    for page in pages() {
        for link in links(&prose(&page)) {
            let (file, heading) = link.split_once('#').unwrap_or((link.as_str(), ""));
            let folder = page.parent().expect("pages lie in folders");
            let target = if file.is_empty() {
                page.clone()
            } else {
                folder.join(file)
            };
            let is_there = target.exists();
            let has_heading = heading.is_empty()
                || has_line(&target, heading)
                || (is_there && anchors(&target).contains(heading));
            if !is_there || !has_heading {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "links that lead nowhere:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn each_recipe_has_a_program_what_it_prints_and_what_to_mind() {
    let text = std::fs::read_to_string(root().join("docs/cookbook.md")).expect("readable");
    let recipes: Vec<&str> = text.split("\n## ").skip(1).collect();
    assert!(recipes.len() >= 12, "{} recipes", recipes.len());
    let index = text.split("\n## ").next().unwrap_or_default();
    for recipe in recipes {
        let name = recipe.lines().next().unwrap_or_default();
        let has = |what: &str| recipe.contains(what);
        assert!(
            has("```rust\n") && has("fn main()") && has("](../examples/"),
            "{name}: a program and the link to its file"
        );
        assert!(has("It prints:\n\n```text\n"), "{name}: what it prints");
        assert!(has("\nMind: "), "{name}: what to mind");
        assert!(
            index.contains(&format!("(#{})", anchor(name))),
            "{name}: in the list at the top"
        );
    }
}
