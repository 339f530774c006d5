//! Pages of severities on grids with their correlated views.

use super::{HOSTILE, Outcome, noise, save};
use perf_core::{
    CallTree, GroupKind, Job, Limits, Location, LocationGroup, LocationGroupId, Metric, MetricId,
    Profile, ProfileMetric, Region, RegionId, Rows, Scope, Severities, SystemNode, SystemNodeId,
    SystemTree,
};
use perf_spectral::{AxisFilter, Kinship, Missing, RankParams, Spectra, stored_rows};
use perf_topology::{Axis, AxisOrder, Grid, Shape, Topology};
use perf_view::{ColourMap, Page, Section, Theme, Unit, topology};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
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

/// Returns views with long tails: exponentials of one wave and of others, and noise with one cell that is high in both
/// views.
fn long_tails(shape: &Shape) -> Vec<Vec<f64>> {
    let lens = shape.lens();
    let wave = |cell: usize, k: f64| {
        let at: Vec<usize> = shape.coordinates(cell).collect();
        let turns = k * at[0] as f64 / lens[0] as f64 + at[1] as f64 / lens[1] as f64;
        (std::f64::consts::TAU * turns).cos()
    };
    let view = |of: &dyn Fn(usize) -> f64| (0..shape.cells()).map(of).collect::<Vec<f64>>();
    let hot = |cell: usize| if cell == 41 { 2e9 } else { 0.0 };
    vec![
        view(&|c| 1e8 * (1.5 * wave(c, 1.0) + 0.4 * noise(c, 7)).exp()),
        view(&|c| 1e8 * (1.5 * wave(c, 1.0) + wave(c, 2.0) + 0.6 * noise(c, 8)).exp()),
        view(&|c| 1e8 * noise(c, 9) + hot(c)),
        view(&|c| 1e8 * (0.7 * noise(c, 9) + 0.3 * noise(c, 10)) + hot(c)),
    ]
}

/// Call paths of a synthetic profile with their parents, in the order of [`views`] and [`long_tails`].
const CALLS: [(&str, Option<usize>); 11] = [
    ("main", None),
    ("solve", Some(0)),
    ("MPI_Waitall", Some(1)),
    ("read_rows", Some(0)),
    ("output", Some(0)),
    ("check", Some(4)),
    ("noise", Some(0)),
    ("skewed", Some(0)),
    ("skewed_too", Some(0)),
    ("hot", Some(0)),
    ("hot_too", Some(0)),
];

/// Returns a profile of exclusive times and visits of one rank for each cell, with 16 ranks on a node.
fn profile(shape: &Shape) -> Result<Profile, Box<dyn Error>> {
    let ranks = shape.cells();
    let mut nodes = vec![SystemNode {
        name: "cluster".into(),
        ..SystemNode::default()
    }];
    nodes.extend((0..ranks.div_ceil(16)).map(|node| SystemNode {
        name: format!("node {node}"),
        parent: Some(SystemNodeId(0)),
        ..SystemNode::default()
    }));
    let groups = (0..ranks).map(|rank| LocationGroup {
        name: format!("rank {rank}"),
        kind: GroupKind::Process,
        parent: SystemNodeId::from_index(1 + rank / 16),
        ..LocationGroup::default()
    });
    let locations = (0..ranks).map(|rank| Location {
        key: rank as u64,
        name: "thread 0".into(),
        group: LocationGroupId::from_index(rank),
        ..Location::default()
    });
    let (groups, locations) = (groups.collect(), locations.collect());
    let system = SystemTree::new(nodes, groups, locations, &Limits::default())?;
    let mut calls = CallTree::default();
    let mut paths = Vec::new();
    for (region, (_, parent)) in (0..).zip(CALLS) {
        let parent = parent.and_then(|at: usize| paths.get(at).copied());
        paths.push(calls.child(parent, RegionId(region))?);
    }
    let metric = |name: &str, unit: &str| ProfileMetric {
        metric: Metric {
            name: name.into(),
            unit: unit.into(),
            ..Metric::default()
        },
        scope: Scope::Exclusive,
        ..ProfileMetric::default()
    };
    let mut rows = Rows::default();
    let constant = std::iter::once(vec![1e6; ranks]);
    let views = constant.chain(views(shape).into_iter().map(|(_, values)| values));
    let views = views.chain(long_tails(shape));
    for (at, (path, values)) in paths.iter().zip(views).enumerate() {
        rows.insert(MetricId(0), *path, Severities::F64(values));
        rows.insert(
            MetricId(1),
            *path,
            Severities::U64(vec![1 + at as u64; ranks]),
        );
    }
    let regions = CALLS.iter().map(|(name, _)| Region::named(*name)).collect();
    let metrics = vec![metric("time", "ns"), metric("visits", "occ")];
    Ok(Profile::new(
        system,
        regions,
        calls,
        metrics,
        Arc::new(rows),
    )?)
}

