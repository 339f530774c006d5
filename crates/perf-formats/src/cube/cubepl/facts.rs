//! [`Facts`]: values of a profile that CubePL programs read, such as numbers of locations and names of regions.

use super::{Fact, Problem};
use crate::cube::names::{self, property};
use perf_core::{CallPathId, Profile, RegionId};
use std::collections::HashMap;
use std::sync::Arc;

use super::evaluate::Value;

/// Facts of a profile.
#[derive(Clone, Debug)]
pub(in crate::cube) struct Facts {
    /// Definitions.
    profile: Profile,
    /// Names of paradigms and roles that [`perf_core`] does not distinguish, by region.
    exact: HashMap<(Fact, u32), Arc<str>>,
}

impl Fact {
    /// Returns `true` if the fact has an index.
    pub(super) fn has_index(self) -> bool {
        !matches!(
            self,
            Fact::CallPaths
                | Fact::Regions
                | Fact::Metrics
                | Fact::Locations
                | Fact::ThisPath
                | Fact::ThisRegion
        )
    }
}

impl Facts {
    pub(in crate::cube) fn new(profile: &Profile) -> Self {
        let mut exact = HashMap::new();
        for (name, text) in profile.properties() {
            let Some((kind, region)) = name.split_once(':') else {
                continue;
            };
            let fact = match kind {
                property::PARADIGM => Fact::Paradigm,
                property::ROLE => Fact::Role,
                _ => continue,
            };
            if let Ok(region) = region.parse() {
                exact.insert((fact, region), text.as_str().into());
            }
        }
        let profile = profile.clone();
        Facts { profile, exact }
    }

    /// Returns a fact. `index` is the index, or the call path for which a program is evaluated;
    /// `at` is the position of the fact in the program.
    pub(super) fn get(&self, fact: Fact, index: Option<u64>, at: usize) -> Result<Value, Problem> {
        let profile = &self.profile;
        let count = |count: usize| Ok(Value::Number(count as f64));
        let path = || {
            let none = "a program that initialises metrics has no current call path";
            let index = index.ok_or_else(|| Problem::new(at, none))?;
            let id = u32::try_from(index).ok().map(CallPathId);
            let path = id.and_then(|id| profile.calls().get(id));
            path.ok_or_else(|| Problem::new(at, format!("there is no call path {index}")))
        };
        let text = match fact {
            Fact::CallPaths => return count(profile.calls().paths().len()),
            Fact::Regions => return count(profile.regions().len()),
            Fact::Metrics => return count(profile.metrics().len()),
            Fact::Locations => return count(profile.system().locations().len()),
            Fact::Callee | Fact::ThisRegion => return Ok(Value::Number(path()?.region.0.into())),
            Fact::ThisPath => {
                path()?;
                return Ok(Value::Number(index.unwrap_or_default() as f64));
            }
            Fact::Name | Fact::MangledName | Fact::Paradigm | Fact::Role | Fact::Module => {
                let id = index.and_then(|index| u32::try_from(index).ok());
                let id = id.filter(|id| (*id as usize) < profile.regions().len());
                let Some(id) = id.map(RegionId) else {
                    let index = index.unwrap_or_default();
                    return Err(Problem::new(at, format!("there is no region {index}")));
                };
                if let Some(exact) = self.exact.get(&(fact, id.0)) {
                    return Ok(Value::Text(Arc::clone(exact)));
                }
                let region = &profile.regions()[id.index()];
                match fact {
                    Fact::Name => region.name.as_str(),
                    Fact::MangledName => region.canonical.as_str(),
                    Fact::Paradigm => names::of_paradigm(region.paradigm),
                    Fact::Role => names::of_role(region.role),
                    _ => region.file.as_deref().unwrap_or_default(),
                }
            }
        };
        Ok(Value::Text(text.into()))
    }
}
