//! Tables of rankings, pairs, confidence, axes, views and skipped rows; [`ViewNames`]: metric and
//! call path of each view for them.

use crate::{AxisPower, Confidence, Match, PairMatch, Ranking, Real, Skipped, Transform, View};
use perf_core::{CallPathId, CallPathLabels, Column, MetricId, Profile, Table};

/// Names of views by number, for the columns `metric` and `call path` of tables.
///
/// ```
/// use perf_core::{Job, Profile};
/// use perf_spectral::{ViewNames, stored_rows};
/// let trace = perf_core::samples::cosmo::trace();
/// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
/// let metric = profile.metric("exclusive time").expect("profiles of traces have it");
/// let rows = stored_rows(&profile, &[metric]);
/// let names = ViewNames::of_rows(&profile, &rows);
/// assert_eq!(names.metric(0).as_deref(), Some("exclusive time"));
/// assert_eq!(names.call_path(0), Some(profile.calls().name(rows[0].1, profile.regions())));
/// assert_eq!(names.call_path(rows.len()), None);
/// # Ok::<(), perf_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ViewNames<'a>(Source<'a>);

#[derive(Clone, Debug)]
enum Source<'a> {
    /// Rows of a profile, and the labels of its call paths.
    Rows(
        &'a Profile,
        &'a [(MetricId, CallPathId)],
        CallPathLabels<'a>,
    ),
    /// Names stored with the views.
    Views(&'a [View]),
}

impl<'a> ViewNames<'a> {
    /// Takes the names of rows of a profile, in the order of
    /// [`SpectraBuilder::add_rows`](crate::SpectraBuilder::add_rows).
    pub fn of_rows(profile: &'a Profile, rows: &'a [(MetricId, CallPathId)]) -> Self {
        ViewNames(Source::Rows(profile, rows, profile.call_path_labels()))
    }

    /// Takes the names stored with the views ([`View::name`]) as call paths, without metrics.
    pub fn of_views(views: &'a [View]) -> Self {
        ViewNames(Source::Views(views))
    }

    /// Returns the name of the metric of a view.
    pub fn metric(&self, view: usize) -> Option<String> {
        match &self.0 {
            Source::Rows(profile, rows, _) => {
                let about = profile.metrics().get(rows.get(view)?.0.index())?;
                Some(about.metric.name.clone())
            }
            Source::Views(_) => None,
        }
    }

    /// Returns the label of the call path of a view, `main > solve`. Call sites of equal names have
    /// different labels, see [`CallPathLabels`].
    pub fn call_path(&self, view: usize) -> Option<String> {
        match &self.0 {
            Source::Rows(_, rows, labels) => Some(labels.label(rows.get(view)?.1)),
            Source::Views(views) => views.get(view).map(|view| view.name.clone()),
        }
    }

    /// Adds the columns `PREFIXview`, `PREFIXmetric` and `PREFIXcall path`.
    fn columns(&self, table: Table, prefix: &str, views: &[usize]) -> Table {
        let name = |name: &str| format!("{prefix}{name}");
        let all = || views.iter().copied();
        table
            .unsigned(name("view"), "", all())
            .text(name("metric"), all().map(|view| self.metric(view)))
            .text(name("call path"), all().map(|view| self.call_path(view)))
    }
}

/// Adds the columns of correlations.
fn correlations<T: Real>(table: Table, plan: &Transform<T>, matches: &[Match]) -> Table {
    let shift = |peak| {
        let shift = plan.steps(peak).into_iter().map(|steps| steps.to_string());
        format!("({})", shift.collect::<Vec<_>>().join(", "))
    };
    let of = |name: &'static str, of: fn(&Match) -> f64| {
        Column::floats(name, "", matches.iter().map(of))
    };
    table
        .with(of("r", Match::r))
        .text("shift", matches.iter().map(|it| shift(it.peak)))
        .with(of("shift distance", |it| (it.peak.norm as f64).sqrt()))
        .with(of("unshifted r", |it| it.correlation.zero))
        .with(of("largest r", |it| it.correlation.max.r))
        .with(of("smallest r", |it| it.correlation.min.r))
        .floats("Pearson's r", "", matches.iter().map(|it| it.pearson))
        .unsigned("missing cells", "", matches.iter().map(|it| it.missing))
}

