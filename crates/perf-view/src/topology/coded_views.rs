//! [`Coded`]: compression of the grids of a page to a limited number of bytes, as spectra
//! ([`Frequencies`]) rounded to an accuracy of the correlations, or as few distinct values.
//!
//! A view is coded as its spectrum, whose coefficients are rounded to multiples of a step. The step
//! of a frequency follows from the accuracy of R: with `E_i = sum_k W_i^2 |V|^2` of each axis, it is
//! `accuracy sqrt(min_i E_i / W_i^2 / 12)`. For any weights `f` of the axes, and therefore for any
//! filter `w = sum_i f_i W_i^2`, the square of the step is then at most `accuracy^2 P / w / 12`, with the
//! filtered power `P = sum_i f_i E_i`. The rounding errors of two views change R by a standard
//! deviation of at most `accuracy / 6`.
//!
//! A view with up to 16 different values is coded by its cells, exactly.

use super::range_coder::{CONTEXTS, Encoder};
use crate::Result;
use perf_core::{Job, parallel};
use perf_spectral::Transform;
use perf_topology::Grid;
use serde::Serialize;

/// Accuracy of R where the page has room: six standard deviations of the rounding error.
pub(super) const BEST: f64 = 1e-6;

/// Accuracy beyond which views are skipped instead.
const COARSEST: f64 = 0.02;

/// Largest number of different values of a view that is coded by its cells.
const MOST_VALUES: usize = 16;

/// Variation relative to the sum of squares that counts as rounding error.
const NOTHING: f64 = 1e-12;

/// Largest number of cells of all views of a page, which bounds the memory of the browser.
pub(super) const MOST_CELLS: usize = 1 << 24;

/// Context of a coefficient: the expected length, up to this one.
const CONTEXT: u32 = 3;

/// Difference of the length of a coefficient from the expected one that has the symbol 0.
const BELOW: u32 = 6;

/// Symbol of a length that is stored in 6 bits.
const ESCAPE: usize = 15;

/// Frequencies of a shape, each pair of opposite ones once, in the order of their magnitude.
pub(super) struct Frequencies {
    /// Transform of the shape.
    plan: Transform<f64>,
    /// Places of the real and imaginary part in a packed spectrum, with the sign of the latter; 0 if
    /// the frequency is its own opposite.
    places: Vec<(usize, usize, f64)>,
    /// `W_i^2` of each frequency, axis by axis.
    shares: Vec<Vec<f64>>,
}

impl Frequencies {
    /// Plans the coding of views with these axis lengths.
    pub(super) fn of(dims: &[usize]) -> Result<Self> {
        let plan = Transform::<f64>::new(dims)?;
        let signed = |cell: usize| -> Vec<i32> {
            let mut rest = cell;
            let mut k = vec![0; dims.len()];
            for (k, len) in k.iter_mut().zip(dims).rev() {
                let at = rest % len;
                *k = if 2 * at > *len {
                    at as i32 - *len as i32
                } else {
                    at as i32
                };
                rest /= len;
            }
            k
        };
        let opposite = |k: &[i32]| {
            let digits = k.iter().zip(dims);
            digits.fold(0, |cell, (k, len)| {
                cell * len + (-k).rem_euclid(*len as i32) as usize
            })
        };
        // A spectrum of which each number is its own place.
        let numbers: Vec<f64> = (0..plan.len()).map(|at| at as f64).collect();
        let mut all = Vec::new();
        for cell in 1..plan.len() {
            let k = signed(cell);
            let other = opposite(&k);
            if cell > other {
                continue;
            }
            let Some((re, im)) = plan.coefficient(&numbers, &k) else {
                continue;
            };
            let norm: f64 = k.iter().map(|k| f64::from(*k).powi(2)).sum();
            let place = if cell == other {
                (re as usize, 0, 0.0)
            } else {
                (re as usize, im.abs() as usize, im.signum())
            };
            let shares: Vec<f64> = k.iter().map(|k| f64::from(*k).powi(2) / norm).collect();
            all.push((norm, place, shares));
        }
        // A stable order: frequencies of one magnitude in the order of their cells.
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let shares = (0..dims.len()).map(|axis| all.iter().map(|it| it.2[axis]).collect());
        Ok(Frequencies {
            places: all.iter().map(|it| it.1).collect(),
            shares: shares.collect(),
            plan,
        })
    }

