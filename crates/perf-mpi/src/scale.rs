//! [`fit`]: maps the bursts of all ranks to points of a common [`Space`], with a metric for each
//! [`Axis`], scaled by its range over all ranks.

use crate::{Error, Ranks, Result};
use perf_track::{Bursts, ExperimentAxis, Points, Transform, TransformAxis};

/// Axis of the space: a metric of the bursts.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Name of the metric.
    metric: String,
    /// `true` if the logarithm of the metric is used.
    log: bool,
    /// Length to which the range is scaled.
    factor: f64,
}

impl Axis {
    /// Creates an axis for a metric. `duration` is the time of a burst in nanoseconds.
    pub fn new(metric: impl Into<String>) -> Self {
        Axis {
            metric: metric.into(),
            log: false,
            factor: 1.0,
        }
    }

    /// Sets the use of the logarithm, default `false`.
    pub fn log(mut self, log: bool) -> Self {
        self.log = log;
        self
    }

    /// Sets the length to which the range is scaled, default 1.
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = factor;
        self
    }
}

/// Own bursts as points of a space that all ranks share.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Space {
    /// Coordinates, point after point.
    pub values: Vec<f64>,
    /// Index of the burst of each point, ascending.
    pub rows: Vec<u32>,
    /// Transformation of metrics to coordinates.
    pub transform: Transform,
    /// Number of complete bursts without a point, because a metric is missing or has no logarithm.
    pub left_out: u64,
}

impl Space {
    /// Returns the points.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Track`] if [`Points::new`] fails.
    pub fn points(&self) -> Result<Points<'_>> {
        Ok(Points::new(
            &self.values,
            self.transform.axes().len().max(1),
        )?)
    }
}

/// Maps the complete bursts of all ranks to one space. Collective.
///
/// The space equals that of [`Scale::fit`](perf_track::Scale::fit) for a single experiment: each
/// axis ranges from the quantile `q` to the quantile `1 - q` of all its values. If both quantiles
/// are equal, it ranges from the minimum to the maximum. [`Scale::fit`](perf_track::Scale::fit)
/// uses 0.01 for `q` by default.
///
/// Values are not sent to other ranks. Each end of a range is found by bisection with up to 64
/// steps, in each of which all ranks count their values below a limit.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_formats::OpenOptions;
/// use perf_mpi::{Axis, Ranks, fit, mpi, read};
/// use perf_track::Extract;
/// let universe = mpi::initialize().ok_or("MPI was initialised before")?;
/// let ranks = Ranks::new(&universe.world());
/// let part = read(&ranks, "run/traces.otf2".as_ref(), &OpenOptions::new(), &Job::default())?;
/// let extract = Extract::params().metric("PAPI_TOT_INS").check()?;
/// let (bursts, _) = extract.extract(part.view(), &Job::default())?;
/// let axes = [Axis::new("duration").log(true), Axis::new("PAPI_TOT_INS").log(true)];
/// let space = fit(&ranks, &bursts, &axes, 0.01)?;
/// assert_eq!(space.points()?.dimensions(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// On all ranks:
///
/// - Returns [`Error::Parameter`] if the quantile is outside of `0.0..0.5`, if a factor is not
///   above 0, or if there are no axes.
/// - Returns [`Error::Track`] if [`Bursts::column`] fails.
/// - Returns [`Error::Differs`] if axes or quantiles differ between ranks.
pub fn fit(ranks: &Ranks, bursts: &Bursts, axes: &[Axis], quantile: f64) -> Result<Space> {
    let own = ranks.agree(raw(bursts, axes, quantile))?;
    let settings: Vec<(String, bool, u64)> = axes
        .iter()
        .map(|axis| (axis.metric.clone(), axis.log, axis.factor.to_bits()))
        .collect();
    ranks.same("axes or quantiles", &(settings, quantile.to_bits()))?;
    let Raw {
        rows,
        metrics,
        values: raw,
        left_out,
    } = own;
    let count: u64 = ranks.all_gather(&(rows.len() as u64))?.iter().sum();
    let mut ranges = Vec::with_capacity(axes.len());
    for at in 0..axes.len() {
        let column = raw.iter().skip(at).step_by(axes.len().max(1));
        let mut keys: Vec<u64> = column.map(|value| key(*value)).collect();
        keys.sort_unstable();
        ranges.push(range(ranks, &keys, count, quantile)?);
    }
    let unit = |metric: &str| match bursts.column(metric) {
        Ok(column) => column.unit.clone(),
        Err(_) => "ns".into(),
    };
    let axes = axes
        .iter()
        .zip(&ranges)
        .map(|(axis, (low, high))| TransformAxis {
            metric: axis.metric.clone(),
            unit: unit(&axis.metric),
            log: axis.log,
            factor: axis.factor,
            experiments: vec![ExperimentAxis {
                shift: 0.0,
                overlap: 1.0,
                overlap_unshifted: 1.0,
                low: *low,
                high: *high,
            }],
        });
    let transform = Transform::new(axes.collect());
    let mut values = Vec::with_capacity(raw.len());
    for row in metrics.chunks_exact(ranges.len().max(1)) {
        values.extend(transform.apply(0, row).unwrap_or_default());
    }
    Ok(Space {
        values,
        rows,
        transform,
        left_out,
    })
}

