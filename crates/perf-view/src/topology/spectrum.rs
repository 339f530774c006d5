//! [`planes`]: computes the magnitude spectrum of a [`Coarse`] grid by a Fourier transform, as one
//! [`Plane`] of values for each pair of axes.

use super::merged_cells::Coarse;

/// Magnitudes over two axes of a grid, summed over the other axes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plane {
    /// Axes of the plane: rows, then columns.
    pub(super) axes: [usize; 2],
    /// Number of rows and columns.
    pub(super) lens: [usize; 2],
    /// Values row by row, with frequency 0 in the middle. A value is the square root of the power
    /// relative to its maximum.
    pub(super) values: Vec<f64>,
}

/// Returns the spectra over all pairs of axes longer than 1, at most six pairs. If only one axis is
/// longer than 1, it is paired with an axis of length 1, if there is one.
///
/// The mean is removed, and cells without a location are set to the mean.
pub(super) fn planes(coarse: &Coarse) -> Vec<Plane> {
    let lens = &coarse.lens;
    let held = coarse.mean.iter().filter(|value| value.is_finite());
    let (sum, count) = held.fold((0.0, 0usize), |(sum, count), v| (sum + v, count + 1));
    let mean = sum / count.max(1) as f64;
    let part = |value: &f64| if value.is_finite() { value - mean } else { 0.0 };
    let mut re: Vec<f64> = coarse.mean.iter().map(part).collect();
    let mut im = vec![0.0; re.len()];
    let mut below = re.len();
    for len in lens {
        below /= len;
        along(&mut re, &mut im, *len, below);
    }
    let power: Vec<f64> = re
        .iter()
        .zip(&im)
        .map(|(re, im)| re * re + im * im)
        .collect();
    let mut long: Vec<usize> = (0..lens.len()).filter(|axis| lens[*axis] > 1).collect();
    // If fewer than two axes are longer than 1, they are paired with axes of length 1.
    let more = (0..lens.len()).filter(|axis| lens[*axis] <= 1);
    long.extend(more.take(2usize.saturating_sub(long.len())));
    let pairs = (0..long.len()).flat_map(|a| (a + 1..long.len()).map(move |b| (a, b)));
    let pairs = pairs.filter_map(|(a, b)| Some([*long.get(a)?, *long.get(b)?]));
    pairs
        .take(6)
        .map(|axes| plane(&power, lens, axes))
        .collect()
}

/// Transforms along one axis by the definition of the discrete Fourier transform. This is fast
/// enough because the axis is short.
fn along(re: &mut [f64], im: &mut [f64], len: usize, below: usize) {
    if len < 2 {
        return;
    }
    let turns: Vec<(f64, f64)> = (0..len)
        .map(|at| (-std::f64::consts::TAU * at as f64 / len as f64).sin_cos())
        .collect();
    let block = len * below;
    let mut line = vec![(0.0, 0.0); len];
    for first in (0..re.len()).step_by(block).flat_map(|at| at..at + below) {
        for (at, slot) in line.iter_mut().enumerate() {
            let cell = first + at * below;
            *slot = (re[cell], im[cell]);
        }
        for k in 0..len {
            let mut sum = (0.0, 0.0);
            for (at, (x, y)) in line.iter().enumerate() {
                let (sin, cos) = turns[k * at % len];
                sum = (sum.0 + x * cos - y * sin, sum.1 + x * sin + y * cos);
            }
            let cell = first + k * below;
            (re[cell], im[cell]) = sum;
        }
    }
}

fn plane(power: &[f64], lens: &[usize], [rows, columns]: [usize; 2]) -> Plane {
    let (height, width) = (lens[rows], lens[columns]);
    let mut values = vec![0.0; height * width];
    let stride = |axis: usize| lens[axis + 1..].iter().product::<usize>();
    let (down, across) = (stride(rows), stride(columns));
    for (cell, power) in power.iter().enumerate() {
        let (row, column) = (cell / down % height, cell / across % width);
        // Moves frequency 0 to the middle.
        let (row, column) = ((row + height / 2) % height, (column + width / 2) % width);
        values[row * width + column] += power;
    }
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    values
        .iter_mut()
        .for_each(|value| *value = (*value / most).sqrt());
    Plane {
        axes: [rows, columns],
        lens: [height, width],
        values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_topology::{Grid, Shape};

    #[test]
    fn a_wave_is_two_points() {
        let shape = Shape::of(&[8, 6, 1]).expect("a small shape");
        let wave = |cell: usize| (std::f64::consts::TAU * 2.0 * (cell / 6) as f64 / 8.0).cos();
        let values = (0..48).map(wave).collect();
        let grid = Grid::new(shape, values, vec![true; 48]).expect("it fits");
        let planes = planes(&Coarse::of(&grid, 1000));
        assert_eq!(planes.len(), 1);
        let found = planes[0]
            .values
            .iter()
            .enumerate()
            .filter(|(_, value)| **value > 1e-6);
        // Frequencies +-2 along the first axis, 0 along the second.
        assert_eq!(
            found.map(|(at, _)| at).collect::<Vec<_>>(),
            [2 * 6 + 3, 6 * 6 + 3]
        );
    }

    #[test]
    fn one_axis_has_a_spectrum_too() {
        let shape = Shape::of(&[4]).expect("a small shape");
        let grid = Grid::new(shape, vec![1.0, 0.0, 1.0, 0.0], vec![true; 4]).expect("it fits");
        assert!(planes(&Coarse::of(&grid, 10)).is_empty());
    }
}
