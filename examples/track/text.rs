//! What is said about a series, as text: its frames and how they came about.

use super::{Report, percent};
use perfkit::track::Amount;
use perfkit_examples::cli::Outcome;
use perfkit_examples::table::{self, grouped};
use perfkit_examples::{left_out, radius};
use std::io::Write;

impl Report<'_> {
    pub(super) fn text(&self, top: usize, out: &mut dyn Write) -> Outcome {
        self.frames(out)?;
        self.radii(out)?;
        self.left_out(out)?;
        self.objects(top, out)?;
        if self.series.frames.len() < 2 {
            writeln!(
                out,
                "\none frame: there is nothing to track it to; give more recordings, or --windows N"
            )?;
            return Ok(());
        }
        self.why(top, out)?;
        self.changes(top, out)?;
        self.laws(top, out)?;
        self.worse(top, out)?;
        self.words(top, out)
    }

    fn frames(&self, out: &mut dyn Write) -> Outcome {
        writeln!(
            out,
            "frames, in the space of {}",
            self.series.metrics.join(" and ")
        )?;
        let frames = self.series.frames.iter().zip(&self.series.tracking.frames);
        let rows = frames.map(|(clustered, found)| {
            let all = found.clustered_time + found.noise_time;
            vec![
                found.name.clone(),
                found.tasks.to_string(),
                clustered.rows.len().to_string(),
                clustered
                    .eps
                    .map_or_else(|| "read".into(), |eps| format!("{eps:.3}")),
                (found.clusters - clustered.parts.len()).to_string(),
                clustered.parts.len().to_string(),
                percent(found.noise_time / all.max(f64::MIN_POSITIVE)),
                found
                    .score
                    .map_or_else(String::new, |score| format!("{score:.2}")),
                percent(found.coverage),
            ]
        });
        let head = [
            "frame",
            "tasks",
            "bursts",
            "eps",
            "clusters",
            "split off",
            "noise",
            "SPMD",
            "tracked",
        ];
        table::write(out, &head, &rows.collect::<Vec<_>>())?;
        Ok(())
    }

    /// How the radius was found.
    fn radii(&self, out: &mut dyn Write) -> Outcome {
        let found = self.series.frames.iter();
        let found: Vec<_> = found
            .filter_map(|of| Some((of.frame.name(), of.choice.as_ref()?)))
            .collect();
        if found.is_empty() {
            return Ok(());
        }
        let one = match self.series.frames.first().and_then(|of| of.eps) {
            Some(eps) if self.series.frames.iter().all(|of| of.eps == Some(eps)) => {
                format!(", and one for all: {eps:.4}")
            }
            _ => String::new(),
        };
        let frames = self.series.tracking.frames.iter();
        for frame in frames.filter(|of| of.noise_time > 0.1 * (of.noise_time + of.clustered_time)) {
            let all = frame.noise_time + frame.clustered_time;
            writeln!(
                out,
                "  {} of the time of {} is in no cluster: a larger --eps takes more of it in",
                percent(frame.noise_time / all),
                frame.name
            )?;
        }
        writeln!(
            out,
            "\nradius of a neighbourhood, as found for each frame{one}"
        )?;
        for (name, choice) in found {
            writeln!(out, "  {name}: {}", radius::sentence(choice))?;
        }
        Ok(())
    }

    /// Bursts of a frame that are no points, by the axis that keeps them from it.
    pub(super) fn no_points(&self, frame: usize) -> Vec<(&str, Amount)> {
        let scaled = self.series.scaled.frames.get(frame);
        let amounts = scaled.map_or(&[][..], |scaled| &scaled.left_out);
        let all = self.series.metrics.iter().map(String::as_str).zip(amounts);
        let some = all.filter(|(_, amount)| amount.bursts > 0);
        some.map(|(name, amount)| (name, *amount)).collect()
    }

    /// What filters and axes left out of each recording.
    fn left_out(&self, out: &mut dyn Write) -> Outcome {
        let mut rows = Vec::new();
        for of in &self.series.recordings {
            for (why, amount) in left_out::reasons(&of.dropped) {
                let share = left_out::share(amount.time, of.dropped.found.time);
                let time = amount.time.to_string();
                rows.push(vec![
                    of.name.clone(),
                    why,
                    grouped(amount.bursts),
                    time,
                    percent(share),
                ]);
            }
        }
        for frame in 0..self.series.frames.len() {
            for (metric, amount) in self.no_points(frame) {
                let why = format!("no finite value or logarithm of {metric}");
                let (bursts, time) = (grouped(amount.bursts), amount.time.to_string());
                rows.push(vec![
                    self.name(frame).to_owned(),
                    why,
                    bursts,
                    time,
                    String::new(),
                ]);
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        let head = ["left out of", "by", "bursts", "time", "share"];
        table::write(out, &head, &rows)?;
        Ok(())
    }
}
