//! Tests that pages and pictures of cubes show the values of the grid.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use perf_core::Job;
use perf_spectral::{AxisFilter, RankParams, Score, Spectra};
use perf_topology::{Grid, Shape};
use perf_view::topology::{Coarse, Found, Picture, Selected, View};
use perf_view::{ColourMap, Error, Page, Unit};
use serde_json::Value;

fn grid(lens: &[usize], of: impl Fn(usize) -> f64) -> Grid {
    let shape = Shape::of(lens).expect("a small shape");
    let values = (0..shape.cells()).map(of).collect();
    let mask = vec![true; shape.cells()];
    Grid::new(shape, values, mask).expect("it fits")
}

fn data(html: &str) -> Value {
    let begin = "<script type=\"application/json\">";
    let from = html.find(begin).expect("a page has data") + begin.len();
    let to = from + html[from..].find("</script>").expect("it ends");
    serde_json::from_str(&html[from..to]).expect("it is JSON")
}

#[test]
fn coarse_cells_are_blocks() {
    let lens = [5, 4, 3, 2];
    let of = |cell: usize| ((cell * 37) % 101) as f64;
    let found = Coarse::of(&grid(&lens, of), 20);
    assert!(found.is_coarser() && found.lens.iter().product::<usize>() <= 20);
    let shape = Shape::of(&lens).expect("a small shape");
    let coarse = Shape::of(&found.lens).expect("a smaller one");
    for cell in 0..coarse.cells() {
        let at: Vec<usize> = coarse.coordinates(cell).collect();
        let inside = |fine: &usize| {
            let places = shape.coordinates(*fine).zip(&found.blocks);
            places
                .map(|(place, block)| place / block)
                .eq(at.iter().copied())
        };
        let values: Vec<f64> = (0..shape.cells()).filter(inside).map(of).collect();
        let (low, high) = values
            .iter()
            .fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!((found.mean[cell] - mean).abs() < 1e-12);
        assert_eq!((found.max[cell], found.spread[cell]), (high, high - low));
    }
}

#[test]
fn an_outlier_survives() {
    let found = Coarse::of(
        &grid(&[64, 64], |cell| if cell == 1234 { 1e9 } else { 1.0 }),
        64,
    );
    assert!(found.max.contains(&1e9) && found.spread.contains(&(1e9 - 1.0)));
    assert!(found.mean.iter().all(|mean| *mean < 1e9 / 60.0));
}

#[test]
fn values_travel_as_bytes() {
    let of = |cell: usize| 100.0 + (cell % 7) as f64;
    let shape = Shape::of(&[3, 5]).expect("a small shape");
    let mut mask = vec![true; 15];
    mask[4] = false;
    let grid = Grid::new(shape, (0..15).map(of).collect(), mask).expect("it fits");
    let view = View::new("v", grid, Unit::Number);
    let section = view.section(&Job::default()).expect("it is drawn");
    let data = data(&Page::new("x").with(section).html(&Job::default()).unwrap());
    let kind = &data["grids"][0]["kinds"][0];
    assert_eq!(
        (kind[0].as_f64(), kind[1].as_f64()),
        (Some(100.0), Some(106.0))
    );
    let bytes = STANDARD
        .decode(kind[2].as_str().expect("text"))
        .expect("it is base64");
    for (cell, byte) in bytes.iter().enumerate() {
        if cell == 4 {
            assert_eq!(*byte, 0);
        } else {
            let value = 100.0 + f64::from(byte - 1) / 254.0 * 6.0;
            assert!((value - of(cell)).abs() <= 6.0 / 508.0 + 1e-12);
        }
    }
}