impl Ranking {
    /// Returns the list as a table, best match first.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `position` | unsigned | position in the list, from 1 |
    /// | `view` | unsigned | number of the view |
    /// | `metric`, `call path` | text | its names |
    /// | `r` | float | filtered correlation that the view is ranked by, with its sign |
    /// | `shift` | text | shift of that value in steps along each axis, in the shorter direction, `(0, -3)` |
    /// | `shift distance` | float | Euclidean length of the shift on the torus, in steps |
    /// | `unshifted r` | float | filtered correlation without shift |
    /// | `largest r`, `smallest r` | float | extremes of the filtered correlation over all shifts |
    /// | `Pearson's r` | float | correlation without filter and shift, missing unless it was computed |
    /// | `missing cells` | unsigned | cells of the view without a location |
    ///
    /// `plan` is the plan of the spectra, [`Spectra::plan`](crate::Spectra::plan).
    ///
    /// ```
    /// use perf_core::{Cell, Job, Profile};
    /// use perf_spectral::{AxisFilter, Missing, RankParams, Spectra, ViewNames, stored_rows};
    /// use perf_topology::{AxisOrder, Shape, Topology};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
    /// let ranks = profile.system().locations().len();
    /// let grid = Topology::by_order(Shape::of(&[8, 5])?, AxisOrder::LastFastest, ranks);
    /// let metric = profile.metric("time").expect("profiles of traces have it");
    /// let rows = stored_rows(&profile, &[metric]);
    /// let mut builder = Spectra::<f64>::builder(&[8, 5])?;
    /// builder.add_rows(&profile, &grid, &rows, Missing::Fill, &Job::default())?;
    /// let spectra = builder.finish();
    /// let params = RankParams::default().top(3).check()?;
    /// let list = spectra.rank(0, &AxisFilter::all(2), &params, &Job::default())?;
    /// let table = list.table(spectra.plan(), &ViewNames::of_rows(&profile, &rows));
    /// assert_eq!(table.rows(), 3);
    /// assert_eq!(table.cell(0, "r"), Some(Cell::Float(list.matches[0].r())));
    /// assert_eq!(table.cell(0, "metric"), Some(Cell::Text("time")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn table<T: Real>(&self, plan: &Transform<T>, names: &ViewNames<'_>) -> Table {
        let views: Vec<usize> = self.matches.iter().map(|found| found.view).collect();
        let table = Table::new("matches", "Views by their correlation with the reference.")
            .unsigned("position", "", 1..=views.len());
        correlations(names.columns(table, "", &views), plan, &self.matches)
    }
}

impl PairMatch {
    /// Returns pairs of views as a table, in their order.
    ///
    /// The columns are those of [`Ranking::table`], with `reference view`, `reference metric` and `reference call
    /// path` before `view`.
    ///
    /// ```
    /// use perf_core::{Cell, Job};
    /// use perf_spectral::{AxisFilter, PairMatch, RankParams, Spectra, ViewNames};
    /// let mut builder = Spectra::<f64>::builder(&[5])?;
    /// builder.extend(&[vec![1.0, 2.0, 4.0, 3.0, 0.0], vec![2.0, 4.0, 3.0, 0.0, 1.0]], &Job::default())?;
    /// let spectra = builder.finish();
    /// let params = RankParams::default().check()?;
    /// let pairs = spectra.pairs(&AxisFilter::all(1), &params, &Job::default())?;
    /// let table = PairMatch::table(&pairs, spectra.plan(), &ViewNames::of_views(spectra.views()));
    /// assert_eq!(table.cell(0, "reference view"), Some(Cell::Unsigned(0)));
    /// assert_eq!(table.text_of(0, "shift"), "(-1)");
    /// # Ok::<(), perf_spectral::Error>(())
    /// ```
    pub fn table<T: Real>(
        pairs: &[PairMatch],
        plan: &Transform<T>,
        names: &ViewNames<'_>,
    ) -> Table {
        let references: Vec<usize> = pairs.iter().map(|pair| pair.reference).collect();
        let matches: Vec<Match> = pairs.iter().map(|pair| pair.found).collect();
        let views: Vec<usize> = matches.iter().map(|found| found.view).collect();
        let table = Table::new("pairs", "Pairs of views by their correlation.").unsigned(
            "position",
            "",
            1..=views.len(),
        );
        let table = names.columns(table, "reference ", &references);
        correlations(names.columns(table, "", &views), plan, &matches)
    }
}

