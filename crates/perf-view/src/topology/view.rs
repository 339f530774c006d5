//! [`View`]: section of a page with two grids of cubes, a common camera and lists of correlated
//! views ([`Found`]).

use super::cubes::{self, Picture};
#[cfg(feature = "spectral")]
use super::explored::Explored;
use super::merged_cells::{Coarse, MOST_CUBES};
use super::page_data::{AxisData, Data, GridData, map_data, plane_data};
#[cfg(feature = "spectral")]
use super::served::Asking;
use super::spectrum;
use crate::encoding::{base64, front_coded};
use crate::{ColourMap, Error, Result, Section, Unit, number, section};
use maud::{Markup, html};
use perf_core::Job;
use perf_topology::{Grid, Shape};
use serde_json::Value;

/// Entry of a list of correlated views.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Number of the view, as returned by [`View::add`].
    pub view: usize,
    /// Correlation with the reference at the best shift, in `-1.0..=1.0`.
    pub r: f64,
    /// Shift of the view relative to the reference along each axis, in cells.
    pub shift: Vec<isize>,
    /// Correlation with the reference without a shift, in `-1.0..=1.0`.
    pub unshifted: f64,
}

/// Section of a page with two grids of cubes and a common camera. The reference is on the left, a
/// view chosen from a list is on the right.
///
/// The list contains the views that correlate with the reference, strongest first, for each
/// precomputed choice of axes. Readers can only switch to a choice that has a list. They can also
/// rotate the grids, filter by value, cut along axes, assign other axes to x, y and z, and click on
/// a cube for its details.
///
/// ```
/// use perf_core::Job;
/// use perf_topology::{Grid, Shape};
/// use perf_view::topology::{Found, View};
/// use perf_view::{Page, Unit};
/// let shape = Shape::of(&[4, 4, 2])?;
/// let grid = |of: fn(usize) -> f64| {
///     Grid::new(shape.clone(), (0..32).map(of).collect(), vec![true; 32])
/// };
/// let mut view = View::new("time, main", grid(|cell| cell as f64)?, Unit::Nanos);
/// let other = view.add("waiting, MPI_Wait", grid(|cell| 31.0 - cell as f64)?, Unit::Nanos)?;
/// let found = Found { view: other, r: -1.0, shift: vec![0, 0, 0], unshifted: -1.0 };
/// view.list(&[1.0, 1.0, 1.0], vec![found])?;
/// let html = Page::new("Opposites").with(view.section(&Job::default())?).html(&Job::default())?;
/// assert!(html.contains("waiting, MPI_Wait"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct View {
    pub(super) shape: Shape,
    pub(super) grids: Vec<Shown>,
    lists: Vec<List>,
    notes: Vec<String>,
    /// Notes about the first list.
    first_notes: Vec<String>,
    names: Vec<String>,
    heading: String,
    id: String,
    pub(super) most: usize,
    maps: Vec<ColourMap>,
    chosen: Option<u32>,
    /// Number in the spectra of each grid of a ranking.
    #[cfg(feature = "spectral")]
    pub(super) views: Vec<usize>,
    /// `Some` if the page computes correlations of its grids.
    #[cfg(feature = "spectral")]
    pub(super) explored: Option<Explored>,
    /// `Some` if the page asks a server for correlations and values.
    #[cfg(feature = "spectral")]
    pub(super) asking: Option<Asking>,
}

/// Values with which the page correlates its grids, as it reads them.
struct Computed {
    /// Values, kin and trees; `None` if the page shows given lists only.
    data: Option<Value>,
    /// Number of grids in the page.
    held: usize,
    /// `true` if the page has the trees of the profile.
    has_trees: bool,
    /// Notes about the values.
    notes: Vec<String>,
}

/// Correlated views for one set of axis weights.
#[derive(Debug)]
struct List {
    /// Weight of each axis.
    f: Vec<f64>,
    /// Correlated views, strongest first.
    found: Vec<Found>,
}

/// Grid that the page can show.
#[derive(Debug)]
pub(super) struct Shown {
    /// Name of the view.
    name: String,
    /// Unit of the values.
    pub(super) unit: Unit,
    /// Values of the cells.
    pub(super) grid: Grid,
}

