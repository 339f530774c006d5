//! [`severity_table`]: severities of all metrics of a profile as a table, with a row for each call
//! path and location.

use crate::failure::{Failure, input};
use crate::scope::scoped_name;
use perfkit::core::{
    CallPathId, CallPathLabels, Column, LocationId, MetricId, Nanos, Profile, Region, Severities,
    Table,
};
use std::sync::Arc;

/// Returns the severities of all metrics by call path and location. Rows with only zeros are dropped. A cell is missing
/// if the recording has no value for it.
///
/// # Errors
/// Returns [`Failure::Input`] if a row of the profile cannot be read.
pub(crate) fn severity_table(profile: &Profile, regions: &[Region]) -> Result<Table, Failure> {
    let system = profile.system();
    let locations: Vec<LocationId> = (0..system.locations().len())
        .filter_map(LocationId::from_index)
        .collect();
    let metrics: Vec<MetricId> = (0..profile.metrics().len())
        .filter_map(MetricId::from_index)
        .collect();
    let labels = CallPathLabels::of(profile.calls(), regions);
    let (mut paths, mut places) = (Vec::new(), Vec::new());
    let mut cells = vec![Cells::default(); metrics.len()];
    for path in (0..profile.calls().paths().len()).filter_map(CallPathId::from_index) {
        let rows = metrics.iter().map(|metric| profile.row(*metric, path));
        let rows: Vec<Option<Arc<Severities>>> = rows.collect::<Result<_, _>>().map_err(input)?;
        let numbers: Vec<Option<Vec<f64>>> = rows
            .iter()
            .map(|row| row.as_ref().map(|row| row.to_f64()))
            .collect();
        let name = labels.label(path);
        for location in &locations {
            let at = location.index();
            let is_set = |row: &Option<Vec<f64>>| {
                let value = row.as_ref().and_then(|row| row.get(at));
                value.is_some_and(|value| *value != 0.0)
            };
            if !numbers.iter().any(is_set) {
                continue;
            }
            paths.push(name.clone());
            places.push(system.label(*location));
            for ((cells, row), numbers) in cells.iter_mut().zip(&rows).zip(&numbers) {
                cells.push(row.as_deref(), numbers.as_deref(), at);
            }
        }
    }
    let table = Table::new(
        "severities",
        "Severities by call path and location; rows of zeros are dropped.",
    );
    let table = table.text("call path", paths).text("location", places);
    let columns = cells.into_iter().zip(profile.metrics());
    Ok(columns.fold(table, |table, (cells, metric)| {
        table.with(cells.column(scoped_name(metric), metric.metric.unit.clone()))
    }))
}

/// Cells of a metric. Integers are stored separately because a float cannot represent all of them.
#[derive(Clone, Debug, Default)]
struct Cells {
    /// Values of integer rows.
    whole: Vec<Option<u64>>,
    /// Values of all rows as floating-point numbers.
    floats: Vec<Option<f64>>,
    /// `true` if a row has other values than unsigned integers.
    has_floats: bool,
}

impl Cells {
    fn push(&mut self, row: Option<&Severities>, numbers: Option<&[f64]>, at: usize) {
        let whole = match row {
            Some(Severities::U64(values)) => values.get(at).copied(),
            Some(_) => {
                self.has_floats = true;
                None
            }
            None => None,
        };
        self.whole.push(whole);
        self.floats
            .push(numbers.and_then(|numbers| numbers.get(at).copied()));
    }

    fn column(self, name: String, unit: String) -> Column {
        match (self.has_floats, unit.as_str()) {
            (true, _) => Column::floats(name, unit, self.floats),
            // Larger values are past the range of times.
            (false, "ns")
                if self
                    .whole
                    .iter()
                    .flatten()
                    .all(|cell| *cell <= i64::MAX as u64) =>
            {
                let nanos = |cell: Option<u64>| Some(Nanos(i64::try_from(cell?).ok()?));
                Column::times(name, self.whole.into_iter().map(nanos))
            }
            (false, _) => Column::unsigned(name, unit, self.whole),
        }
    }
}
