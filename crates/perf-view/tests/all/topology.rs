//! Tests that pages and pictures of cubes show the values of the grid.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use perf_core::Job;
use perf_spectral::{AxisFilter, RankParams, Score, Spectra};
use perf_topology::{Grid, Shape};
use perf_view::topology::{Coarse, Found, Picture, View};
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
            let found = list[1].as_array().expect("views");
            assert_eq!(found.len(), want.len());
            for (found, want) in found.iter().zip(want) {
                let name = &data["grids"][found[0].as_u64().expect("a number") as usize]["name"];
                assert_eq!(name, &format!("view {}", want.view));
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