/// Own bursts that are points.
#[derive(Default)]
struct Raw {
    /// Index of the burst of each point.
    rows: Vec<u32>,
    /// Metrics, point after point.
    metrics: Vec<f64>,
    /// Values after the logarithm, point after point.
    values: Vec<f64>,
    /// Number of bursts without a point.
    left_out: u64,
}

fn raw(bursts: &Bursts, axes: &[Axis], quantile: f64) -> Result<Raw> {
    let wrong = |name, value, range| Err(Error::Parameter { name, value, range });
    if axes.is_empty() {
        return wrong("axes", "none".into(), "at least 1");
    }
    if !(0.0..0.5).contains(&quantile) {
        let range = "at least 0, less than 0.5";
        return wrong("quantile", quantile.to_string(), range);
    }
    if let Some(axis) = axes
        .iter()
        .find(|axis| !(axis.factor.is_finite() && axis.factor > 0.0))
    {
        let value = format!("{}: {}", axis.metric, axis.factor);
        return wrong("factor of an axis", value, "above 0");
    }
    let durations = bursts.durations();
    let mut columns = Vec::with_capacity(axes.len());
    for axis in axes {
        columns.push(match bursts.column(&axis.metric) {
            Ok(column) => column.values.as_slice(),
            Err(_) if axis.metric == "duration" => &durations,
            Err(error) => return Err(error.into()),
        });
    }
    let mut raw = Raw::default();
    for row in bursts.complete() {
        let metrics = columns.iter().map(|column| column.get(row as usize));
        let metrics: Vec<f64> = metrics.map(|it| it.copied().unwrap_or(f64::NAN)).collect();
        let each = axes.iter().zip(&metrics);
        let values = each.map(|(axis, value)| if axis.log { value.ln() } else { *value });
        let values: Vec<f64> = values.collect();
        if values.iter().all(|value| value.is_finite()) {
            raw.rows.push(row);
            raw.metrics.extend(metrics);
            raw.values.extend(values);
        } else {
            raw.left_out += 1
        }
    }
    Ok(raw)
}

/// Returns the range of an axis.
fn range(ranks: &Ranks, keys: &[u64], count: u64, quantile: f64) -> Result<(f64, f64)> {
    if count == 0 {
        return Ok((0.0, 0.0));
    }
    let (low, high) = places(count, quantile);
    let (low, high) = (nth(ranks, keys, low)?, nth(ranks, keys, high)?);
    if low < high {
        return Ok((low, high));
    }
    Ok((nth(ranks, keys, 0)?, nth(ranks, keys, count - 1)?))
}

/// Returns the positions of the two quantiles among `count` sorted values. Weights are added one by
/// one, because the rounding of this sum decides between neighbouring values.
fn places(count: u64, quantile: f64) -> (u64, u64) {
    let weight = 1.0 / count as f64;
    let total: f64 = (0..count).map(|_| weight).sum();
    let (mut low, mut high, mut below) = (0, count - 1, 0.0);
    for at in 0..count {
        if below <= quantile * total {
            low = at;
        }
        below += weight;
        if below >= (1.0 - quantile) * total {
            high = at;
            break;
        }
    }
    (low, high)
}

/// Returns the value at a position among the sorted values of all ranks.
fn nth(ranks: &Ranks, keys: &[u64], place: u64) -> Result<f64> {
    let (mut low, mut high) = (0_u64, u64::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        let own = keys.partition_point(|key| *key <= middle) as u64;
        let all: u64 = ranks.all_gather(&own)?.iter().sum();
        if all > place {
            high = middle
        } else {
            low = middle + 1
        }
    }
    Ok(value(low))
}

/// Converts a value to a number that has the same order as [`f64::total_cmp`].
fn key(value: f64) -> u64 {
    let bits = value.to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

fn value(key: u64) -> f64 {
    f64::from_bits(match key >> 63 {
        1 => key & !(1 << 63),
        _ => !key,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_values() {
        let values = [
            f64::MIN,
            -1.0,
            -1e-300,
            -0.0,
            0.0,
            1e-300,
            1.0,
            7.5,
            f64::MAX,
        ];
        assert!(values.iter().is_sorted_by_key(|value| key(*value)));
        for one in values {
            assert_eq!(value(key(one)).to_bits(), one.to_bits());
        }
    }

    #[test]
    fn places_are_within() {
        assert_eq!(places(1, 0.01), (0, 0));
        assert_eq!(places(1000, 0.0), (0, 999));
        let (low, high) = places(1000, 0.01);
        assert!(
            (9..=11).contains(&low) && (988..=990).contains(&high),
            "{low} {high}"
        );
    }
}
