//! Cubes: what is drawn is what is on the grid.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use perf_core::CancelToken;
use perf_spectral::Spectra;
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
    let section = view.section(&(), &CancelToken::new()).expect("it is drawn");
    let data = data(&Page::new("x").with(section).html());
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
    builder.extend(&views).expect("they fit");
    let spectra = builder.finish();
    let of = |at: usize| {
        Ok((
            format!("view {at}"),
            grid(&lens, |cell| views[at][cell]),
            Unit::Number,
        ))
    };
    let cancel = CancelToken::new();
    let view = View::correlated(&spectra, 2, of, 3, &(), &cancel).expect("it ranks");
    let masks: Vec<u32> = view.lists().map(|(mask, _)| mask).collect();
    assert_eq!(masks, [7, 6, 5, 4, 3, 2, 1]);
    for (mask, found) in view.lists() {
        let f: Vec<f64> = (0..3).map(|axis| f64::from(mask >> axis & 1)).collect();
        let filter = perf_spectral::AxisFilter::new(&f).expect("weights");
        let params = perf_spectral::RankParams::default()
            .top(3)
            .check()
            .expect("good parameters");
        let list = spectra.rank(2, &filter, &params).expect("it ranks");
        let want: Vec<f64> = list.matches.iter().map(|matched| matched.r()).collect();
        assert_eq!(found.iter().map(|found| found.r).collect::<Vec<_>>(), want);
    }
    // Readers begin with the axes that were asked for.
    let chosen = view.chosen(&[0.0, 0.5, 0.0]).section(&(), &cancel);
    let page = Page::new("x").with(chosen.expect("it is drawn")).html();
    assert_eq!(data(&page)["chosen"], 2);
    cancel.cancel();
    assert!(View::correlated(&spectra, 2, of, 3, &(), &cancel).is_err());
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
    // The top of the front cube, at the middle of the picture: the last cell, which is the largest.
    let unit = 420.0 / 4.0;
    let (x, y) = (16.0 + 210.0, 16.0 + 28.0 + unit * 1.5);
    assert_eq!(
        canvas.pixel(x as u32, y as u32),
        Some(map.at(1.0).lit(1.08))
    );
    // Below it the edge between its two sides; a little to the left the darker of both.
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
    };
    assert!(view.list(&[1.0; 4], vec![found]).is_err());
    // Four axes are drawn; values that are all the same too.
    assert!(view.section(&(), &CancelToken::new()).is_ok());
    let flat = View::new("v", grid(&[3], |_| 1.0), Unit::Number);
    assert!(flat.section(&(), &CancelToken::new()).is_ok());
}
