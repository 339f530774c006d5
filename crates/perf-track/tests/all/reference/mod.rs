//! Output of the established clustering tool for the recordings in the corpus.

#![allow(dead_code, reason = "each test uses its part")]

use perf_track::ClusterId;
use std::path::Path;

/// One burst of a `.DATA.csv`.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Task.
    pub(crate) task: u32,
    /// Thread.
    pub(crate) thread: u32,
    /// Begin in nanoseconds.
    pub(crate) begin: i64,
    /// End in nanoseconds.
    pub(crate) end: i64,
    /// Columns `d_*` and `n_*`, raw.
    pub(crate) raw: Vec<f64>,
    /// Columns `d_*` and `n_*`, normalised, in the same order.
    pub(crate) normalised: Vec<f64>,
    /// Cluster.
    pub(crate) cluster: ClusterId,
}

fn text(relative: &str) -> Option<String> {
    let path = perf_testdata::corpus::corpus(&format!("paraver/reference/{relative}"))?;
    Some(read(&path))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the corpus can be read")
}

/// Reads the rows of a `.DATA.csv`; `None` without the corpus.
pub(crate) fn data(name: &str) -> Option<Vec<Row>> {
    let text = text(&format!("{name}.DATA.csv"))?;
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next()?.trim_start_matches("# ").split(',').collect();
    let find = |name: &str| {
        head.iter()
            .position(|column| column.trim() == name)
            .expect(name)
    };
    let starting = |prefix: &str| -> Vec<usize> {
        let columns = head.iter().enumerate();
        let found = columns.filter(|(_, column)| column.trim().starts_with(prefix));
        found.map(|(index, _)| index).collect()
    };
    let (raw, normalised) = (starting("d_"), starting("n_"));
    let rows = lines.filter(|line| !line.trim().is_empty()).map(|line| {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let whole = |name| cells[find(name)].parse::<i64>().expect(name);
        let real = |index: &usize| cells[*index].parse::<f64>().expect("a number");
        Row {
            task: whole("TaskId") as u32,
            thread: whole("ThreadId") as u32,
            begin: whole("Begin_Time"),
            end: whole("End_Time"),
            raw: raw.iter().map(real).collect(),
            normalised: normalised.iter().map(real).collect(),
            // 5 is noise, 6 the first cluster.
            cluster: ClusterId((whole("ClusterID") - 5) as u32),
        }
    });
    Some(rows.collect())
}

/// Returns the fraction of the time of each cluster, noise first.
pub(crate) fn shares(rows: &[Row]) -> Vec<f64> {
    let most = rows.iter().map(|row| row.cluster.0).max().unwrap_or(0);
    let mut times = vec![0.0; most as usize + 1];
    for row in rows {
        times[row.cluster.0 as usize] += (row.end - row.begin) as f64;
    }
    let total: f64 = times.iter().sum();
    times.iter().map(|time| time / total).collect()
}

/// Reads the rows of a `.seq`.
pub(crate) fn rows(name: &str) -> Option<Vec<Vec<Option<ClusterId>>>> {
    let text = text(&format!("{name}.seq"))?;
    let rows = text
        .lines()
        .filter(|line| !line.starts_with('>') && !line.is_empty());
    let cell = |cell: &str| match cell.trim() {
        "-" => None,
        id => Some(ClusterId(id.parse().expect("a number"))),
    };
    Some(rows.map(|row| row.split(',').map(cell).collect()).collect())
}

/// Score, columns and weighted score of a cluster.
pub(crate) type ClusterRow = (f64, usize, f64);

/// Reads `.SCORES.csv`: each cluster, noise first, and the total score.
pub(crate) fn scores(name: &str) -> Option<(Vec<ClusterRow>, f64)> {
    let text = text(&format!("{name}.SCORES.csv"))?;
    let (mut clusters, mut global) = (Vec::new(), f64::NAN);
    for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let real = |index: usize| cells[index].parse::<f64>().expect("a number");
        match cells[0] {
            "GLOBAL" => global = real(1),
            _ => clusters.push((real(1), real(2) as usize, real(3))),
        }
    }
    Some((clusters, global))
}
