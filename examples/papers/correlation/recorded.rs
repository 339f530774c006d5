//! The method on recordings: one with a planted pattern, and one by others.

use super::comparison::Compared;
use super::{correlations, spectra_of};
use perf_testdata::bundled;
use perfkit::core::{Job, MetricId};
use perfkit::formats::{OpenOptions, cube::Cube};
use perfkit::spectral::{AxisFilter, Missing, RankParams, Spectra, stored_rows};
use perfkit::topology::{AxisOrder, Grid, Ranks, Shape, Topology};
use perfkit::view::topology::View;
use perfkit::view::{Section, Unit};
use perfkit_cli::failure::{Failure, input};
use perfkit_cli::pictures::failed;
use perfkit_cli::recording;
use std::f64::consts::TAU;
use std::path::Path;

/// Phases of jacobi-64. Each has a planted amount of work over c0, c1, c2, in updates for each
/// cell.
const PHASES: [&str; 3] = ["radiation", "surface", "microphysics"];

/// Returns the planted work of a rank. Rank 16 c0 + 4 c1 + c2 is under the cloud if c0 is 1 or 2.
fn work(phase: &str, rank: usize) -> f64 {
    let is_cloudy = (16..48).contains(&rank);
    let s = (TAU / 4.0 * (rank % 4) as f64).cos();
    match (phase, is_cloudy) {
        ("radiation", true) | ("surface", false) => 4.5 + 0.75 * s,
        ("radiation", false) | ("surface", true) => 1.5 + 0.75 * s,
        (_, true) => 0.5 + 0.3 * 12.0,
        (_, false) => 0.5,
    }
}

/// Returns the exclusive time of the phases of jacobi-64 on its grid.
fn measured() -> Result<(Vec<Grid>, Spectra<f64>), Failure> {
    let profile = recording::profile(&bundled::recording("jacobi-64"))?.profile;
    let shape = Shape::of(&[4, 4, 4]).map_err(input)?;
    let grid = Topology::by_process(shape, AxisOrder::LastFastest, profile.system());
    let metric = profile
        .metric("exclusive time")
        .ok_or_else(|| Failure::Input("no time".into()))?;
    let rows = stored_rows(&profile, &[metric]);
    let mut grids = Vec::new();
    for phase in PHASES {
        let is_it =
            |path| profile.calls().name(path, profile.regions()) == format!("Working > {phase}");
        let row = rows.iter().find(|row| is_it(row.1));
        let row = row.ok_or_else(|| Failure::Input(format!("jacobi-64: no {phase}")))?;
        if let Some(row) = profile.row(row.0, row.1).map_err(input)? {
            grids.push(grid.view(&row).map_err(input)?);
        }
    }
    let views: Vec<Vec<f64>> = grids.iter().map(|grid| grid.values().to_vec()).collect();
    let spectra = spectra_of(&[4, 4, 4], &views).map_err(input)?;
    Ok((grids, spectra))
}

pub(super) fn hidden() -> Result<Compared, Failure> {
    let planted = PHASES.map(|phase| (0..64).map(|rank| work(phase, rank)).collect());
    let planted = spectra_of(&[4, 4, 4], &planted).map_err(input)?;
    let (_, measured) = measured()?;
    let mut table = Compared::new(
        "A recording: what goes with radiation on 4 x 4 x 4 ranks (jacobi-64)",
        "planted",
    );
    for (about, f) in [
        ("unfiltered", [1.0; 3]),
        ("along c0", [1.0, 0.0, 0.0]),
        ("along c2", [0.0, 0.0, 1.0]),
    ] {
        let both = [&planted, &measured].map(|spectra| correlations(spectra, &f).map_err(input));
        let [r_planted, r_measured] = both;
        let (r_planted, r_measured) = (r_planted?, r_measured?);
        for (view, phase) in PHASES.iter().enumerate().skip(1) {
            let why = match (about, *phase) {
                ("along c2", "microphysics") => "it does not vary along c2 but for noise of times",
                _ => "r of planted work, and of measured times, without shift",
            };
            table.row(
                format!("{phase}, {about}"),
                format!("{:.2}", r_planted[view][0]),
                (r_measured[view][0], 3),
                why,
            );
        }
    }
    Ok(table)
}

/// Finds the strongest correlations with the time of call node 53 under each filter, in a profile
/// with two grids.
pub(super) fn recorded(file: &Path) -> Result<Compared, Failure> {
    let cube = Cube::open(file, &OpenOptions::new(), &Job::default()).map_err(input)?;
    let profile = cube.profile();
    let metrics: Vec<_> = (0..profile.metrics().len())
        .filter_map(MetricId::from_index)
        .collect();
    let rows = stored_rows(profile, &metrics);
    let time = profile.metric("time");
    let own = rows
        .iter()
        .position(|row| Some(row.0) == time && cube.cnode_id(row.1) == Some(53));
    let title = "A profile of NPB bt, 960 views: r of what goes most with time of call node 53";
    let mut table = Compared::new(title, "slow float64");
    let cases: [(usize, [f64; 3], &str); 6] = [
        (0, [1.0, 1.0, 1.0], "-0.969413765"),
        (0, [1.0, 0.0, 0.0], "-0.905192764"),
        (0, [0.0, 1.0, 0.0], "-0.998287737"),
        (0, [0.0, 0.0, 1.0], "-0.998836429"),
        (1, [1.0, 0.0, 0.0], "0"),
        (1, [0.0, 0.0, 1.0], "-0.994118684"),
    ];
    for (number, f, published) in cases {
        let cart = profile.topologies().get(number);
        let (Some(cart), Some(own)) = (cart, own) else {
            continue;
        };
        let grid = Topology::from_cart(cart, Ranks::Locations, profile.system()).map_err(input)?;
        let lens = grid.shape().lens();
        let mut builder = Spectra::<f64>::builder(&lens).map_err(input)?;
        let added = builder.add_rows(profile, &grid, &rows, Missing::Refuse, &Job::default());
        added.map_err(input)?;
        let params = RankParams::default().top(1).check().map_err(input)?;
        let filter = AxisFilter::new(&f).map_err(input)?;
        let list = builder
            .finish()
            .rank(own, &filter, &params, &Job::default())
            .map_err(input)?;
        let best = list.matches.first().map_or(0.0, |found| found.r());
        let why = if best == 0.0 {
            "the reference has no variation along that axis"
        } else {
            "by a reference that sums in float64, without fast transforms of others"
        };
        let lens: Vec<String> = lens.iter().map(usize::to_string).collect();
        table.row(
            format!("{}, axes {f:?}", lens.join(" x ")),
            published,
            (best, 9),
            why,
        );
    }
    Ok(table)
}

/// Returns a section with the rotatable recording and its list for each choice of axes.
pub(super) fn page() -> Result<Section, Failure> {
    let (grids, spectra) = measured()?;
    let grid = |at: usize| Ok((PHASES[at].to_string(), grids[at].clone(), Unit::Nanos));
    let view = View::correlated(&spectra, 0, grid, 2, &Job::default());
    let view = view
        .map_err(failed)?
        .named("jacobi-64: what goes with radiation", "topology");
    view.section(&Job::default()).map_err(failed)
}