    /// Returns the largest step of a frequency for views with these energies; `None` if they do not
    /// vary along any of its axes.
    fn step(&self, at: usize, energies: &[f64], accuracy: f64) -> Option<f64> {
        let axes = self.shares.iter().zip(energies);
        let limits = axes.filter_map(|(shares, energy)| {
            let share = shares[at];
            (share > 0.0).then(|| energy / share)
        });
        let least = limits.fold(f64::INFINITY, f64::min);
        (least > 0.0).then(|| accuracy * (least / 12.0).sqrt())
    }
}

/// View before it is coded.
enum Source {
    /// Mean, energies along each axis, and the real and imaginary part of each frequency.
    Spectrum(f64, Vec<f64>, Vec<[f64; 2]>),
    /// Different values and, for each cell that holds a location, the number of its value.
    Values(Vec<f64>, Vec<u8>),
}

impl Source {
    fn of(grid: &Grid, frequencies: &Frequencies) -> Result<Self> {
        let cells = || grid.values().iter().zip(grid.mask());
        let held = || cells().filter_map(|(value, held)| held.then_some(*value));
        let mut values: Vec<f64> = Vec::new();
        let mut numbers = Vec::new();
        for value in held() {
            let known = values.iter().position(|other| *other == value);
            let at = known.unwrap_or(values.len());
            if known.is_none() {
                if at == MOST_VALUES {
                    numbers.clear();
                    break;
                }
                values.push(value);
            }
            numbers.push(at as u8);
        }
        if !numbers.is_empty() {
            return Ok(Source::Values(values, numbers));
        }
        let count = held().count().max(1) as f64;
        let mean = held().sum::<f64>() / count;
        let part = |(value, held): (&f64, &bool)| if *held { value - mean } else { 0.0 };
        let parts: Vec<f64> = cells().map(part).collect();
        let plan = &frequencies.plan;
        let mut spectrum = vec![0.0; plan.len()];
        plan.forward(&parts, &mut spectrum, &mut plan.scratch())?;
        let read = |at: usize| spectrum[at];
        let places = frequencies.places.iter();
        let coefficients: Vec<[f64; 2]> = places
            .map(|(re, im, sign)| [read(*re), if *sign == 0.0 { 0.0 } else { sign * read(*im) }])
            .collect();
        // Written with few digits, and read as the same numbers by the page.
        let rounded = |energy: f64| format!("{energy:.4e}").parse().unwrap_or(energy);
        let squares = plan.len() as f64 * held().map(|value| value * value).sum::<f64>();
        let energy = |shares: &Vec<f64>| {
            let all = coefficients.iter().zip(&frequencies.places).zip(shares);
            let energy: f64 = all
                .map(|(([re, im], (_, _, sign)), share)| {
                    (1.0 + sign.abs()) * share * (re * re + im * im)
                })
                .sum();
            if energy <= NOTHING * squares {
                0.0
            } else {
                rounded(energy)
            }
        };
        let energies = frequencies.shares.iter().map(energy).collect();
        Ok(Source::Spectrum(mean, energies, coefficients))
    }

    /// Codes the view with an accuracy of R.
    fn coded(&self, frequencies: &Frequencies, accuracy: f64) -> CodedView {
        let mut encoder = Encoder::new();
        let head = match self {
            Source::Values(values, numbers) => {
                let mut last = 0;
                for number in numbers {
                    encoder.symbol(last, usize::from(*number));
                    last = usize::from(*number) % CONTEXTS;
                }
                Head::Values(values.clone(), 0)
            }
            Source::Spectrum(mean, energies, coefficients) => {
                let mut average = 0.0f64;
                let all = coefficients.iter().zip(&frequencies.places).enumerate();
                for (at, (parts, (_, _, sign))) in all {
                    let Some(step) = frequencies.step(at, energies, accuracy) else {
                        continue;
                    };
                    let count = if *sign == 0.0 { 1 } else { 2 };
                    for part in &parts[..count] {
                        number(&mut encoder, (part / step).round(), &mut average);
                    }
                }
                Head::Spectrum(*mean, energies.clone())
            }
        };
        let (ranges, raw) = encoder.finish();
        CodedView { head, ranges, raw }
    }
}