/// Writes a page of a profile that computes its correlations, with those that it must compute.
pub(super) fn explored(out: &Path) -> Outcome {
    let shape = Shape::new(vec![Axis::new("x", 12), Axis::new("y", 8)])?;
    let profile = profile(&shape)?;
    let topology = Topology::by_order(shape.clone(), AxisOrder::LastFastest, shape.cells());
    let job = Job::default();
    let rows = stored_rows(&profile, &[MetricId(0), MetricId(1)]);
    let mut builder = Spectra::<f64>::builder(&shape.lens())?;
    builder.add_rows(&profile, &topology, &rows, Missing::Fill, &job)?;
    let spectra = builder.finish();
    let labels = profile.call_path_labels();
    let name = |at: usize| {
        let metric = &profile.metrics()[rows[at].0.index()].metric.name;
        format!("{}, {metric}", labels.label(rows[at].1))
    };
    let grid = |at: usize| {
        let (metric, path) = rows[at];
        let row = profile
            .row(metric, path)
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        let row = row.ok_or_else(|| std::io::Error::other("no row"))?;
        Ok((name(at), topology.view(&row)?, Unit::Nanos))
    };
    let begin = Instant::now();
    let kinship = Kinship::of(&profile, &rows);
    let kin = |one: usize, other: usize| kinship.are_kin(one, other);
    let unit = |name: &str| match name {
        "ns" => (Unit::Nanos, 1.0),
        _ => (Unit::Number, 1.0),
    };
    let view = topology::View::correlated(&spectra, 1, grid, 10, &job)?
        .explored(&spectra, grid, kin, perf_spectral::TOLERANCE, &job)?
        .browsed((&profile, &topology), &rows, &spectra, unit, &job)?;
    // The reference of the check is the third call path, along the first axis.
    let params = RankParams::default().pearson(false).check()?;
    let list = spectra.rank(2, &AxisFilter::new(&[1.0, 0.0])?, &params, &job)?;
    let found = list.matches.iter().filter(|it| it.r() != 0.0);
    let found = found.map(|it| format!("{}: {:.9}", name(it.view), it.r()));
    let words: Vec<String> = found.collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Bounds of chance of smooth and skewed views and of outliers with all others.
    let all = AxisFilter::all(2);
    let mut chances = Vec::new();
    for reference in (0..rows.len()).filter(|at| rows[*at].0 == MetricId(0)) {
        let list = spectra.rank(reference, &all, &params, &job)?.matches;
        let bounds = spectra.chance_bounds((&spectra, reference), &list, &all, &job)?;
        let pairs = list.iter().zip(bounds);
        chances.extend(
            pairs.map(|(it, bound)| {
                format!("{}: {}: {:e}", name(reference), name(it.view), bound.p)
            }),
        );
    }
    let chances: Vec<&str> = chances.iter().map(String::as_str).collect();
    let page = Page::new("Explored profile, synthetic").lead("96 ranks on a torus.");
    let page = page.with(view.section(&job)?);
    let page = page.with(Section::text("expected", "Expected correlations", &words));
    let page = page.with(Section::text(
        "chances",
        "Expected bounds of chance",
        &chances,
    ));
    save(out, "explored.html", begin, page.html(&job)?.as_bytes())
}
