//! How does one show what was found? As pictures, PNG or SVG, and as self-contained HTML pages.
//!
//! No window system, no font file, no network: a picture is computed here, and a page is one file that
//! works on a login node, in an e-mail, and in ten years.
//!
//! | of | pictures and pages |
//! |---|---|
//! | folded timelines | [`timeline`] |
//! | severities on grids, and what correlates | [`topology`] |
//! | clusters of bursts, and what becomes of them | [`track`] |
//! | efficiencies, a coloured table of percentages | [`Grades`] |
//! | abnormal ranks, steps, functions and calls | [`anomaly`] |
//!
//! A picture is a [`Scene`], which becomes SVG or PNG; a page is a [`Page`] of [`Section`]s, one a view.
//! The same input gives the same bytes.
//!
//! ```
//! use perf_core::Job;
//! use perf_fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
//! use perf_view::{Page, timeline};
//! let trace = perf_testdata::cosmo::trace();
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
//! # How
//! What is shown is computed before it is drawn: a model of numbers, then marks of a [`Scene`] in pixels. A value `v`
//! of a grid whose values run from `low` to `high` has the colour of its map at
//!
//! ```text
//! (v - low) / (high - low)
//! ```
//!
//! A cell of a timeline whose operation selects what most streams do is `0.35 + 0.65 a` of the colour of its state and
//! paper else, where `a` is the share of streams in that state. Between two stops of a map colours are mixed in Oklab
//! (Ottosson 2020), where equal steps look equal. In PNG a mark colours a pixel by the share of it that it covers.
//! Labels of an axis lie at 1, 2 or 5 times a power of ten, those of bytes at powers of two.
//!
//! # Names
//! Names come from the binaries of users. They are escaped in every picture and page, and pages have a
//! content policy that lets nothing run but the scripts they came with.
//!
//! # Colours
//! [`ColourMap`] has maps for the colour-blind; [`Palette`] gives a state the same colour in every
//! picture; [`Theme`] is light or dark.
//!
//! # Cost
//! A picture takes memory for its pixels, at most [`MOST_PIXELS`]. Pages have budgets: a timeline takes its cells along
//! at several resolutions, a grid beyond some 20,000 cells is coarsened, of more than 200,000 points those that lie
//! close are one, and each says so in words. All of it reports progress and can be cancelled.
//!
//! # What to mind
//! * A picture has no text but what it is given: [`Scene::title`] says in words what is to be seen, for those who
//!   cannot see it.
//! * A server must send a page with no laxer content policy than the page's own.
//!
//! # Features
//! * `fold` (default): [`timeline`].
//! * `topology`, `spectral` (default): [`topology`], and the list of correlated views beside it.
//! * `track` (default): [`track`].
//! * `anomaly` (default): [`anomaly`].
//! * `parallel` (default): folds and correlations use all cores.
#![doc(html_root_url = "../")]

#[cfg(feature = "anomaly")]
pub mod anomaly;
mod axis;
mod bars;
mod canvas;
#[cfg(any(feature = "track", feature = "anomaly"))]
mod chart;
mod colour;
mod error;
mod escape;
mod grades;
mod map;
pub mod number;
mod pack;
mod page;
mod palette;
mod scene;
mod section;
mod svg;
mod text;
mod theme;
#[cfg(feature = "fold")]
pub mod timeline;
#[cfg(feature = "topology")]
pub mod topology;
#[cfg(feature = "track")]
pub mod track;

pub use axis::{Axis, Unit};
pub use bars::Bars;
pub use canvas::{Canvas, MOST_PIXELS};
pub use colour::Colour;
pub use error::{Error, Result};
pub use escape::{escaped, shortened};
pub use grades::Grades;
pub use map::ColourMap;
pub use page::Page;
pub use palette::{OTHER, Palette, numbered};
pub use scene::{Anchor, Mark, Scene};
pub use section::{Card, Item, Section};
pub use theme::Theme;
