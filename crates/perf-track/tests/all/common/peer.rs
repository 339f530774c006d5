//! Output of an established clustering tool: points, times and clusters of bursts.

use perf_testdata::corpus::corpus;
use perf_track::Labels;
use std::io::Read as _;

pub(crate) struct Peer {
    /// Scaled coordinates in row-major order, two for each point.
    pub(crate) values: Vec<f64>,
    /// Duration in nanoseconds.
    pub(crate) durations: Vec<f64>,
    /// Task of each burst.
    pub(crate) tasks: Vec<u32>,
    /// Cluster of each burst.
    pub(crate) labels: Labels,
}

/// Reads the bursts of a `.DATA.csv` of the corpus, `None` without the corpus.
pub(crate) fn read(name: &str) -> Option<Peer> {
    let path = corpus(&format!("paraver/reference/{name}"))?;
    let bytes = std::fs::read(&path).expect("it is a file");
    let mut text = String::new();
    if name.ends_with(".gz") {
        let mut plain = flate2::read::GzDecoder::new(&bytes[..]);
        plain.read_to_string(&mut text).expect("it is text");
    } else {
        text = String::from_utf8(bytes).expect("it is text");
    }
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next()?.split(',').map(str::trim).collect();
    let column = |wanted: &str| {
        let at = names.iter().position(|name| *name == wanted);
        at.expect("the column is there")
    };
    let scaled = names.iter().enumerate();
    let scaled: Vec<usize> = scaled
        .filter(|(_, name)| name.starts_with("n_"))
        .map(|(at, _)| at)
        .collect();
    assert_eq!(scaled.len(), 2);
    let (duration, task, id) = (column("Duration"), column("TaskId"), column("ClusterID"));
    let mut peer = Peer {
        values: Vec::new(),
        durations: Vec::new(),
        tasks: Vec::new(),
        labels: Labels::default(),
    };
    let mut ids = Vec::new();
    for line in lines.filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        let number = |at: usize| -> f64 { words[at].parse().expect("a number") };
        peer.values.extend(scaled.iter().map(|&at| number(at)));
        peer.durations.push(number(duration));
        peer.tasks.push(number(task) as u32);
        // 5 is noise, 6 the first cluster.
        ids.push(number(id) as u32 - 5);
    }
    peer.labels = super::labels(&ids);
    Some(peer)
}
