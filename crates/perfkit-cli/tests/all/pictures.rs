//! All subcommands with pictures write a picture with colours and a page without external files.

use perf_testdata::bundled::{devices as planted, recording as bundled};
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Writes the picture and the page, and returns the page.
fn drawn(name: &str, command: &str, words: &[&str]) -> String {
    let (png, html) = (
        scratch(&format!("drawn-{name}.png")),
        scratch(&format!("drawn-{name}.html")),
    );
    let mut args: Vec<OsString> = words.iter().map(OsString::from).collect();
    args.extend([
        "--png".into(),
        png.clone().into(),
        "--html".into(),
        html.clone().into(),
    ]);
    args.insert(0, command.into());
    let outcome = command::run(&args, &mut Vec::new());
    assert!(outcome.is_ok(), "{name}: {outcome:?}");
    let bytes = std::fs::read(&png).expect("a picture was drawn");
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("it fits")];
    let frame = reader.next_frame(&mut pixels).expect("it is whole");
    assert!(
        frame.width >= 360 && frame.height >= 120,
        "{name}: {} x {}",
        frame.width,
        frame.height
    );
    let coloured = pixels.chunks(3).filter(|pixel| {
        let ends = pixel.iter().max().zip(pixel.iter().min());
        ends.is_some_and(|(most, least)| most - least > 40)
    });
    let coloured = coloured.count();
    assert!(coloured > 800, "{name}: {coloured} pixels have a colour");
    let page = std::fs::read_to_string(&html).expect("a page was written");
    assert!(page.contains("default-src 'none'"), "{name}");
    assert!(
        !page.contains("http:") && !page.contains("https:"),
        "{name} asks for something"
    );
    page
}

fn recording(name: &str) -> String {
    bundled(name).display().to_string()
}

#[test]
fn timelines() {
    let file = recording("jacobi-16");
    let page = drawn("fold", "fold", &[&file, "--by", "all", "--op", "diff"]);
    assert!(
        page.contains("Cells in which streams differ") && page.contains("data-view=\"timeline\"")
    );
    let page = drawn("count", "fold", &[&file, "--op", "count=microphysics"]);
    assert!(page.contains("Number of streams in microphysics"));
    let devices = planted().display().to_string();
    let page = drawn("utilisation", "utilisation", &[&devices]);
    assert!(page.contains("planted-6x14") && page.contains("timeline of the devices"));
    let page = drawn("inspect", "inspect", &[&file]);
    assert!(
        page.contains("Exclusive time by call path") && page.contains("data-view=\"timeline\"")
    );
}

#[test]
fn severities() {
    let file = recording("jacobi-64");
    let words = [
        "--metric",
        "exclusive time",
        "--same-metric",
        "--path",
        "Working > radiation",
    ];
    let words = [&[file.as_str()], words.as_slice(), &["--topology", "4x4x4"]].concat();
    let page = drawn("correlate", "correlate", &words);
    assert!(page.contains("jacobi-64: correlated with exclusive time of Working &gt; radiation"));
    // The tooltip of a cube names its process.
    assert!(page.contains("P#63"));
}

#[test]
fn clusters() {
    let file = recording("jacobi-9");
    let words = [file.as_str(), "--min-duration", "20us"];
    let page = drawn(
        "bursts",
        "bursts",
        &[&words[..], &["--metrics", "work"]].concat(),
    );
    assert!(page.contains("jacobi-9: bursts of each thread"));
    let page = drawn(
        "cluster",
        "cluster",
        &[&words[..], &["--eps", "0.04"]].concat(),
    );
    assert!(page.contains("clusters of bursts"));
    let more = recording("jacobi-16");
    let words = [
        words[0],
        more.as_str(),
        "--min-duration",
        "20us",
        "--eps",
        "0.04",
    ];
    let page = drawn("track", "track", &words);
    assert!(
        page.contains("from jacobi-9 to jacobi-16") && page.contains("Evidence for each match")
    );
}

#[test]
fn anomalies() {
    let page = drawn("detect", "detect", &[&recording("nwchem-md-4")]);
    assert!(
        page.contains("nwchem-md-4: abnormal calls")
            && page.contains("11 abnormal calls of 29 912")
    );
}

#[test]
fn what_is_read_is_not_written_over() {
    let file = recording("jacobi-4/eztrace_log.otf2");
    for command in ["inspect", "detect"] {
        let args = [command, &file, "--png", &file].map(OsString::from);
        let outcome = command::run(&args, &mut Vec::new());
        assert!(matches!(outcome, Err(Failure::Usage(_))), "{outcome:?}");
    }
}
