//! Finds a second load imbalance behind a known one.

use perfkit::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let trace = open_trace("data/recordings/jacobi-64")?;
    let (profile, _) = Profile::from_trace(trace.view(), &job)?;
    let ranks = profile.system().locations().len();
    let grid = Topology::by_order(Shape::of(&[4, 4, 4])?, AxisOrder::LastFastest, ranks);
    let time = profile.metric("exclusive time").ok_or("no times")?;
    let rows = stored_rows(&profile, &[time]);
    let mut builder = Spectra::<f64>::builder(&grid.shape().lens())?;
    builder.add_rows(&profile, &grid, &rows, Missing::Refuse, &job)?;
    let spectra = builder.finish();

    let name = |view: usize| profile.calls().name(rows[view].1, profile.regions());
    let view = |path: &str| {
        (0..rows.len())
            .find(|view| name(*view) == path)
            .ok_or("no such path")
    };
    let (known, seen) = (
        view("Working > microphysics")?,
        view("Working > radiation")?,
    );

    let reference = spectra.reference(seen, &AxisFilter::all(3), &job)?;
    let reference = reference.ok_or("radiation does not vary")?;
    let r = spectra.correlate(&reference, known, &job)?.best().r;
    println!("radiation and microphysics: {r:+.2}");

    // The axes along which microphysics does not vary.
    let rest = spectra.axis_power(known)?.rest();
    let list = spectra.rank(seen, &rest, &RankParams::default().top(1).check()?, &job)?;
    for found in &list.matches {
        println!(
            "without its axes ({:?}): {} {:+.2}",
            rest.f(),
            name(found.view),
            found.r()
        );
    }
    Ok(())
}
