//! [`Callers`]: chain of callers of each burst of an experiment; [`Histogram`]: shares of callers
//! in a cluster, by [`CallerWeight`], and the overlap of two of them.

use crate::tracking::program_position::call_sites::without_lines;
use crate::{Bursts, ChainId, Error, Result};
use std::collections::BTreeMap;

/// Weight of the bursts of a cluster in its histogram of callers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallerWeight {
    /// Duration of each burst, so that many short bursts do not outweigh a few long ones.
    #[default]
    Time,
    /// Equal weights, as published.
    Bursts,
}

/// Caller of each burst, as far as known. Experiments are compared by the names of callers, not by
/// their indices.
///
/// ```
/// use perf_track::tracking::Callers;
/// let callers = Callers::new(["solve a.f90:1", "halo b.f90:9"], vec![Some(0), None, Some(1)])?;
/// assert_eq!(callers.name(2), Some("halo b.f90:9"));
/// assert_eq!(callers.name(1), None);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Callers {
    /// Names of the callers.
    names: Vec<String>,
    /// Index of the caller of each burst.
    of: Vec<Option<u32>>,
}

impl Callers {
    /// Creates callers from a table of names and an index for each burst.
    ///
    /// # Errors
    /// Returns an error for an index past the end of the table of names.
    pub fn new<S: Into<String>>(
        names: impl IntoIterator<Item = S>,
        of: Vec<Option<u32>>,
    ) -> Result<Self> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if let Some(&id) = of.iter().flatten().find(|&&id| id as usize >= names.len()) {
            return Err(Error::Unknown {
                what: "caller",
                id: id as usize,
                count: names.len(),
            });
        }
        Ok(Callers { names, of })
    }

    /// Returns the full chains of the calls before these bursts; `None` if none is known.
    ///
    /// # Errors
    /// Returns an error for a burst that does not exist.
    pub fn before(bursts: &Bursts, rows: &[u32]) -> Result<Option<Self>> {
        Callers::chains(
            bursts,
            rows,
            |row| bursts.rows().get(row).map(|burst| burst.before),
            None,
        )
    }

    /// Returns the full chains of the calls after these bursts; `None` if none is known.
    ///
    /// # Errors
    /// Returns an error for a burst that does not exist.
    pub fn after(bursts: &Bursts, rows: &[u32]) -> Result<Option<Self>> {
        Callers::chains(
            bursts,
            rows,
            |row| bursts.rows().get(row).map(|burst| burst.after),
            None,
        )
    }

    /// Returns the callers at one level of the chains of the calls before these bursts, as in the
    /// published method. Level 1 is the innermost caller. `None` if no caller is known.
    ///
    /// # Errors
    /// Returns an error for a burst that does not exist, or for level 0.
    pub fn level(bursts: &Bursts, rows: &[u32], level: usize) -> Result<Option<Self>> {
        let depth = level.checked_sub(1).ok_or_else(|| Error::Parameter {
            name: "level of callers",
            value: level.to_string(),
            range: "at least 1",
        })?;
        let chain = |row: usize| bursts.rows().get(row).map(|burst| burst.before);
        Callers::chains(bursts, rows, chain, Some(depth))
    }

    /// Returns the calls before these bursts with their callers, or the callers alone where the call is
    /// unknown; `None` if none is known.
    pub(crate) fn calls_before(bursts: &Bursts, rows: &[u32]) -> Result<Option<Self>> {
        let chain = |row: usize| {
            let burst = bursts.rows().get(row)?;
            Some(burst.position.call_before.or(burst.before))
        };
        Callers::chains(bursts, rows, chain, None)
    }

    /// Returns the calls after these bursts, like [`calls_before`](Self::calls_before).
    pub(crate) fn calls_after(bursts: &Bursts, rows: &[u32]) -> Result<Option<Self>> {
        let chain = |row: usize| {
            let burst = bursts.rows().get(row)?;
            Some(burst.position.call_after.or(burst.after))
        };
        Callers::chains(bursts, rows, chain, None)
    }

    /// Returns the functions that contain these bursts; `None` if none is known.
    pub(crate) fn within(bursts: &Bursts, rows: &[u32]) -> Result<Option<Self>> {
        let chain = |row: usize| bursts.rows().get(row).map(|burst| burst.position.within);
        Callers::chains(bursts, rows, chain, None)
    }

    /// Removes files and lines, which change between versions, from all names.
    pub(crate) fn without_lines(&self) -> Self {
        let names = self
            .names
            .iter()
            .map(|name| (name.clone(), without_lines(name)));
        self.renamed(&names.collect())
    }

    /// Replaces names; names without an entry are kept.
    pub(crate) fn renamed(&self, names: &BTreeMap<String, String>) -> Self {
        let name = |name: &String| names.get(name).unwrap_or(name).clone();
        Callers {
            names: self.names.iter().map(name).collect(),
            of: self.of.clone(),
        }
    }

    fn chains(
        bursts: &Bursts,
        rows: &[u32],
        chain: impl Fn(usize) -> Option<Option<ChainId>>,
        depth: Option<usize>,
    ) -> Result<Option<Self>> {
        let mut ids: BTreeMap<String, u32> = BTreeMap::new();
        let mut known: BTreeMap<ChainId, Option<u32>> = BTreeMap::new();
        let mut of = Vec::with_capacity(rows.len());
        for &row in rows {
            let chain = chain(row as usize).ok_or(Error::Unknown {
                what: "burst",
                id: row as usize,
                count: bursts.len(),
            })?;
            let Some(chain) = chain else {
                of.push(None);
                continue;
            };
            let id = known.entry(chain).or_insert_with(|| {
                let mut callers = bursts.chain(chain);
                let name = match depth {
                    Some(depth) => callers.nth(depth)?.to_owned(),
                    None if callers.clone().next().is_none() => return None,
                    None => callers.join(" < "),
                };
                let next = ids.len() as u32;
                Some(*ids.entry(name).or_insert(next))
            });
            of.push(*id);
        }
        let mut names = vec![String::new(); ids.len()];
        for (name, id) in ids {
            names[id as usize] = name;
        }
        let any = !names.is_empty();
        Ok(any.then_some(Callers { names, of }))
    }

    /// Returns the number of bursts.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Returns `true` if there are no bursts.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Returns the caller of a burst, if known.
    pub fn name(&self, burst: usize) -> Option<&str> {
        let id = self.of.get(burst).copied().flatten()?;
        self.names.get(id as usize).map(String::as_str)
    }

    /// Returns the names by index.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the index of each burst's caller.
    pub(crate) fn of(&self) -> &[Option<u32>] {
        &self.of
    }
}

