//! Colours: palettes of states, colour maps of numbers, and light and dark themes.

pub(crate) mod colour;
pub(crate) mod colour_map;
pub(crate) mod palette;
pub(crate) mod theme;
