//! Simulated ranks: the server has each of their updates once.
#![cfg(all(feature = "server", feature = "simulate"))]

use crate::common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const TOKEN: &str = "a-token-of-a-test";

/// Server in a separate process, and its database.
struct Served(Child, PathBuf);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        for end in ["", "-wal", "-shm", ".lock"] {
            let mut name = self.1.as_os_str().to_os_string();
            name.push(end);
            let _ = std::fs::remove_file(name);
        }
    }
}

fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_perfkit-live"));
    program.env("PERFKIT_LIVE_TOKEN", TOKEN);
    program
}

/// Runs a simulation; returns `true` if it succeeds, and its output.
fn simulate(url: &str, arguments: &str) -> (bool, String) {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings/nwchem-md-4");
    let mut command = program();
    command.args(["simulate", url, "--from"]).arg(recording);
    let output = command
        .args(arguments.split(' '))
        .output()
        .expect("it was built");
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

#[test]
fn each_update_is_there_once() {
    let database = Path::new(env!("CARGO_TARGET_TMPDIR")).join("perf-live-simulate.sqlite");
    let child = program()
        .arg("serve")
        .arg(&database)
        .args(["--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was built");
    let mut served = Served(child, database);
    let url = &common::listening(&mut served.0);
    // At the fastest rate, longer than a tape, over fewer connections than ranks.
    let (is_well, said) = simulate(
        url,
        "--ranks 50 --updates 25 --steps 20 --period 0 --connections 7",
    );
    assert!(is_well && said.contains("updates 1250,"), "{said}");
    assert!(said.contains("the server has each update once"), "{said}");
    // At the recorded times, by two threads, for another program.
    let (is_well, said) = simulate(
        url,
        "--ranks 9 --updates 4 --period 0.05 --threads 2 --connections 20 --program 3 --no-records",
    );
    assert!(
        is_well && said.contains("updates 36,") && said.contains("records 0\n"),
        "{said}"
    );
    // A client without the token gets an error.
    let mut command = program();
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings/nwchem-md-4");
    command.args(["simulate", url, "--from"]).arg(recording);
    let output = command
        .env("PERFKIT_LIVE_TOKEN", "another-token-of-a-test")
        .output();
    assert!(!output.expect("it was built").status.success());
}