/// Numbers of caller names, shared by all experiments.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<String, u32>);

impl Names {
    pub(crate) fn of<'c>(all: impl Iterator<Item = &'c Callers>) -> Self {
        let mut names = BTreeMap::new();
        for name in all.flat_map(|callers| callers.names.iter()) {
            names.insert(name.clone(), 0);
        }
        for (number, id) in names.values_mut().enumerate() {
            *id = number as u32;
        }
        Names(names)
    }

    /// Returns the shared number of each caller of a table.
    pub(crate) fn numbers(&self, callers: &Callers) -> Vec<u32> {
        let number = |name: &String| self.0[name];
        callers.names().iter().map(number).collect()
    }
}

/// Fraction of each caller in a cluster, by caller number; empty if no caller is known.
pub(crate) type Histogram = BTreeMap<u32, f64>;

/// Returns the sum of the smaller fractions over common callers, in `0.0..=1.0`. NaN if one of the
/// histograms is empty.
pub(crate) fn overlap(a: &Histogram, b: &Histogram) -> f64 {
    if a.is_empty() || b.is_empty() {
        return f64::NAN;
    }
    let shared = a
        .iter()
        .filter_map(|(caller, p)| Some(p.min(*b.get(caller)?)));
    shared.sum::<f64>().min(1.0)
}

/// Returns the fraction of `part` whose callers occur in `whole`, in `0.0..=1.0`. NaN if one of the
/// histograms is empty.
pub(crate) fn contained(part: &Histogram, whole: &Histogram) -> f64 {
    if part.is_empty() || whole.is_empty() {
        return f64::NAN;
    }
    let inside = part.iter().filter(|(caller, _)| whole.contains_key(caller));
    inside.map(|(_, share)| share).sum::<f64>().min(1.0)
}
