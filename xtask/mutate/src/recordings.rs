//! [`Recording`]: files in a folder that belong together; [`below`] finds all of them, and
//! [`Recording::survive`] passes one to its reader or decoder.

use crate::analyse;
use crate::verdict::Verdict;
use perfkit::anomaly::provenance::{Query, open};
use perfkit::anomaly::server::{Delta, Server, View};
use perfkit::anomaly::{Drift, Error, Model};
use perfkit::core::{Job, Limits};
use perfkit::formats::paraver::clustered;
use perfkit::spectral::{AxisFilter, RankParams, Spectra};
use perfkit::track::Formula;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Files of one recording.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Name of the format.
    pub format: String,
    /// Folder that the file names are relative to.
    pub root: PathBuf,
    /// Names of the files.
    pub files: Vec<PathBuf>,
    /// Sum of their sizes in bytes.
    pub size: u64,
    /// File or folder that is opened, relative to `root`.
    pub open: PathBuf,
}

impl Recording {
    /// Opens the recording in `folder` by its format, and runs the analyses on it.
    pub fn survive(&self, folder: &Path) -> Verdict {
        let path = folder.join(&self.open);
        match self.format.as_str() {
            "wire" => read(&path, wire),
            "body" => read(&path, crate::live::bodies),
            "request" => read(&path, |bytes| crate::live::request(&path, bytes)),
            "store" => crate::live::database(&path),
            "cluster" => read(&path, clusters),
            "provenance" => provenance(&path),
            "spectra" => spectra(&path),
            "otf2" => match analyse::archive(&path) {
                Verdict::Unlocated(what) => Verdict::Unlocated(what),
                _ => analyse::open(&path),
            },
            _ => analyse::open(&path),
        }
    }
}

fn read(path: &Path, survive: impl FnOnce(&[u8]) -> Verdict) -> Verdict {
    match fs::read(path) {
        Ok(bytes) => survive(&bytes),
        Err(_) => Verdict::Refused,
    }
}

/// Returns all recordings below a folder, sorted by path.
///
/// # Errors
///
/// Returns the errors of the file system.
pub fn below(root: &Path) -> io::Result<Vec<Recording>> {
    let mut all = Vec::new();
    walk(root, Path::new(""), &mut all)?;
    Ok(all)
}

fn walk(root: &Path, folder: &Path, all: &mut Vec<Recording>) -> io::Result<()> {
    let (folders, files) = entries(root, folder)?;
    let named = |end: &str| files.iter().find(|file| name(file).ends_with(end));
    let add = |format: &str, open: &Path, files: Vec<PathBuf>, all: &mut Vec<Recording>| {
        let sizes = files.iter().map(|file| fs::metadata(root.join(file)));
        let size = sizes.flatten().map(|data| data.len()).sum();
        all.push(Recording {
            format: format.into(),
            root: root.into(),
            files,
            size,
            open: open.into(),
        });
    };
    let is_tau = |file: &PathBuf| name(file).starts_with("profile.");
    let is_multi = |folder: &PathBuf| name(folder).starts_with("MULTI__");
    let whole = match () {
        () if named(".otf2").is_some() => named(".otf2").map(|anchor| ("otf2", anchor.clone())),
        () if named("md.idx").is_some() => Some(("adios", folder.to_path_buf())),
        () if files.iter().any(is_tau) || folders.iter().any(is_multi) => {
            Some(("tau", folder.to_path_buf()))
        }
        () => None,
    };
    if let Some((format, open)) = whole {
        let mut below = Vec::new();
        everything(root, folder, &mut below)?;
        add(format, &open, below, all);
        return Ok(());
    }
    for file in &files {
        let name = name(file);
        let stem = name.strip_suffix(".gz").unwrap_or(&name);
        match stem.rsplit_once('.') {
            // These files belong to the trace next to them.
            Some((_, "pcf" | "row")) => {}
            Some((stem, "prv")) => {
                let beside = ["pcf", "row"].map(|end| folder.join(format!("{stem}.{end}")));
                let beside = beside.into_iter().filter(|file| files.contains(file));
                let members = std::iter::once(file.clone()).chain(beside).collect();
                add("paraver", file, members, all);
            }
            Some((_, "bp")) => {
                let mut members = vec![file.clone()];
                let data = folder.join(format!("{name}.dir"));
                if folders.contains(&data) {
                    everything(root, &data, &mut members)?;
                }
                add("adios", file, members, all);
            }
            Some((_, "delta" | "view" | "server" | "model")) => {
                add("wire", file, vec![file.clone()], all);
            }
            Some((_, kind @ ("body" | "request" | "store"))) => {
                add(kind, file, vec![file.clone()], all);
            }
            _ if is_of_clusters(&root.join(file)) => {
                add("cluster", file, vec![file.clone()], all);
            }
            Some((_, "provenance")) => add("provenance", file, vec![file.clone()], all),
            Some((_, "spectra")) => add("spectra", file, vec![file.clone()], all),
            _ => {
                if let Ok(format) = perfkit::formats::probe(root.join(file)) {
                    add(format.name, file, vec![file.clone()], all);
                }
            }
        }
    }
    for below in folders {
        walk(root, &below, all)?;
    }
    Ok(())
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns the folders and the files of a folder, both sorted.
fn entries(root: &Path, folder: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut folders, mut files) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if fs::metadata(entry.path())?.is_dir() {
            folders.push(path)
        } else {
            files.push(path)
        }
    }
    folders.sort();
    files.sort();
    Ok((folders, files))
}

