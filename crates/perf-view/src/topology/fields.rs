//! [`Fields`]: exact values of the grids of a page, from which it computes correlations itself.

#![cfg_attr(
    not(feature = "spectral"),
    allow(dead_code, reason = "only spectra have views to explore")
)]

use crate::encoding::base64;
use perf_topology::Grid;
use serde::Serialize;

/// Largest size of the values of all grids in a page, in bytes of base64.
pub(super) const MAX_BYTES: usize = 4_500_000;

/// Bytes of base64 for each cell: 24 bits.
const BYTES_PER_CELL: usize = 4;

/// Largest encoded number.
const LARGEST: f64 = 16_777_215.0;

/// Returns the number of grids of this many cells whose values fit into a page.
pub(super) fn capacity(cells: usize) -> usize {
    MAX_BYTES / (BYTES_PER_CELL * cells.max(1))
}

/// Views that a page can correlate.
#[derive(Clone, Debug)]
pub(super) struct Explored {
    /// Pairs of grids of which one contains the other; the first number is the smaller one.
    pub(super) kin: Vec<(usize, usize)>,
    /// Relative difference within which magnitudes count as equal.
    pub(super) tolerance: f64,
}

/// Smallest and largest value, and 24 bits for each cell in base64, little-endian: 0 is the
/// smallest value, the largest number is the largest value. Cells without a location have the mean.
type Exact = (f64, f64, String);

/// Values and kin of the grids, as the page reads them.
#[derive(Serialize)]
pub(super) struct Fields {
    /// Values of each grid.
    values: Vec<Exact>,
    /// A byte for each cell, 1 if it holds a location.
    held: String,
    /// Kin of each grid with a higher number.
    kin: Vec<Vec<usize>>,
    /// Relative difference within which magnitudes count as equal.
    tolerance: f64,
}

impl Fields {
    /// Encodes the values of grids with the same mask.
    pub(super) fn of<'a>(grids: impl ExactSizeIterator<Item = &'a Grid>, with: &Explored) -> Self {
        let mut kin = vec![Vec::new(); grids.len()];
        for (one, other) in &with.kin {
            if let Some(list) = kin.get_mut(*one) {
                list.push(*other);
            }
        }
        let (mut values, mut held) = (Vec::new(), String::new());
        for grid in grids {
            if held.is_empty() {
                let bytes: Vec<u8> = grid.mask().iter().map(|held| u8::from(*held)).collect();
                held = base64(&bytes);
            }
            values.push(exact(grid));
        }
        Fields {
            values,
            held,
            kin,
            tolerance: with.tolerance,
        }
    }
}

fn exact(grid: &Grid) -> Exact {
    let cells = || grid.values().iter().zip(grid.mask());
    let held = || cells().filter_map(|(value, held)| held.then_some(*value));
    let low = held().fold(f64::INFINITY, f64::min);
    let high = held().fold(f64::NEG_INFINITY, f64::max);
    let mean = held().sum::<f64>() / held().count().max(1) as f64;
    let step = |(value, held): (&f64, &bool)| {
        let value = if *held { *value } else { mean };
        let number = if high > low {
            (LARGEST * ((value - low) / (high - low))).round() as u32
        } else {
            0
        };
        let [a, b, c, _] = number.to_le_bytes();
        [a, b, c]
    };
    let bytes: Vec<u8> = cells().flat_map(step).collect();
    (low, high, base64(&bytes))
}
