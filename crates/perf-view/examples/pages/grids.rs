//! Pages of severities on grids with their correlated views.

use super::{HOSTILE, Outcome, noise, save};
use perf_core::Job;
use perf_spectral::Spectra;
use perf_topology::{Axis, Grid, Shape};
use perf_view::{ColourMap, Page, Theme, Unit, topology};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// Returns named views of one shape: waves along x, stripes along y, mixtures of them with noise,
/// and noise alone.
fn views(shape: &Shape) -> Vec<(String, Vec<f64>)> {
    let lens = shape.lens();
    let wave = |cell: usize, turn: f64| {
        let x = shape.coordinates(cell).next().unwrap_or(0) as f64;
        (std::f64::consts::TAU * (x / lens[0] as f64 + turn)).cos()
    };
    let stripe = |cell: usize| {
        let y = shape.coordinates(cell).nth(1).unwrap_or(0);
        f64::from(y.is_multiple_of(2))
    };
    let view = |of: &dyn Fn(usize) -> f64| (0..shape.cells()).map(of).collect::<Vec<f64>>();
    vec![
        (
            "time, main / solve".into(),
            view(&|c| 5e8 + 1e8 * wave(c, 0.0) + 4e7 * stripe(c) + 2e7 * noise(c, 1)),
        ),
        (
            "waiting, main / exchange / MPI_Waitall".into(),
            view(&|c| 2e8 - 1e8 * wave(c, 0.0) + 1e7 * noise(c, 2)),
        ),
        (
            "stripes, main / input / read_rows".into(),
            view(&|c| 1e8 * stripe(c) + 1e7 * noise(c, 3)),
        ),
        (
            "late, main / output".into(),
            view(&|c| 3e8 + 1e8 * wave(c, 0.25) + 6e7 * noise(c, 4)),
        ),
        (
            HOSTILE[2].into(),
            view(&|c| 1e8 + 5e7 * wave(c, 0.1) + 9e7 * noise(c, 5)),
        ),
        ("noise".into(), view(&|c| 1e8 * noise(c, 6))),
    ]
}

pub(super) fn view(shape: &Shape) -> Result<topology::View, Box<dyn Error>> {
    let views = views(shape);
    let mut builder = Spectra::<f32>::builder(&shape.lens())?;
    let values: Vec<&[f64]> = views.iter().map(|(_, values)| values.as_slice()).collect();
    builder.extend(&values, &Job::default())?;
    let spectra = builder.finish();
    let grid = |at: usize| {
        let (name, values) = &views[at];
        let grid = Grid::new(shape.clone(), values.clone(), vec![true; values.len()])?;
        Ok((name.clone(), grid, Unit::Nanos))
    };
    Ok(topology::View::correlated(
        &spectra,
        0,
        grid,
        10,
        &Job::default(),
    )?)
}

/// Writes pages of 1,728 ranks on a torus.
pub(super) fn correlated(out: &Path) -> Outcome {
    let axes = ["x", "y", "z"].map(|name| Axis::new(name, 12));
    let shape = Shape::new(axes.into())?;
    let begin = Instant::now();
    let names = (0..shape.cells()).map(|cell| format!("rank {cell}, node {}", cell / 16));
    let view = view(&shape)?.cells(names.collect());
    let page = Page::new("Waves and stripes, synthetic").lead("1,728 ranks on a torus.");
    let page = page.with(view.section(&Job::default())?);
    save(
        out,
        "topology.html",
        begin,
        page.html(&Job::default())?.as_bytes(),
    )?;
    let values = views(&shape).swap_remove(0).1;
    let grid = Grid::new(shape, values, vec![true; 1728])?;
    for (name, map, theme) in [
        ("cubes.png", ColourMap::GreenYellowRed, Theme::light()),
        ("cubes-safe.png", ColourMap::BlueYellow, Theme::dark()),
    ] {
        let picture = topology::Picture::new(&grid)?
            .titled("time, main / solve")
            .unit(Unit::Nanos);
        let begin = Instant::now();
        save(
            out,
            name,
            begin,
            &picture.map(map).theme(theme).scene().png()?,
        )?;
    }
    Ok(())
}

/// Writes a page of 1,835,008 ranks, one of which is slow.
pub(super) fn large(out: &Path) -> Outcome {
    let shape = Shape::of(&[128, 128, 112])?;
    let mut values = views(&shape).swap_remove(0).1;
    values[1_000_000] = 3e9;
    let begin = Instant::now();
    let waiting: Vec<f64> = values.iter().map(|value| 1e9 - value).collect();
    let grid = |values| Grid::new(shape.clone(), values, vec![true; shape.cells()]);
    let mut view = topology::View::new("time, main / solve", grid(values)?, Unit::Nanos);
    let other = view.add("waiting", grid(waiting)?, Unit::Nanos)?;
    let found = topology::Found {
        view: other,
        r: -1.0,
        shift: vec![0; 3],
        unshifted: -1.0,
    };
    view.list(&[1.0; 3], vec![found])?;
    let page = Page::new("1,835,008 ranks").with(view.section(&Job::default())?);
    save(
        out,
        "large.html",
        begin,
        page.html(&Job::default())?.as_bytes(),
    )
}
