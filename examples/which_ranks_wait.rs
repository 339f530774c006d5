//! Finds the ranks that wait.

use perfkit::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let trace = open_trace("data/recordings/jacobi-16")?;
    let classes = RegionGroups::new().mpi("MPI").others_into("computing");
    let timelines = Timelines::new(trace.view(), &classes.plan(trace.definitions())?, &job)?;
    let folder = Folder::default_for(&timelines)?;

    let mut waits = Vec::new();
    let rows = folder
        .groups()
        .rows()
        .iter()
        .filter_map(|row| folder.groups().get(*row));
    for (row, usage) in rows.zip(folder.usage(timelines.range(), &job)?) {
        let mpi = usage
            .named(timelines.classes())
            .find(|(class, _)| *class == "MPI");
        waits.push((mpi.map_or(0.0, |(_, share)| share), &row.label));
    }
    waits.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The run has a load imbalance planted on ranks 5, 6, 9 and 10.
    for (share, label) in waits.iter().take(5) {
        println!("{label}: {:.0} % of its time in MPI", 100.0 * share);
    }
    Ok(())
}
