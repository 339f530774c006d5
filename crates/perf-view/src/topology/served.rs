//! [`Served`]: data from which a server answers the requests of the page of a profile for lists of
//! correlated views and for values of cells; [`Selected`]: view or sum of views of a request.

use super::trees::{Place, Sum, Trees, TreesData};
use super::{Coarse, View};
use crate::encoding::base64;
use crate::{Error, Result, Section, Unit};
use perf_core::Job;
use perf_spectral::{ChanceBound, Match, Real, Spectra};
use perf_topology::{Grid, Shape};
use serde::Serialize;
use std::collections::BTreeMap;
use std::str::FromStr;

/// Difference relative to the magnitudes of the terms of a sum that counts as rounding error.
const ROUNDING: f64 = 1e-14;

/// Views for which a page asks a server.
#[derive(Debug)]
pub(super) struct Asking {
    /// Address relative to the page.
    address: String,
    /// Weight of each axis at first.
    f: Vec<f64>,
    /// Name and unit of each view of the page.
    pub(super) labels: Vec<(String, Unit)>,
    /// Trees of the profile; `None` if it is unknown or has too many rows.
    pub(super) trees: Option<Trees>,
}

/// Address, cells and trees, as the page reads them.
#[derive(Serialize)]
pub(super) struct AskingData<'a> {
    /// Address and weights of the first request.
    served: (&'a str, &'a [f64]),
    /// A byte for each cell in base64, 1 if it holds a location.
    held: String,
    /// Trees of the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    trees: Option<TreesData<'a>>,
}

impl Asking {
    /// Returns the data of the page with the cubes of a grid.
    pub(super) fn data(&self, cubes: &Coarse) -> AskingData<'_> {
        let held = cubes.mean.iter().map(|mean| u8::from(!mean.is_nan()));
        let mask: Vec<u8> = held.collect();
        let trees = self.trees.as_ref();
        AskingData {
            served: (&self.address, &self.f),
            held: base64(&mask),
            trees: trees.map(|trees| trees.data(self.labels.len())),
        }
    }
}

/// View of a [served](Served) page, or sum of views that is selected in its trees.
///
/// As text, a view is its number in the page, and a sum has four numbers with points between them.
///
/// ```
/// use perf_view::topology::Selected;
/// assert_eq!("17".parse(), Ok(Selected::View(17)));
/// let sum = Selected::Sum { metric: 2, path: 40, is_expanded: false, is_exclusive: true };
/// assert_eq!("2.40.0.1".parse(), Ok(sum));
/// assert!("2.40".parse::<Selected>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selected {
    /// View by its number in the page.
    View(usize),
    /// Values of a metric and a call path.
    Sum {
        /// Index of the metric in the tree.
        metric: usize,
        /// Index of the call path.
        path: usize,
        /// `true` for the values without those of the metrics below the metric.
        is_expanded: bool,
        /// `true` for the values without those of the call paths below the call path.
        is_exclusive: bool,
    },
}

impl FromStr for Selected {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        // One more than is allowed is enough to be refused.
        let numbers = text.split('.').take(5).map(str::parse);
        let numbers: Vec<usize> = numbers.collect::<std::result::Result<_, _>>().map_err(|_| {
            "a view is not a whole number, or is too large; expected the number of a view, or METRIC.PATH.0.0"
        })?;
        match numbers[..] {
            [view] => Ok(Selected::View(view)),
            [metric, path, expanded @ (0 | 1), exclusive @ (0 | 1)] => Ok(Selected::Sum {
                metric,
                path,
                is_expanded: expanded == 1,
                is_exclusive: exclusive == 1,
            }),
            _ => Err(
                "a view is not one number; expected the number of a view, or METRIC.PATH.E.X with 0 or 1 for E and X"
                    .into(),
            ),
        }
    }
}

