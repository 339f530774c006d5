//! [`Timeline`]: bursts of an experiment as cells of a page, which show the tracked region of each
//! thread over time.

use super::model::{Clusters, same};
use crate::{Error, Result};
use perf_core::Job;
use perf_track::Bursts;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Largest number of threads of an experiment in a page. Of more, threads at equal distances are shown.
const MOST_THREADS: usize = 512;
/// Largest number of cells of all experiments.
const MOST_CELLS: usize = 300_000;
/// Number of columns of a timeline.
const COLUMNS: RangeInclusive<usize> = 100..=1_000;
/// Region of a cell with bursts in no tracked region; 0 is a cell without bursts.
const NO_REGION: u16 = 1;

/// Bursts of an experiment as cells of one thread and an equal part of the time.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    /// First begin of a burst, in nanoseconds.
    pub(super) begin: i64,
    /// Last end of a burst, in nanoseconds.
    pub(super) end: i64,
    /// Names of the shown threads.
    pub(super) threads: Vec<String>,
    /// Number of threads of the experiment.
    pub(super) total: usize,
    /// Number of columns.
    pub(super) columns: usize,
    /// Region with most time of each cell, thread after thread: 0 without bursts, 1 in no region, else the
    /// number of the region plus 1.
    pub(super) regions: Vec<u16>,
    /// Share of each cell that is covered by bursts, in units of 1/255.
    pub(super) shares: Vec<u8>,
}

impl Clusters {
    /// Adds the times of the bursts of an experiment, from which a page draws a row for each thread with the
    /// tracked region over time. `rows` holds the index of the burst of each point; other bursts are in no
    /// region.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Empty`] if there is no such experiment.
    /// - Returns [`Error::Mismatch`] if there is not one row for each point.
    /// - Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn timeline(
        mut self,
        experiment: usize,
        bursts: &Bursts,
        rows: &[u32],
        job: &Job,
    ) -> Result<Self> {
        let count = self.experiments.len();
        let shown = self.experiments.get_mut(experiment).ok_or(Error::Empty {
            what: "no such experiment",
        })?;
        same("bursts of points", shown.regions.len(), rows.len())?;
        let mut region = vec![NO_REGION; bursts.len()];
        for (&row, &id) in rows.iter().zip(&shown.regions) {
            if let Some(slot) = region.get_mut(row as usize) {
                *slot = u16::try_from(id).map_or(NO_REGION, |id| id.saturating_add(1));
            }
        }
        let all = bursts.rows();
        let begin = all.iter().map(|burst| burst.begin.0).min();
        let end = all.iter().map(|burst| burst.end.0).max();
        let (Some(begin), Some(end)) = (begin, end) else {
            return Ok(self);
        };
        let total = bursts.threads().len();
        let step = total.div_ceil(MOST_THREADS).max(1);
        let threads = bursts.threads().iter().step_by(step);
        let threads: Vec<String> = threads.map(|thread| thread.name.clone()).collect();
        let columns = MOST_CELLS / (threads.len() * count).max(1);
        let columns = columns.clamp(*COLUMNS.start(), *COLUMNS.end());
        let wide = ((end - begin) as f64 / columns as f64).max(f64::MIN_POSITIVE);
        let mut times: Vec<BTreeMap<(usize, u16), f64>> = vec![BTreeMap::new(); threads.len()];
        for (at, (burst, region)) in all.iter().zip(&region).enumerate() {
            if at % 4096 == 0 {
                job.check()?;
            }
            let thread = burst.thread as usize;
            let Some(times) = times
                .get_mut(thread / step)
                .filter(|_| thread.is_multiple_of(step))
            else {
                continue;
            };
            let [from, to] = [burst.begin.0, burst.end.0].map(|time| (time - begin) as f64 / wide);
            for column in from as usize..=(to as usize).min(columns - 1) {
                let inside = to.min(column as f64 + 1.0) - from.max(column as f64);
                if inside > 0.0 {
                    *times.entry((column, *region)).or_default() += inside;
                }
            }
        }
        let mut regions = vec![0; threads.len() * columns];
        let mut shares = vec![0; threads.len() * columns];
        for (thread, times) in times.iter().enumerate() {
            let mut most = (usize::MAX, 0.0, 0.0);
            for (&(column, region), &time) in times {
                if most.0 != column {
                    most = (column, 0.0, 0.0);
                }
                most.2 += time;
                let cell = thread * columns + column;
                if time > most.1 {
                    most.1 = time;
                    regions[cell] = region;
                }
                shares[cell] = (255.0 * most.2).round().clamp(1.0, 255.0) as u8;
            }
        }
        shown.timeline = Some(Timeline {
            begin,
            end,
            threads,
            total,
            columns,
            regions,
            shares,
        });
        Ok(self)
    }
}
