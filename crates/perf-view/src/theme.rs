//! [`Theme`]: paper and ink.

use crate::Colour;

/// Paper and ink: what is not data in a picture. Pages have both themes and follow the reader's choice.
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
    /// What is drawn on.
    pub paper: Colour,
    /// Text.
    pub ink: Colour,
    /// Text that matters less: axes, remarks.
    pub quiet: Colour,
    /// Lines of grids.
    pub grid: Colour,
    /// No region is open.
    pub idle: Colour,
    /// Not recorded.
    pub absent: Colour,
    /// All streams are in the same state, whichever it is.
    pub equal: Colour,
    /// What is abnormal.
    pub alarm: Colour,
}

impl Theme {
    /// Dark on white.
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

    /// Light on near black.
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