impl Confidence {
    /// Returns the probabilities of matches as a table. `matches` are those whose views were passed
    /// to [`Spectra::confidence`](crate::Spectra::confidence), in the same order; surplus entries
    /// of either are dropped.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `view`, `metric`, `call path` | | as in [`Ranking::table`] |
    /// | `r` | float | filtered correlation that the view is ranked by |
    /// | `p` | float | share of surrogates that correlate at least as strongly |
    /// | `p of all views` | float | the same against the best view of each surrogate |
    /// | `null band` | float | score that the best of all views reaches by chance |
    /// | `beyond null band` | flag | the magnitude of `r` is larger than that |
    ///
    /// ```
    /// use perf_core::{Cell, Job};
    /// use perf_spectral::{AxisFilter, NullParams, RankParams, Spectra, ViewNames};
    /// let mut builder = Spectra::<f64>::builder(&[4])?;
    /// builder.extend(&[vec![1.0, 2.0, 4.0, 3.0], vec![2.0, 4.0, 3.0, 1.0]], &Job::default())?;
    /// let (spectra, all) = (builder.finish(), AxisFilter::all(1));
    /// let list = spectra.rank(0, &all, &Default::default(), &Job::default())?;
    /// let params = NullParams::default().count(19).check()?;
    /// let chance = spectra.confidence(0, &[1], &all, &params, &Job::default())?;
    /// let table = chance.table(&list.matches, &ViewNames::of_views(spectra.views()));
    /// assert_eq!(table.cell(0, "p"), Some(Cell::Float(chance.p[0])));
    /// # Ok::<(), perf_spectral::Error>(())
    /// ```
    pub fn table(&self, matches: &[Match], names: &ViewNames<'_>) -> Table {
        let count = matches.len().min(self.p.len()).min(self.p_of_all.len());
        let matches = &matches[..count];
        let views: Vec<usize> = matches.iter().map(|found| found.view).collect();
        let table = Table::new("confidence", "Probability of correlations by chance.");
        let first = |values: &[f64]| values.iter().copied().take(count).collect::<Vec<_>>();
        let is_beyond = matches.iter().map(|found| found.r().abs() > self.band);
        names
            .columns(table, "", &views)
            .floats("r", "", matches.iter().map(Match::r))
            .floats("p", "", first(&self.p))
            .floats("p of all views", "", first(&self.p_of_all))
            .floats("null band", "", std::iter::repeat_n(self.band, count))
            .flags("beyond null band", is_beyond)
    }
}

