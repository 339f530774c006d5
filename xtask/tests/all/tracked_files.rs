//! Tests of the files in version control: no path of one machine, nothing at the top that does not belong there, no
//! source file and no folder of sources that is too long.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files and folders at the top of the repository.
const TOP: [&str; 19] = [
    ".cargo",
    ".ci",
    ".github",
    ".gitignore",
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "benches",
    "clippy.toml",
    "crates",
    "data",
    "deny.toml",
    "docs",
];

/// Further folders at the top, which hold programs.
const PROGRAMS: [&str; 3] = ["examples", "fuzz", "xtask"];

/// Maximum number of lines of a source file.
const MAX_LINES: usize = 600;

/// Maximum number of source files of a folder. A folder of examples lists programs, not modules.
const MAX_FILES: usize = 13;

/// Folders in which systems keep the files of their users.
const HOMES: [&str; 3] = ["/home/", "/Users/", "/root/"];

fn root() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::canonicalize(folder).expect("the workspace is there")
}

/// Returns the tracked files relative to the root. `None` without a repository, as in an unpacked archive.
fn tracked() -> Option<Vec<String>> {
    let mut git = Command::new("git");
    let output = git.args(["ls-files", "-z"]).current_dir(root()).output();
    let output = output.ok().filter(|output| output.status.success());
    assert!(output.is_some() || std::env::var_os("CI").is_none());
    let text = String::from_utf8(output?.stdout).expect("names are UTF-8");
    let files = text.split_terminator('\0').map(String::from);
    // A file that is being removed is still tracked.
    Some(files.filter(|file| root().join(file).is_file()).collect())
}

fn bytes(file: &str) -> Vec<u8> {
    std::fs::read(root().join(file)).expect("it can be read")
}

/// Returns `true` if a path below one of [`HOMES`] or of this machine is part of the text.
fn has_path_of_a_machine(text: &str, machine: &[String]) -> bool {
    let names_user = |home: &&str| {
        let after = text.split(*home).skip(1);
        let mut next = after.map(|rest| rest.chars().next());
        next.any(|next| next.is_some_and(char::is_alphanumeric))
    };
    machine.iter().any(|path| text.contains(path)) || HOMES.iter().any(names_user)
}

#[test]
fn no_file_has_a_path_of_a_machine() {
    let Some(files) = tracked() else { return };
    // Short paths, such as `/`, are part of other words.
    let folders = [
        root().to_str().map(String::from),
        std::env::var("HOME").ok(),
    ];
    let machine = folders.into_iter().flatten().filter(|path| path.len() > 5);
    let machine: Vec<String> = machine.collect();
    // This file has the names of such folders.
    let others = files.iter().filter(|file| !file.ends_with(file!()));
    let has_path =
        |file: &&String| has_path_of_a_machine(&String::from_utf8_lossy(&bytes(file)), &machine);
    let found: Vec<_> = others.filter(has_path).collect();
    assert!(found.is_empty(), "{found:?}");
    assert!(has_path_of_a_machine("written to /home/me/a.html", &[]));
    assert!(!has_path_of_a_machine("GET /home/ and a/root", &[]));
}

#[test]
fn nothing_else_is_at_the_top() {
    let Some(files) = tracked() else { return };
    let top = files.iter().filter_map(|file| file.split('/').next());
    let is_known = |name: &&str| TOP.contains(name) || PROGRAMS.contains(name);
    let found: Vec<_> = top.filter(|name| !is_known(name)).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn source_files_and_folders_are_short() {
    let Some(files) = tracked() else { return };
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| file.ends_with(".rs")) {
        let lines = bytes(file).iter().filter(|byte| **byte == b'\n').count();
        assert!(lines <= MAX_LINES, "{file}: {lines} lines");
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        *folders.entry(folder).or_default() += 1;
    }
    folders.remove("examples");
    folders.retain(|_, files| *files > MAX_FILES);
    assert!(folders.is_empty(), "{folders:?}");
}