fn everything(root: &Path, folder: &Path, all: &mut Vec<PathBuf>) -> io::Result<()> {
    let (folders, files) = entries(root, folder)?;
    all.extend(files);
    for below in folders {
        everything(root, &below, all)?;
    }
    Ok(())
}

/// Returns `true` for output files of the established burst clustering tool.
fn is_of_clusters(path: &Path) -> bool {
    let is_definition = || {
        let mut head = Vec::new();
        let read = fs::File::open(path).map(|file| file.take(1024).read_to_end(&mut head));
        let head = String::from_utf8_lossy(&head);
        read.is_ok_and(|read| read.is_ok()) && head.contains("<clustering_definition")
    };
    match path.extension().and_then(|end| end.to_str()) {
        Some("csv") => clustered::Data::is_one(path),
        Some("xml") => is_definition(),
        _ => false,
    }
}

/// Reads a table of clusters, a definition of a clustering, or a formula of a metric.
pub fn clusters(bytes: &[u8]) -> Verdict {
    let outcomes = [
        clustered::Data::read(bytes, "cluster.DATA.csv", &Limits::default()).err(),
        clustered::Definition::parse(bytes, "cluster.xml").err(),
    ];
    let mut is_value = Formula::parse(&String::from_utf8_lossy(bytes)).is_ok();
    for error in outcomes {
        match error.as_ref().map(Verdict::of) {
            None => is_value = true,
            Some(Verdict::Unlocated(what)) => return Verdict::Unlocated(what),
            Some(_) => {}
        }
    }
    if is_value {
        Verdict::Value
    } else {
        Verdict::Refused
    }
}

/// Returns `true` if an error of the detection names its location or subject.
pub(crate) fn located(error: &Error) -> bool {
    match error {
        Error::Decode { .. } | Error::OtherModel { .. } | Error::OtherSession { .. } => true,
        Error::Store { file, .. } => !file.is_empty(),
        // The error names a line.
        Error::Entry(what) => !what.is_empty(),
        _ => false,
    }
}

/// Passes the bytes of a model, a delta, a view or a server to each decoder, and uses the decoded
/// value.
pub fn wire(bytes: &[u8]) -> Verdict {
    let errors = [
        Model::decode(bytes).map(use_model).err(),
        Delta::decode(bytes).and_then(use_delta).err(),
        View::decode(bytes).map(|view| drop(view.encode())).err(),
        use_server(bytes).err(),
        use_drift(bytes).err(),
    ];
    let mut is_value = false;
    for error in errors {
        match error {
            None => is_value = true,
            Some(Error::Decode { .. }) => {}
            Some(other) => return Verdict::Unlocated(other.to_string()),
        }
    }
    if is_value {
        Verdict::Value
    } else {
        Verdict::Refused
    }
}

