//! [`Callers`]: which chain of callers each burst has.

use crate::{Bursts, ChainId, Error, Result};
use std::collections::BTreeMap;

/// How the bursts of a cluster count in its histogram of callers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallerWeight {
    /// By the time they last: many short bursts of one call site do not outweigh a long one.
    #[default]
    Time,
    /// Each alike, as published.
    Bursts,
}

/// The caller of each burst, as far as it is known. Names, not numbers, are compared between
/// frames.
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
    names: Vec<String>,
    of: Vec<Option<u32>>,
}

impl Callers {
    /// Callers by their index in a table of names.
    ///
    /// # Errors
    /// An index past the end of the table.
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

    /// The full chains of the calls before these bursts; `None` where none is known.
    ///
    /// # Errors
    /// A burst that is not there.
    pub fn before(bursts: &Bursts, rows: &[u32]) -> Result<Option<Self>> {
        Callers::chains(
            bursts,
            rows,
            |row| bursts.rows().get(row).map(|burst| burst.before),
            None,
        )
    }

    /// The full chains of the calls after these bursts; `None` where none is known.
    ///
    /// # Errors
    /// A burst that is not there.
    pub fn after(bursts: &Bursts, rows: &[u32]) -> Result<Option<Self>> {
        Callers::chains(
            bursts,
            rows,
            |row| bursts.rows().get(row).map(|burst| burst.after),
            None,
        )
    }

    /// One level of the chains of the calls before these bursts, 1 for the innermost, as published;
    /// `None` where none is known.
    ///
    /// # Errors
    /// A burst that is not there, or level 0.
    pub fn level(bursts: &Bursts, rows: &[u32], level: usize) -> Result<Option<Self>> {
        let depth = level.checked_sub(1).ok_or_else(|| Error::Parameter {
            name: "level of callers",
            value: level.to_string(),
            range: "at least 1",
        })?;
        let chain = |row: usize| bursts.rows().get(row).map(|burst| burst.before);
        Callers::chains(bursts, rows, chain, Some(depth))
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

    /// How many bursts there are.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The caller of a burst, where it is known.
    pub fn name(&self, burst: usize) -> Option<&str> {
        let id = self.of.get(burst).copied().flatten()?;
        self.names.get(id as usize).map(String::as_str)
    }

    /// Names by index.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Index of each burst's caller.
    pub(crate) fn of(&self) -> &[Option<u32>] {
        &self.of
    }
}

/// Numbers of names that all frames share.
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

    /// The shared number of each caller of a table.
    pub(crate) fn numbers(&self, callers: &Callers) -> Vec<u32> {
        let number = |name: &String| self.0.get(name).copied().unwrap_or(u32::MAX);
        callers.names().iter().map(number).collect()
    }
}

/// The share of each caller in a cluster; empty where none is known.
pub(crate) type Histogram = BTreeMap<u32, f64>;

/// The sum of the smaller shares over shared callers, from 0 to 1; NaN where callers of one of the
/// two are not known.
pub(crate) fn overlap(a: &Histogram, b: &Histogram) -> f64 {
    if a.is_empty() || b.is_empty() {
        return f64::NAN;
    }
    let shared = a
        .iter()
        .filter_map(|(caller, p)| Some(p.min(*b.get(caller)?)));
    shared.sum::<f64>().min(1.0)
}

/// The share of `part` whose callers `whole` has, too; NaN where callers are not known.
pub(crate) fn contained(part: &Histogram, whole: &Histogram) -> f64 {
    if part.is_empty() || whole.is_empty() {
        return f64::NAN;
    }
    let inside = part.iter().filter(|(caller, _)| whole.contains_key(caller));
    inside.map(|(_, share)| share).sum::<f64>().min(1.0)
}
