//! Finds the times at which ranks execute different regions.

use perfkit::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let trace = open_trace("data/recordings/jacobi-16")?;
    let regions = RegionMap::by_name(trace.definitions())?;
    let timelines = Timelines::new(trace.view(), &regions, &job)?;

    // One row for all ranks, 50 columns. A column has a region if the ranks differ in theirs.
    let params = Folder::params().columns(50).op(Op::Diff).check()?;
    let folder = Folder::new(&timelines, Groups::by(&timelines, GroupBy::All), params)?;
    let fold = folder.fold(timelines.range(), &job)?;
    let row = fold.row(0).ok_or("no ranks")?;

    let mut spots: Vec<_> = row.cells().iter().enumerate().collect();
    let all = spots.len();
    spots.retain(|(_, cell)| cell.distinct > 1);
    println!("ranks differ in {} of {all} spots", spots.len());
    // Columns with the most different regions first, equal ones in the order of time.
    spots.sort_by_key(|(_, cell)| std::cmp::Reverse(cell.distinct));
    for (column, cell) in spots.into_iter().take(5) {
        let time = fold.time(column).ok_or("no such column")?;
        let region = cell.picture().map(|class| fold.classes().name(class));
        let (few, all, region) = (cell.winning, cell.total, region.unwrap_or("no region"));
        let distinct = cell.distinct;
        println!("{time}: {distinct} different regions, {few} of {all} ranks in {region}");
    }
    Ok(())
}