/// Codes an integer by the length of its magnitude relative to that of the ones before, its lower
/// bits and its sign.
fn number(encoder: &mut Encoder, value: f64, average: &mut f64) {
    let size = value.abs();
    let length = |size: f64| u64::BITS - (size as u64).leading_zeros();
    let expected = length(*average + 0.5);
    let (own, context) = (length(size), expected.min(CONTEXT) as usize);
    let base = expected.saturating_sub(BELOW);
    match own.checked_sub(base) {
        Some(symbol) if (symbol as usize) < ESCAPE => encoder.symbol(context, symbol as usize),
        _ => {
            encoder.symbol(context, ESCAPE);
            encoder.plain(u64::from(own), 6);
        }
    }
    if own > 1 {
        encoder.plain(size as u64, own - 1);
    }
    if own > 0 {
        encoder.plain(u64::from(value < 0.0), 1);
    }
    *average = 0.75 * *average + 0.25 * size;
}

/// Numbers that are stored without coding.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Head {
    /// Mean, and energies along each axis.
    Spectrum(f64, Vec<f64>),
    /// Different values.
    Values(Vec<f64>, u8),
}

/// Coded view.
struct CodedView {
    /// Numbers that are stored without coding.
    head: Head,
    /// Coded numbers.
    ranges: Vec<u8>,
    /// Stored bits.
    raw: Vec<u8>,
}

impl CodedView {
    /// Returns the number of bytes in the page, in base64, with about as many as its numbers take.
    fn len(&self) -> usize {
        let numbers = match &self.head {
            Head::Spectrum(_, energies) => 34 + 11 * energies.len(),
            Head::Values(values, _) => 16 + 18 * values.len(),
        };
        (self.ranges.len() + self.raw.len()) * 4 / 3 + numbers
    }
}

/// Values of the grids of a page.
#[derive(Serialize)]
pub(super) struct Coded {
    /// Numbers of each view, and the lengths of its coded numbers and of its stored bits in bytes.
    views: Vec<(Head, usize, usize)>,
    /// Bytes of all views in base64.
    data: String,
    /// A byte for each cell in base64, 1 if it holds a location.
    held: String,
    /// Number of views of the best accuracy; the others have [`accuracy`](Self::accuracy).
    exact: usize,
    /// Best accuracy of R.
    best: f64,
    /// Accuracy of R with the other views.
    pub(super) accuracy: f64,
}

impl Coded {
    /// Codes grids of one shape in at most about `budget` bytes. The first `exact` ones have the best
    /// accuracy. The others have a lower one if they do not fit otherwise; the last of them are skipped
    /// if the lowest is too high. The number of coded views is that of [`len`](Self::len).
    ///
    /// # Errors
    ///
    /// Returns the errors of the transform, and [`Error::Cancelled`](crate::Error::Cancelled).
    pub(super) fn of(grids: &[&Grid], exact: usize, budget: usize, job: &Job) -> Result<Self> {
        let Some(first) = grids.first() else {
            return Ok(Coded::from(Vec::new(), &[], (0, BEST)));
        };
        let mask: Vec<u8> = first.mask().iter().map(|held| u8::from(*held)).collect();
        let frequencies = Frequencies::of(&first.shape().lens())?;
        let sources = parallel::try_map(grids.len(), |at| {
            job.check()?;
            Source::of(grids[at], &frequencies)
        })?;
        let coded = |from: usize, accuracy: f64| {
            parallel::try_map(sources.len() - from, |at| -> Result<CodedView> {
                job.check()?;
                Ok(sources[from + at].coded(&frequencies, accuracy))
            })
        };
        let exact = exact.min(grids.len());
        let mut views = coded(0, BEST)?;
        let size = |views: &[CodedView]| views.iter().map(CodedView::len).sum::<usize>();
        let mut others = views.split_off(exact);
        let room = budget.saturating_sub(size(&views));
        // Each coefficient loses a bit when the accuracy is halved.
        let numbers = |source: &Source| match source {
            Source::Spectrum(_, _, coefficients) => 2 * coefficients.len(),
            Source::Values(..) => 0,
        };
        let coefficients: usize = sources.iter().skip(exact).map(numbers).sum();
        let mut accuracy = BEST;
        while size(&others) > room && accuracy < COARSEST && coefficients > 0 {
            let excess = (size(&others) - room) as f64 * 6.0 / coefficients as f64;
            accuracy = (accuracy * (1.02 * excess + 0.05).exp2()).min(COARSEST);
            others = coded(exact, accuracy)?;
        }
        let mut sum = 0;
        let fits = |view: &CodedView| {
            sum += view.len();
            sum <= room
        };
        let held = others.iter().map(fits).take_while(|fits| *fits).count();
        others.truncate(held);
        views.append(&mut others);
        Ok(Coded::from(views, &mask, (exact, accuracy)))
    }

