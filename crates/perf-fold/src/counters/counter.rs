//! [`Counters`]: the counters of a trace; [`Counter`]: one of them on all its locations, with its
//! ratio to another one and its values combined over locations ([`Across`]).

use super::reading;
use super::series::{CounterCell, Series};
use crate::Result;
use perf_core::{Clock, Job, Table, TimeRange, TraceView, fits};

/// Combination of the values of several locations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Across {
    /// Mean over the locations that have a value.
    #[default]
    Mean,
    /// Sum over the locations that have a value.
    Sum,
    /// Largest value.
    Max,
}

impl Across {
    /// Returns the name of the combination.
    pub fn name(self) -> &'static str {
        match self {
            Across::Mean => "mean",
            Across::Sum => "sum",
            Across::Max => "max",
        }
    }

    /// Returns the combination of the cells of several locations. Cells without a value are skipped.
    /// Least and largest value are those of all cells; for a sum they are the sum.
    pub fn of<'a>(self, cells: impl IntoIterator<Item = &'a CounterCell>) -> CounterCell {
        let (mut count, mut sum, mut largest) = (0.0, 0.0, f64::NEG_INFINITY);
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        let known = cells.into_iter().filter(|cell| !cell.mean.is_nan());
        for cell in known {
            count += 1.0;
            sum += cell.mean;
            largest = largest.max(cell.mean);
            min = min.min(cell.min);
            max = max.max(cell.max);
        }
        if count == 0.0 {
            return CounterCell::EMPTY;
        }
        match self {
            Across::Mean => CounterCell {
                mean: sum / count,
                min,
                max,
            },
            Across::Max => CounterCell {
                mean: largest,
                min,
                max,
            },
            Across::Sum => CounterCell {
                mean: sum,
                min: sum,
                max: sum,
            },
        }
    }
}

/// Counter of all locations that sample it.
///
/// A counter that increases, or that is recorded as increments, is a rate by second: the increment
/// between two samples divided by the time between them. Any other counter keeps the value of a
/// sample until the next sample.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Counter {
    /// Name, such as `PAPI_TOT_INS`.
    pub name: String,
    /// Unit of the values, such as `/s` or `W`; may be empty.
    pub unit: String,
    /// Values of each location, in the order of locations.
    pub series: Vec<Series>,
    /// Number of samples at which an increasing counter decreased. The interval before such a sample
    /// has no value.
    pub resets: u64,
    /// Clock of the recording.
    pub(crate) clock: Clock,
}

impl Counter {
    /// Returns the ratio of two counters, such as instructions per cycle, for each location that has
    /// both. The value of a column is the ratio of both integrals over the column.
    pub fn ratio(&self, name: impl Into<String>, divisor: &Counter) -> Counter {
        let series = self.series.iter().filter_map(|one| {
            let below = divisor
                .series
                .iter()
                .find(|it| it.location == one.location)?;
            Some(Series {
                divisor: Some(below.steps.clone()),
                ..one.clone()
            })
        });
        Counter {
            name: name.into(),
            unit: String::new(),
            series: series.collect(),
            resets: self.resets + divisor.resets,
            clock: self.clock,
        }
    }

    /// Returns the values of all locations combined, in `columns` columns of equal width.
    pub fn combined(&self, window: TimeRange, columns: usize, across: Across) -> Vec<CounterCell> {
        let all: Vec<_> = self
            .series
            .iter()
            .map(|of| of.cells(window, columns))
            .collect();
        let cell = |column: usize| {
            let cells = all.iter().filter_map(|cells| cells.get(column));
            across.of(cells)
        };
        (0..columns).map(cell).collect()
    }

