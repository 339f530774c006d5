//! [`Chains`]: all chains of callers of bursts, stored as paths in a tree to save memory;
//! [`CallerChain`]: one of them, as texts.

use super::{ChainId, next_id};
use crate::{Error, Result};
use perf_core::{CallPathId, CallTree, RegionId};
use std::collections::HashMap;
use std::fmt;

/// Largest number of callers in a chain. The limit is needed because each call has all earlier calls
/// as callers if the calls of a recording never end.
pub(super) const MOST_CALLERS: usize = 256;

/// Converts the error of adding a call path, which can only be a full call tree, because all
/// parents exist.
pub(super) fn too_many(_: perf_core::Error) -> Error {
    Error::TooMany {
        what: "call paths",
        limit: u64::from(u32::MAX),
    }
}

/// Chains of callers by id, and ids by chain.
#[derive(Clone, Debug, Default)]
pub(super) struct Chains {
    /// Text of each caller. The index of a text is the region id in `tree`.
    texts: Vec<String>,
    /// Index of each text.
    numbers: HashMap<String, RegionId>,
    /// Callers from the outermost to the innermost.
    tree: CallTree,
    /// Innermost caller of each chain; `None` for a chain without callers.
    innermost: Vec<Option<CallPathId>>,
    /// Chain that ends at each node of `tree`.
    ids: Vec<Option<ChainId>>,
    /// The chain without callers.
    empty: Option<ChainId>,
}

/// Equal if they hold the same chains in the same order.
impl PartialEq for Chains {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.all().zip(other.all()).all(|(a, b)| a.eq(b))
    }
}

impl Chains {
    pub(super) fn len(&self) -> usize {
        self.innermost.len()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = CallerChain<'_>> {
        let chain = |at: &Option<CallPathId>| CallerChain {
            chains: self,
            at: *at,
        };
        self.innermost.iter().map(chain)
    }

    /// Returns a chain; a chain without callers if the id is unknown.
    pub(super) fn get(&self, id: ChainId) -> CallerChain<'_> {
        let at = self.innermost.get(id.0 as usize).copied();
        CallerChain {
            chains: self,
            at: at.flatten(),
        }
    }

    /// Returns the id of a chain of callers, innermost first, if it exists.
    pub(super) fn find<S: AsRef<str>>(&self, callers: &[S]) -> Option<ChainId> {
        let mut at = None;
        for caller in callers.iter().rev() {
            let number = self.numbers.get(caller.as_ref())?;
            at = Some(self.tree.find(at, *number)?);
        }
        self.id(at)
    }

    /// Returns the number of a text, after adding it if it is new.
    pub(super) fn number(&mut self, text: &str) -> Result<RegionId> {
        if let Some(number) = self.numbers.get(text) {
            return Ok(*number);
        }
        let number = RegionId(next_id(self.texts.len(), "callers")?);
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        Ok(number)
    }

    /// Adds a chain of callers by number, innermost last, unless it exists. Returns its id.
    pub(super) fn add(&mut self, callers: impl Iterator<Item = RegionId>) -> Result<ChainId> {
        let mut at = None;
        for caller in callers {
            at = Some(self.tree.child(at, caller).map_err(too_many)?);
        }
        if let Some(id) = self.id(at) {
            return Ok(id);
        }
        let id = ChainId(next_id(self.innermost.len(), "caller chains")?);
        self.innermost.push(at);
        self.ids.resize(self.tree.paths().len(), None);
        let place = match at {
            Some(at) => self.ids.get_mut(at.index()),
            None => Some(&mut self.empty),
        };
        if let Some(place) = place {
            *place = Some(id);
        }
        Ok(id)
    }

    fn id(&self, at: Option<CallPathId>) -> Option<ChainId> {
        match at {
            Some(at) => self.ids.get(at.index()).copied().flatten(),
            None => self.empty,
        }
    }
}

/// Chain of callers, innermost first, each as text such as `field_bc boundary.F90:299`.
///
/// ```
/// use perf_track::Bursts;
/// let mut bursts = Bursts::new([]);
/// let chain = bursts.add_chain(&["MPI_Send", "solve solver.f90:12", "main"])?;
/// assert_eq!(bursts.chain(chain).next(), Some("MPI_Send"));
/// assert_eq!(bursts.chain(chain).count(), 3);
/// assert_eq!(bursts.chain(chain).join(" < "), "MPI_Send < solve solver.f90:12 < main");
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone)]
pub struct CallerChain<'a> {
    /// Table of all chains.
    chains: &'a Chains,
    /// Innermost caller.
    at: Option<CallPathId>,
}

impl CallerChain<'_> {
    /// Joins all callers into one text.
    pub fn join(self, between: &str) -> String {
        let mut text = String::new();
        for (number, caller) in self.enumerate() {
            if number > 0 {
                text += between;
            }
            text += caller;
        }
        text
    }
}

impl<'a> Iterator for CallerChain<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let caller = self.chains.tree.get(self.at?)?;
        self.at = caller.parent;
        self.chains
            .texts
            .get(caller.region.index())
            .map(String::as_str)
    }
}

/// Serializes as a list of chains, each a list of texts.
#[cfg(feature = "serde")]
impl serde::Serialize for Chains {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_seq(self.all())
    }
}

/// Serializes the texts, innermost caller first.
#[cfg(feature = "serde")]
impl serde::Serialize for CallerChain<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_seq(self.clone())
    }
}

/// Writes the texts.
impl fmt::Debug for CallerChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