const SCRIPT: &str = concat!(
    include_str!("../../assets/topology/waves.js"),
    include_str!("../../assets/topology/planes.js"),
    include_str!("../../assets/topology/coded-spectra.js"),
    include_str!("../../assets/topology/correlator.js"),
    include_str!("../../assets/topology/chances.js"),
    include_str!("../../assets/topology/local.js"),
    include_str!("../../assets/topology/served.js"),
    include_str!("../../assets/topology/names.js"),
    include_str!("../../assets/topology/trees.js"),
    include_str!("../../assets/topology/sorting.js"),
    include_str!("../../assets/topology/stages.js"),
    include_str!("../../assets/topology/references.js"),
    include_str!("../../assets/topology/cubes.js"),
    include_str!("../../assets/topology/controls.js"),
    include_str!("../../assets/topology/view.js")
);
const STYLE: &str = include_str!("../../assets/topology/view.css");

/// Help of the trees of a profile.
const TREES: [&str; 2] = [
    "A collapsed entry contains the entries below it, an expanded one is without them. Call paths belong to the selected \
     metric, the system to the selected metric and call path. What is selected is the reference.",
    "Keys: up and down move, right expands, left collapses, Enter selects. Per cent refer to the whole of the metric; \
     values per call are divided by the visits of the call path.",
];

impl View {
    /// Creates a view of a reference.
    pub fn new(name: impl Into<String>, grid: Grid, unit: Unit) -> Self {
        let shape = grid.shape().clone();
        let name = name.into();
        View {
            shape,
            grids: vec![Shown { name, unit, grid }],
            lists: Vec::new(),
            notes: Vec::new(),
            first_notes: Vec::new(),
            names: Vec::new(),
            chosen: None,
            #[cfg(feature = "spectral")]
            views: Vec::new(),
            #[cfg(feature = "spectral")]
            explored: None,
            #[cfg(feature = "spectral")]
            asking: None,
            heading: "Topology".into(),
            id: "topology".into(),
            most: MOST_CUBES,
            maps: vec![
                ColourMap::GreenYellowRed,
                ColourMap::BlueYellow,
                ColourMap::BlueOrange,
            ],
        }
    }

    /// Sets the heading of the section and its link anchor. Default `Topology` and `topology`.
    pub fn named(mut self, heading: impl Into<String>, id: impl Into<String>) -> Self {
        (self.heading, self.id) = (heading.into(), id.into());
        self
    }

    /// Sets the maximum number of cubes of a grid, default [`MOST_CUBES`].
    pub fn most(mut self, cubes: usize) -> Self {
        self.most = cubes;
        self
    }

    /// Sets the initial colour map, default [`ColourMap::GreenYellowRed`]. Readers can choose
    /// another map.
    pub fn map(mut self, map: ColourMap) -> Self {
        self.maps.retain(|other| *other != map);
        self.maps.insert(0, map);
        self
    }

    /// Adds a sentence above the list, such as its order or a limitation of the grid.
    pub fn note(mut self, sentence: impl Into<String>) -> Self {
        self.notes.push(sentence.into());
        self
    }

    /// Adds a sentence that holds for the first list only. The page hides it once the reader selects another
    /// reference or other weights of the axes.
    pub fn first_note(mut self, sentence: impl Into<String>) -> Self {
        self.first_notes.push(sentence.into());
        self
    }

    /// Sets the initial choice of axes, which are the axes with a weight above 0. Default: all
    /// axes. Readers can switch to any choice that has a list.
    pub fn chosen(mut self, f: &[f64]) -> Self {
        self.chosen = Some(mask(f));
        self
    }

    /// Sets the names of cells, such as `rank 7, node 3, thread 0`, which are shown for a clicked
    /// cube. Cells without a name show their coordinates only.
    pub fn cells(mut self, names: Vec<String>) -> Self {
        self.names = names;
        self
    }

    /// Adds a grid to compare with the reference, and returns its number for lists.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Mismatch`] if the grid has other axis lengths than the reference.
    pub fn add(&mut self, name: impl Into<String>, grid: Grid, unit: Unit) -> Result<usize> {
        if grid.shape().lens() != self.shape.lens() {
            return Err(Error::Mismatch {
                what: "cells of a grid",
                expected: self.shape.cells(),
                got: grid.shape().cells(),
            });
        }
        let name = name.into();
        self.grids.push(Shown { name, unit, grid });
        Ok(self.grids.len() - 1)
    }

