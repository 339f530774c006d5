//! [`Change`]: a change of durations for a replay, its parsing from text, and its application to
//! the activities of a program.

use super::WhatIf;
use crate::activity::Activities;
use crate::graph::{ActivityId, Durations};
use crate::{Error, Result};
use perf_core::{Job, LocationId, Nanos, Region, RegionId, fits, parallel};

/// Factors of changes. Larger ones take a run of a day beyond the range of nanoseconds.
const FACTORS: std::ops::RangeInclusive<f64> = 0.0..=10_000.0;

/// Share of the computation of a location by which medians of bursts and of call paths may differ.
const MAX_CONTRADICTION: f64 = 0.05;

/// Locations whose times in call paths are in memory at once.
const LOCATIONS: usize = 64;

/// A change of the durations of a program.
///
/// ```
/// use perf_wait::whatif::Change;
/// let ranks = [4, 9].map(perf_core::LocationId);
/// assert_eq!(
///     Change::parse("rank 1 = median", &ranks)?,
///     Change::LikePeers { location: perf_core::LocationId(9) },
/// );
/// assert_eq!(
///     Change::parse("MPI_* x 0.5", &ranks)?,
///     Change::Calls { pattern: "MPI_*".into(), factor: 0.5 },
/// );
/// assert!(Change::parse("rank 2 = median", &ranks).is_err());
/// # Ok::<(), perf_wait::whatif::ChangeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Change {
    /// Multiplies the time of functions in computation, those that they call included. Text: `region solve* x 0.8`.
    Function {
        /// Names of the functions, with `*` and `?`.
        pattern: String,
        /// Factor of their time.
        factor: f64,
    },
    /// Multiplies the transfer times of MPI calls. Text: `MPI_* x 0.5`.
    Calls {
        /// Names of the calls, with `*` and `?`.
        pattern: String,
        /// Factor of their transfer time.
        factor: f64,
    },
    /// Multiplies all computation of a location. Text: `rank 7 x 0.9`.
    Location {
        /// The location.
        location: LocationId,
        /// Factor of its computation.
        factor: f64,
    },
    /// Lets each burst of a location take the median of its peers. Text: `rank 7 = median`. If the order of its calls is
    /// another one than that of its peers, all bursts change in the proportion of the times in call paths instead.
    LikePeers {
        /// The location.
        location: LocationId,
    },
    /// Lets each burst spend as long in functions as the mean of its peers, those that they call included. Text:
    /// `region solve* = mean`.
    Balance {
        /// Names of the functions, with `*` and `?`.
        pattern: String,
    },
}

/// A text that is no [`Change`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: expected {expected}")]
pub struct ChangeError {
    /// The text.
    pub text: String,
    /// Description of a valid text.
    pub expected: String,
}

impl Change {
    /// Parses a change. `ranks` are the locations with MPI calls in order of rank; see [`Change::ranks`].
    ///
    /// # Errors
    ///
    /// Returns [`ChangeError`] for a text of another form, a rank that does not exist and a factor outside of
    /// `0.0..=10_000.0`.
    pub fn parse(text: &str, ranks: &[LocationId]) -> std::result::Result<Self, ChangeError> {
        let fault = |expected: &str| ChangeError {
            text: text.to_owned(),
            expected: expected.to_owned(),
        };
        let rank = |name: &str| {
            let number = name.strip_prefix("rank ")?.trim().parse::<usize>();
            Some(
                number
                    .ok()
                    .and_then(|number| ranks.get(number).copied())
                    .ok_or_else(|| {
                        fault(&format!(
                            "a rank from 0 to {}",
                            ranks.len().saturating_sub(1)
                        ))
                    }),
            )
        };
        if let Some(name) = text.trim().strip_suffix("median") {
            let name = name.trim().strip_suffix('=').map(str::trim);
            let location = name.and_then(rank);
            let location = location.ok_or_else(|| fault("`rank NUMBER = median`"))??;
            return Ok(Change::LikePeers { location });
        }
        if let Some(name) = text.trim().strip_suffix("mean") {
            let name = name.trim().strip_suffix('=').map(str::trim);
            let pattern = name.and_then(|name| name.strip_prefix("region "));
            let pattern = pattern.ok_or_else(|| fault("`region NAME = mean`"))?;
            return Ok(Change::Balance {
                pattern: pattern.trim().to_owned(),
            });
        }
        let form = "`NAME x FACTOR`, `region NAME x FACTOR`, `rank NUMBER x FACTOR`, `rank NUMBER = median` or `region NAME = mean`";
        let (name, factor) = text.rsplit_once(" x ").ok_or_else(|| fault(form))?;
        let factor: f64 = factor
            .trim()
            .parse()
            .map_err(|_| fault("a number after `x`"))?;
        if !FACTORS.contains(&factor) {
            return Err(fault("a factor from 0 to 10,000"));
        }
        let name = name.trim();
        if let Some(location) = rank(name) {
            return Ok(Change::Location {
                location: location?,
                factor,
            });
        }
        Ok(match name.strip_prefix("region ") {
            Some(pattern) => Change::Function {
                pattern: pattern.trim().to_owned(),
                factor,
            },
            None => Change::Calls {
                pattern: name.to_owned(),
                factor,
            },
        })
    }