impl AxisPower {
    /// Returns the axes as a table. `names` are the names of the axes; further axes are called by
    /// their numbers.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `axis` | text | name |
    /// | `share` | float, % | share of the variation along the axis in that of all axes |
    /// | `share by chance` | float, % | share that noise would have |
    /// | `stands out` | flag | the axis is one of [`main`](Self::main) |
    ///
    /// ```
    /// use perf_core::{Cell, Job};
    /// use perf_spectral::Spectra;
    /// let ramp: Vec<f64> = (0..32).map(|cell| f64::from(cell / 4)).collect();
    /// let mut builder = Spectra::<f64>::builder(&[8, 4])?;
    /// builder.extend(&[&ramp], &Job::default())?;
    /// let table = builder.finish().axis_power(0)?.table(&["x"]);
    /// assert_eq!((table.text_of(0, "axis"), table.text_of(0, "share")), ("x".into(), "100 %".into()));
    /// assert_eq!(table.cell(0, "stands out"), Some(Cell::Flag(true)));
    /// assert_eq!(table.text_of(1, "axis"), "1");
    /// # Ok::<(), perf_spectral::Error>(())
    /// ```
    pub fn table<N: AsRef<str>>(&self, names: &[N]) -> Table {
        let name = |axis: usize| {
            let name = names.get(axis).map(|name| name.as_ref().to_string());
            name.unwrap_or_else(|| axis.to_string())
        };
        let main = self.main();
        let chance = |axis| self.chance.get(axis).map(|share| 100.0 * share);
        let axes = 0..self.share.len();
        Table::new("axes", "Variation of a view along each axis.")
            .text("axis", axes.clone().map(name))
            .floats("share", "%", self.share.iter().map(|share| 100.0 * share))
            .floats("share by chance", "%", axes.clone().map(chance))
            .flags(
                "stands out",
                axes.map(|axis| main.f().get(axis).is_some_and(|f| *f > 0.0)),
            )
    }
}

impl Skipped {
    /// Returns skipped rows as a table with the columns `view`, `metric`, `call path`, `location` and `value`, the
    /// text of the value that is infinite or not a number.
    ///
    /// ```
    /// use perf_spectral::{Skipped, Spectra};
    /// let spectra = Spectra::<f64>::builder(&[4])?.finish();
    /// assert_eq!(Skipped::table(spectra.skipped()).rows(), 0);
    /// # Ok::<(), perf_spectral::Error>(())
    /// ```
    pub fn table(skipped: &[Skipped]) -> Table {
        let text = |name: &'static str, of: fn(&Skipped) -> String| {
            Column::text(name, skipped.iter().map(of))
        };
        Table::new(
            "skipped",
            "Rows that are skipped because of a value that is not finite.",
        )
        .unsigned("view", "", skipped.iter().map(|it| it.view))
        .with(text("metric", |it| it.metric.clone()))
        .with(text("call path", |it| it.path.clone()))
        .with(text("location", |it| it.place.clone()))
        .with(text("value", |it| it.value.to_string()))
    }
}

impl View {
    /// Returns views as a table.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `view`, `metric`, `call path` | | as in [`Ranking::table`] |
    /// | `mean` | float | mean of the values, missing for skipped views |
    /// | `largest deviation` | float | largest distance from the mean |
    /// | `missing cells` | unsigned | cells without a location |
    /// | `same as` | unsigned | first view with the same values, if there is one |
    /// | `constant`, `skipped` | flag | all values are equal; a value is not finite |
    ///
    /// ```
    /// use perf_core::{Cell, Job};
    /// use perf_spectral::{Spectra, View, ViewNames};
    /// let mut builder = Spectra::<f64>::builder(&[4])?;
    /// builder.extend(&[vec![1.0, 2.0, 4.0, 1.0], vec![5.0; 4]], &Job::default())?;
    /// let spectra = builder.finish();
    /// let table = View::table(spectra.views(), &ViewNames::of_views(spectra.views()));
    /// assert_eq!(table.cell(0, "mean"), Some(Cell::Float(2.0)));
    /// assert_eq!(table.cell(1, "constant"), Some(Cell::Flag(true)));
    /// # Ok::<(), perf_spectral::Error>(())
    /// ```
    pub fn table(views: &[View], names: &ViewNames<'_>) -> Table {
        let numbers: Vec<usize> = (0..views.len()).collect();
        let all = || views.iter();
        names
            .columns(Table::new("views", "Severity views."), "", &numbers)
            .floats("mean", "", all().map(|view| view.mean))
            .floats("largest deviation", "", all().map(|view| view.scale))
            .unsigned("missing cells", "", all().map(|view| view.missing))
            .unsigned("same as", "", all().map(|view| view.same_as))
            .flags("constant", all().map(View::is_constant))
            .flags("skipped", all().map(View::is_skipped))
    }
}