#[test]
fn every_choice_of_axes_is_ranked() {
    let lens = [4, 3, 2];
    let views: Vec<Vec<f64>> = (1..6usize)
        .map(|n| {
            (0..24usize)
                .map(|cell| (cell * n * n % 11) as f64)
                .collect()
        })
        .collect();
    let mut builder = Spectra::<f64>::builder(&lens).expect("a small shape");
    builder.extend(&views, &Job::default()).expect("they fit");
    let spectra = builder.finish();
    let of = |at: usize| {
        Ok((
            format!("view {at}"),
            grid(&lens, |cell| views[at][cell]),
            Unit::Number,
        ))
    };
    let job = Job::default();
    let view = View::correlated(&spectra, 2, of, 3, &job).expect("it ranks");
    let masks: Vec<u32> = view.lists().map(|(mask, _)| mask).collect();
    assert_eq!(masks, [7, 6, 5, 4, 3, 2, 1]);
    for (mask, found) in view.lists() {
        let f: Vec<f64> = (0..3).map(|axis| f64::from(mask >> axis & 1)).collect();
        let filter = perf_spectral::AxisFilter::new(&f).expect("weights");
        let params = perf_spectral::RankParams::default()
            .top(3)
            .check()
            .expect("good parameters");
        let list = spectra
            .rank(2, &filter, &params, &Job::default())
            .expect("it ranks");
        let want: Vec<f64> = list.matches.iter().map(|matched| matched.r()).collect();
        assert_eq!(found.iter().map(|found| found.r).collect::<Vec<_>>(), want);
    }
    // The page begins with the selected axes.
    let chosen = view.chosen(&[0.0, 0.5, 0.0]).section(&job);
    let page = Page::new("x")
        .with(chosen.expect("it is drawn"))
        .html(&Job::default())
        .unwrap();
    assert_eq!(data(&page)["chosen"], 2);
    job.cancel();
    assert!(View::correlated(&spectra, 2, of, 3, &job).is_err());
}

/// Returns names that were written with the part that they share with the one before.
fn names<'a>(coded: impl Iterator<Item = &'a Value>) -> Vec<String> {
    let mut last = String::new();
    coded
        .map(|it| {
            last.truncate(it[0].as_u64().expect("a length") as usize);
            last.push_str(it[1].as_str().expect("a rest"));
            last.clone()
        })
        .collect()
}

/// Weights between 0 and 1, a custom order of the list and any number of axes: the page begins with
/// the given weights, and the choices that readers can switch to are ranked in the same way.
#[test]
fn lists_have_the_weights_and_the_order_that_were_asked_for() {
    for (lens, f, choices) in [
        (&[4, 3, 2][..], &[1.0, 0.0, 0.25][..], 7),
        (
            &[2, 3, 2, 2, 1, 3, 2],
            &[1.0, 0.0, 0.5, 1.0, 0.0, 0.1, 0.0],
            8,
        ),
        (&[2, 3, 2, 2, 1, 3], &[0.0, 0.5, 0.0, 0.0, 0.0, 0.0], 6),
        (&[3, 4], &[0.0, 0.0], 4),
    ] {
        let cells: usize = lens.iter().product();
        let views: Vec<Vec<f64>> = (1..8usize)
            .map(|n| {
                (0..cells)
                    .map(|cell| ((cell * n * n + n) % 11) as f64)
                    .collect()
            })
            .collect();
        let mut builder = Spectra::<f64>::builder(lens).expect("a small shape");
        builder.extend(&views, &Job::default()).expect("they fit");
        let spectra = builder.finish();
        let of = |at: usize| {
            let grid = grid(lens, |cell| views[at][cell]);
            Ok((format!("view {at}"), grid, Unit::Number))
        };
        let params = RankParams::default().score(Score::Paper).top(4);
        let params = params.check().expect("good parameters");
        let rank = |f: &[f64]| {
            Ok(spectra
                .rank(0, &AxisFilter::new(f)?, &params, &Job::default())?
                .matches)
        };
        let job = Job::default();
        let view = View::correlated_by(&spectra, 0, f, rank, of, &job).expect("it ranks");
        let section = view.note("by the largest r").section(&job);
        let page = Page::new("x")
            .with(section.expect("it is drawn"))
            .html(&Job::default())
            .unwrap();
        assert!(page.contains("by the largest r"));
        let data = data(&page);
        let lists = data["lists"].as_array().expect("lists");
        assert_eq!(lists.len(), choices);
        assert_eq!((&data["chosen"], &lists[0][2]), (&lists[0][0], &f.into()));
        for list in lists {
            let numbers = |value: &Value| -> Vec<f64> {
                let all = value.as_array().expect("numbers").iter();
                all.map(|one| one.as_f64().expect("a number")).collect()
            };
            let weights = numbers(&list[2]);
            for (axis, (weight, asked)) in weights.iter().zip(f).enumerate() {
                let counts = list[0].as_u64().expect("a mask") >> axis & 1 == 1;
                let on = if *asked > 0.0 { *asked } else { 1.0 };
                assert_eq!(*weight, if counts { on } else { 0.0 });
            }
            let want = rank(&weights).expect("it ranks");
            let grids = data["grids"].as_array().expect("grids");
            let names = names(grids.iter().map(|grid| &grid["name"]));
            let found = list[1].as_array().expect("views");
            assert_eq!(found.len(), want.len());
            for (found, want) in found.iter().zip(want) {
                let name = &names[found[0].as_u64().expect("a number") as usize];
                assert_eq!(*name, format!("view {}", want.view));
                assert_eq!(found[1].as_f64(), Some(want.r()));
                assert_eq!(found[3].as_f64(), Some(want.correlation.zero));
                let shift = spectra.plan().steps(want.peak);
                assert_eq!(found[2], Value::from(shift));
            }
        }
        let few = View::correlated_by(&spectra, 0, &f[1..], rank, of, &job);
        assert!(matches!(few, Err(Error::Mismatch { .. })));
    }
}

