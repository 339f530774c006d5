//! What is said about clusters, as JSON, and their bursts as a table.

use super::{Found, How};
use crate::findings;
use crate::phases::radius;
use crate::phases::skipped;
use crate::phases::time_balance;
use perfkit::core::{Column, Table};
use perfkit::track::Burst;
use serde_json::json;

impl Found {
    pub(super) fn json(&self) -> serde_json::Value {
        let clusters = self.clusters();
        let each = self.score.clusters.iter().zip(&clusters).skip(1);
        let each = each.map(|(score, (size, means))| {
            let metrics: serde_json::Map<_, _> = self
                .metrics
                .iter()
                .cloned()
                .zip(means.iter().map(|mean| json!(mean)))
                .collect();
            json!({
                "id": score.cluster.0,
                "size": size.bursts,
                "time_ns": size.time.0,
                "share_of_time": self.balance.share(*size),
                "metrics": metrics,
                "spmd_score": score.score,
            })
        });
        let noise = clusters.first().map_or(0, |cluster| cluster.0.bursts);
        json!({
            "bursts": clusters.iter().map(|cluster| cluster.0.bursts).sum::<u64>(),
            "clusters": each.collect::<Vec<_>>(),
            "noise": noise,
            "mode": self.mode.to_string(),
            "eps": self.eps,
            "eps_choice": match &self.how {
                How::Chosen(choice) => radius::json(choice),
                _ => serde_json::Value::Null,
            },
            "refinement": self.refinement_json(),
            "min_points": self.min_points,
            "noise_again": self.rest.map(|(eps, points)| json!({"eps": eps, "min_points": points})),
            "min_duration": {"ns": self.min_duration.0, "chosen": self.is_chosen},
            "balance": time_balance::json(&self.balance, false),
            "spmd_score": self.score.global,
            "found": {
                "bursts": self.from.dropped.found.bursts,
                "time_ns": self.from.dropped.found.time.0,
            },
            "left_out": skipped::json(&self.from.dropped),
            "no_points": self.no_points().into_iter()
                .map(|(why, amount)| skipped::amount_json(why, amount)).collect::<Vec<_>>(),
            "counted": skipped::counted_json(&self.from.dropped),
            "findings": findings::json(&self.from.diagnostics),
        })
    }

    fn refinement_json(&self) -> serde_json::Value {
        let How::Refined(eps, tree) = &self.how else {
            return serde_json::Value::Null;
        };
        let tree = tree.iter().map(|node| {
            json!({
                "step": node.step,
                "cluster": node.cluster.0,
                "points": node.points,
                "score": node.score,
                "parents": node.parents,
                "last": node.last.map(|id| id.0),
            })
        });
        json!({"eps": eps, "tree": tree.collect::<Vec<_>>()})
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
            .with(Column::unsigned(
                "process",
                "",
                rows().map(|row| thread(row).process as u64),
            ))
            .with(Column::text(
                "thread",
                rows().map(|row| thread(row).name.as_str()),
            ))
            .with(Column::times("begin", rows().map(|row| row.begin)))
            .with(Column::times("end", rows().map(|row| row.end)))
            .with(Column::unsigned(
                "cluster",
                "",
                complete.iter().map(|row| u64::from(labels[*row].0)),
            ));
        let columns = self.metrics.iter().zip(self.values());
        columns.fold(table, |table, (name, values)| {
            let unit = bursts.column(name).map_or("ns", |column| &column.unit);
            let cells = complete.iter().map(|row| values[*row]);
            table.with(Column::floats(name.clone(), unit.to_string(), cells))
        })
    }
}
