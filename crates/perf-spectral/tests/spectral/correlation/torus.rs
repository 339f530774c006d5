//! Counters of 512 nodes on a torus: the values of section 4.

use perf_core::Job;
use perf_spectral::{AxisFilter, RankParams, Real, Score, Spectra};
use perf_testdata::corpus::corpus;

/// Returns one column of the table of nodes for a code region, on the 8 x 8 x 8 torus.
fn column(text: &str, region: i64, counter: &str) -> Vec<f64> {
    let names = ["muls", "adds", "logs", "loads", "stores", "netWrites"];
    let at = names
        .iter()
        .position(|name| *name == counter)
        .expect("a counter");
    let mut view = vec![0.0; 512];
    for line in text.lines() {
        let numbers: Option<Vec<i64>> = line
            .split_whitespace()
            .map(|word| word.parse().ok())
            .collect();
        let Some(numbers) = numbers.filter(|numbers| numbers.len() == 11) else {
            continue;
        };
        if numbers[4] == region {
            let cell = numbers[1] * 64 + numbers[2] * 8 + numbers[3];
            // Rows of the same node and region are added.
            view[cell as usize] += numbers[5 + at] as f64;
        }
    }
    view
}

struct Expected {
    /// Region and counter of the view.
    view: (i64, &'static str),
    /// Weights of the filter.
    f: [f64; 3],
    /// Pearson's r.
    pearson: f64,
    /// Maximum of R and its shift.
    max: (f64, [usize; 3]),
    /// Reported value and its shift.
    best: (f64, [usize; 3]),
    /// Upper bound of |R|.
    bound: f64,
}

#[rustfmt::skip]
const EXPECTED: &[Expected] = &[
    Expected { view: (-2, "loads"), f: [1.0, 1.0, 1.0], pearson: -0.8943603, max: (0.37709028226741476, [3, 5, 5]), best: (-0.8943602996712208, [0, 0, 0]), bound: 0.973009742 },
    Expected { view: (-2, "loads"), f: [1.0, 0.0, 0.0], pearson: -0.8943603, max: (0.36407700963509815, [3, 4, 5]), best: (-0.9321362717741501, [0, 7, 2]), bound: 0.978655182 },
    Expected { view: (-2, "loads"), f: [0.0, 0.0, 1.0], pearson: -0.8943603, max: (0.42148136947963655, [1, 1, 5]), best: (-0.9147685801650309, [1, 3, 0]), bound: 0.977031844 },
    Expected { view: (-2, "netWrites"), f: [1.0, 1.0, 1.0], pearson: -0.068376823, max: (0.08466505937235566, [6, 6, 7]), best: (-0.09783550662967506, [0, 4, 1]), bound: 0.323483363 },
    Expected { view: (-2, "netWrites"), f: [1.0, 0.0, 0.0], pearson: -0.068376823, max: (0.1479665863600137, [6, 1, 5]), best: (-0.16166710018519118, [0, 5, 4]), bound: 0.343756633 },
    Expected { view: (-2, "netWrites"), f: [0.0, 0.0, 1.0], pearson: -0.068376823, max: (0.08119048867471884, [3, 4, 7]), best: (-0.09981847532551423, [6, 5, 1]), bound: 0.328799324 },
    Expected { view: (0, "adds"), f: [1.0, 1.0, 1.0], pearson: 0.0, max: (0.0, [0, 0, 0]), best: (0.0, [0, 0, 0]), bound: 0.0 },
    Expected { view: (0, "adds"), f: [1.0, 0.0, 0.0], pearson: 0.0, max: (0.0, [0, 0, 0]), best: (0.0, [0, 0, 0]), bound: 0.0 },
    Expected { view: (0, "adds"), f: [0.0, 0.0, 1.0], pearson: 0.0, max: (0.0, [0, 0, 0]), best: (0.0, [0, 0, 0]), bound: 0.0 },
    Expected { view: (8, "netWrites"), f: [1.0, 1.0, 1.0], pearson: -0.342075255, max: (0.1681365632468282, [6, 2, 3]), best: (-0.3420752546210171, [0, 0, 0]), bound: 0.465603598 },
    Expected { view: (8, "netWrites"), f: [1.0, 0.0, 0.0], pearson: -0.342075255, max: (0.219750057598891, [6, 1, 4]), best: (-0.3813592493441061, [0, 0, 0]), bound: 0.500411584 },
    Expected { view: (8, "netWrites"), f: [0.0, 0.0, 1.0], pearson: -0.342075255, max: (0.1523131274731913, [0, 7, 2]), best: (-0.2729448858351509, [0, 0, 0]), bound: 0.432782612 },
];

fn agree<T: Real>(text: &str, tolerance: f64) {
    let mut builder = Spectra::<T>::builder(&[8, 8, 8]).expect("a shape");
    builder
        .extend(&[column(text, -2, "adds")], &Job::default())
        .expect("finite");
    for row in EXPECTED {
        builder
            .extend(&[column(text, row.view.0, row.view.1)], &Job::default())
            .expect("finite");
    }
    let spectra = builder.finish();
    for (at, row) in EXPECTED.iter().enumerate() {
        let filter = AxisFilter::new(&row.f).expect("weights");
        let reference = spectra
            .reference(0, &filter, &Job::default())
            .expect("a view")
            .expect("it varies");
        let found = spectra
            .correlate(&reference, at + 1, &Job::default())
            .expect("a view");
        let bound = spectra
            .bound(&reference, at + 1, &Job::default())
            .expect("a view");
        let shift = |peak| spectra.plan().shift(peak);
        assert!(
            (found.max.r - row.max.0).abs() < tolerance,
            "{:?} {:?}",
            row.view,
            found
        );
        assert!(
            (found.strict().r - row.best.0).abs() < tolerance,
            "{:?} {:?}",
            row.view,
            found
        );
        assert_eq!(shift(found.max), row.max.1, "{:?}", row.view);
        assert_eq!(shift(found.strict()), row.best.1, "{:?}", row.view);
        // The reported value is within 1 % of the largest and has a smaller shift.
        let (best, strict) = (found.best(), found.strict());
        assert!(best.r.abs() >= 0.99 * strict.r.abs() - tolerance && best.norm <= strict.norm);
        assert!((bound.most - row.bound).abs() < tolerance.max(1e-8));
        let params = RankParams::default()
            .score(Score::Paper)
            .check()
            .expect("in range");
        let list = spectra
            .rank(0, &filter, &params, &Job::default())
            .expect("a view");
        let listed = list
            .matches
            .iter()
            .find(|found| found.view == at + 1)
            .expect("all are listed");
        assert!((listed.r() - row.max.0).abs() < tolerance);
        // Pearson's r is undefined for a constant view; this crate returns 0.
        assert!(
            (listed.pearson.expect("it is asked for") - row.pearson).abs() < tolerance.max(1e-6)
        );
    }
}

#[test]
fn correlations_of_the_torus() {
    let Some(path) = corpus("torus/bgpc_nodes.yaml") else {
        return;
    };
    let text = std::fs::read_to_string(path).expect("a text file");
    agree::<f64>(&text, 1e-12);
    agree::<f32>(&text, 2e-5);
}
