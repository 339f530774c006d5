//! Checks of the served page of a profile: its lists are those of the command for another reference, other weights of
//! the axes, and a sum of views.

use super::browser::{Browser, Tab};
use super::checks::{self, CUBES};
use super::running::Running;
use super::{WIDTHS, root};
use crate::ci::program;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Checks the page at all widths.
pub(super) fn run(browser: &mut Browser, folder: &Path) -> Result<(), String> {
    let perfkit = program("perfkit")?;
    let profile = folder.join("served.cubex");
    let recording = root().join("data/recordings/jacobi-64");
    let mut command = Command::new(&perfkit);
    command.arg("correlate").arg(recording);
    command.args(["--topology", "4x4x4", "--quiet", "--write-topology"]);
    output(command.arg(&profile))?;
    let mut command = Command::new(&perfkit);
    let (_server, url) =
        Running::saying(command.args(["serve", "--quiet", "--keep"]).arg(&profile))?;
    for size in WIDTHS {
        let begin = Instant::now();
        let mut tab = browser.open_served(&url, "", size)?;
        tab.wait(&format!("{CUBES}.dataset.cubes === '64,64'"))?;
        checks::common(&mut tab)?;
        another_reference(&mut tab, &perfkit, &profile)?;
        sum(&mut tab)?;
        checks::common(&mut tab)?;
        tab.shot(&folder.join(format!("served-{}.png", size.0)))?;
        tab.close()?;
        let took = begin.elapsed().as_secs_f64();
        println!("{:<14} {:>4} wide: {took:.1} s", "served", size.0);
    }
    Ok(())
}

/// Returns what a command prints.
fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let done = command.output().map_err(|error| error.to_string())?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    Err(String::from_utf8_lossy(&done.stderr).into_owned())
}

/// Selects another reference and other weights, and compares the list with that of the command.
fn another_reference(tab: &mut Tab<'_>, perfkit: &Path, profile: &Path) -> Result<(), String> {
    tab.expect("(() => { const s = document.querySelector('.reference'), o = [...s.options].filter((o) => o.title.endsWith(', exclusive time'));
        s.value = o[1].value; s.dispatchEvent(new Event('change')); return true; })()")?;
    let slide = "(() => { const s = document.querySelectorAll('.filter input[type=range]')[1]; s.value = 0.35; s.dispatchEvent(new Event('input')); return true; })()";
    tab.expect(slide)?;
    tab.wait(&format!("{CUBES}.dataset.settled.endsWith(',1,0.35,1,12')"))?;
    let title = tab.text("document.querySelector('.left figcaption').title")?;
    let (path, metric) = title.rsplit_once(", ").ok_or(format!("{title}: no view"))?;
    let mut command = Command::new(perfkit);
    command.arg("correlate").arg(profile);
    command.args(["--path", path, "--metric", metric, "--axes", "1,0.35,1"]);
    let printed = output(command.args(["--top", "12", "--json", "--quiet"]))?;
    let list: Value = serde_json::from_slice(&printed).map_err(|error| error.to_string())?;
    let views = list["views"].as_array().ok_or("no views")?;
    let entry = |view: &Value| ["path", "metric", "r", "p_bound"].map(|key| view[key].clone());
    let expected: Vec<_> = views.iter().map(entry).collect();
    let expected = serde_json::to_string(&expected).map_err(|error| error.to_string())?;
    tab.expect(&format!(
        "(() => {{ const want = {expected}.filter(([,, r]) => r), found = JSON.parse({CUBES}.dataset.computed);
        return want.length > 5 && found.length === want.length && want.every(([path, metric, r], at) => found[at][0].startsWith(path + ', ' + metric) && Math.abs(found[at][1] - r) < 1e-12)
            && want.every(([,,, p], at) => Math.abs(document.querySelectorAll('.found tbody tr')[at].lastChild.dataset.p - p) <= 1e-9 * p); }})()"
    ))?;
    // The filtered field is drawn, and the spectrum is that of the reference.
    tab.expect("(() => { document.querySelector('.filtered').click(); return document.querySelector('.left figcaption').title.startsWith('filtered: '); })()")?;
    tab.expect("(() => { document.querySelector('.filtered').click(); return !document.querySelector('.spectrum').hidden; })()")
}

/// Selects the inclusive values of a call path in the trees: the server adds them.
fn sum(tab: &mut Tab<'_>) -> Result<(), String> {
    let item = |tree: &str, name: &str| {
        format!(
            "[...document.querySelectorAll('.profile .{tree} [role=treeitem]')].find((e) => e.lastChild.textContent === '{name}')"
        )
    };
    tab.expect(&format!(
        "(() => {{ {}.click(); return true; }})()",
        item("metrics", "visits")
    ))?;
    tab.wait("JSON.parse(document.querySelector('.profile').dataset.selected)[0] === 'visits'")?;
    let root = "document.querySelector('.profile .calls [role=treeitem]')";
    tab.expect(&format!("(() => {{ if ({root}.ariaExpanded === 'true') {root}.firstChild.click(); return true; }})()"))?;
    tab.wait(&format!("{root}.ariaExpanded === 'false'"))?;
    tab.expect(&format!("(() => {{ {root}.click(); return true; }})()"))?;
    tab.wait("document.querySelector('.left figcaption').title.endsWith(', visits (inclusive)')")?;
    tab.expect(&format!(
        "Number({CUBES}.dataset.found) > 0 && {CUBES}.dataset.cubes === '64,64'"
    ))
}