    /// Adds the views that correlate with the reference for some axis weights, strongest first.
    ///
    /// The page shows the weights. Readers select a list by the axes with a weight above 0, so
    /// there can be only one list for each set of axes.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Mismatch`] if the number of weights and of axes differ, if a view was not
    /// added, or if the set of axes already has a list.
    pub fn list(&mut self, f: &[f64], found: Vec<Found>) -> Result<()> {
        let axes = self.shape.axes().len();
        if f.len() != axes {
            return Err(Error::Mismatch {
                what: "weights of axes",
                expected: axes,
                got: f.len(),
            });
        }
        if let Some(found) = found.iter().find(|found| found.view >= self.grids.len()) {
            return Err(Error::Mismatch {
                what: "a view that was added, below",
                expected: self.grids.len(),
                got: found.view,
            });
        }
        let held = self.lists.iter().filter(|list| mask(&list.f) == mask(f));
        let got = held.count() + 1;
        if got > 1 {
            return Err(Error::Mismatch {
                what: "lists for a set of axes",
                expected: 1,
                got,
            });
        }
        let f = f.to_vec();
        self.lists.push(List { f, found });
        Ok(())
    }

    /// Returns the lists, each as a bit mask and its matches. The bit mask contains the axes with a
    /// weight above 0, the first axis in the lowest bit.
    pub fn lists(&self) -> impl Iterator<Item = (u32, &[Found])> {
        self.lists
            .iter()
            .map(|list| (mask(&list.f), list.found.as_slice()))
    }