    fn from(views: Vec<CodedView>, mask: &[u8], (exact, accuracy): (usize, f64)) -> Self {
        let mut data = Vec::new();
        let mut heads = Vec::new();
        for view in views {
            data.extend_from_slice(&view.ranges);
            data.extend_from_slice(&view.raw);
            heads.push((view.head, view.ranges.len(), view.raw.len()));
        }
        Coded {
            views: heads,
            data: crate::encoding::base64(&data),
            held: crate::encoding::base64(mask),
            exact,
            best: BEST,
            accuracy,
        }
    }

    /// Returns the number of coded views.
    pub(super) fn len(&self) -> usize {
        self.views.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::range_coder::tests::Decoder;
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use perf_topology::Shape;

    fn grid(dims: &[usize], values: &[f64], holes: &[usize]) -> Grid {
        let mask = (0..values.len()).map(|cell| !holes.contains(&cell));
        let shape = Shape::of(dims).expect("a shape");
        Grid::new(shape, values.to_vec(), mask.collect()).expect("they fit")
    }

    /// Returns the coefficients of a coded view as the page reads them.
    fn decoded(coded: &Coded, at: usize, frequencies: &Frequencies) -> Vec<[f64; 2]> {
        let data = STANDARD.decode(&coded.data).expect("base64");
        let start: usize = coded.views[..at].iter().map(|it| it.1 + it.2).sum();
        let (head, ranges, raw) = &coded.views[at];
        let middle = start + ranges;
        let mut decoder = Decoder::new(&data[start..middle], &data[middle..middle + raw]);
        let Head::Spectrum(_, energies) = head else {
            panic!("not a spectrum");
        };
        let accuracy = if at < coded.exact {
            coded.best
        } else {
            coded.accuracy
        };
        let mut average = 0.0f64;
        let mut number = || {
            let expected = u64::BITS - ((average + 0.5) as u64).leading_zeros();
            let length = match decoder.symbol(expected.min(CONTEXT) as usize) {
                ESCAPE => decoder.plain(6) as u32,
                symbol => symbol as u32 + expected.saturating_sub(BELOW),
            };
            let low = if length > 1 {
                decoder.plain(length - 1)
            } else {
                0
            };
            let size = if length > 0 {
                (1u64 << (length - 1)) + low
            } else {
                0
            } as f64;
            average = 0.75 * average + 0.25 * size;
            if size > 0.0 && decoder.plain(1) == 1 {
                -size
            } else {
                size
            }
        };
        let places = frequencies.places.iter().enumerate();
        let all = places.map(
            |(at, (_, _, sign))| match frequencies.step(at, energies, accuracy) {
                None => [0.0; 2],
                Some(step) => {
                    let re = step * number();
                    [re, if *sign == 0.0 { 0.0 } else { step * number() }]
                }
            },
        );
        all.collect()
    }

    fn source(grid: &Grid, frequencies: &Frequencies) -> Vec<[f64; 2]> {
        match Source::of(grid, frequencies).expect("it transforms") {
            Source::Spectrum(_, _, coefficients) => coefficients,
            Source::Values(..) => panic!("few values"),
        }
    }

    /// Returns R without shift under weights of the axes.
    fn r(a: &[[f64; 2]], b: &[[f64; 2]], f: &[f64], frequencies: &Frequencies) -> f64 {
        let dot = |a: &[[f64; 2]], b: &[[f64; 2]]| -> f64 {
            let each = a.iter().zip(b).zip(&frequencies.places).enumerate();
            each.map(|(at, ((a, b), (_, _, sign)))| {
                let shares = frequencies.shares.iter().zip(f);
                let weight: f64 = shares.map(|(share, f)| share[at] * f).sum();
                weight * (1.0 + sign.abs()) * (a[0] * b[0] + a[1] * b[1])
            })
            .sum()
        };
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

    #[test]
    fn rounded_views_correlate_like_the_original_ones() {
        let mut state = 3u64;
        let mut random = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for dims in [&[16, 12][..], &[5, 4, 3], &[33], &[8, 1, 2, 4]] {
            let frequencies = Frequencies::of(dims).expect("it is planned");
            let cells: usize = dims.iter().product();
            let below = cells / dims[0];
            // Waves along the first axis that dominate by a factor of 1,000, and noise.
            let views: Vec<Vec<f64>> = (0..6)
                .map(|view| {
                    let phase = random() * 6.0;
                    let wave = |cell: usize| (phase + cell as f64 / below as f64).sin() * 1e9;
                    let noise = if view % 2 == 0 { 1e6 } else { 1e9 };
                    (0..cells)
                        .map(|cell| 5e9 + wave(cell) + noise * random())
                        .collect()
                })
                .collect();
            let grids: Vec<Grid> = views.iter().map(|view| grid(dims, view, &[1])).collect();
            let grids: Vec<&Grid> = grids.iter().collect();
            let originals: Vec<_> = grids
                .iter()
                .map(|grid| source(grid, &frequencies))
                .collect();
            let filters: Vec<Vec<f64>> = (0..dims.len())
                .map(|axis| {
                    (0..dims.len())
                        .map(|at| f64::from(u8::from(at != axis)))
                        .collect()
                })
                .chain([vec![1.0; dims.len()], vec![0.3; dims.len()]])
                .collect();
            let errors = |coded: &Coded| {
                let views: Vec<_> = (0..6).map(|at| decoded(coded, at, &frequencies)).collect();
                let pairs = (0..6).flat_map(|a| (0..a).map(move |b| (a, b)));
                let each = pairs.flat_map(|(a, b)| filters.iter().map(move |f| (a, b, f)));
                let error = |(a, b, f): (usize, usize, &Vec<f64>)| {
                    let truth = r(&originals[a], &originals[b], f, &frequencies);
                    (r(&views[a], &views[b], f, &frequencies) - truth).abs()
                };
                each.map(error)
                    .filter(|error| error.is_finite())
                    .fold(0.0, f64::max)
            };
            let coded = Coded::of(&grids, 2, usize::MAX, &Job::default()).expect("they are coded");
            assert_eq!((coded.len(), coded.accuracy), (6, BEST));
            assert!(errors(&coded) <= BEST, "{dims:?} {}", errors(&coded));
            // With fewer bytes, the accuracy that is stated holds.
            let size = coded.data.len();
            let budget = size * 4 / 5 + 6 * (34 + 11 * dims.len());
            let few = Coded::of(&grids, 2, budget, &Job::default()).expect("they are coded");
            assert!(few.accuracy > BEST && few.data.len() < size, "{dims:?}");
            assert!(errors(&few) <= few.accuracy, "{dims:?} {}", errors(&few));
            let none = Coded::of(&grids, 2, 10, &Job::default()).expect("they are coded");
            assert_eq!((none.len(), none.accuracy), (2, COARSEST));
        }
    }

    #[test]
    fn few_values_are_exact_and_directions_without_variation_take_nothing() {
        let dims = [16, 16];
        let values: Vec<f64> = (0..256).map(|cell| f64::from(cell / 100) * 0.1).collect();
        let holes = grid(&dims, &values, &[7, 255]);
        let coded = Coded::of(&[&holes], 1, 10_000, &Job::default()).expect("it is coded");
        let (Head::Values(known, _), ranges, 0) = &coded.views[0] else {
            panic!("not coded by cells");
        };
        assert!(*ranges < 64, "{ranges}");
        let data = STANDARD.decode(&coded.data).expect("base64");
        let (mut decoder, mut last) = (Decoder::new(&data, &[]), 0);
        for (cell, value) in values.iter().enumerate() {
            if ![7, 255].contains(&cell) {
                last = decoder.symbol(last);
                assert_eq!(known[last], *value);
            }
        }
        // A wave along the second axis with 8 different frequencies.
        let wave = |cell: usize| (1 << (cell % 16)) as f64 + 1e-3 * (cell % 16) as f64;
        let wave: Vec<f64> = (0..256).map(wave).collect();
        let along: Vec<f64> = (0..256).map(|cell| wave[cell] + 1e9).collect();
        let both: Vec<f64> = (0..256).map(|cell| wave[cell] * wave[cell / 16]).collect();
        let (along, both) = (grid(&dims, &along, &[]), grid(&dims, &both, &[]));
        let frequencies = Frequencies::of(&dims).expect("it is planned");
        for (grid, axes) in [(&along, 1), (&both, 2)] {
            match Source::of(grid, &frequencies).expect("it transforms") {
                Source::Values(values, _) => assert_eq!((values.len(), axes), (16, 1)),
                Source::Spectrum(_, energies, _) => {
                    let varying = energies.iter().filter(|energy| **energy > 0.0).count();
                    assert_eq!(varying, axes);
                }
            }
        }
    }
}
