//! [`Data`]: grids, lists of correlated views, spectra and colours of the page of a
//! [`View`](super::View), as its script reads them.

use super::merged_cells::{Coarse, range};
use super::spectrum::Plane;
use crate::encoding::base64;
use crate::{ColourMap, Unit};
use serde::Serialize;
use serde_json::Value;

/// Name, number of cubes along the axis, cells in a cube along the axis, and cells along the axis.
pub(super) type AxisData = (String, usize, usize, usize);

/// View, correlation, shift, and correlation without shift.
pub(super) type FoundData<'a> = (usize, f64, &'a [isize], f64);

/// Smallest and largest value, and one byte for each cell in base64: 1 to 255 from the smallest to
/// the largest value, 0 for cells without a location.
type Quantised = (f64, f64, String);

/// Grids, lists and colours of the page.
#[derive(Serialize)]
pub(super) struct Data<'a> {
    pub(super) axes: Vec<AxisData>,
    pub(super) grids: Vec<GridData<'a>>,
    pub(super) chosen: Option<u32>,
    /// Bit mask of the axes, matches, and weights of the axes.
    pub(super) lists: Vec<(u32, Vec<FoundData<'a>>, &'a [f64])>,
    /// Names of the cells with the part that they share with the one before.
    pub(super) names: Vec<(usize, &'a str)>,
    /// Names and colours of the maps.
    pub(super) maps: Vec<(&'a str, String)>,
    pub(super) waves: Vec<(&'static str, String)>,
    pub(super) coarser: bool,
    /// Axes, lengths and values of each plane.
    pub(super) spectra: Vec<([usize; 2], [usize; 2], String)>,
    /// Values of the grids, if the page correlates them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fields: Option<Value>,
}

/// Grid of the page.
#[derive(Serialize)]
pub(super) struct GridData<'a> {
    /// Name with the part that it shares with the one before.
    name: (usize, &'a str),
    unit: &'a str,
    /// Mean, and also maximum and spread if cells are merged.
    kinds: Vec<Quantised>,
}

impl<'a> GridData<'a> {
    /// Describes a grid; without `coarse`, its values are among the fields or come from a server.
    pub(super) fn of(name: (usize, &'a str), unit: &'a Unit, coarse: Option<&Coarse>) -> Self {
        let kinds = match coarse {
            None => Vec::new(),
            Some(coarse) if coarse.is_coarser() => vec![&coarse.mean, &coarse.max, &coarse.spread],
            Some(coarse) => vec![&coarse.mean],
        };
        GridData {
            name,
            unit: unit_text(unit),
            kinds: kinds.into_iter().map(|values| quantised(values)).collect(),
        }
    }
}

/// Returns the unit as the page knows it.
pub(super) fn unit_text(unit: &Unit) -> &str {
    match unit {
        Unit::Nanos => "ns",
        Unit::Bytes => "B",
        Unit::Share => "%",
        Unit::Number => "",
        Unit::Other(unit) => unit,
    }
}

fn quantised(values: &[f64]) -> Quantised {
    let [low, high] = range(values);
    let step = |value: &f64| {
        if !value.is_finite() {
            0
        } else if high > low {
            1 + (254.0 * (value - low) / (high - low)).round() as u8
        } else {
            1
        }
    };
    let bytes: Vec<u8> = values.iter().map(step).collect();
    (low, high, base64(&bytes))
}

/// Returns a plane of a spectrum as the page reads it.
pub(super) fn plane_data(plane: &Plane) -> ([usize; 2], [usize; 2], String) {
    // The magnitudes of waves span decades, so the scale is logarithmic. Values below 1e-4 of the
    // largest become 0.
    let step =
        |value: &f64| (255.0 * (1.0 + value.max(1e-12).log10() / 4.0).max(0.0)).round() as u8;
    let bytes: Vec<u8> = plane.values.iter().map(step).collect();
    (plane.axes, plane.lens, base64(&bytes))
}

/// Returns the names and colours of maps.
pub(super) fn map_data(maps: &[ColourMap]) -> Vec<(&str, String)> {
    let value = |map: &ColourMap| {
        let bytes: Vec<u8> = map.table().iter().flat_map(|c| [c.r, c.g, c.b]).collect();
        (map.name(), base64(&bytes))
    };
    maps.iter().map(value).collect()
}
