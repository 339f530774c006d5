//! List the ranks that wait, with the share of their time.
//!
//! `cargo run --release -- RECORDING`

use perfkit::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("the first argument is a recording")?;
    let (trace, job) = (open_trace(path)?, Job::default());

    // The classes: regions that belong together. Each class has its share of the time.
    let classes = RegionGroups::new().mpi("MPI").others_into("other");
    let timelines = Timelines::new(trace.view(), &classes.plan(trace.definitions())?, &job)?;

    // The rows: one for each process. `Groups::by` has others.
    let folder = Folder::default_for(&timelines)?;
    let usages = folder.usage(timelines.range(), &job)?;

    // The answer: a line for each row, the shortest wait first.
    let mut lines = Vec::new();
    for (row, usage) in folder.groups().rows().iter().zip(&usages) {
        let label = folder.groups().get(*row).map_or("", |row| &row.label);
        let mpi = usage
            .named(timelines.classes())
            .find(|(class, _)| *class == "MPI");
        lines.push((mpi.map_or(0.0, |(_, share)| share), label));
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (share, label) in lines {
        println!("{:5.1} % in MPI  {label}", 100.0 * share);
    }
    Ok(())
}
