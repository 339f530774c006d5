//! Output files: refused before anything is written if two are one file, or one is an input; `--quiet` prints errors
//! alone.

use perf_testdata::bundled::recording as bundled;
use perfkit_cli::command::output;
use perfkit_cli::failure::Failure;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns an empty folder that no other test uses.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // The folder may be left from an earlier run.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("it can be created");
    folder
}

fn refused(words: &[&str]) -> String {
    match output(words) {
        Err(Failure::Usage(text)) => text,
        other => panic!("{words:?}: {other:?}"),
    }
}

#[test]
fn two_outputs_of_any_command_are_two_files() {
    let folder = scratch("two-outputs");
    let file = bundled("jacobi-4").display().to_string();
    let path = |name: &str| folder.join(name).display().to_string();
    let (plain, winding) = (path("x"), path("../two-outputs/x"));
    for (command, first, second) in [
        ("fold", "--html", "--png"),
        ("fold", "--svg", "--csv"),
        ("fold", "--csv", "--chrome"),
        ("wait", "--html", "--csv"),
        ("wait", "--cube", "--png"),
        ("inspect", "--html", "--csv"),
        ("report", "--html", "--csv"),
        ("utilisation", "--svg", "--png"),
        ("cluster", "--csv", "--html"),
        ("correlate", "--csv", "--html"),
        ("bursts", "--csv", "--png"),
        ("track", "--csv", "--svg"),
        ("detect", "--csv", "--png"),
    ] {
        let mut both = [first, second];
        let text = refused(&[command, &file, first, &plain, second, &winding]);
        // The options are named in the order of the help.
        both.sort_by_key(|option| text.find(option));
        let start = format!("{} and {} both write ", both[0], both[1]);
        assert!(text.starts_with(&start), "{command}: {text}");
        assert!(text.ends_with("give each a file of its own"), "{text}");
        assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 0);
    }
    // A link is the file that it refers to.
    std::fs::write(&plain, "kept").expect("it is written");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&plain, path("link")).expect("it is linked");
        let words = ["fold", &file, "--csv", &plain, "--chrome", &path("link")];
        assert!(refused(&words).contains("both write"));
        // Devices take several outputs.
        let words = [
            "fold",
            &file,
            "--quiet",
            "--csv",
            "/dev/null",
            "--chrome",
            "/dev/null",
        ];
        output(words).expect("nothing is lost");
    }
    assert_eq!(std::fs::read(&plain).expect("it is there"), b"kept");
}

#[test]
fn no_output_replaces_the_input() {
    let folder = scratch("no-replaced-input");
    let copy = folder.join("trace.json");
    let text = r#"[{"ph":"X","name":"f","pid":0,"tid":0,"ts":1,"dur":2}]"#;
    std::fs::write(&copy, text).expect("it is written");
    let copy = copy.display().to_string();
    for (command, option) in [
        ("fold", "--csv"),
        ("fold", "--chrome"),
        ("inspect", "--csv"),
        ("utilisation", "--csv"),
        ("correlate", "--csv"),
        ("cluster", "--csv"),
        ("wait", "--csv"),
        ("report", "--csv"),
    ] {
        let said = refused(&[command, &copy, option, &copy]);
        assert!(
            said.contains("is both input and output"),
            "{command}: {said}"
        );
        assert_eq!(std::fs::read_to_string(&copy).expect("it is there"), text);
    }
}

#[test]
fn quiet_errors_come_without_warnings() {
    let folder = scratch("quiet-errors");
    let damaged = folder.join("trace.json");
    // A call without an end, which is repaired.
    let text = r#"[{"ph":"X","name":"f","pid":0,"tid":0,"ts":1,"dur":2},{"ph":"E","name":"g","pid":0,"tid":0,"ts":9},
        {"ph":"X","name":"f","pid":0,"tid":0,"ts":"x","dur":2}]"#;
    std::fs::write(&damaged, text).expect("it is written");
    let damaged = damaged.display().to_string();
    let said = |words: &[&str]| {
        let command = Command::new(env!("CARGO_BIN_EXE_perfkit"))
            .args(["fold", &damaged, "--from", "99s"])
            .args(words)
            .output()
            .expect("the program is built");
        assert_eq!(command.status.code(), Some(2));
        String::from_utf8(command.stderr).expect("it is UTF-8")
    };
    let (loud, quiet) = (said(&[]), said(&["--quiet"]));
    assert!(loud.contains("warning: "), "{loud}");
    assert!(!quiet.contains("warning: "), "{quiet}");
    assert!(quiet.contains("nothing lies in that window"), "{quiet}");
}

#[test]
fn options_without_effect_are_named() {
    let file = bundled("jacobi-4").display().to_string();
    let said = |words: &[&str]| {
        let command = Command::new(env!("CARGO_BIN_EXE_perfkit"))
            .args(["fold", &file])
            .args(words)
            .output()
            .expect("the program is built");
        assert!(command.status.success());
        String::from_utf8(command.stderr).expect("it is UTF-8")
    };
    let deep = said(&["--depth", "99"]);
    assert!(
        deep.contains("note: --depth 99: the deepest call stack has "),
        "{deep}"
    );
    let group = said(&["--group", "X=MPI_Alreduce"]);
    assert!(
        group.contains("note: --group X=MPI_Alreduce: no function"),
        "{group}"
    );
    assert!(group.contains("did you mean `MPI_Allreduce`"), "{group}");
    let taken = said(&["--group", "A=MPI_*", "--group", "B=MPI_Send"]);
    assert!(
        taken.contains("--group B=MPI_Send") && !taken.contains("--group A"),
        "{taken}"
    );
    let fine = said(&["--depth", "0", "--group", "MPI=MPI_*"]);
    assert!(
        !fine.contains("--depth") && !fine.contains("--group"),
        "{fine}"
    );
    assert!(!said(&["--depth", "99", "--quiet"]).contains("note"));
}