/// Views of a page that asks a server for its lists and values.
#[derive(Debug)]
pub struct Served {
    /// Number in the spectra of each view of the page.
    views: Vec<usize>,
    /// Number in the page of each view of the spectra.
    places: BTreeMap<usize, usize>,
    /// Trees of the profile.
    trees: Option<Trees>,
    /// Grid of the views.
    shape: Shape,
    /// `true` for each cell with a location.
    mask: Vec<bool>,
    /// Largest number of cubes of a grid.
    most: usize,
}

/// Number in the page, correlation, shift, correlation without shift, and bounds of the probability of
/// chance at this shift and at any.
type Entry = (usize, f64, Vec<isize>, f64, [f64; 2]);

/// List of a reference, as the page reads it.
#[derive(Serialize)]
struct ListData {
    /// Views in the order of the list.
    found: Vec<Entry>,
    /// Number of views that vary.
    count: usize,
}

/// Values of views, as the page reads them.
#[derive(Serialize)]
struct FieldsData {
    /// Values of the cells of each view, or mean, maximum and spread of merged cells, as little-endian
    /// 64-bit numbers in base64. A cell without a location has the mean of the others.
    fields: Vec<Vec<String>>,
}

impl Served {
    /// Largest number of views whose values are in one answer.
    pub const MOST_FIELDS: usize = 64;

    /// Returns the number in the spectra of each view of the page.
    pub fn views(&self) -> &[usize] {
        &self.views
    }

    /// Returns the views of the spectra of which a selection consists.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Outside`] for numbers that the page does not have.
    pub fn parts(&self, selected: Selected) -> Result<Vec<usize>> {
        let terms = self.sum(selected)?.terms.into_iter();
        let parts = terms.filter_map(|(place, _)| match place {
            Place::Grid(view) => self.views.get(view).copied(),
            Place::Same(_) | Place::Nowhere(()) => None,
        });
        Ok(parts.collect())
    }

    /// Returns the values of the cells of a selection. `grid` returns the values of a view of the
    /// spectra in the unit of the page.
    ///
    /// Differences below the rounding error of their terms are 0.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Outside`] for numbers that the page does not have.
    /// - Returns [`Error::Empty`] if a value of the sum is not finite.
    /// - Returns [`Error::Cancelled`] if the job is cancelled.
    /// - Returns the errors of `grid`.
    pub fn values(
        &self,
        selected: Selected,
        grid: impl Fn(usize) -> Result<Grid>,
        job: &Job,
    ) -> Result<Grid> {
        let cells = self.mask.len();
        let sum = self.sum(selected)?;
        let mut values: Vec<f64> = Vec::new();
        let mut sizes = vec![0.0; cells];
        for (place, sign) in &sum.terms {
            job.check()?;
            let read;
            let (term, same) = match place {
                Place::Grid(view) => {
                    read = grid(self.spectra_view(*view)?)?;
                    (read.values(), 0.0)
                }
                Place::Same([value]) => (&[][..], *value),
                Place::Nowhere(()) => {
                    return Err(Error::Empty {
                        what: "a value of the selection is not finite",
                    });
                }
            };
            let at = |cell: usize| sign * term.get(cell).copied().unwrap_or(same);
            if values.is_empty() {
                values = (0..cells).map(at).collect();
            } else {
                let each = values.iter_mut().enumerate();
                each.for_each(|(cell, value)| *value = (sum.combine)(*value, at(cell)));
            }
            let each = sizes.iter_mut().enumerate();
            each.for_each(|(cell, size)| *size += at(cell).abs());
        }
        values.resize(cells, 0.0);
        let is_difference = sum.terms.iter().any(|(_, sign)| *sign < 0.0);
        for (value, size) in values.iter_mut().zip(&sizes).filter(|_| is_difference) {
            if value.abs() <= ROUNDING * size {
                *value = 0.0;
            }
        }
        Ok(Grid::new(self.shape.clone(), values, self.mask.clone())?)
    }

