//! [`Theme`]: colours of background, text, grid lines and cells without data, light or dark.

use crate::Colour;

/// Colours of everything in a picture that is not data. Pages contain both themes, and the reader
/// chooses.
///
/// ```
/// use perf_view::Theme;
/// for theme in [Theme::light(), Theme::dark()] {
///     assert!(theme.ink.contrast(theme.paper) > 7.0);
///     assert!(theme.quiet.contrast(theme.paper) > 4.5);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Background.
    pub paper: Colour,
    /// Text.
    pub ink: Colour,
    /// Secondary text, such as axis labels and remarks.
    pub quiet: Colour,
    /// Grid lines.
    pub grid: Colour,
    /// Streams without an open region.
    pub idle: Colour,
    /// Times without recorded data.
    pub absent: Colour,
    /// Uniform cells: all streams are in the same state, regardless of the state.
    pub equal: Colour,
    /// Abnormal data.
    pub alarm: Colour,
}

impl Theme {
    /// Returns the theme with dark text on white.
    pub const fn light() -> Self {
        Theme {
            paper: Colour::hex(0xffffff),
            ink: Colour::hex(0x1d1f26),
            quiet: Colour::hex(0x5d616d),
            grid: Colour::hex(0xd5d7de),
            idle: Colour::hex(0xe6e7ec),
            absent: Colour::hex(0xf7f7fa),
            equal: Colour::hex(0xd7e5f4),
            alarm: Colour::hex(0xb3161f),
        }
    }

    /// Returns the theme with light text on near black.
    pub const fn dark() -> Self {
        Theme {
            paper: Colour::hex(0x14161b),
            ink: Colour::hex(0xe8eaf0),
            quiet: Colour::hex(0xa2a7b5),
            grid: Colour::hex(0x393d48),
            idle: Colour::hex(0x2a2d36),
            absent: Colour::hex(0x1b1d24),
            equal: Colour::hex(0x28405c),
            alarm: Colour::hex(0xff6b66),
        }
    }
}

impl Default for Theme {
    fn default() -> Self {
        Theme::light()
    }
}