    /// Creates the section. Reports progress in the phase `cubes`.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Empty`] if no cell of the reference holds a location.
    /// - Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn section(&self, job: &Job) -> Result<Section> {
        let Some(first) = self.grids.first() else {
            return Err(Error::Empty { what: "no grid" });
        };
        let coarse = Coarse::of(&first.grid, self.most);
        let computed = self.computed(&coarse, job)?;
        let labels = self.labels(computed.held);
        let names = front_coded(labels.iter().map(|(name, _)| *name));
        let mut grids = Vec::with_capacity(labels.len());
        for (at, ((_, unit), name)) in labels.iter().zip(names).enumerate() {
            job.check()?;
            let shown = self.grids.get(at).filter(|_| computed.data.is_none());
            let coarse = shown.map(|shown| Coarse::of(&shown.grid, self.most));
            grids.push(GridData::of(name, unit, coarse.as_ref()));
            job.advance("cubes", 1, labels.len() as u64);
        }
        let lists = self.lists.iter().map(|list| {
            let found = list.found.iter();
            let found = found.map(|it| (it.view, it.r, it.shift.as_slice(), it.unshifted));
            (mask(&list.f), found.collect(), list.f.as_slice())
        });
        let body = self.body(&coarse, &computed)?;
        let names = self.cell_names(&coarse).iter();
        let data = section::data(&Data {
            axes: self.axes(&coarse),
            grids,
            chosen: self.chosen,
            lists: lists.collect(),
            names: front_coded(names.map(String::as_str)),
            maps: map_data(&self.maps),
            waves: map_data(&[ColourMap::BlueYellow]),
            coarser: coarse.is_coarser(),
            spectra: spectrum::planes(&coarse).iter().map(plane_data).collect(),
            fields: computed.data,
        })?;
        let (id, heading) = (&self.id, &self.heading);
        let mut section = Section::new("topology", id, heading, body, data, SCRIPT, STYLE);
        section.has_workers = self.is_explored();
        Ok(section)
    }

    /// Returns `true` if the page merges cells.
    #[cfg(feature = "spectral")]
    pub(super) fn is_coarser(&self) -> bool {
        let first = self.grids.first();
        first.is_some_and(|shown| Coarse::of(&shown.grid, self.most).is_coarser())
    }

    /// Returns `true` if the script decodes views, which it does in workers.
    fn is_explored(&self) -> bool {
        #[cfg(feature = "spectral")]
        return self.explored.is_some();
        #[cfg(not(feature = "spectral"))]
        false
    }

    /// Returns name and unit of the first `held` views of the page.
    fn labels(&self, held: usize) -> Vec<(&str, &Unit)> {
        #[cfg(feature = "spectral")]
        if let Some(asking) = &self.asking {
            let labels = asking.labels.iter().take(held);
            return labels.map(|(name, unit)| (name.as_str(), unit)).collect();
        }
        let shown = self.grids.iter().take(held);
        shown.map(|it| (it.name.as_str(), &it.unit)).collect()
    }

    /// Returns the values with which the page correlates its grids.
    fn computed(&self, coarse: &Coarse, job: &Job) -> Result<Computed> {
        let lists_only = Computed {
            data: None,
            held: self.grids.len(),
            has_trees: false,
            notes: Vec::new(),
        };
        #[cfg(feature = "spectral")]
        if let Some(explored) = self.explored.as_ref().filter(|_| !coarse.is_coarser()) {
            let grids: Vec<&Grid> = self.grids.iter().map(|shown| &shown.grid).collect();
            let labels = self.grids.iter().map(|shown| shown.name.as_str());
            let mut data = explored.data(&grids, labels, self.cell_names(coarse), job)?;
            return Ok(Computed {
                held: data.len(),
                has_trees: explored.trees.is_some(),
                notes: std::mem::take(&mut data.notes),
                data: Some(section::data(&data)?),
            });
        }
        #[cfg(feature = "spectral")]
        if let Some(asking) = &self.asking {
            return Ok(Computed {
                held: asking.labels.len(),
                has_trees: asking.trees.is_some(),
                notes: Vec::new(),
                data: Some(section::data(&asking.data(coarse))?),
            });
        }
        let _ = (coarse, job);
        Ok(lists_only)
    }

    fn axes(&self, coarse: &Coarse) -> Vec<AxisData> {
        let axes = self.shape.axes().iter().enumerate();
        let value = |(at, axis): (usize, &perf_topology::Axis)| {
            let (len, block) = (coarse.lens[at], coarse.blocks[at]);
            (axis_name(at, &axis.name), len, block, axis.len)
        };
        axes.map(value).collect()
    }

    /// Returns the names of cells, or none if cells are merged.
    fn cell_names(&self, coarse: &Coarse) -> &[String] {
        if coarse.is_coarser() {
            &[]
        } else {
            &self.names
        }
    }

    /// Returns the reference and the best match as pictures, for readers without WebGL.
    fn still(&self) -> Result<Vec<(String, String)>> {
        let chosen = self
            .lists
            .iter()
            .find(|list| Some(mask(&list.f)) == self.chosen);
        let list = chosen.or(self.lists.first());
        let best = list.and_then(|list| list.found.first());
        let right = best.and_then(|found| {
            let shown = self.grids.get(found.view)?;
            Some((format!("{}: {}", said(found), shown.name), shown))
        });
        let left = self.grids.first().map(|shown| (shown.name.clone(), shown));
        let mut stills = Vec::new();
        for (title, shown) in left.into_iter().chain(right) {
            let flat = flat(&shown.grid)?;
            let picture = Picture::new(&flat)?.titled(title).unit(shown.unit.clone());
            let scene = picture
                .map(self.maps.first().cloned().unwrap_or_default())
                .side(360)
                .scene();
            stills.push((base64(&scene.png()?), scene.title));
        }
        Ok(stills)
    }

    fn body(&self, coarse: &Coarse, computed: &Computed) -> Result<Markup> {
        let stills = self.still()?;
        let note = cubes::note(coarse);
        let keys = format!("{}-keys", self.id);
        let has_chances = computed.data.is_some();
        let help = [
            "Dragging turns both grids, the wheel with Ctrl zooms, a click selects a cube. Keys: arrows turn, + and - \
             zoom."
                .to_string(),
            String::from(if has_chances {
                "Cubes show values as recorded; filtered fields are deviations from the mean. p bound: at most this is the \
                 probability of r by chance (random phases, the same few cells deviating most in both views, normal scores of \
                 long tails), at its shift alone if that is none, otherwise at any; grey ones are likely to occur among so many \
                 views by chance."
            } else {
                "Cubes show values as recorded, without a filter."
            }),
            "Show by, from and to: cells whose value in the grid named there is outside of the range are hidden in both grids."
                .to_string(),
            "Find: words of call paths and metrics; the reference is then selected among the views that contain all of them."
                .to_string(),
            "In the spectrum, lighter is stronger and frequency 0 is in the middle. The line marks where the filter \
             passes half; filtered frequencies are dimmed."
                .to_string(),
        ];
        Ok(html! {
            div.tools role="group" aria-label="Cubes" {
                label { "Colour map " select.map {} }
                label { "Values " select.kind {} }
                label { input.shared type="checkbox"; "Common scale" }
                label { "Show by " select.by {} }
                label { "from " input.low type="range" min="0" max="1000" value="0"; }
                label { "to " input.high type="range" min="0" max="1000" value="1000"; }
                label { "Gaps " input.gap type="range" min="0" max="80" value="14"; }
                button.turn type="button" { "Turn" }
                button.home type="button" { "Reset view" }
                div.axes role="group" aria-label="Axes" {}
                (section::help(&keys, &help))
            }
            output.status aria-live="polite" {}
            @if !note.is_empty() {
                p.note {
                    (number::count(self.shape.cells() as u64)) " cells; " (note)
                    ". Select the largest or the spread of a cube under Values."
                }
            }
            div.stage {
                div.found {
                    h3 { "Correlated views" }
                    @if computed.data.is_some() {
                        div.explore.tools role="group" aria-label="Reference" {
                            label { "Reference " select.reference {} }
                            label { "Find " input.seek type="search" autocomplete="off" spellcheck="false"; }
                            output.offered {}
                            button.swap type="button" { "Selected view as reference" }
                            label { input.filtered type="checkbox"; "Draw filtered fields" }
                        }
                    }
                    div.filter role="group" aria-label="Axes of the correlation, with their weights" {}
                    div.scroll { table { thead { tr {
                        th.n scope="col" { "r" } th scope="col" { "View" } th.n scope="col" { "Shift" }
                        th.n scope="col" { "Unshifted" }
                        @if has_chances { th.n scope="col" { "p bound" } }
                    } } tbody {} } }
                    @if computed.data.is_some() {
                        div.count { output.listed {} button.more type="button" hidden { "List more" } }
                        p.note.lone {}
                    }
                    @for note in self.notes.iter().chain(&computed.notes) { p.note { (section::prose(note)) } }
                    @for note in &self.first_notes { p.note.first { (section::prose(note)) } }
                }
                div.panes {
                    @for side in ["left", "right"] {
                        figure class=(side) {
                            figcaption {}
                            canvas tabindex="0" role="img" aria-describedby=(keys)
                                aria-label=(if side == "left" { "Cubes of the reference" } else { "Cubes of the selected view" }) {}
                            div.scale { canvas.bar role="img" aria-label="Colour scale" {} span.ends {} }
                        }
                    }
                }
                div.stills {
                    @for (bytes, words) in &stills {
                        img.still src={ "data:image/png;base64," (bytes) } alt=(words);
                    }
                }
                div.spectrum {
                    div {
                        h3 { "Spectrum of the reference" }
                        div.tools { label { "Plane " select.pair {} } }
                        p.note {
                            "Lighter is stronger; the filter dims what is outside of the line."
                            @if coarse.is_coarser() {
                                " The spectrum is that of the cubes: waves shorter than two cubes are not in it."
                            }
                        }
                    }
                    canvas.waves role="img" aria-label="Magnitude spectrum; filtered frequencies are dimmed" {}
                }
                @if computed.has_trees {
                    div.profile role="group" aria-label="Profile" {
                        div.tools {
                            label { "Values of the profile " select.as {} }
                            (section::help(&format!("{}-trees", self.id), &TREES.map(String::from)))
                        }
                        div.metrics { h3 { "Metrics" } }
                        div.calls { h3 { "Call paths" } }
                        div.system { h3 { "System" } }
                    }
                }
            }
        })
    }
}

fn axis_name(at: usize, name: &str) -> String {
    match name {
        "" => format!("axis {at}"),
        name => name.to_string(),
    }
}

/// Returns a bit mask of the axes with a weight above 0. There are at most 16 axes.
pub(super) fn mask(f: &[f64]) -> u32 {
    let bits = f.iter().take(32).enumerate().filter(|(_, f)| **f > 0.0);
    bits.fold(0, |mask, (axis, _)| mask | 1 << axis)
}

/// Returns the correlation and its shift as text.
fn said(found: &Found) -> String {
    let shift: Vec<String> = found.shift.iter().map(isize::to_string).collect();
    format!("r = {:+.3}, shift {}", found.r, shift.join(","))
}

/// Aggregates all axes after the first three that are longer than 1 by their mean.
fn flat(grid: &Grid) -> Result<Grid> {
    let mut flat = grid.clone();
    loop {
        let lens = flat.shape().lens();
        let mut long = (0..lens.len()).filter(|axis| lens[*axis] > 1);
        match long.nth(3) {
            Some(axis) => flat = flat.aggregate(axis, perf_topology::Aggregate::Mean)?,
            None => return Ok(flat),
        }
    }
}
