//! Writes a page and a picture of every view into a folder, from synthetic recordings. `cargo xtask
//! pages` opens these pages in a browser.
//!
//! `cargo run --release -p perf-view --example pages -- OUT`

mod anomalies;
mod clusters;
mod grids;
mod timelines;

use perf_core::Job;
use perf_core::samples::cosmo;
use perf_fold::{GroupBy, Groups, RegionMap, Timelines};
use perf_topology::Shape;
use perf_view::timeline::View;
use perf_view::{Page, Section};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let mut arguments = std::env::args_os().skip(1);
    let out = arguments.next().ok_or("usage: pages OUT")?;
    let out = Path::new(&out);
    std::fs::create_dir_all(out)?;
    timelines::folded(out)?;
    timelines::hostile(out)?;
    timelines::many(out)?;
    timelines::sampled(out)?;
    grids::correlated(out)?;
    grids::large(out)?;
    grids::explored(out)?;
    clusters::tracked(out)?;
    anomalies::abnormal(out)?;
    report(out)
}

fn save(out: &Path, name: &str, begin: Instant, bytes: &[u8]) -> Outcome {
    std::fs::write(out.join(name), bytes)?;
    println!(
        "{name:<24} {:>9} bytes {:>8.0?}",
        bytes.len(),
        begin.elapsed()
    );
    Ok(())
}

/// Names that would break a page without escaping.
const HOSTILE: [&str; 6] = [
    "</script><script>document.title='broken'</script>",
    "std::map<int, \"a&b\">::operator[]('x')",
    "<img src=x onerror=alert(1)>",
    "--><!-- ]]> ${1} {{2}} \\u003c",
    "\u{202e}right to left\u{2028}line\u{0}nul",
    "MPI_日本語_🦀",
];

/// Returns a pseudo-random number between -0.5 and 0.5.
fn noise(cell: usize, seed: usize) -> f64 {
    let mixed =
        (cell + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed ^ mixed >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) >> 40) as f64 / (1 << 24) as f64
        - 0.5
}

/// Writes a page with several views: an overview, then details.
fn report(out: &Path) -> Outcome {
    let trace = cosmo::trace();
    let timelines = Timelines::new(
        trace.view(),
        &RegionMap::by_name(trace.definitions())?,
        &Job::default(),
    )?;
    let begin = Instant::now();
    let job = Job::default();
    let all = View::new(&timelines, Groups::by(&timelines, GroupBy::All)).finest(2048);
    let nodes = View::new(&timelines, Groups::by(&timelines, GroupBy::Node)).finest(2048);
    let shape = Shape::of(&[4, 4, 4, 4])?;
    let summary =
        ["4 of 40 ranks have more and more to do; the others wait for them in MPI_Allreduce."];
    let page = Page::new("A report")
        .lead("An overview, then detail.")
        .with(Section::text("summary", "Summary", &summary))
        .with(all.named("All ranks", "overview").section(&job)?)
        .with(nodes.named("By node", "timeline").section(&job)?)
        .with(grids::view(&shape)?.section(&job)?);
    save(
        out,
        "report.html",
        begin,
        page.html(&Job::default())?.as_bytes(),
    )
}