    /// Returns the locations that are ranks in texts; see [`Activities::ranks`].
    pub fn ranks(activities: &Activities) -> Vec<LocationId> {
        activities.ranks()
    }

    fn factor(&self) -> f64 {
        match self {
            Change::Function { factor, .. }
            | Change::Calls { factor, .. }
            | Change::Location { factor, .. } => *factor,
            Change::LikePeers { .. } | Change::Balance { .. } => 1.0,
        }
    }
}

fn scaled(time: Nanos, factor: f64) -> Nanos {
    Nanos((time.0 as f64 * factor).round() as i64)
}

impl WhatIf<'_> {
    /// Changes durations.
    pub(super) fn apply(
        &self,
        change: &Change,
        durations: &mut Durations,
        job: &Job,
    ) -> Result<()> {
        let factor = change.factor();
        if !FACTORS.contains(&factor) {
            return Err(Error::Parameter {
                name: "factor",
                value: factor.to_string(),
                expected: "a number from 0 to 10,000",
            });
        }
        match change {
            Change::Function { pattern, factor } => {
                let inside = self.matching(pattern);
                self.change_inside(&inside, durations, job, |own, time| {
                    own.saturating_sub(scaled(time, 1.0 - factor))
                })?;
            }
            Change::Balance { pattern } => {
                *durations = self.balance(&self.matching(pattern), durations, job)?;
            }
            Change::Calls { pattern, factor } => {
                for (id, _, call) in self.calls() {
                    if fits(pattern, &self.activities.call_name(call)) {
                        durations.set(id, scaled(durations.get(id), *factor));
                    }
                }
            }
            Change::Location { location, factor } => {
                for (id, _) in self.places.bursts_of(self.activities, *location) {
                    durations.set(id, scaled(durations.get(id), *factor));
                }
            }
            Change::LikePeers { location } => self.like_peers(*location, durations, job)?,
        }
        Ok(())
    }

    /// Lets each burst of a location take the median of its peers, or lets all take time in the proportion of the call paths
    /// if that contradicts the times of the call paths.
    fn like_peers(&self, location: LocationId, durations: &mut Durations, job: &Job) -> Result<()> {
        let own = self.places.bursts_of(self.activities, location);
        let own: Vec<ActivityId> = own.map(|it| it.0).collect();
        let is_own = |id: &ActivityId| match (own.first(), own.last()) {
            (Some(first), Some(last)) => (*first..=*last).contains(id),
            _ => false,
        };
        let mut changed: Vec<(ActivityId, Nanos)> = Vec::with_capacity(own.len());
        let mut others: Vec<Nanos> = Vec::new();
        // A rank that sends before it receives is no peer of one that receives first.
        for group in self.neighbours().groups() {
            if !group.iter().any(is_own) {
                continue;
            }
            others.clear();
            let peers = group.iter().filter(|id| !is_own(id));
            others.extend(peers.map(|id| self.durations.get(*id)));
            let half = others.len() / 2;
            if others.is_empty() {
                continue;
            }
            let median = *others.select_nth_unstable(half).1;
            changed.extend(group.iter().filter(|id| is_own(id)).map(|id| (*id, median)));
        }
        let sum = |times: &mut dyn Iterator<Item = Nanos>| times.map(|it| it.0 as f64).sum::<f64>();
        let recorded = sum(&mut own.iter().map(|id| self.durations.get(*id)));
        let before = sum(&mut changed.iter().map(|it| self.durations.get(it.0)));
        let after = sum(&mut changed.iter().map(|it| it.1));
        let factor = self.factor_of_peers(location, job)?;
        if (recorded + after - before - recorded * factor).abs() <= recorded * MAX_CONTRADICTION {
            for (id, time) in changed {
                durations.set(id, time);
            }
        } else {
            for id in own {
                durations.set(id, scaled(durations.get(id), factor));
            }
        }
        Ok(())
    }

    /// Returns the computation of a location with the median of its peers in each call path, relative to that recorded.
    /// Call paths that most peers are never in keep their time.
    fn factor_of_peers(&self, location: LocationId, job: &Job) -> Result<f64> {
        let ranks = Change::ranks(self.activities);
        let others = ranks.into_iter().filter(|it| *it != location);
        let all: Vec<LocationId> = [location].into_iter().chain(others).collect();
        let times = self.path_times(&all, job)?;
        let is_call = self.inside(&|region| {
            let regions = &self.activities.definitions().regions;
            regions.get(region.index()).is_some_and(Region::is_mpi)
        });
        let (mut own, mut like) = (0.0, 0.0);
        let mut peers: Vec<u64> = Vec::new();
        for (path, _) in is_call.iter().enumerate().filter(|it| !it.1) {
            let mut times = times.iter().map(|it| it.get(path).copied());
            let time = times.next().flatten().unwrap_or_default();
            peers.clear();
            peers.extend(times.map(Option::unwrap_or_default));
            let half = peers.len() / 2;
            let median = match peers.len() {
                0 => 0,
                _ => *peers.select_nth_unstable(half).1,
            };
            own += time as f64;
            like += if median > 0 { median } else { time } as f64;
        }
        Ok(if own > 0.0 { like / own } else { 1.0 })
    }

    /// Returns `true` for each call path inside of a function whose name matches.
    fn matching(&self, pattern: &str) -> Vec<bool> {
        let definitions = self.activities.definitions();
        self.inside(&|region| fits(pattern, &definitions.region_name(region)))
    }

    /// Returns `true` for each call path inside of a function.
    fn inside(&self, is_function: &dyn Fn(RegionId) -> bool) -> Vec<bool> {
        let paths = self.activities.paths();
        // Parents come before their children.
        let mut inside: Vec<bool> = Vec::with_capacity(paths.paths().len());
        for path in paths.paths() {
            let parent = path
                .parent
                .and_then(|parent| inside.get(parent.index()).copied());
            inside.push(is_function(path.region) || parent == Some(true));
        }
        inside
    }

    /// Replaces the duration of each burst by a function of it and of the time of the burst in some call paths.
    fn change_inside(
        &self,
        inside: &[bool],
        durations: &mut Durations,
        job: &Job,
        change: impl Fn(Nanos, Nanos) -> Nanos + Sync,
    ) -> Result<()> {
        let locations = self.activities.locations().len();
        for start in (0..locations).step_by(LOCATIONS) {
            let count = LOCATIONS.min(locations - start);
            let found = parallel::try_map(count, |number| {
                job.check()?;
                let location = LocationId::from_index(start + number);
                let times = location.map(|it| self.burst_times(it, inside, job));
                Ok::<_, Error>(location.zip(times.transpose()?))
            })?;
            for (location, times) in found.into_iter().flatten() {
                let bursts = self.places.bursts_of(self.activities, location);
                for ((id, _), time) in bursts.zip(times) {
                    durations.set(id, change(durations.get(id), time));
                }
            }
        }
        Ok(())
    }

    /// Returns durations with the mean of its peers for the time of each burst in some call paths.
    pub(super) fn balance(
        &self,
        inside: &[bool],
        durations: &Durations,
        job: &Job,
    ) -> Result<Durations> {
        // First the time of each burst in other call paths.
        let mut balanced = durations.clone();
        self.change_inside(inside, &mut balanced, job, Nanos::saturating_sub)?;
        for group in self.peers().groups() {
            let time = |id: &ActivityId| durations.get(*id).saturating_sub(balanced.get(*id)).0;
            let sum: i128 = group.iter().map(|id| i128::from(time(id))).sum();
            let mean = Nanos(i64::try_from(sum / group.len().max(1) as i128).unwrap_or(i64::MAX));
            for id in group {
                let others = balanced.get(*id);
                balanced.set(*id, others.saturating_add(mean).max(Nanos(0)));
            }
        }
        Ok(balanced)
    }
}
