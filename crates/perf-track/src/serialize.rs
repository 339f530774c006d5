//! Functions for `#[serde(serialize_with)]`: shared values, and maps whose keys are not strings.

use crate::Amount;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Serializes a shared value.
pub(crate) fn shared<T: Serialize, S: Serializer>(
    value: &Arc<T>,
    to: S,
) -> Result<S::Ok, S::Error> {
    (**value).serialize(to)
}

/// Serializes amounts by missing counters as a list, because keys of a JSON map are strings.
pub(crate) fn by_counters<S: Serializer>(
    missing: &BTreeMap<Vec<String>, Amount>,
    to: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Missing<'a> {
        /// Missing counters.
        counters: &'a [String],
        /// Bursts without these counters.
        #[serde(flatten)]
        amount: &'a Amount,
    }
    to.collect_seq(
        missing
            .iter()
            .map(|(counters, amount)| Missing { counters, amount }),
    )
}
