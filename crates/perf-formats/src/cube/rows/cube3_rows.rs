//! [`TextRows`]: rows of severities in the text of a Cube3 document, parsed on request.

use super::cubex_rows::unreadable;
use crate::cube::anchor::TextRow;
use crate::cube::resolve::Resolved;
use crate::cube::rules;
use crate::{Error, Result};
use perf_core::{CallPathId, Diagnostics, MetricId, Place, RowStore, Severities};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// A document and the positions of its rows.
#[derive(Debug)]
pub(in crate::cube) struct TextRows {
    /// Text of the document.
    document: Arc<[u8]>,
    /// Name of the file, for diagnostics.
    file: Arc<str>,
    /// Number of locations.
    locations: usize,
    /// Range of each row in the document.
    rows: BTreeMap<(MetricId, CallPathId), Range<usize>>,
}

impl TextRows {
    /// Takes the rows of a document. The numbers of a row are counted now and parsed later.
    pub(in crate::cube) fn new(
        document: Arc<[u8]>,
        file: &Arc<str>,
        rows: Vec<TextRow>,
        resolved: &Resolved,
        found: &mut Diagnostics,
    ) -> Result<Self> {
        let locations = resolved.system.locations().len();
        let metrics = (0u32..).zip(&resolved.stored);
        let metrics: HashMap<u64, MetricId> = metrics
            .map(|(at, about)| (about.id, MetricId(at)))
            .collect();
        let cnodes = (0u32..).zip(&resolved.cnodes);
        let cnodes: HashMap<u64, CallPathId> =
            cnodes.map(|(at, id)| (*id, CallPathId(at))).collect();
        let mut kept = BTreeMap::new();
        for row in rows {
            let place = || {
                let record = format!("metric {}, call path {}", row.metric, row.cnode);
                let place = Place::file(Arc::clone(file)).at(row.at.start as u64);
                place.record(record)
            };
            let metric = metrics.get(&row.metric);
            let (Some(metric), Some(path)) = (metric, cnodes.get(&row.cnode)) else {
                found.add(rules::UNRESOLVED, place());
                continue;
            };
            let text = &document[row.at.clone()];
            let count = words(text).count();
            if count > locations {
                return Err(Error::Malformed {
                    place: place(),
                    expected: format!("{locations} values, one for each location"),
                    got: format!("{count} values"),
                });
            }
            if count < locations {
                found.add(rules::SHORT_ROW, place());
            }
            if kept.insert((*metric, *path), row.at.clone()).is_some() {
                found.add(rules::BAD_ROWS, place());
            }
        }
        Ok(TextRows {
            document,
            file: Arc::clone(file),
            locations,
            rows: kept,
        })
    }

    fn parse(&self, at: &Range<usize>) -> Result<Severities> {
        let text = &self.document[at.clone()];
        let mut values = Vec::with_capacity(self.locations);
        for word in words(text) {
            let value = std::str::from_utf8(word).ok();
            let value = value.and_then(|word| word.parse::<f64>().ok());
            values.push(value.ok_or_else(|| Error::Malformed {
                place: Place::file(Arc::clone(&self.file)).at(at.start as u64),
                expected: "one number for each location".into(),
                got: format!("{:?}", String::from_utf8_lossy(word)),
            })?);
        }
        values.resize(self.locations, 0.0);
        Ok(Severities::F64(values))
    }
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = text.split(u8::is_ascii_whitespace);
    words.filter(|word| !word.is_empty())
}

impl RowStore for TextRows {
    fn row(
        &self,
        metric: MetricId,
        path: CallPathId,
    ) -> perf_core::Result<Option<Arc<Severities>>> {
        let Some(at) = self.rows.get(&(metric, path)) else {
            return Ok(None);
        };
        let row = self.parse(at);
        row.map(|row| Some(Arc::new(row))).map_err(unreadable)
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        let from = (metric, CallPathId(0));
        let to = (metric, CallPathId(u32::MAX));
        let rows = self.rows.range(from..=to);
        rows.map(|((_, path), _)| *path).collect()
    }
}
