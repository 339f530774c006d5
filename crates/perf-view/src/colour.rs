//! [`Colour`]: sRGB with opacity, and what is computed with it.

use std::fmt;

/// A colour: sRGB channels and opacity, 0 to 255 each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Colour {
    /// Red.
    pub r: u8,
    /// Green.
    pub g: u8,
    /// Blue.
    pub b: u8,
    /// Opacity: 255 hides what is below, 0 is not seen.
    pub a: u8,
}

impl Colour {
    /// From `0xrrggbb`, opaque.
    ///
    /// ```
    /// let red = perf_view::Colour::hex(0xd73027);
    /// assert_eq!((red.r, red.g, red.b, red.a), (0xd7, 0x30, 0x27, 255));
    /// assert_eq!(red.to_string(), "#d73027");
    /// ```
    pub const fn hex(value: u32) -> Self {
        let [_, r, g, b] = value.to_be_bytes();
        Colour { r, g, b, a: 255 }
    }

    /// The same colour at another opacity, 0 to 1.
    pub fn opacity(self, share: f64) -> Self {
        let a = (255.0 * share.clamp(0.0, 1.0)).round() as u8;
        Colour { a, ..self }
    }

    /// Mixed with another, channel by channel: this one at `share` 0, the other at 1.
    pub fn mix(self, other: Colour, share: f64) -> Self {
        let share = share.clamp(0.0, 1.0);
        let mix = |from: u8, to: u8| {
            (f64::from(from) + share * (f64::from(to) - f64::from(from))).round() as u8
        };
        Colour {
            r: mix(self.r, other.r),
            g: mix(self.g, other.g),
            b: mix(self.b, other.b),
            a: mix(self.a, other.a),
        }
    }

    /// Brighter (above 1) or darker (below 1) by a factor, as a lamp would have it.
    pub fn lit(self, factor: f64) -> Self {
        let scale = |channel: u8| (f64::from(channel) * factor).round().clamp(0.0, 255.0) as u8;
        Colour {
            r: scale(self.r),
            g: scale(self.g),
            b: scale(self.b),
            a: self.a,
        }
    }

    /// Relative luminance, 0 (black) to 1 (white), as WCAG 2 defines it.
    pub fn luminance(self) -> f64 {
        let [r, g, b] = self.linear();
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// The contrast ratio of two opaque colours, 1 to 21, as WCAG 2 defines it. Text wants 4.5.
    ///
    /// ```
    /// use perf_view::Colour;
    /// let ratio = Colour::hex(0x000000).contrast(Colour::hex(0xffffff));
    /// assert!((ratio - 21.0).abs() < 1e-9);
    /// ```
    pub fn contrast(self, other: Colour) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    /// Channels in proportion to light, 0 to 1.
    pub(crate) fn linear(self) -> [f64; 3] {
        [self.r, self.g, self.b].map(|channel| {
            let value = f64::from(channel) / 255.0;
            match value <= 0.040_45 {
                true => value / 12.92,
                false => ((value + 0.055) / 1.055).powf(2.4),
            }
        })
    }

    pub(crate) fn from_linear(channels: [f64; 3]) -> Self {
        let [r, g, b] = channels.map(|value| {
            let value = match value <= 0.003_130_8 {
                true => 12.92 * value,
                false => 1.055 * value.powf(1.0 / 2.4) - 0.055,
            };
            (255.0 * value).round().clamp(0.0, 255.0) as u8
        });
        Colour { r, g, b, a: 255 }
    }
}

impl fmt::Display for Colour {
    /// `#rrggbb`, or `#rrggbbaa` where something shines through.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.r, self.g, self.b)?;
        match self.a {
            255 => Ok(()),
            a => write!(f, "{a:02x}"),
        }
    }
}
