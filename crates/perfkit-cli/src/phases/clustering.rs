//! [`partitions`]: clusters the points of experiments with shared radii, and then the noise with a second density.

use crate::failure::{Failure, input};
use crate::phases::experiments::usage;
use crate::phases::series::{ClusterOptions, times};
use crate::progress::Bar;
use crate::table::counted;
use perfkit::track::cluster::{Clusterer, Dbscan, EpsChoice, EpsSearch, EpsWhy, Remainder};
use perfkit::track::{Bursts, ClusterId, Error, Labels, Mode, Points, Scaled, ScaledExperiment};

/// Largest share of the time of the points that remains noise without a second density.
const MAX_NOISE: f64 = 0.1;
/// Smallest share of the time of the points that a cluster of the second density must have.
const MIN_SHARE: f64 = 0.01;

/// Bursts of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Name of the experiment.
    pub name: &'a str,
    /// Bursts of all kinds.
    pub bursts: &'a Bursts,
    /// Cluster of each burst, if the file contains it.
    pub labels: Option<&'a Labels>,
}

/// Clusters of the points of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Partition {
    /// Cluster of each point.
    pub labels: Labels,
    /// Radius of a neighbourhood; `None` if the clusters were read from a file.
    pub eps: Option<f64>,
    /// Number of points of a dense neighbourhood.
    pub min_points: usize,
    /// Choice of the radius; `None` if the radius is an option.
    pub choice: Option<EpsChoice>,
    /// Number of points of a dense neighbourhood among the noise of the first clustering, if the experiment
    /// has few points and fewer threads than [`min_points`](Self::min_points).
    pub few: Option<usize>,
    /// Second radius and number of points, with which the noise of the first clustering was clustered.
    pub rest: Option<(f64, usize)>,
}

impl ClusterOptions {
    /// Chooses the radius of a neighbourhood of `min_points` points. `floor` is the smallest
    /// radius.
    fn search(
        &self,
        points: Points<'_>,
        time: &[f64],
        (floor, min_points): (f64, usize),
    ) -> Result<EpsChoice, Error> {
        let search = EpsSearch::params().min_points(min_points).floor(floor);
        let search = EpsSearch::new(search.check()?);
        search.choose_weighted(points, time, &Bar::job())
    }

    /// Returns the number of points of a dense neighbourhood in noise for an experiment of few threads: one
    /// point for each thread, because a phase that each thread executes once has no more. `None` if there
    /// are enough threads, if there is only one, or if the number of points is an option.
    fn few_points(&self, threads: usize, min_points: usize) -> Option<usize> {
        let is_usual = self.min_points.is_none() && self.like.is_none();
        let least = Dbscan::min_points_for(0);
        let is_small = min_points == least && (2..least).contains(&threads);
        (is_usual && self.mode() == Mode::Optimal && is_small).then_some(threads)
    }

    fn dbscan(
        &self,
        points: Points<'_>,
        (eps, min_points): (f64, usize),
    ) -> Result<Labels, Failure> {
        let params = Dbscan::params().eps(eps).min_points(min_points);
        let dbscan = Dbscan::new(self.mode().dbscan(params).check().map_err(usage)?);
        let found = dbscan.cluster(points, &Bar::job());
        found.map_err(input)
    }
}

