//! [`ColourMap`]: assigns colours to values in `0.0..=1.0`, with maps for colour-blind readers.

use crate::Colour;

/// Colour map: assigns a colour to each value in `0.0..=1.0`.
///
/// Colours between the stops are mixed in Oklab (Ottosson, 2020), in which equal steps look equal.
///
/// ```
/// use perf_view::ColourMap;
/// let map = ColourMap::GreenYellowRed;
/// assert_eq!(map.at(0.0).to_string(), "#1a9850");
/// assert_eq!(map.at(1.0).to_string(), "#c9252d");
/// assert_eq!(map.table().len(), 256);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum ColourMap {
    /// Green for low, yellow for medium and red for high values, the traditional map of severity
    /// views. Not suitable for colour-blind readers.
    #[default]
    GreenYellowRed,
    /// Dark blue to bright yellow with evenly rising lightness. Safe for colour-blind readers and
    /// for print without colour.
    BlueYellow,
    /// Blue for low, near white for medium and orange for high values. Suitable for signed values
    /// such as correlations. Safe for colour-blind readers.
    BlueOrange,
    /// Custom colours, evenly spaced. There must be at least one.
    Own(Vec<Colour>),
}

const GREEN_YELLOW_RED: [Colour; 5] = [
    Colour::hex(0x1a9850),
    Colour::hex(0x93c94a),
    Colour::hex(0xfee15a),
    Colour::hex(0xf5873c),
    Colour::hex(0xc9252d),
];
const BLUE_YELLOW: [Colour; 2] = [Colour::hex(0x0b2550), Colour::hex(0xffe945)];
const BLUE_ORANGE: [Colour; 5] = [
    Colour::hex(0x17427d),
    Colour::hex(0x6a9fce),
    Colour::hex(0xf3f3f0),
    Colour::hex(0xe89a54),
    Colour::hex(0x94410c),
];

impl ColourMap {
    /// Returns the colour of a value. Values outside of `0.0..=1.0` have the colour of the nearest
    /// end. NaN has the colour of 0.
    pub fn at(&self, value: f64) -> Colour {
        let stops = self.stops();
        let value = if value.is_nan() { 0.0 } else { value };
        let place = value.clamp(0.0, 1.0) * stops.len().saturating_sub(1) as f64;
        let below = place.floor();
        // A map of the user may have no colours.
        let stop = |at: f64| stops.get(at as usize).copied().unwrap_or_default();
        let (from, to) = (stop(below), stop(place.ceil()));
        mixed(from, to, place - below)
    }

    /// Returns 256 evenly spaced colours from 0 to 1, as a look-up table.
    pub fn table(&self) -> Vec<Colour> {
        (0..256).map(|at| self.at(f64::from(at) / 255.0)).collect()
    }

    /// Returns a short name for lists of maps.
    pub fn name(&self) -> &'static str {
        match self {
            ColourMap::GreenYellowRed => "green, yellow, red",
            ColourMap::BlueYellow => "blue, yellow (colour-blind safe)",
            ColourMap::BlueOrange => "blue, white, orange (colour-blind safe)",
            ColourMap::Own(_) => "own",
        }
    }

    fn stops(&self) -> &[Colour] {
        match self {
            ColourMap::GreenYellowRed => &GREEN_YELLOW_RED,
            ColourMap::BlueYellow => &BLUE_YELLOW,
            ColourMap::BlueOrange => &BLUE_ORANGE,
            ColourMap::Own(stops) => stops,
        }
    }
}

/// Mixes two colours in Oklab.
fn mixed(from: Colour, to: Colour, share: f64) -> Colour {
    if share <= 0.0 || from == to {
        return from;
    }
    let (a, b) = (oklab(from), oklab(to));
    let lab = std::array::from_fn(|at| a[at] + share * (b[at] - a[at]));
    from_oklab(lab)
}

/// Converts a colour to Oklab, which has lightness and two axes of hue (Ottosson, "A perceptual
/// color space for image processing").
pub(crate) fn oklab(colour: Colour) -> [f64; 3] {
    let [r, g, b] = colour.linear();
    let l = (0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b).cbrt();
    let m = (0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b).cbrt();
    let s = (0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b).cbrt();
    [
        0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
        1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
        0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
    ]
}

fn from_oklab([lightness, a, b]: [f64; 3]) -> Colour {
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    Colour::from_linear([
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_map_grows_lighter_evenly() {
        let table = ColourMap::BlueYellow.table();
        let light: Vec<f64> = table.iter().map(|colour| oklab(*colour)[0]).collect();
        let steps: Vec<f64> = light.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        assert!(mean > 0.0025, "{mean}");
        // Rounding to 8 bits changes each step a little, but never turns it into a step backwards
        // of that size.
        assert!(steps.iter().all(|step| (step - mean).abs() < 0.004));
    }

    /// Simulates vision without red cones by Viénot's projection: red and green mix.
    fn without_red_cones(colour: Colour) -> Colour {
        let [r, g, b] = colour.linear();
        let mixed = 0.112_38 * r + 0.887_62 * g;
        Colour::from_linear([mixed, mixed, (0.004_01 * r - 0.004_01 * g + b).max(0.0)])
    }

    #[test]
    fn safe_maps_stay_apart_without_red_cones() {
        for map in [ColourMap::BlueYellow, ColourMap::BlueOrange] {
            let seen = |at: f64| oklab(without_red_cones(map.at(at)));
            for step in 0..8 {
                let (a, b) = (seen(f64::from(step) / 8.0), seen(f64::from(step + 1) / 8.0));
                let apart: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
                assert!(apart.sqrt() > 0.03, "{map:?} {step}: {apart}");
            }
        }
    }

    #[test]
    fn ends_and_nonsense() {
        let map = ColourMap::Own(vec![Colour::hex(0x010203)]);
        assert_eq!(map.at(0.7), Colour::hex(0x010203));
        assert_eq!(ColourMap::Own(Vec::new()).at(0.5), Colour::default());
        let map = ColourMap::BlueYellow;
        assert_eq!(map.at(f64::NAN), map.at(0.0));
        assert_eq!(map.at(f64::INFINITY), map.at(1.0));
        assert_eq!(map.at(-3.0), map.at(0.0));
    }
}