    /// Returns counters in a window as a table with a row for each counter and location.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `counter` | text | name |
    /// | `location` | text | label of the location |
    /// | `samples` | unsigned | number of samples in the whole recording |
    /// | `mean`, `min`, `max` | float | values over the window, see [`CounterCell`]; missing without a value |
    /// | `unit` | text | unit of the values |
    pub fn table(counters: &[Counter], window: TimeRange) -> Table {
        let rows = || {
            counters
                .iter()
                .flat_map(|of| of.series.iter().map(move |one| (of, one)))
        };
        let all: Vec<_> = rows().map(|(_, one)| one.over(window)).collect();
        let values = |of: fn(&CounterCell) -> f64| {
            all.iter()
                .map(move |cell| Some(of(cell)).filter(|value| !value.is_nan()))
        };
        Table::new("counters", "Counters of a window by location.")
            .text("counter", rows().map(|(of, _)| of.name.as_str()))
            .text("location", rows().map(|(_, one)| one.label.as_str()))
            .unsigned("samples", "", rows().map(|(_, one)| one.samples))
            .floats("mean", "", values(|cell| cell.mean))
            .floats("min", "", values(|cell| cell.min))
            .floats("max", "", values(|cell| cell.max))
            .text("unit", rows().map(|(of, _)| of.unit.as_str()))
    }
}

/// Counters of a trace, from its metric samples.
///
/// ```
/// use perf_core::{Definitions, Event, Events, Job, Location, Metric, MetricId, MetricMode};
/// use perf_core::{MetricSet, MetricSetId, SystemTree, Ticks, TimeRange, Trace};
/// use perf_fold::{Across, Counters};
/// let mut definitions = Definitions::default();
/// let metric = |name: &str, mode| Metric { name: name.into(), mode, ..Metric::default() };
/// definitions.metrics = vec![metric("work", MetricMode::Accumulated), metric("power", MetricMode::Absolute)];
/// let members = vec![MetricId(0), MetricId(1)];
/// definitions.metric_sets = vec![MetricSet { members, ..MetricSet::default() }];
/// definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
/// let mut events = Events::default();
/// for (at, work, power) in [(0, 0, 100), (500, 50, 300), (1000, 250, 300)] {
///     let values = &[work, power];
///     events.push(Ticks(at), Event::Metric { set: MetricSetId(0), values })?;
/// }
/// let trace = Trace::new(definitions, vec![events])?;
/// let counters = Counters::new(trace.view(), &Job::default())?;
/// let window = TimeRange { start: Ticks(0), end: Ticks(1000) };
/// // 50 in 500 ns, then 200 in 500 ns.
/// let work = counters.find("work").ok_or("no such counter")?;
/// let cells = work.combined(window, 2, Across::Sum);
/// assert_eq!((cells[0].mean, cells[1].mean), (1e8, 4e8));
/// let power = counters.find("power").ok_or("no such counter")?;
/// assert_eq!(power.series[0].over(window).mean, 200.0);
/// assert_eq!(counters.find("work/power").ok_or("no such counter")?.series[0].over(window).mean, 2.5e8 / 200.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Counters {
    /// Counters in the order of their definitions.
    pub all: Vec<Counter>,
}

impl Counters {
    /// Reads the metric samples of a view. Progress is reported in locations, in the phase `counters`.
    ///
    /// Metrics of the same name, unit and mode are one counter. A metric that describes another
    /// location than the one that recorded it belongs to the described location. Counters without
    /// samples are skipped.
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn new(view: TraceView<'_>, job: &Job) -> Result<Self> {
        Ok(Counters {
            all: reading::counters(view, job)?,
        })
    }

    /// Returns the counters whose name matches a pattern, where `*` stands for any characters and `?`
    /// for one.
    pub fn matching<'a>(&'a self, pattern: &'a str) -> impl Iterator<Item = &'a Counter> {
        self.all.iter().filter(move |of| fits(pattern, &of.name))
    }

    /// Returns the counter of a name, or the ratio of two counters for `dividend/divisor`. Returns
    /// `None` if there is no such counter.
    pub fn find(&self, name: &str) -> Option<Counter> {
        let named = |name: &str| self.all.iter().find(|of| of.name == name.trim());
        if let Some(found) = named(name) {
            return Some(found.clone());
        }
        let mut slashes = name.match_indices('/');
        slashes.find_map(|(at, _)| {
            let (dividend, divisor) = (named(name.get(..at)?)?, named(name.get(at + 1..)?)?);
            Some(dividend.ratio(name, divisor))
        })
    }
}
