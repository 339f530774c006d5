//! `Serialize` of fields for which a derived one does not exist or makes keys that JSON cannot have.

use crate::Amount;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A value that copies share.
pub(crate) fn shared<T: Serialize, S: Serializer>(
    value: &Arc<T>,
    to: S,
) -> Result<S::Ok, S::Error> {
    (**value).serialize(to)
}

/// Amounts by missing counters: the keys of a JSON map are texts.
pub(crate) fn by_counters<S: Serializer>(
    missing: &BTreeMap<Vec<String>, Amount>,
    to: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Missing<'a> {
        counters: &'a [String],
        #[serde(flatten)]
        amount: &'a Amount,
    }
    to.collect_seq(
        missing
            .iter()
            .map(|(counters, amount)| Missing { counters, amount }),
    )
}
