//! Output of `cluster` as JSON, and as tables of the clusters and of the bursts.

use super::{Found, How};
use crate::findings;
use crate::phases::radius::Neighbourhood;
use crate::phases::time_balance::MinDuration;
use perfkit::core::Table;
use perfkit::track::cluster::{EpsChoice, RefineNode};
use perfkit::track::{Amount, Burst, Dropped, TimeBalance};
use serde::Serialize;
use std::collections::BTreeMap;

impl Found {
    pub(super) fn json(&self) -> impl Serialize {
        #[derive(Serialize)]
        struct Refinement<'a> {
            eps: &'a [f64],
            tree: &'a [RefineNode],
        }
        #[derive(Serialize)]
        struct Document<'a> {
            mode: String,
            eps: f64,
            eps_choice: Option<&'a EpsChoice>,
            refinement: Option<Refinement<'a>>,
            min_points: usize,
            noise_again: Option<Neighbourhood>,
            min_duration: MinDuration,
            clusters: Table,
            positions: BTreeMap<u32, String>,
            spmd_score: f64,
            balance: TimeBalance,
            extraction: &'a Dropped,
            no_points: BTreeMap<&'a str, Amount>,
            findings: Vec<findings::Found>,
        }
        let (eps_choice, refinement) = match &self.how {
            How::Given => (None, None),
            How::Chosen(choice) => (Some(choice), None),
            How::Refined(eps, tree) => (None, Some(Refinement { eps, tree })),
        };
        Document {
            mode: self.mode.to_string(),
            eps: self.eps,
            eps_choice,
            refinement,
            min_points: self.min_points,
            noise_again: Neighbourhood::of_rest(self.rest),
            min_duration: MinDuration {
                ns: self.min_duration,
                is_chosen: self.is_chosen,
            },
            clusters: self.clusters_table(),
            positions: self.positions(),
            spmd_score: self.score.global,
            balance: self.balance,
            extraction: &self.from.dropped,
            no_points: self.no_points().into_iter().collect(),
            findings: findings::found(&self.from.diagnostics),
        }
    }

    /// Returns a row for each cluster, noise last.
    pub(super) fn clusters_table(&self) -> Table {
        let clusters = self.clusters();
        let each = || {
            let rows = || self.score.clusters.iter().zip(&clusters);
            rows().skip(1).chain(rows().take(1))
        };
        let share = |size: &Amount| 100.0 * self.balance.share(*size);
        let table = Table::new(
            "clusters",
            "Clusters of bursts with the means of their metrics.",
        )
        .text("cluster", each().map(|it| it.0.cluster.to_string()))
        .unsigned("bursts", "", each().map(|it| it.1.0.bursts))
        .times("time", each().map(|it| it.1.0.time))
        .floats("CPU time", "%", each().map(|it| share(&it.1.0)))
        .floats("SPMD score", "", each().map(|it| it.0.score));
        self.metrics
            .iter()
            .enumerate()
            .fold(table, |table, (at, name)| {
                table.floats(
                    format!("mean {name}"),
                    self.unit(name),
                    each().map(|it| it.1.1[at]),
                )
            })
    }

    /// Returns the unit of a metric for output; empty for plain counts.
    fn unit(&self, metric: &str) -> String {
        match self.bursts().column(metric) {
            Ok(column) if column.unit == "#" => String::new(),
            Ok(column) => column.unit.clone(),
            // Durations have no column.
            Err(_) => "ns".into(),
        }
    }

    pub(super) fn table(&self) -> Table {
        let bursts = self.bursts();
        let complete: Vec<usize> = bursts
            .complete()
            .into_iter()
            .map(|row| row as usize)
            .collect();
        let rows = || complete.iter().map(|row| &bursts.rows()[*row]);
        let thread = |row: &Burst| &bursts.threads()[row.thread as usize];
        let labels = self.labels.as_slice();
        let table = Table::new("points", "Clustered bursts; cluster 0 is noise.")
            .unsigned("process", "", rows().map(|row| thread(row).process as u64))
            .text("thread", rows().map(|row| thread(row).name.as_str()))
            .times("begin", rows().map(|row| row.begin))
            .times("end", rows().map(|row| row.end))
            .unsigned(
                "cluster",
                "",
                complete.iter().map(|row| u64::from(labels[*row].0)),
            );
        let columns = self.metrics.iter().zip(self.values());
        columns.fold(table, |table, (name, values)| {
            let unit = bursts.column(name).map_or("ns", |column| &column.unit);
            let cells = complete.iter().map(|row| values[*row]);
            table.floats(name.clone(), unit.to_string(), cells)
        })
    }
}