    /// Returns the [values](Self::values) of selections for the script of the page as JSON.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Outside`] for more than [`Self::MOST_FIELDS`] selections, and the errors of
    /// [`values`](Self::values).
    pub fn fields(
        &self,
        selected: &[Selected],
        grid: impl Fn(usize) -> Result<Grid>,
        job: &Job,
    ) -> Result<String> {
        check_below("the number of views", selected.len(), Self::MOST_FIELDS + 1)?;
        let fields = selected.iter().map(|selected| {
            let cubes = Coarse::of(&self.values(*selected, &grid, job)?, self.most);
            let kinds = if cubes.is_coarser() {
                vec![cubes.mean, cubes.max, cubes.spread]
            } else {
                vec![cubes.mean]
            };
            Ok(kinds.into_iter().map(coded).collect())
        });
        let fields = fields.collect::<Result<_>>()?;
        json(&FieldsData { fields })
    }

    /// Returns the first `top` views of a list for the script of the page as JSON. Views that do not
    /// vary are skipped. `chances` returns the [bounds](Spectra::chance_bounds) of listed matches.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the list cannot be written, and the errors of `chances`.
    pub fn list<T: Real>(
        &self,
        spectra: &Spectra<T>,
        matches: &[Match],
        top: usize,
        chances: impl FnOnce(&[Match]) -> Result<Vec<ChanceBound>>,
    ) -> Result<String> {
        let varying = matches.iter().filter(|found| found.r() != 0.0);
        let place = |found: &Match| Some((*self.places.get(&found.view)?, *found));
        let (mut places, mut listed): (Vec<usize>, Vec<Match>) = varying.filter_map(place).unzip();
        let count = listed.len();
        places.truncate(top);
        listed.truncate(top);
        let chances = chances(&listed)?;
        let entry = |((place, found), chance): ((usize, &Match), ChanceBound)| {
            let shift = spectra.plan().steps(found.peak);
            let chance = [chance.at_shift, chance.at_any];
            (place, found.r(), shift, found.correlation.zero, chance)
        };
        let entries = places.into_iter().zip(&listed).zip(chances);
        json(&ListData {
            found: entries.map(entry).collect(),
            count,
        })
    }

    /// Returns the terms of a selection.
    fn sum(&self, selected: Selected) -> Result<Sum> {
        match selected {
            Selected::View(view) => {
                self.spectra_view(view)?;
                Ok(Sum {
                    terms: vec![(Place::Grid(view), 1.0)],
                    combine: |one, other| one + other,
                })
            }
            Selected::Sum {
                metric,
                path,
                is_expanded,
                is_exclusive,
            } => {
                let (metrics, paths) = self.trees.as_ref().map_or((0, 0), Trees::sizes);
                check_below("a metric", metric, metrics)?;
                check_below("a call path", path, paths)?;
                let trees = self.trees.as_ref();
                let sum = trees.map(|trees| trees.sum((metric, is_expanded), (path, is_exclusive)));
                sum.ok_or(Error::Empty { what: "no trees" })
            }
        }
    }

    /// Returns the number in the spectra of a view of the page.
    fn spectra_view(&self, view: usize) -> Result<usize> {
        check_below("a view", view, self.views.len())?;
        self.views
            .get(view)
            .copied()
            .ok_or(Error::Empty { what: "no view" })
    }
}

/// Returns values as the page reads them.
fn coded(values: Vec<f64>) -> String {
    let held = values.iter().filter(|value| !value.is_nan());
    let (sum, count) = held.fold((0.0, 0usize), |(sum, count), value| {
        (sum + value, count + 1)
    });
    let mean = sum / count.max(1) as f64;
    let filled = values
        .iter()
        .map(|value| if value.is_nan() { mean } else { *value });
    let bytes: Vec<u8> = filled.flat_map(f64::to_le_bytes).collect();
    base64(&bytes)
}

/// Returns [`Error::Outside`] unless a number is below `end`.
fn check_below(what: &'static str, got: usize, end: usize) -> Result<()> {
    if got < end {
        return Ok(());
    }
    Err(Error::Outside {
        what,
        least: 0,
        most: end.saturating_sub(1),
        got,
    })
}

