//! Our side of `cargo xtask compare cluster`: one task a run, one line of costs and answers.
//!
//! `generate FILE --points N` writes phases as x, y pairs of little-endian f64. The others read
//! such a file: `dbscan` (with `--eps E --min-points M`), `linfa` for the DBSCAN of that library,
//! `hdbscan` (with `--min-points M --min-size S`), `eps` for the automatic radius; `--threads T`.

use perfkit::core::CancelToken;
use perfkit::track::cluster::linfa::LinfaDbscan;
use perfkit::track::cluster::{Clusterer, Dbscan, EpsSearch, Hdbscan};
use perfkit::track::{Labels, Points};
use perfkit_benches::Meter;
use std::io::{BufReader, BufWriter, Read, Write};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str| -> Option<String> {
        let at = words.iter().position(|word| word == name)?;
        words.remove(at);
        (at < words.len()).then(|| words.remove(at))
    };
    let points = option("--points").map_or(Ok(100_000), |text| text.parse())?;
    let eps = option("--eps").map_or(Ok(0.01), |text| text.parse())?;
    let least = option("--min-points").map_or(Ok(10), |text| text.parse())?;
    let size = option("--min-size").map_or(Ok(100), |text| text.parse())?;
    let threads = option("--threads").map_or(Ok(1), |text| text.parse())?;
    let [command, file] = words.as_slice() else {
        return Err(
            "usage: generate|dbscan|linfa|hdbscan|eps FILE [--points N] [--eps E] [--min-points M] [--min-size S] [--threads T]"
                .into(),
        );
    };
    if command == "generate" {
        return generate(file, points);
    }
    let values = read(file)?;
    let points = Points::new(&values, 2)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let line = pool.install(|| match command.as_str() {
        "linfa" => measure(&LinfaDbscan::new(eps, least)?, points),
        "hdbscan" => {
            let params = Hdbscan::params().min_points(least).min_cluster_size(size);
            measure(&Hdbscan::new(params.check()?), points)
        }
        "eps" => {
            let search = EpsSearch::new(EpsSearch::params().min_points(least).check()?);
            let meter = Meter::start();
            let choice = search.choose(points, &(), &CancelToken::new())?;
            let costs = meter.costs();
            Ok(format!(
                "clusters={} eps={} {costs}",
                choice.clusters, choice.eps
            ))
        }
        "dbscan" => {
            let params = Dbscan::params().eps(eps).min_points(least).check()?;
            measure(&Dbscan::new(params), points)
        }
        other => Err(format!("{other} is no task").into()),
    });
    println!("{}", line.map_err(|error| error.to_string())?);
    Ok(())
}

fn measure(
    clusterer: &dyn Clusterer,
    points: Points<'_>,
) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let meter = Meter::start();
    let labels = clusterer.cluster(points, &(), &CancelToken::new())?;
    let costs = meter.costs();
    Ok(format!("{} {costs}", answers(&labels)))
}

fn answers(labels: &Labels) -> String {
    let (points, clusters, noise) = (labels.len(), labels.clusters(), labels.noise());
    format!("points={points} clusters={clusters} noise={noise}")
}

fn generate(file: &str, points: usize) -> Outcome<()> {
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    for value in perf_testdata::clusters::phases(points, 1).values {
        out.write_all(&value.to_le_bytes())?;
    }
    Ok(out.flush()?)
}

fn read(file: &str) -> Outcome<Vec<f64>> {
    let file = std::fs::File::open(file)?;
    let count = usize::try_from(file.metadata()?.len())? / 8;
    let (mut input, mut word) = (BufReader::new(file), [0; 8]);
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        input.read_exact(&mut word)?;
        values.push(f64::from_le_bytes(word));
    }
    Ok(values)
}
