//! What is said about a series, as JSON.

use super::Report;
use crate::findings;
use crate::phases::experiments::Gathered;
use crate::phases::radius;
use crate::phases::skipped;
use crate::phases::time_balance;
use perfkit::track::Mode;
use perfkit::track::tracking::{LinkKind, Object, Occurrence};
use perfkit::track::trend::Summary;
use serde_json::{Value, json};

impl Report<'_> {
    pub(super) fn json(&self, mode: Mode) -> Value {
        let tracking = &self.series.tracking;
        let is_tracked = tracking.frames.len() > 1;
        let frames = self
            .series
            .frames
            .iter()
            .zip(&tracking.frames)
            .enumerate()
            .map(|(at, (clustered, found))| {
                let first = found.clusters - clustered.parts.len() + 1;
                let parts = clustered.parts.iter().enumerate();
                let parts = parts.map(|(index, of)| json!({ "id": first + index, "of": of.0 }));
                json!({
                    "name": found.name,
                    "tasks": found.tasks,
                    "bursts": clustered.rows.len(),
                    "recording": clustered.recording,
                    "eps": clustered.partition.eps,
                    "eps_choice": clustered.partition.choice.as_ref().map(radius::json),
                    "no_points": self.no_points(at).into_iter().map(|(why, amount)| skipped::amount_json(why, amount)).collect::<Vec<_>>(),
                    "clusters": found.clusters,
                    "parts": parts.collect::<Vec<_>>(),
                    "noise": found.balance.map(|of| of.share(of.noise)),
                    "noise_again": clustered.partition.rest.map(|(eps, points)| json!({"eps": eps, "min_points": points})),
                    "balance": found.balance.map(|of| time_balance::json(&of, is_tracked)),
                    "spmd_score": found.score,
                    "untracked": numbers(&found.untracked),
                })
            });
        let coverage = tracking.frames.iter().map(|frame| {
            let balance = frame.balance.as_ref();
            balance.map_or(frame.coverage, |of| of.share(of.tracked))
        });
        let coverage: Vec<f64> = coverage.collect();
        let flags = self.flags.iter().map(|flag| {
            json!({
                "object": flag.object.0,
                "metric": flag.metric,
                "times_tasks": flag.by_tasks,
                "from": flag.from,
                "to": flag.to,
                "factor": flag.factor,
            })
        });
        json!({
            "mode": mode.to_string(),
            "metrics": self.series.metrics,
            "recordings": self.series.recordings.iter().map(recording).collect::<Vec<_>>(),
            "frames": frames.collect::<Vec<_>>(),
            "objects": tracking.objects.iter().map(|o| self.object_json(o)).collect::<Vec<_>>(),
            "coverage": coverage,
            "balance": tracking.balance().map(|of| time_balance::json(&of, is_tracked)),
            "min_duration": {"ns": self.series.min_duration.0, "chosen": self.series.is_chosen},
            "flags": flags.collect::<Vec<_>>(),
        })
    }

    fn object_json(&self, object: &Object) -> Value {
        let links = object.links.iter().map(|link| {
            let votes = link
                .votes
                .iter()
                .map(|(who, value)| (who.to_string(), json!(value)));
            json!({
                "from": [link.from.0, link.from.1.0],
                "to": [link.to.0, link.to.1.0],
                "kind": match link.kind {
                    LinkKind::Continues => "continues",
                    LinkKind::Bridges => "bridges",
                    LinkKind::Splits => "splits",
                    LinkKind::Merges => "merges",
                    _ => "groups",
                },
                "evidence": link.evidence,
                "confidence": link.confidence,
                "votes": votes.collect::<serde_json::Map<_, _>>(),
            })
        });
        let changes = Self::steps(object).into_iter().filter_map(|(from, to)| {
            let change = self.change(object, from, to)?;
            let [work, rate, frequency] = change.factors();
            Some(json!({
                "from": from,
                "to": to,
                "time": change.time.exp(),
                "work": work,
                "rate": rate,
                "frequency": frequency,
                "rate_change": change.ipc.exp() - 1.0,
            }))
        });
        let trend = self.series.trends.metrics().iter().map(|metric| {
            let series = self
                .series
                .trends
                .series(object.id, &metric.name)
                .unwrap_or_default();
            let law = self
                .series
                .trends
                .fit(object.id, &metric.name, 0.95)
                .ok()
                .flatten();
            let next = self.series.trends.next_tasks();
            let value = json!({
                "unit": metric.unit,
                "frames": series.iter().map(|s| s.as_ref().map(summary)).collect::<Vec<_>>(),
                "law": law.map(|law| {
                    let next = next.map(|tasks| {
                        let next = law.predict(tasks);
                        json!({ "tasks": tasks, "value": next.value, "interval": next.interval })
                    });
                    json!({
                        "coefficient": law.coefficient,
                        "exponent": law.exponent,
                        "interval": law.interval,
                        "r_squared": law.r_squared,
                        "next": next,
                    })
                }),
            });
            (metric.name.clone(), value)
        });
        let members: Vec<Vec<u32>> = object.members.iter().map(|ids| numbers(ids)).collect();
        json!({
            "id": object.id.0,
            "members": members,
            "confidence": object.confidence,
            "reliable": object.is_reliable,
            "occurrence": match object.occurrence {
                Occurrence::StartUp => "start-up",
                Occurrence::Once => "once",
                _ => "repeated",
            },
            "mixture": object.mixture.as_ref().map(|of| json!({"call_sites": of.sites, "frames": of.frames})),
            "share": object.share,
            "events": object.events.iter().map(|event| self.event(event)).collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
            "changes": changes.collect::<Vec<_>>(),
            "trend": trend.collect::<serde_json::Map<_, _>>(),
        })
    }
}

fn recording(of: &Gathered) -> Value {
    json!({
        "name": of.name,
        "found": {"bursts": of.dropped.found.bursts, "time_ns": of.dropped.found.time.0},
        "left_out": skipped::json(&of.dropped),
        "counted": skipped::counted_json(&of.dropped),
        "findings": findings::json(&of.diagnostics),
    })
}

fn summary(of: &Summary) -> Value {
    json!({
        "count": of.count,
        "mean": of.mean,
        "deviation": of.deviation,
        "box": [of.low, of.q1, of.median, of.q3, of.high],
        "min": of.min,
        "max": of.max,
    })
}

fn numbers(ids: &[perfkit::track::ClusterId]) -> Vec<u32> {
    ids.iter().map(|id| id.0).collect()
}
