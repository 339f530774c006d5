//! Output of `detect` as a table of recorded anomalies.

use super::Detected;
use crate::failure::{Failure, input};
use perfkit::anomaly::provenance::{Kind, Order, Query};
use perfkit::core::{Column, Table};

impl Detected {
    /// Returns a row for each recorded anomaly, the most severe first.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the records cannot be read.
    pub(crate) fn records(&mut self) -> Result<Table, Failure> {
        let query = Query {
            kind: Some(Kind::Anomaly),
            order: Order::Severity,
            ..Query::default()
        };
        let records = self.store.query(&query).map_err(input)?;
        let all = || records.iter();
        let whole = |name, of: fn(&perfkit::anomaly::provenance::Record) -> u64| {
            Column::unsigned(name, "", all().map(of))
        };
        Ok(
            Table::new("anomalies", "Recorded anomalies, the most severe first.")
                .with(whole("program", |record| record.program.into()))
                .with(whole("rank", |record| record.rank.into()))
                .with(whole("thread", |record| record.thread.into()))
                .with(whole("step", |record| record.step))
                .text(
                    "function",
                    all().map(|record| record.call.function.as_str()),
                )
                .text("call path", all().map(|record| record.path()))
                .text("label", all().map(|record| record.label.to_string()))
                .times("entry", all().map(|record| record.call.entry))
                .times("run time", all().map(|record| record.runtime))
                .times("expected", all().map(|record| record.expected))
                .times("severity", all().map(|record| record.severity))
                .floats("score", "", all().map(|record| record.score)),
        )
    }
}
