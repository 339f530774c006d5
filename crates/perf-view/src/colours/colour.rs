//! [`Colour`]: sRGB colour with opacity, mixing and contrast.

use std::fmt;

/// Colour with sRGB channels and opacity, each in `0..=255`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Colour {
    /// Red.
    pub r: u8,
    /// Green.
    pub g: u8,
    /// Blue.
    pub b: u8,
    /// Opacity: 255 is opaque, 0 is transparent.
    pub a: u8,
}

impl Colour {
    /// Creates an opaque colour from `0xrrggbb`.
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

    /// Returns the colour with another opacity, in `0.0..=1.0`.
    pub fn opacity(self, share: f64) -> Self {
        let a = (255.0 * share.clamp(0.0, 1.0)).round() as u8;
        Colour { a, ..self }
    }

    /// Mixes two colours channel by channel. A `share` of 0 returns this colour, 1 returns `other`.
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

    /// Scales the channels by a factor. A factor above 1 makes the colour brighter, below 1 darker.
    pub fn lit(self, factor: f64) -> Self {
        let scale = |channel: u8| (f64::from(channel) * factor).round().clamp(0.0, 255.0) as u8;
        Colour {
            r: scale(self.r),
            g: scale(self.g),
            b: scale(self.b),
            a: self.a,
        }
    }

    /// Returns the relative luminance as WCAG 2 defines it, from 0 (black) to 1 (white).
    pub fn luminance(self) -> f64 {
        let [r, g, b] = self.linear();
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// Returns the contrast ratio of two opaque colours as WCAG 2 defines it, from 1 to 21. Text
    /// needs at least 4.5.
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

    /// Returns the linear-light channels, in `0.0..=1.0`.
    pub(crate) fn linear(self) -> [f64; 3] {
        [self.r, self.g, self.b].map(|channel| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    pub(crate) fn from_linear(channels: [f64; 3]) -> Self {
        let [r, g, b] = channels.map(|value| {
            let value = if value <= 0.003_130_8 {
                12.92 * value
            } else {
                1.055 * value.powf(1.0 / 2.4) - 0.055
            };
            (255.0 * value).round().clamp(0.0, 255.0) as u8
        });
        Colour { r, g, b, a: 255 }
    }
}

impl fmt::Display for Colour {
    /// Writes `#rrggbb`, or `#rrggbbaa` unless the colour is opaque.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.r, self.g, self.b)?;
        match self.a {
            255 => Ok(()),
            a => write!(f, "{a:02x}"),
        }
    }
}