fn json(data: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(data).map_err(std::io::Error::from)?)
}

impl View {
    /// Makes the page ask a server for its lists and for the values of cells, so that they are exact,
    /// and the page is small. The page begins with the axis weights `f`.
    ///
    /// The reference of the page is view `reference` of the spectra. `label` returns the name and the
    /// unit of a view of the spectra. Readers select any view that varies as the reference. The script
    /// appends `/list` and `/fields` and a query to `address`, which is relative to the page.
    /// [`served`](Self::served) returns the section. If cells are merged, the page has no trees.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Mismatch`] if the number of weights and of axes differ.
    pub fn asking<T: Real>(
        mut self,
        address: &str,
        f: &[f64],
        (spectra, reference): (&Spectra<T>, usize),
        label: impl Fn(usize) -> (String, Unit),
    ) -> Result<Self> {
        let axes = spectra.plan().dims().len();
        if f.len() != axes {
            return Err(Error::Mismatch {
                what: "weights of axes",
                expected: axes,
                got: f.len(),
            });
        }
        let views = spectra.views().iter().enumerate();
        let others = views
            .filter(|(at, view)| *at != reference && !view.is_skipped() && !view.is_constant());
        let others = others.map(|(at, _)| at);
        self.views = std::iter::once(reference).chain(others).collect();
        self.asking = Some(Asking {
            address: address.to_owned(),
            f: f.to_vec(),
            labels: self.views.iter().map(|view| label(*view)).collect(),
            trees: None,
        });
        Ok(self)
    }

    /// Creates the section of a page that [asks](Self::asking) a server, and the data from which the
    /// server answers; `None` if the page does not ask.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_spectral::{AxisFilter, RankParams, Spectra};
    /// use perf_topology::{Grid, Shape};
    /// use perf_view::{Page, Unit, topology::{Selected, View}};
    /// let views: Vec<Vec<f64>> = (1..4)
    ///     .map(|n| (0..16).map(|cell| f64::from(cell * n % 7)).collect())
    ///     .collect();
    /// let job = Job::default();
    /// let mut builder = Spectra::<f64>::builder(&[4, 4])?;
    /// builder.extend(&views, &job)?;
    /// let spectra = builder.finish();
    /// let grid = |at: usize| Ok(Grid::new(Shape::of(&[4, 4])?, views[at].clone(), vec![true; 16])?);
    /// let label = |at: usize| (format!("view {at}"), Unit::Number);
    /// let view = View::new("view 1", grid(1)?, Unit::Number);
    /// let view = view.asking("views/0", &[1.0, 1.0], (&spectra, 1), label)?;
    /// let (section, served) = view.served(&job)?;
    /// let (page, served) = (Page::new("Views").with(section), served.expect("the page asks"));
    /// // Views of the page begin with the reference.
    /// assert_eq!(served.views(), [1, 0, 2]);
    /// let all = AxisFilter::all(2);
    /// let list = spectra.rank(1, &all, &RankParams::default().check()?, &job)?;
    /// let chances = |found: &[_]| Ok(spectra.chance_bounds((&spectra, 1), found, &all, &job)?);
    /// assert!(served.list(&spectra, &list.matches, 1, chances)?.contains("\"count\":2"));
    /// assert_eq!(served.values(Selected::View(2), grid, &job)?.values(), views[2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`section`](Self::section).
    pub fn served(self, job: &Job) -> Result<(Section, Option<Served>)> {
        let mut section = self.section(job)?;
        section.is_served = self.asking.is_some();
        let mask = self
            .grids
            .first()
            .map_or_else(Vec::new, |it| it.grid.mask().to_vec());
        let served = self.asking.map(|asking| Served {
            places: self.views.iter().copied().zip(0..).collect(),
            views: self.views,
            trees: asking.trees,
            shape: self.shape,
            mask,
            most: self.most,
        });
        Ok((section, served))
    }
}
