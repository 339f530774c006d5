//! `detect --follow`: streams that grow, that appear later, and folders of them.

use super::{HEAD, json, rows, run, scratch, text};
use perfkit_cli::failure::Failure;
use std::io::Write;
use std::path::Path;

#[test]
fn a_stream_is_followed_while_it_grows() {
    let file = scratch("growing.tsv");
    std::fs::write(&file, format!("{HEAD}{}", rows(0..60))).expect("tests may write here");
    let path = file.clone();
    let writer = std::thread::spawn(move || {
        let to = std::fs::OpenOptions::new().append(true).open(path);
        let mut to = to.expect("it was just written");
        for calls in [60..140, 140..155, 155..250] {
            std::thread::sleep(std::time::Duration::from_millis(150));
            to.write_all(rows(calls).as_bytes())
                .expect("tests may write here");
        }
    });
    let printed = run(&[text(&file), "--follow", "--idle", "2s"]).expect("it ends");
    writer.join().expect("it writes");
    let mut lines = printed.lines();
    let first = lines.next().unwrap_or_default();
    assert!(
        first.starts_with("step 3, rank 2, thread 0: solve took 5.0")
            && first.ends_with("beyond experience: solve"),
        "{printed}"
    );
    assert!(
        printed.contains("500 events, 250 calls of 1 function on 1 rank in 5 steps"),
        "{printed}"
    );
    // A source that never appears is an error after the waiting time, and a compressed source
    // cannot grow.
    let packed = scratch("packed.tsv.gz");
    std::fs::write(&packed, [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]).expect("tests may write here");
    for file in ["/nonexistent/stream.tsv", text(&packed)] {
        assert!(
            matches!(
                run(&[file, "--follow", "--idle", "100ms"]),
                Err(Failure::Input(_))
            ),
            "{file}"
        );
    }
}

/// Two programs of one workflow have ranks with the same number.
#[test]
fn a_followed_stream_says_whose_a_rank_is() {
    let file = scratch("programs.tsv");
    let of = |program: u32| {
        let own = rows(0..250);
        let lines = own.lines().map(|line| {
            let mut columns: Vec<&str> = line.split('\t').collect();
            let program = program.to_string();
            columns[2] = &program;
            columns.join("\t") + "\n"
        });
        lines.collect::<String>()
    };
    std::fs::write(&file, format!("{HEAD}{}{}", of(4), of(7))).expect("tests may write here");
    let printed = run(&[text(&file), "--follow", "--idle", "0s"]).expect("it ends");
    for program in [4, 7] {
        let line = format!("rank 2 of program {program}, thread 0: solve took 5.0");
        assert!(printed.contains(&line), "{printed}");
    }
}

#[test]
fn files_that_are_not_there_yet_are_followed() {
    let folder = scratch("later");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("tests may write here");
    let to = folder.join("tau-metrics-miniapp-0.bp");
    let writer = std::thread::spawn(move || {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../data/streams/tau-metrics-miniapp-0.bp");
        std::fs::create_dir_all(&to).expect("tests may write here");
        for member in ["data.0", "md.0", "md.idx"] {
            std::thread::sleep(std::time::Duration::from_millis(20));
            std::fs::copy(from.join(member), to.join(member)).expect("tests may write here");
        }
    });
    let found = json(&[text(&folder), "--follow", "--idle", "2s"]);
    writer.join().expect("it writes");
    assert_eq!(found["steps"], 4);
    assert!(found["calls"].as_u64() > Some(0));
}

/// Copies a bundled, closed stream of a rank after some time.
fn copy_later(folder: &Path, rank: u32, millis: u64) {
    std::thread::sleep(std::time::Duration::from_millis(millis));
    let name = format!("tau-metrics-miniapp-{rank}.bp");
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../data/streams")
        .join(&name);
    let to = folder.join(name);
    std::fs::create_dir_all(&to).expect("tests may write here");
    for member in ["data.0", "md.0", "md.idx"] {
        std::fs::copy(from.join(member), to.join(member)).expect("tests may write here");
    }
}

