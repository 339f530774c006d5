//! Work for the cancellation bench: spectra of severity views of several shapes, their rankings,
//! confidence, and the correlation of all pairs.

use crate::{Make, Work};
use perfkit::core::Job;
use perfkit::spectral::{AxisFilter, NullParams, RankParams, Spectra};
use perfkit_benches::inputs;
use std::error::Error;

/// Shape with 2^23 points.
const LARGE: [usize; 3] = [256, 256, 128];
/// Shape with about as many points and odd lengths.
const ODD: [usize; 3] = [203, 205, 201];
/// Shape with 2^21 points along one axis.
const LINE: [usize; 1] = [1 << 21];
const SMALL: [usize; 3] = [32, 32, 16];

pub(crate) const ALL: &[(&str, Make)] = &[
    ("spectra of large views", || made(&LARGE, 4)),
    ("spectra of large views, odd lengths", || made(&ODD, 2)),
    ("spectra of one axis", || made(&LINE, 2)),
    ("spectra of small views", || made(&SMALL, 1_000)),
    ("rank of large views", || rank(&LARGE, 4)),
    ("rank of large views, odd lengths", || rank(&ODD, 2)),
    ("rank of small views", || rank(&SMALL, 2_000)),
    ("confidence of large views", || {
        let spectra = spectra(&LARGE, 2)?;
        Ok(Box::new(move |job| {
            let params = NullParams::default().count(20).check()?;
            let filter = AxisFilter::all(LARGE.len());
            spectra.confidence(0, &[1], &filter, &params, job)?;
            Ok(())
        }))
    }),
    ("all pairs", || {
        let spectra = spectra(&SMALL, 100)?;
        Ok(Box::new(move |job| {
            let params = RankParams::default().top(5).check()?;
            let filter = AxisFilter::all(SMALL.len());
            spectra.pairs(&filter, &params, job)?;
            Ok(())
        }))
    }),
];

fn made(dims: &'static [usize], count: usize) -> Result<Work, Box<dyn Error>> {
    let views = inputs::views(dims, count);
    Ok(Box::new(move |job| {
        let mut builder = Spectra::<f64>::builder(dims)?;
        builder.extend_masked(&views, &[], job)?;
        Ok(())
    }))
}

fn spectra(dims: &[usize], count: usize) -> Result<Spectra<f64>, Box<dyn Error>> {
    let mut builder = Spectra::<f64>::builder(dims)?;
    builder.extend(&inputs::views(dims, count), &Job::default())?;
    Ok(builder.finish())
}

fn rank(dims: &'static [usize], count: usize) -> Result<Work, Box<dyn Error>> {
    let spectra = spectra(dims, count)?;
    Ok(Box::new(move |job| {
        let others: Vec<usize> = (1..count).collect();
        let params = RankParams::default().check()?;
        let filter = AxisFilter::all(dims.len());
        spectra.rank_among(0, &others, &filter, &params, job)?;
        Ok(())
    }))
}
