//! Tables agree with the results that they are built from.

use crate::common::noise;
use perf_core::{Cell, Job, Table};
use perf_spectral::{
    AxisFilter, Confidence, NullParams, PairMatch, RankParams, Spectra, View, ViewNames,
};

fn spectra() -> Spectra<f64> {
    let mut builder = Spectra::<f64>::builder(&[4, 6]).expect("finite views of one shape");
    let views: Vec<Vec<f64>> = (0..5).map(|seed| noise(24, seed)).collect();
    builder
        .extend(&views, &Job::default())
        .expect("finite views of one shape");
    builder.finish()
}

fn float(table: &Table, row: usize, column: &str) -> f64 {
    match table.cell(row, column) {
        Some(Cell::Float(value)) => value,
        other => panic!("{other:?} in {column}"),
    }
}

#[test]
fn rankings() {
    let spectra = spectra();
    let names = ViewNames::of_views(spectra.views());
    let params = RankParams::default().check().unwrap();
    let list = spectra
        .rank(2, &AxisFilter::all(2), &params, &Job::default())
        .unwrap();
    let table = list.table(spectra.plan(), &names);
    assert_eq!(table.rows(), 4);
    for (row, found) in list.matches.iter().enumerate() {
        assert_eq!(
            table.cell(row, "view"),
            Some(Cell::Unsigned(found.view as u64))
        );
        assert_eq!(float(&table, row, "r"), found.r());
        assert_eq!(float(&table, row, "unshifted r"), found.correlation.zero);
        assert_eq!(float(&table, row, "largest r"), found.correlation.max.r);
        assert_eq!(Some(float(&table, row, "Pearson's r")), found.pearson);
        let shift = spectra.plan().steps(found.peak);
        let text = format!("({}, {})", shift[0], shift[1]);
        assert_eq!(table.text_of(row, "shift"), text);
    }
    let pairs = spectra
        .pairs(&AxisFilter::all(2), &params, &Job::default())
        .unwrap();
    let table = PairMatch::table(&pairs, spectra.plan(), &names);
    assert_eq!(table.rows(), 10);
    let last = &pairs[9];
    let reference = Some(Cell::Unsigned(last.reference as u64));
    assert_eq!(table.cell(9, "reference view"), reference);
    assert_eq!(float(&table, 9, "r"), last.found.r());
}

#[test]
fn chances() {
    let spectra = spectra();
    let all = AxisFilter::all(2);
    let params = RankParams::default().check().unwrap();
    let list = spectra.rank(0, &all, &params, &Job::default()).unwrap();
    let views: Vec<usize> = list.matches.iter().map(|found| found.view).collect();
    let null = NullParams::default().count(19).check().unwrap();
    let chance: Confidence = spectra
        .confidence(0, &views, &all, &null, &Job::default())
        .unwrap();
    let table = chance.table(&list.matches, &ViewNames::of_views(spectra.views()));
    for row in 0..views.len() {
        assert_eq!(float(&table, row, "p"), chance.p[row]);
        assert_eq!(float(&table, row, "p of all views"), chance.p_of_all[row]);
        let is_beyond = list.matches[row].r().abs() > chance.band;
        assert_eq!(
            table.cell(row, "beyond null band"),
            Some(Cell::Flag(is_beyond))
        );
    }
    // Fewer matches than probabilities.
    let fewer = chance.table(&list.matches[..1], &ViewNames::of_views(spectra.views()));
    assert_eq!(fewer.rows(), 1);
}

#[test]
fn axes_and_views() {
    let spectra = spectra();
    let power = spectra.axis_power(1).unwrap();
    let table = power.table(&["x", "y"]);
    assert_eq!(float(&table, 1, "share"), 100.0 * power.share[1]);
    assert_eq!(float(&table, 0, "share by chance"), 100.0 * power.chance[0]);
    let table = View::table(spectra.views(), &ViewNames::of_views(spectra.views()));
    assert_eq!(float(&table, 3, "mean"), spectra.views()[3].mean);
    assert_eq!(table.cell(3, "skipped"), Some(Cell::Flag(false)));
}

#[cfg(feature = "serde")]
#[test]
fn results_are_json() {
    let spectra = spectra();
    let params = RankParams::default().check().unwrap();
    let list = spectra
        .rank(0, &AxisFilter::all(2), &params, &Job::default())
        .unwrap();
    let json = serde_json::to_value(&list).unwrap();
    let first = &json["matches"][0];
    assert_eq!(first["peak"]["r"], list.matches[0].peak.r);
    assert_eq!(
        first["correlation"]["zero"],
        list.matches[0].correlation.zero
    );
    let json = serde_json::to_value(spectra.views()).unwrap();
    assert_eq!(json[1]["mean"], spectra.views()[1].mean);
    assert_eq!(json[1].get("slot"), None);
    let json = serde_json::to_value(spectra.axis_power(0).unwrap()).unwrap();
    assert_eq!(json["share"].as_array().unwrap().len(), 2);
}