#[test]
fn a_folder_is_followed_until_nothing_comes_although_writers_closed_their_files() {
    let folder = scratch("closed");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("tests may write here");
    copy_later(&folder, 0, 0);
    let to = folder.clone();
    let writer = std::thread::spawn(move || copy_later(&to, 1, 600));
    let found = json(&[text(&folder), "--follow", "--idle", "4s"]);
    writer.join().expect("it writes");
    // The second rank is late: its steps end later, but are the same steps.
    assert_eq!(found["steps"], 4, "{}", found["findings"]);
    let findings = found["findings"].as_array().expect("a list");
    let late = findings.iter().find(|one| one["rule"] == "late-step");
    assert_eq!(late.map(|one| &one["count"]), Some(&4.into()));
    let ranks = found["by_rank"]["rows"].as_array().expect("a list");
    let steps: Vec<_> = ranks
        .iter()
        .map(|rank| rank["anomalies per step count"].as_u64())
        .collect();
    assert_eq!(steps, [Some(4), Some(4)]);
}

#[test]
fn text_that_appears_later_is_followed() {
    // Two sources that appear later: a named file, and a folder with two files.
    let folder = scratch("appears");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("tests may write here");
    let (file, to) = (folder.join("stream-0.tsv"), folder.clone());
    let writer = std::thread::spawn(move || {
        for rank in [0, 1] {
            std::thread::sleep(std::time::Duration::from_millis(500));
            let own = rows(0..250).replace("\t0\t2\t0\t", &format!("\t0\t{rank}\t0\t"));
            let path = to.join(format!("stream-{rank}.tsv"));
            std::fs::write(path, format!("{HEAD}{own}")).expect("tests may write here");
        }
    });
    let both = [text(&folder), text(&file)].map(String::from);
    let [all, one] =
        both.map(|path| std::thread::spawn(move || json(&[&path, "--follow", "--idle", "4s"])));
    writer.join().expect("it writes");
    let [all, one] = [all, one].map(|found| found.join().expect("it ends"));
    assert_eq!((&all["calls"], &one["calls"]), (&500.into(), &250.into()));
    // Steps of a rank are counted once, even if its file is late.
    assert_eq!((&all["steps"], &one["steps"]), (&5.into(), &5.into()));
    for rank in all["by_rank"]["rows"].as_array().expect("a list") {
        assert_eq!(rank["anomalies per step count"], 5, "{rank}");
    }
    // One slow call for each rank.
    assert_eq!(all["anomalies"], 2);
    let missing = folder.join("never.tsv");
    let failed = run(&[text(&missing), "--follow", "--idle", "50ms"]);
    let Err(Failure::Input(words)) = failed else {
        panic!("{failed:?}")
    };
    assert!(words.contains("no stream appeared within 50"), "{words}");
}

/// A server that does not answer is named at once, with the time for which it is tried.
#[test]
#[cfg(feature = "live")]
fn a_server_that_does_not_answer_is_named_while_it_is_tried() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    // Nothing listens on a port that was free.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", free.local_addr().expect("it is bound"));
    drop(free);
    let token = scratch("absent-server.token");
    std::fs::write(&token, "sixteen-letters-or-more").expect("tests may write here");
    let stream = scratch("absent-server.tsv");
    std::fs::write(&stream, format!("{HEAD}{}", rows(0..10))).expect("tests may write here");
    let mut child = Command::new(env!("CARGO_BIN_EXE_perfkit"))
        .args(["detect", text(&stream), "--server", &url])
        .args(["--token", text(&token)])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is built");
    let begin = std::time::Instant::now();
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let line = lines.next().expect("a line").expect("it is text");
    let after = begin.elapsed();
    child.kill().expect("it runs");
    child.wait().expect("it ran");
    let expected = format!("no answer from the server at {url} yet; it is tried for 30 s");
    assert_eq!(line, expected);
    assert!(after < std::time::Duration::from_secs(10), "{after:?}");
}
