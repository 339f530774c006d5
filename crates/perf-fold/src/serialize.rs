//! `Serialize` for [`Fold`] and for values by kind of work, cause of idle time or message bundle,
//! whose derived form would lose names or have invalid JSON keys.

use crate::{Cause, Cell, Ends, Fold, Traffic, Work};
use serde::Serializer;
use serde::ser::{Serialize, SerializeStruct};
use std::collections::BTreeMap;

/// Serializes numbers by kind of work as a map.
pub(crate) fn by_work<S: Serializer>(
    values: &[u64; Work::ALL.len()],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(Work::ALL.iter().map(|work| work.name()).zip(values))
}

/// Serializes numbers by pair of kinds of work as a map of maps.
pub(crate) fn by_work_pair<S: Serializer>(
    values: &[[u64; Work::ALL.len()]; Work::ALL.len()],
    to: S,
) -> Result<S::Ok, S::Error> {
    struct Row<'a>(&'a [u64; Work::ALL.len()]);
    impl Serialize for Row<'_> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            by_work(self.0, to)
        }
    }
    let rows = Work::ALL.iter().map(|work| work.name());
    to.collect_map(rows.zip(values.iter().map(Row)))
}

/// Serializes numbers by cause of idle time as a map.
pub(crate) fn by_cause<S: Serializer>(
    values: &[u64; Cause::ALL.len()],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(Cause::ALL.iter().map(|cause| cause.name()).zip(values))
}

/// Serializes bundles as a sequence of objects that have the fields of both `Ends` and `Traffic`. A
/// map is not possible, because keys of a JSON map are strings.
pub(crate) fn bundles<S: Serializer>(
    bundles: &BTreeMap<Ends, Traffic>,
    to: S,
) -> Result<S::Ok, S::Error> {
    #[derive(serde::Serialize)]
    struct Bundle<'a> {
        /// Ends of the bundle.
        #[serde(flatten)]
        ends: &'a Ends,
        /// Messages of the bundle.
        #[serde(flatten)]
        traffic: &'a Traffic,
    }
    to.collect_seq(
        bundles
            .iter()
            .map(|(ends, traffic)| Bundle { ends, traffic }),
    )
}

/// Serializes the window, clock, classes, column times, and the rows with their labels and cells.
impl Serialize for Fold {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Row<'a> {
            /// Label of the row.
            label: &'a str,
            /// Number of streams of the row.
            streams: usize,
            /// Cells of the row.
            cells: &'a [Cell],
        }
        struct Rows<'a>(&'a Fold);
        impl Serialize for Rows<'_> {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_seq(self.0.rows().map(|row| Row {
                    label: row.label(),
                    streams: row.streams(),
                    cells: row.cells(),
                }))
            }
        }
        let mut fold = to.serialize_struct("Fold", 6)?;
        fold.serialize_field("window", &self.window())?;
        fold.serialize_field("clock", &self.clock())?;
        fold.serialize_field("classes", self.classes())?;
        fold.serialize_field("centres", self.centres())?;
        fold.serialize_field("edges", self.edges())?;
        fold.serialize_field("rows", &Rows(self))?;
        fold.end()
    }
}