#[test]
fn cubes_have_the_colours_of_values() {
    let grid = grid(&[2, 2, 2], |cell| cell as f64);
    let canvas = Picture::new(&grid)
        .expect("three axes")
        .scene()
        .canvas()
        .expect("it is small");
    let map = ColourMap::GreenYellowRed;
    // The top of the front cube is at the middle of the picture. It is the last cell, which has the
    // largest value.
    let unit = 420.0 / 4.0;
    let (x, y) = (16.0 + 210.0, 16.0 + 28.0 + unit * 1.5);
    assert_eq!(
        canvas.pixel(x as u32, y as u32),
        Some(map.at(1.0).lit(1.08))
    );
    // Below it is the edge between its two sides; a little to the left is the side on the left.
    let left = canvas.pixel(x as u32 - 20, (y + unit * 0.9) as u32);
    assert_eq!(left, Some(map.at(1.0).lit(0.86)));
}

#[test]
fn wrong_use_is_said() {
    let four = grid(&[2, 2, 2, 2], |cell| cell as f64);
    assert!(matches!(
        Picture::new(&four),
        Err(Error::Mismatch { got: 4, .. })
    ));
    let shape = Shape::of(&[2]).expect("a small shape");
    let none = Grid::new(shape, vec![0.0; 2], vec![false; 2]).expect("it fits");
    assert!(matches!(Picture::new(&none), Err(Error::Empty { .. })));
    let mut view = View::new("v", four, Unit::Number);
    assert!(view.add("w", grid(&[4, 4], |_| 0.0), Unit::Number).is_err());
    assert!(view.list(&[1.0], Vec::new()).is_err());
    let found = Found {
        view: 7,
        r: 0.0,
        shift: Vec::new(),
        unshifted: 0.0,
    };
    assert!(view.list(&[1.0; 4], vec![found]).is_err());
    // Lists are found by their set of axes, so a second list with other weights of the same axes
    // would be unreachable.
    assert!(view.list(&[1.0, 0.5, 0.0, 0.0], Vec::new()).is_ok());
    let twice = view.list(&[0.5, 1.0, 0.0, 0.0], Vec::new());
    assert!(matches!(twice, Err(Error::Mismatch { got: 2, .. })));
    // A grid with four axes can be drawn, and so can one with equal values.
    assert!(view.section(&Job::default()).is_ok());
    let flat = View::new("v", grid(&[3], |_| 1.0), Unit::Number);
    assert!(flat.section(&Job::default()).is_ok());
}

/// Returns smooth views of 64 x 64 cells, of 12 random waves each.
fn smooth(count: usize) -> Vec<Vec<f64>> {
    let mut state = 5u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let wave: Vec<f64> = (0..64)
        .map(|at| (std::f64::consts::TAU * f64::from(at) / 64.0).cos())
        .collect();
    let view = |_| {
        let mut values = vec![1e9; 64 * 64];
        for _ in 0..12 {
            let (a, b) = ((random() * 8.0) as usize, (random() * 8.0) as usize);
            let (phase, amplitude) = ((random() * 64.0) as usize, 1e8 * random());
            for (cell, value) in values.iter_mut().enumerate() {
                *value += amplitude * wave[(a * (cell / 64) + b * (cell % 64) + phase) % 64];
            }
        }
        values
    };
    (0..count).map(view).collect()
}

