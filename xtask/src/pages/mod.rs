//! `cargo xtask pages`: checks every page in a real browser.
//!
//! Pages of all views are written from synthetic recordings and opened in headless Chromium at the
//! widths of a screen and of a phone. The checks simulate user input and examine the document and
//! its pixels. They also verify that no request was made and no error occurred. The report of the
//! tour, the served page of a profile and the page of the parameter server are checked as well. Screenshots are stored below
//! `target/pages`.

mod browser;
mod checks;
mod live;
mod running;
mod served;

use crate::{Outcome, cargo, execute, root};
use browser::Browser;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

/// Names of programs that may be Chromium.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Window sizes at which pages are checked: width and height in pixels.
const WIDTHS: [(u32, u32); 2] = [(1280, 900), (390, 844)];

/// Returns `true` if a browser is installed.
pub(crate) fn is_possible() -> bool {
    program().is_some()
}

fn program() -> Option<&'static str> {
    let mut programs = PROGRAMS.iter().copied();
    programs.find(|program| crate::is_installed(program))
}

/// Checks all pages, or only the pages whose names contain one of the arguments.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let folder = output();
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let out = folder
        .to_str()
        .ok_or("the target folder has a name that is no text")?;
    let example = [
        "run",
        "--quiet",
        "--release",
        "--locked",
        "--example",
        "pages",
        "--",
        out,
    ];
    let is_wanted = |name: &str| {
        arguments.is_empty() || arguments.iter().any(|part| name.contains(part.as_str()))
    };
    if checks::PAGES.iter().any(|(name, ..)| is_wanted(name)) {
        execute(&mut cargo(&example))?;
    }
    if is_wanted("tour") {
        let tour = folder.join("tour").display().to_string();
        let example = [
            "run",
            "--quiet",
            "--release",
            "--locked",
            "--example",
            "tour",
        ];
        let mut command = cargo(&example);
        command.args(["--", "--out", &tour]).stdout(Stdio::null());
        execute(command.stderr(Stdio::null()))?;
    }
    let program = program().ok_or("there is no Chromium: install the package `chromium`")?;
    let wanted: Vec<_> = checks::PAGES
        .iter()
        .filter(|(name, ..)| is_wanted(name))
        .collect();
    // One browser for each width, in parallel, because a page waits for timers most of the time.
    let (folder, wanted) = (&folder, &wanted);
    let mut failures = std::thread::scope(|scope| {
        let started = WIDTHS.map(|size| scope.spawn(move || width(program, folder, wanted, size)));
        let failed = |_| Err("a thread that opens pages ended".to_owned());
        let ended = started.map(|thread| thread.join().unwrap_or_else(failed));
        ended.into_iter().collect::<Result<Vec<_>, _>>()
    })?
    .concat();
    type Served = fn(&mut Browser, &Path) -> Outcome;
    for (name, check) in [("served", served::run as Served), ("live", live::run)] {
        if !is_wanted(name) {
            continue;
        }
        let mut browser = Browser::start(program, &folder.join("profile"))?;
        if let Err(error) = check(&mut browser, folder) {
            println!("{name:<14} {error}");
            failures.push(format!("{name}: {error}"));
        }
        browser.stop()?;
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.join("\n"))
    }
}

/// Checks pages at one width, one after the other, and returns the failures.
fn width(
    program: &str,
    folder: &Path,
    pages: &[&(&str, &str, checks::Check)],
    size: (u32, u32),
) -> Result<Vec<String>, String> {
    let mut browser = Browser::start(program, &folder.join(format!("profile-{}", size.0)))?;
    let mut failures = Vec::new();
    for (name, place, check) in pages {
        let begin = Instant::now();
        let found = one(&mut browser, folder, (name, place), size, *check);
        let took = begin.elapsed().as_secs_f64();
        match found {
            Ok(first) => println!(
                "{name:<14} {:>4} wide: first picture {first:.0} ms, {took:.1} s in all",
                size.0
            ),
            Err(error) => {
                println!("{name:<14} {:>4} wide: {error}", size.0);
                failures.push(format!("{name} at {}: {error}", size.0));
            }
        }
    }
    browser.stop()?;
    Ok(failures)
}

/// Returns the folder of pages and screenshots.
fn output() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target
        .map_or_else(|| root().join("target"), PathBuf::from)
        .join("pages")
}

/// Opens a page, takes screenshots and runs its checks. Returns the time in milliseconds until all
/// views were drawn first.
fn one(
    browser: &mut Browser,
    folder: &Path,
    (name, place): (&str, &str),
    size: (u32, u32),
    check: checks::Check,
) -> Result<f64, String> {
    let mut tab = browser.open(&folder.join(format!("{name}.html{place}")), size)?;
    let linked = if place.is_empty() { "" } else { "-linked" };
    let first = tab.number("Math.max(...[...document.querySelectorAll('section[data-ready]')].map((s) => Number(s.dataset.readyMs)))")?;
    tab.shot(&folder.join(format!("{name}{linked}-{}.png", size.0)))?;
    checks::common(&mut tab)?;
    check(&mut tab)?;
    tab.shot(&folder.join(format!("{name}{linked}-{}-used.png", size.0)))?;
    tab.close()?;
    Ok(first)
}