fn use_model(mut model: Model) {
    let again = model.clone();
    // A model has the same kind as itself, so merging succeeds.
    let _ = model.merge(&again);
    model.forget(10);
    model.encode();
}

fn use_delta(delta: Delta) -> perfkit::anomaly::Result<()> {
    let mut server = Server::default();
    // A server refuses deltas that refer to numbers it has not assigned. The delta is therefore
    // also sent as if by a new client.
    let _ = server.take(&delta);
    let mut fresh = delta;
    (fresh.session, fresh.known) = (0, 0);
    let _ = server.take(&fresh);
    server.publish();
    server.functions();
    server.encode();
    Ok(())
}

fn use_server(bytes: &[u8]) -> perfkit::anomaly::Result<()> {
    let mut server = Server::decode(Default::default(), bytes)?;
    server.publish();
    server.functions();
    server.encode();
    Ok(())
}

fn use_drift(bytes: &[u8]) -> perfkit::anomaly::Result<()> {
    let drift = Drift::decode(Default::default(), bytes)?;
    drift.changes();
    drift.encode();
    Ok(())
}

/// Queries lines or a database of anomalies, including all records.
pub fn provenance(path: &Path) -> Verdict {
    let verdict = asked(path).unwrap_or_else(|error| {
        if located(&error) {
            Verdict::Refused
        } else {
            Verdict::Unlocated(error.to_string())
        }
    });
    crate::live::clear_beside(path);
    verdict
}

fn asked(path: &Path) -> perfkit::anomaly::Result<Verdict> {
    let mut store = open(path)?;
    store.query(&Query::default())?;
    store.each(&mut |_| Ok(()))?;
    let has_place = |what: &str| what.starts_with("line ") || what.starts_with("entry ");
    Ok(match store.unreadable() {
        Some((_, what)) if !has_place(&what) => Verdict::Unlocated(what),
        Some(_) => Verdict::Repair,
        None => Verdict::Value,
    })
}

/// Ranks the views of a file of spectra, once unchanged and once with corrected checksums, so that
/// the code behind the checksums is tested as well.
pub fn spectra(path: &Path) -> Verdict {
    let verdict = ranked(path);
    let sealed = fs::read(path).ok().and_then(sealed);
    let Some(sealed) = sealed else {
        return verdict;
    };
    let other = path.with_extension("sealed");
    if fs::write(&other, sealed).is_err() {
        return verdict;
    }
    let again = ranked(&other);
    let _ = fs::remove_file(other);
    match again {
        Verdict::Unlocated(_) => again,
        _ => verdict,
    }
}

/// Returns the file with correct checksums of header and table; `None` if they are correct or it is
/// no such file.
fn sealed(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    fn sum(bytes: &[u8]) -> [u8; 8] {
        let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, step).to_le_bytes()
    }
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 8)?.try_into().ok()?;
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    };
    let start = number(40)?;
    let table = sum(bytes.get(start..start.checked_add(number(48)?)?)?);
    bytes.get_mut(56..64)?.copy_from_slice(&table);
    let header = sum(bytes.get(..192)?);
    let own = bytes.get_mut(192..200)?;
    let is_sealed = *own == header;
    own.copy_from_slice(&header);
    (!is_sealed).then_some(bytes)
}

fn ranked(path: &Path) -> Verdict {
    use perfkit::spectral::Error;
    let judge = |error: Error| match error {
        Error::Store { .. } | Error::Io(_) => Verdict::Refused,
        other => Verdict::Unlocated(other.to_string()),
    };
    let Ok(file) = fs::File::open(path) else {
        return Verdict::Refused;
    };
    let spectra = match Spectra::<f64>::open(file) {
        Ok(spectra) => spectra,
        Err(error) => return judge(error),
    };
    let axes = spectra.plan().dims().len();
    let Ok(params) = RankParams::default().check() else {
        return Verdict::Refused;
    };
    // A view that was skipped according to the file cannot be the reference.
    let Some(first) = spectra.views().iter().position(|view| !view.is_skipped()) else {
        return Verdict::Value;
    };
    match spectra.rank(first, &AxisFilter::all(axes), &params, &Job::default()) {
        Ok(_) => Verdict::Value,
        Err(error) => judge(error),
    }
}
