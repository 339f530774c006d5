//! Correlates call paths on a grid of your own.

use perfkit::prelude::*;

/// Returns the place of a rank in a machine whose cables run as a snake: odd rows backwards.
fn place(rank: usize) -> [usize; 2] {
    let (row, column) = (rank / 4, rank % 4);
    [row, if row % 2 == 0 { column } else { 3 - column }]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let trace = open_trace("data/recordings/jacobi-16")?;
    let (profile, _) = Profile::from_trace(trace.view(), &job)?;

    let places: Vec<[usize; 2]> = (0..16).map(place).collect();
    let ranks = profile.system().location_ids();
    let entries = ranks.zip(&places).map(|(rank, place)| (rank, &place[..]));
    let grid = Topology::from_table(Shape::of(&[4, 4])?, 16, entries);
    println!(
        "{} of {} ranks have a place",
        grid.check().placed,
        grid.locations()
    );

    let time = profile.metric("exclusive time").ok_or("no times")?;
    let rows = stored_rows(&profile, &[time]);
    let name = |view: usize| profile.calls().name(rows[view].1, profile.regions());
    let mut builder = Spectra::<f64>::builder(&grid.shape().lens())?;
    builder.add_rows(&profile, &grid, &rows, Missing::Refuse, &job)?;
    let mine = (0..rows.len()).find(|view| name(*view) == "Working > microphysics");
    let params = RankParams::default().top(3).check()?;
    let all = AxisFilter::all(2);
    let list = builder
        .finish()
        .rank(mine.ok_or("no such path")?, &all, &params, &job)?;
    for found in &list.matches {
        println!("{:+.2} {}", found.r(), name(found.view));
    }
    Ok(())
}
