//! Finds call paths whose times are correlated across ranks at every scale of a program.

use perfkit::prelude::*;
use std::collections::BTreeMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let runs: [(&str, &[usize]); 3] = [
        ("jacobi-9", &[3, 3]),
        ("jacobi-16", &[4, 4]),
        ("jacobi-64", &[4, 4, 4]),
    ];
    // Correlation of each pair of call paths, run by run.
    let mut pairs: BTreeMap<[String; 2], Vec<f64>> = BTreeMap::new();
    for (run, dims) in runs {
        let trace = open_trace(format!("data/recordings/{run}"))?;
        let (profile, _) = Profile::from_trace(trace.view(), &job)?;
        let ranks = profile.system().locations().len();
        let grid = Topology::by_order(Shape::of(dims)?, AxisOrder::LastFastest, ranks);
        let time = profile.metric("exclusive time").ok_or("no times")?;
        let mut rows = stored_rows(&profile, &[time]);
        let name = |path| profile.calls().name(path, profile.regions());
        // Set-up is done once and varies at random.
        let steps = [
            "dynamics",
            "microphysics",
            "residual",
            "MPI_Allreduce",
            "MPI_Waitall",
        ];
        rows.retain(|(_, path)| steps.iter().any(|step| name(*path).ends_with(step)));
        let mut builder = Spectra::<f64>::builder(dims)?;
        builder.add_rows(&profile, &grid, &rows, Missing::Refuse, &job)?;
        let spectra = builder.finish();
        for one in 0..rows.len() {
            let all = AxisFilter::all(dims.len());
            let Some(reference) = spectra.reference(one, &all, &job)? else {
                continue;
            };
            for other in one + 1..rows.len() {
                let mut names = [name(rows[one].1), name(rows[other].1)];
                names.sort();
                let r = spectra.correlate(&reference, other, &job)?.zero;
                pairs.entry(names).or_default().push(r);
            }
        }
    }

    // The weakest correlation of a pair is that on which all runs agree.
    let agree = |values: &[f64]| {
        let is_same = values.iter().all(|r| r.signum() == values[0].signum());
        let weakest = values.iter().map(|r| r.abs()).fold(1.0, f64::min);
        if is_same { weakest } else { 0.0 }
    };
    let mut found: Vec<_> = pairs
        .iter()
        .filter(|(_, r)| r.len() == runs.len())
        .collect();
    found.sort_by(|(_, one), (_, other)| agree(other).total_cmp(&agree(one)));
    println!("{} pairs of call paths are in all runs", found.len());
    println!("   r at p = 9, 16, 64");
    for ([one, other], r) in found.into_iter().filter(|(_, r)| agree(r) > 0.5) {
        println!("{:+.2} {:+.2} {:+.2}  {one} and {other}", r[0], r[1], r[2]);
    }
    Ok(())
}