/// Clusters the points of experiments and numbers the clusters by time. In modes in which experiments share a
/// space, they also share the radii. Clusters that were read from a file are kept.
///
/// # Errors
/// Returns [`Failure::Usage`] for parameters out of range, and [`Failure::Input`] if no radius can
/// be chosen.
pub fn partitions(
    inputs: &[Input<'_>],
    scaled: &Scaled,
    options: &ClusterOptions,
) -> Result<Vec<Partition>, Failure> {
    let mut all = radii(inputs, scaled, options)?;
    let mut left = Vec::new();
    for ((of, experiment), found) in inputs.iter().zip(&scaled.experiments).zip(&mut all) {
        let time = times(of.bursts, experiment);
        let (Some(eps), None) = (found.eps, of.labels) else {
            let known = of.labels.map_or(&[][..], Labels::as_slice);
            // Without a radius and without labels all bursts are noise.
            let label = |row: &u32| known.get(*row as usize).copied().unwrap_or_default();
            found.labels = Labels::new(experiment.rows().iter().map(label).collect());
            left.push(None);
            continue;
        };
        let points = experiment.points().map_err(input)?;
        found.labels = options.dbscan(points, (eps, found.min_points))?;
        if let Some(few) = options.few_points(of.bursts.threads().len(), found.min_points) {
            let rest = Remainder::of(points, &found.labels).map_err(input)?;
            let more = options.dbscan(rest.points().map_err(input)?, (eps, few))?;
            found.labels = rest.merged(&found.labels, &more).map_err(input)?;
            found.few = Some(few);
        }
        left.push(
            if found.choice.is_some() && options.mode() == Mode::Optimal {
                Some(remainder(points, &found.labels, &time)?)
            } else {
                None
            },
        );
    }
    let least = Dbscan::min_points_for(0);
    let mut choices = Vec::new();
    for (experiment, left) in left.iter().enumerate() {
        let Some((rest, time)) = left.as_ref().and_then(Option::as_ref) else {
            continue;
        };
        let floor = inputs
            .get(experiment)
            .map_or(0.0, |of| scaled.resolution(experiment, of.bursts));
        let points = rest.points().map_err(input)?;
        match options.search(points, time, (floor, least)) {
            // Points that are scattered between the clusters are not a phase.
            Ok(choice) if is_scattered(&choice, all[experiment].choice.as_ref()) => {}
            Ok(choice) => choices.push(choice),
            // There are too few points for a cluster.
            Err(Error::NoScale) => {}
            Err(error) => return Err(input(error)),
        }
    }
    let second = EpsChoice::shared(&choices);
    for (((of, experiment), found), left) in inputs
        .iter()
        .zip(&scaled.experiments)
        .zip(&mut all)
        .zip(&left)
    {
        let time = times(of.bursts, experiment);
        if let (Some(eps), Some(Some((rest, own)))) = (second, left) {
            let more = options.dbscan(rest.points().map_err(input)?, (eps, least))?;
            let more = without_small(&more, own, MIN_SHARE * time.iter().sum::<f64>());
            if more.clusters() > 0 {
                found.labels = rest.merged(&found.labels, &more).map_err(input)?;
                found.rest = Some((eps, least));
            }
        }
        if of.labels.is_none() {
            found.labels = found.labels.by_weight(&time).map_err(input)?;
        }
    }
    Ok(all)
}

/// Returns `true` if the remainder becomes a single cluster, and only with a radius that would also join the
/// clusters of the first clustering.
fn is_scattered(rest: &EpsChoice, first: Option<&EpsChoice>) -> bool {
    let ties = |first: &EpsChoice| first.why == EpsWhy::Single || rest.eps >= first.ties;
    rest.why == EpsWhy::Single && first.is_none_or(ties)
}

/// Returns the noise with the time of its points; `None` if its share of the time is at most [`MAX_NOISE`].
fn remainder(
    points: Points<'_>,
    labels: &Labels,
    time: &[f64],
) -> Result<Option<(Remainder, Vec<f64>)>, Failure> {
    let rest = Remainder::of(points, labels).map_err(input)?;
    let own = rest.pick(time);
    let is_much = own.iter().sum::<f64>() > MAX_NOISE * time.iter().sum::<f64>();
    Ok(is_much.then_some((rest, own)))
}

/// Returns the labels with all clusters whose time is less than `least` changed to noise.
fn without_small(labels: &Labels, time: &[f64], least: f64) -> Labels {
    let mut sums = vec![0.0; labels.clusters() + 1];
    for (id, time) in labels.as_slice().iter().zip(time) {
        if let Some(sum) = sums.get_mut(id.0 as usize) {
            *sum += time;
        }
    }
    let kept = |id: &ClusterId| match sums.get(id.0 as usize) {
        Some(sum) if *sum >= least => *id,
        _ => ClusterId::NOISE,
    };
    Labels::new(labels.as_slice().iter().map(kept).collect())
}

/// Returns a partition without labels for each experiment, with the radius of the first clustering.
fn radii(
    inputs: &[Input<'_>],
    scaled: &Scaled,
    options: &ClusterOptions,
) -> Result<Vec<Partition>, Failure> {
    let mut all: Vec<Partition> = Vec::new();
    let mut failed = None;
    for (at, (of, experiment)) in inputs.iter().zip(&scaled.experiments).enumerate() {
        let min_points = options.min_points(experiment.rows().len());
        let mut found = Partition {
            min_points,
            ..Partition::default()
        };
        match (of.labels, options.eps()) {
            (Some(_), _) => {}
            (None, Some(eps)) => found.eps = Some(eps),
            (None, None) => {
                let time = times(of.bursts, experiment);
                let floor = scaled.resolution(at, of.bursts);
                let points = experiment.points().map_err(input)?;
                match options.search(points, &time, (floor, min_points)) {
                    Ok(choice) => {
                        found.eps = Some(choice.eps);
                        found.choice = Some(choice);
                    }
                    // An experiment with few bursts gets the radius of the other experiments.
                    Err(Error::NoScale) => {
                        failed.get_or_insert_with(|| no_scale(of.name, experiment, min_points));
                        found.eps = Some(0.0);
                    }
                    Err(error) => return Err(usage(error)),
                }
            }
        }
        all.push(found);
    }
    let choices = all.iter().filter_map(|of| of.choice.as_ref());
    let shared = EpsChoice::shared(choices).filter(|_| options.mode().shares_a_space());
    if let Some(shared) = shared {
        let own = all.iter_mut().filter_map(|of| of.eps.as_mut());
        own.for_each(|eps| *eps = shared);
    }
    match failed.filter(|_| all.iter().any(|of| of.eps == Some(0.0))) {
        Some(error) => Err(error),
        None => Ok(all),
    }
}

fn no_scale(name: &str, experiment: &ScaledExperiment, min_points: usize) -> Failure {
    let others: u64 = experiment.left_out.iter().map(|amount| amount.bursts).sum();
    let others = match others {
        0 => String::new(),
        some => format!("{some} bursts more have no finite value or logarithm of an axis; "),
    };
    Failure::Input(format!(
        "{name}: {}, of which a neighbourhood needs {min_points}, give no radius: too few; \
         {others}give --eps, --metrics or --min-duration",
        counted(experiment.rows().len(), "point"),
    ))
}
