//! [`recolour_files`]: recolours a trace file, plain or compressed, and writes its companion files;
//! [`name_clusters`]: adds the names of clusters to a `.pcf`.

use super::{Cluster, Coloured, Recoloured, recolour};
use crate::paraver::Pcf;
use crate::paraver::companions::read_companion;
use crate::paraver::companions::{stem, with};
use crate::paraver::names;
use crate::paraver::reader::Reader;
use crate::paraver::write::Writer;
use crate::{Error, OpenOptions, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use perf_core::{Diagnostics, Job, Place};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

/// Adds the names of the clusters to a `.pcf`. Replaces the block of an earlier colouring.
///
/// ```
/// use perf_formats::paraver::{Cluster, Pcf, name_clusters};
/// let mut pcf = Pcf::default();
/// name_clusters(&mut pcf, [Cluster::Id(1), Cluster::Id(2)]);
/// assert_eq!(pcf.value(90_000_001, 7), Some("Cluster 2"));
/// assert_eq!(pcf.value(90_000_001, 5), Some("Noise"));
/// ```
pub fn name_clusters(pcf: &mut Pcf, clusters: impl IntoIterator<Item = Cluster>) {
    let usual = [
        Cluster::MissingData,
        Cluster::DurationFiltered,
        Cluster::RangeFiltered,
        Cluster::ThresholdFiltered,
        Cluster::Noise,
    ];
    let all: BTreeSet<Cluster> = usual.into_iter().chain(clusters).collect();
    let mut values = vec![(0, "End".to_string())];
    values.extend(
        all.iter()
            .map(|cluster| (cluster.value(), cluster.to_string())),
    );
    pcf.set_kind(names::CLUSTER, 9, "Cluster ID", &values);
}

/// Recolours a trace file like [`recolour`]. The output is compressed if its name ends in `.gz`. Writes a `.pcf` with
/// the names of the clusters and a copy of the `.row` next to the output. Also returns the diagnostics of the reader.
///
/// ```
/// use perf_core::Job;
/// use perf_formats::paraver::{Cluster, Coloured, Object, Pcf, recolour_files};
/// use perf_formats::OpenOptions;
/// let folder = std::env::temp_dir().join(format!("recolour-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let text = "#Paraver (1/1/20 at 1:00):30:1(2):1:1(1:1)\n1:2:1:1:1:0:30:1\n";
/// std::fs::write(folder.join("a.prv"), text)?;
/// let object = Object { application: 1, task: 1, thread: 1 };
/// let (begin, end) = (perf_core::Ticks(0), perf_core::Ticks(30));
/// let bursts = [Coloured { object, begin, end, cluster: Cluster::Id(3) }];
/// let (from, to) = (folder.join("a.prv"), folder.join("b.prv.gz"));
/// let (done, _) = recolour_files(&from, &to, &bursts, &OpenOptions::new(), &Job::default())?;
/// assert_eq!(done.inserted, 2);
/// let pcf = Pcf::parse(&std::fs::read(folder.join("b.pcf"))?);
/// assert_eq!(pcf.value(90_000_001, 8), Some("Cluster 3"));
/// std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`recolour`], and [`Error::Usage`] if an output file would overwrite an
/// input file.
pub fn recolour_files(
    from: &Path,
    to: &Path,
    bursts: &[Coloured],
    options: &OpenOptions,
    job: &Job,
) -> Result<(Recoloured, Diagnostics)> {
    let failed = |path: &Path, source| Error::Io {
        place: Place::file(path.to_string_lossy()),
        source,
    };
    let companion = |path: &Path, end| with(&stem(path), end);
    for (read, written) in [
        (from.to_path_buf(), to.to_path_buf()),
        (companion(from, "pcf"), companion(to, "pcf")),
        (companion(from, "row"), companion(to, "row")),
    ] {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        if let (Some(one), Some(other)) = (real(&read), real(&written))
            && one == other
        {
            return Err(Error::Usage {
                what: format!(
                    "{} is both input and output: choose another output",
                    read.display()
                ),
            });
        }
    }
    let mut reader = Reader::open(from, options, job)?;
    let limits = options.get_limits();
    let pcf = read_companion(from, "pcf", limits, job)?;
    let row = read_companion(from, "row", limits, job)?;
    let name = to.to_string_lossy();
    let file = File::create(to).map_err(|error| failed(to, error))?;
    let done = if to.extension().is_some_and(|end| end == "gz") {
        let mut writer = Writer::new(GzEncoder::new(file, Compression::default()), &name);
        let done = recolour(&mut reader, bursts, &mut writer)?;
        let packed = writer.finish()?.finish();
        packed.map_err(|error| failed(to, error))?;
        done
    } else {
        let mut writer = Writer::new(file, &name);
        let done = recolour(&mut reader, bursts, &mut writer)?;
        writer.finish()?;
        done
    };
    let mut pcf = Pcf::parse(&pcf.map_or_else(Vec::new, |(_, text)| text));
    name_clusters(&mut pcf, bursts.iter().map(|burst| burst.cluster));
    let mut texts = vec![("pcf", pcf.text().to_vec())];
    texts.extend(row.map(|(_, text)| ("row", text)));
    for (end, text) in texts {
        let path = companion(to, end);
        std::fs::write(&path, text).map_err(|error| failed(&path, error))?;
    }
    Ok((done, reader.diagnostics().clone()))
}