/// 2,000 smooth views of 64 x 64 cells take at most 6 MB at full accuracy.
#[test]
fn a_page_holds_two_thousand_smooth_views() {
    let views = smooth(2000);
    let mut builder = Spectra::<f64>::builder(&[64, 64]).expect("a small shape");
    builder.extend(&views, &Job::default()).expect("they fit");
    let spectra = builder.finish();
    let of = |at: usize| {
        let name = format!("main > solver > kernel_{at}, time (exclusive)");
        Ok((name, grid(&[64, 64], |cell| views[at][cell]), Unit::Nanos))
    };
    let job = Job::default();
    let kin = |one: usize, other: usize| one.abs_diff(other) == 1;
    let view = View::correlated(&spectra, 7, of, 5, &job).expect("it ranks");
    let view = view.explored(&spectra, of, kin, 0.01, &job);
    let section = view.expect("they fit").section(&job).expect("it is drawn");
    let page = Page::new("x").with(section).html(&job).unwrap();
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
    // Views are decoded in workers.
    assert!(page.contains("worker-src blob:") && !page.contains("connect-src"));
    let data = data(&page);
    let grids = data["grids"].as_array().expect("grids");
    let fields = &data["fields"];
    assert_eq!(
        (grids.len(), fields["accuracy"].as_f64()),
        (2000, Some(1e-6))
    );
    // All views are there, the reference first, and neighbours are kin.
    let names = names(grids.iter().map(|grid| &grid["name"]));
    let number = |name: &String| -> usize {
        let rest = name
            .strip_prefix("main > solver > kernel_")
            .expect("a name");
        rest.split(',')
            .next()
            .expect("a number")
            .parse()
            .expect("a number")
    };
    let numbers: Vec<usize> = names.iter().map(number).collect();
    assert_eq!(numbers[0], 7);
    let all: std::collections::BTreeSet<usize> = numbers.iter().copied().collect();
    assert_eq!(all.len(), 2000);
    let mut count = 0;
    for (one, runs) in fields["kin"].as_array().expect("kin").iter().enumerate() {
        let runs: Vec<usize> = runs
            .as_array()
            .expect("runs")
            .iter()
            .map(|it| it.as_u64().expect("a number") as usize)
            .collect();
        for run in runs.chunks(2) {
            for other in run[0]..run[0] + run[1] {
                assert!(kin(numbers[one], numbers[other]));
                count += 1;
            }
        }
    }
    assert_eq!(count, 1999);
}

