//! Call paths and steps that lost time, as text.

use super::Detected;
use crate::failure::Outcome;
use crate::table::{self, counted, grouped, shortened};
use perfkit::anomaly::Loss;
use perfkit::core::CallPathId;
use std::io::Write;

impl Detected {
    /// Call paths with anomalies, most time lost first.
    fn paths(&self) -> impl Iterator<Item = (String, Loss)> {
        let all = self.report.losses.worst_paths().into_iter();
        let abnormal = all.filter(|(_, loss)| loss.anomalies() > 0);
        abnormal.map(|(path, loss)| (self.path_name(path), loss))
    }

    fn path_name(&self, path: CallPathId) -> String {
        let calls = &self.report.calls;
        let regions = calls.path(path).into_iter();
        let names =
            regions.map(|region| calls.region_name(region).map_or("(unknown)", |one| one.1));
        let name = names.collect::<Vec<_>>().join(" / ");
        match name.is_empty() {
            true => "(other paths)".into(),
            false => name,
        }
    }

    /// Steps with anomalies, most time lost first.
    fn steps(&self) -> Vec<(u64, Loss)> {
        let all = self.report.losses.steps();
        let mut abnormal: Vec<_> = all.filter(|(_, loss)| loss.anomalies() > 0).collect();
        abnormal
            .sort_by_key(|(step, loss)| (std::cmp::Reverse((loss.time, loss.anomalies())), *step));
        abnormal
    }

    /// Tables of both.
    pub(super) fn places(&self, out: &mut dyn Write) -> Outcome {
        let paths = self
            .paths()
            .map(|(name, loss)| (shortened(&name, 60), loss));
        self.table(out, "path", paths.collect())?;
        let steps = self.steps().into_iter();
        self.table(
            out,
            "step",
            steps.map(|(step, loss)| (grouped(step), loss)).collect(),
        )
    }

    fn table(&self, out: &mut dyn Write, what: &str, all: Vec<(String, Loss)>) -> Outcome {
        if all.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{what}s, by time lost")?;
        let rows = all.iter().take(self.shown.top).map(|(name, loss)| {
            vec![
                name.clone(),
                grouped(loss.calls),
                grouped(loss.too_slow),
                grouped(loss.too_fast),
                loss.time.to_string(),
            ]
        });
        let head = [what, "calls", "too slow", "too fast", "time lost"];
        table::write(out, &head, &rows.collect::<Vec<_>>())?;
        match all.len().saturating_sub(self.shown.top) {
            0 => Ok(()),
            more => Ok(writeln!(out, "  and {} more", counted(more, what))?),
        }
    }
}
