//! Drawing of pictures: scenes of marks, axes, charts, tables of grades, and their output as PNG and SVG.

pub(crate) mod axis;
pub(crate) mod bars;
pub(crate) mod canvas;
#[cfg(any(feature = "track", feature = "anomaly"))]
pub(crate) mod chart;
pub(crate) mod glyphs;
pub(crate) mod grades;
pub(crate) mod heat_map;
pub(crate) mod scene;
pub(crate) mod svg;
