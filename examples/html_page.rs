//! Writes a page that needs no network.

use perfkit::prelude::*;
use perfkit::view::timeline::View;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let trace = open_trace("data/recordings/jacobi-16")?;
    let regions = RegionMap::by_name(trace.definitions())?;
    let timelines = Timelines::new(trace.view(), &regions, &job)?;
    let groups = Groups::by(&timelines, GroupBy::Process);
    let ranks = View::new(&timelines, groups).named("What ranks do", "ranks");
    let page = Page::new("Run 7")
        .lead("Four of sixteen ranks do more and more microphysics.")
        .with(ranks.section(&job)?)
        .with(Section::text(
            "about",
            "About <this>",
            &["Recorded on two cores."],
        ));
    let html = page.html(&job)?;
    let file = std::env::temp_dir().join(format!("perfkit-page-{}.html", std::process::id()));
    std::fs::write(&file, &html)?;
    println!("less than {} kB", 100 * html.len().div_ceil(100_000));
    println!("names are escaped: {}", html.contains("About &lt;this&gt;"));
    println!("loads something: {}", html.contains("src=\"http"));
    std::fs::remove_file(&file)?;
    Ok(())
}
