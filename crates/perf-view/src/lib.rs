//! Draws analysis results as PNG or SVG pictures and as self-contained HTML pages.
//!
//! Drawing needs no window system, font file or network. This crate computes pictures itself. A
//! page is one file without external parts, so it can be opened on a login node or from an e-mail,
//! now and in ten years.
//!
//! | results | module or type |
//! |---|---|
//! | folded timelines | [`timeline`] |
//! | severities on grids, with a list of correlated views | [`topology`] |
//! | clusters of CPU bursts, and their tracking across experiments | [`track`] |
//! | efficiencies, as a coloured table of percentages | [`Grades`] |
//! | abnormal ranks, steps, functions and calls | [`anomaly`] |
//!
//! A picture is a [`Scene`], which is written as SVG or PNG. A page is a [`Page`] of [`Section`]s,
//! one for each view. Equal input gives equal bytes.
//!
//! ```
//! use perf_core::Job;
//! use perf_fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
//! use perf_view::{Page, timeline};
//! let trace = perf_core::samples::cosmo::trace();
//! let map = RegionMap::by_name(trace.definitions())?;
//! let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
//! let groups = Groups::by(&timelines, GroupBy::Node);
//!
//! // A picture.
//! let folder = Folder::new(&timelines, groups.clone(), Folder::params().columns(600).check()?)?;
//! let fold = folder.fold(timelines.range(), &Job::default())?;
//! let scene = timeline::Picture::new(&folder, &fold)?.scene();
//! assert!(scene.png()?.starts_with(b"\x89PNG"));
//!
//! // A page that folds, unfolds and zooms.
//! let section = timeline::View::new(&timelines, groups).section(&Job::default())?;
//! let html = Page::new("COSMO-SPECS").with(section).html(&Job::default())?;
//! assert!(html.len() < 1_000_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Method
//!
//! Each view first computes a model of numbers and then draws it as marks of a [`Scene`], in
//! pixels. For a grid with values from `low` to `high`, the position of the value `v` in the colour
//! map is
//!
//! ```text
//! (v - low) / (high - low)
//! ```
//!
//! If the operation of a timeline selects the state of most streams, the colour of a cell is a
//! mixture of the colour of its state and the colour of the paper. The colour of the state has the
//! weight `0.35 + 0.65 a`, where `a` is the share of streams in that state. Between two stops of a
//! colour map, colours are mixed in Oklab (Ottosson 2020), in which equal steps look equal. In PNG
//! files the weight of a mark in a pixel is the share of the pixel that it covers. Axis labels are
//! at 1, 2 or 5 times a power of ten, or at powers of two for bytes.
//!
//! # Security
//!
//! Names of functions and files come from recordings and are not trusted. They are escaped in every
//! picture and page, and the content security policy of a page permits only its own scripts and
//! styles.
//!
//! # Colours
//!
//! [`ColourMap`] has maps for colour-blind readers. [`Palette`] gives a state the same colour in
//! every picture. [`Theme`] is light or dark.
//!
//! # Cost
//!
//! A picture takes memory for its pixels, at most [`MOST_PIXELS`]. Pages have limits: a timeline
//! stores its cells at several resolutions within a byte budget, a grid of more than about 20,000
//! cells is coarsened, and if there are more than 200,000 points, points that are close together
//! are merged. Each page states such a reduction in its text. All views report progress and can be
//! cancelled.
//!
//! # Pitfalls
//!
//! * A picture contains no text other than the text that the caller sets. [`Scene::title`]
//!   describes the picture for readers who cannot see it.
//! * A server must not send a page with a content security policy that is weaker than the policy in
//!   the page.
//!
//! # Features
//!
//! * `fold` (default): [`timeline`].
//! * `topology`, `spectral` (default): [`topology`] and its list of correlated views.
//! * `track` (default): [`track`].
//! * `anomaly` (default): [`anomaly`].
//! * `parallel` (default): folds and correlations use all cores.
#![doc(html_root_url = "../")]

#[cfg(feature = "anomaly")]
pub mod anomaly;
mod colours;
mod drawing;
mod error;
pub mod number;
mod pages;
#[cfg(feature = "fold")]
pub mod timeline;
#[cfg(feature = "topology")]
pub mod topology;
#[cfg(feature = "track")]
pub mod track;

pub use colours::colour::Colour;
pub use colours::colour_map::ColourMap;
pub use colours::palette::{Kind, OTHER, Palette, numbered};
pub use colours::theme::Theme;
pub use drawing::axis::{Axis, Unit};
pub use drawing::bars::Bars;
pub use drawing::canvas::{Canvas, MOST_PIXELS};
pub use drawing::grades::Grades;
pub use drawing::heat_map::HeatMap;
pub use drawing::scene::{Anchor, Mark, Scene};
pub use error::{Error, Result};
pub use pages::escape::{escaped, shortened, shortened_apart};
pub use pages::page::Page;
pub use pages::section::{Card, Item, Section};

// Modules keep short paths within the crate.
#[cfg(any(feature = "track", feature = "anomaly"))]
use drawing::chart;
use drawing::{canvas, glyphs};
use pages::{encoding, escape, section};