/// Sums of the trees are those of the profile, and rows point to their grids.
#[test]
fn trees_hold_the_sums_of_the_profile() {
    let trace = perf_core::samples::cosmo::trace();
    let job = Job::default();
    let (profile, _) = perf_core::Profile::from_trace(trace.view(), &job).expect("a profile");
    let ranks = profile.system().locations().len();
    let shape = Shape::of(&[ranks]).expect("a small shape");
    let order = perf_topology::AxisOrder::LastFastest;
    let topology = perf_topology::Topology::by_order(shape, order, ranks);
    let metrics = ["time", "exclusive time", "visits"];
    let metrics = metrics.map(|name| profile.metric(name).expect("traces have it"));
    let rows = perf_spectral::stored_rows(&profile, &metrics);
    let mut builder = Spectra::<f64>::builder(&[ranks]).expect("a small shape");
    let missing = perf_spectral::Missing::Fill;
    builder
        .add_rows(&profile, &topology, &rows, missing, &job)
        .expect("they fit");
    let spectra = builder.finish();
    let of = |at: usize| {
        let (metric, path) = rows[at];
        let row = profile
            .row(metric, path)
            .expect("it is read")
            .expect("it is stored");
        Ok((
            format!("{}.{}", metric.0, path.0),
            topology.view(&row)?,
            Unit::Nanos,
        ))
    };
    let view = View::correlated(&spectra, 0, of, 3, &job).expect("it ranks");
    let view = view
        .explored(&spectra, of, |_, _| false, 0.01, &job)
        .expect("they fit");
    let unit = |_: &str| (Unit::Nanos, 1.0);
    let view = view.browsed((&profile, &topology), &rows, &spectra, unit, &job);
    let section = view
        .expect("it is read")
        .section(&job)
        .expect("it is drawn");
    let data = data(&Page::new("x").with(section).html(&job).unwrap());
    let trees = &data["fields"]["trees"];
    // The exclusive form is no metric of its own.
    let listed: Vec<&str> = trees["metrics"]
        .as_array()
        .expect("metrics")
        .iter()
        .map(|it| it["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(listed, ["time", "visits"]);
    assert_eq!(trees["calls"], 1);
    let grids = data["grids"].as_array().expect("grids");
    let names = names(grids.iter().map(|grid| &grid["name"]));
    let mut seen = 0;
    for (items, id) in trees["rows"].as_array().expect("rows").iter().zip({
        let mut ids = metrics;
        ids.sort();
        ids
    }) {
        let list = |name: &str| items[name].as_array().expect("a list").clone();
        for ((path, total), view) in list("paths").iter().zip(list("totals")).zip(list("views")) {
            let path = perf_core::CallPathId(path.as_u64().expect("a number") as u32);
            let want = profile.total(id, path).expect("it is read").as_f64();
            assert_eq!(total.as_f64(), Some(want));
            if let Some(view) = view.as_u64() {
                let (own, shown) = (format!("{}.{}", id.0, path.0), &names[view as usize]);
                // Equal views share a grid.
                let row = |name: &str| {
                    rows.iter()
                        .position(|(m, p)| name == format!("{}.{}", m.0, p.0))
                };
                let first = spectra.views()[row(&own).expect("a row")].same_as;
                assert!(own == *shown || first == row(shown), "{own} {shown}");
                seen += 1;
            }
        }
    }
    assert!(seen > 5, "{seen}");
    let leaves = trees["cells"]
        .as_array()
        .expect("cells")
        .iter()
        .filter(|it| !it.is_null());
    assert_eq!(leaves.count(), ranks);
}

/// A served page of merged cells gets mean, maximum and spread of its cubes.
#[test]
fn a_served_page_has_the_cubes_of_a_large_grid() {
    let views: Vec<Vec<f64>> = (1..4)
        .map(|n| (0..16).map(|cell| f64::from(cell * n % 7)).collect())
        .collect();
    let job = Job::default();
    let mut builder = Spectra::<f64>::builder(&[4, 4]).expect("a small shape");
    builder.extend(&views, &job).expect("they fit");
    let spectra = builder.finish();
    let of = |at: usize| Ok(grid(&[4, 4], |cell| views[at][cell]));
    let label = |at: usize| (format!("view {at}"), Unit::Nanos);
    let first = of(0).expect("a grid");
    let view = View::new("view 0", first, Unit::Nanos).most(8);
    let view = view.asking("views/0", &[1.0, 0.5], (&spectra, 0), label);
    let (section, served) = view
        .expect("two weights")
        .served(&job)
        .expect("it is drawn");
    let served = served.expect("the page asks");
    let page = Page::new("x").with(section).html(&job).unwrap();
    assert!(page.contains("connect-src 'self'") && !page.contains("worker-src"));
    let data = data(&page);
    assert_eq!(
        data["fields"]["served"],
        serde_json::json!(["views/0", [1.0, 0.5]])
    );
    assert_eq!(
        (data["coarser"].as_bool(), &data["fields"]["trees"]),
        (Some(true), &serde_json::Value::Null)
    );
    let fields = served.fields(&[Selected::View(2), Selected::View(0)], of, &job);
    let fields: serde_json::Value =
        serde_json::from_str(&fields.expect("they exist")).expect("JSON");
    let cubes = Coarse::of(&of(2).expect("a grid"), 8);
    for (kind, want) in [&cubes.mean, &cubes.max, &cubes.spread]
        .into_iter()
        .enumerate()
    {
        let text = fields["fields"][0][kind].as_str().expect("a kind");
        let bytes = STANDARD.decode(text).expect("base64");
        let numbers = bytes
            .chunks(8)
            .map(|it| f64::from_le_bytes(it.try_into().expect("8 bytes")));
        assert_eq!(numbers.collect::<Vec<f64>>(), *want);
    }
    // Trees of cells that are merged do not exist.
    let sum = Selected::Sum {
        metric: 0,
        path: 0,
        is_expanded: false,
        is_exclusive: false,
    };
    assert!(served.values(sum, of, &job).is_err());
    assert!(served.fields(&[Selected::View(0); 65], of, &job).is_err());
}
