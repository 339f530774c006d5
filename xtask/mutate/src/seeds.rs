//! Initial inputs of fuzzers: one folder of small inputs for each target.

use crate::{generated, recordings};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum size of an input in bytes, and maximum number of inputs for each target; the smallest
/// ones are used.
const MAX_BYTES: usize = 64 << 10;
const SEEDS: usize = 40;

/// Writes the initial inputs of each fuzzer of `fuzz/` to `folder/TARGET/NAME`, from generated and
/// bundled recordings and from the corpus, if it is available.
///
/// # Errors
///
/// Returns the errors of the file system and of the writers of recordings.
pub fn write(folder: &Path) -> Result<(), Box<dyn Error>> {
    let source = folder.join(".made");
    generated::write(&source)?;
    let bundled = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data"));
    let corpus = std::env::var_os("PERFKIT_CORPUS").map(PathBuf::from);
    let mut all = Vec::new();
    for root in [source.as_path(), bundled]
        .into_iter()
        .chain(corpus.as_deref())
    {
        all.extend(recordings::below(root)?);
    }
    all.sort_by(|one, other| (one.size, &one.open).cmp(&(other.size, &other.open)));
    let mut taken = BTreeMap::<&str, usize>::new();
    for one in &all {
        if one.size > LARGEST {
            break;
        }
        for (at, (target, bytes)) in inputs(one)?.into_iter().enumerate() {
            let taken = taken.entry(target).or_default();
            if bytes.len() > MAX_BYTES || *taken == SEEDS {
                continue;
            }
            *taken += 1;
            let stem = one.open.to_string_lossy().replace('/', "-");
            let to = folder.join(target);
            fs::create_dir_all(&to)?;
            fs::write(to.join(format!("{at}-{stem}")), bytes)?;
        }
    }
    fs::remove_dir_all(source)?;
    Ok(())
}

/// Maximum size of a recording in bytes. Of a recording with many files a few are used.
const LARGEST: u64 = 16 << 20;

/// Target and one of its inputs.
type Seed = (&'static str, Vec<u8>);

/// Returns the fuzzer inputs of a recording.
fn inputs(one: &recordings::Recording) -> Result<Vec<Seed>, Box<dyn Error>> {
    let whole = |target| Ok(vec![(target, fs::read(one.root.join(&one.open))?)]);
    let ends = |end: &str| one.open.extension().is_some_and(|found| found == end);
    let each = |name: &dyn Fn(&Path) -> &'static str| {
        let files = one.files.iter().take(4);
        let read = files.map(|file| Ok((name(file), fs::read(one.root.join(file))?)));
        read.collect()
    };
    match one.format.as_str() {
        "otf2" => Ok(vec![("otf2", join(&parts(one)?))]),
        "adios" if one.root.join(&one.open).is_file() => whole("bp3"),
        "adios" => Ok(vec![("adios", join(&parts(one)?))]),
        "paraver" => each(&|file| if file == one.open { "paraver" } else { "pcf" }),
        "tau" if ends("ppk") => whole("ppk"),
        "tau" => each(&|_| "tau"),
        "cube" if ends("cube") => whole("cube3"),
        "cube" => whole("cube"),
        "streams" if ends("ndjson") => whole("ndjson"),
        "streams" => whole("streams"),
        "chrome" => whole("chrome"),
        "rocprof" => whole("rocprof"),
        "wire" => whole("wire"),
        "provenance" if one.open.file_stem().is_some_and(|stem| stem == "database") => {
            Ok(vec![("provenance", database(&one.root.join(&one.open))?)])
        }
        "provenance" => whole("provenance"),
        "spectra" => whole("spectra"),
        "cluster" => whole("cluster"),
        "body" => whole("live_wire"),
        "request" => whole("http"),
        "nsys" => Ok(vec![("nsys", database(&one.root.join(&one.open))?)]),
        "store" => Ok(vec![("store", database(&one.root.join(&one.open))?)]),
        _ => Ok(Vec::new()),
    }
}

/// Rewrites a database with a small page size, because the pages of a usual one are mostly empty.
#[cfg(feature = "nsys")]
fn database(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let copy = std::env::temp_dir().join(format!("perfkit-seed-{}", std::process::id()));
    fs::copy(path, &copy)?;
    let open = rusqlite::Connection::open(&copy)?;
    open.query_row("pragma journal_mode = delete", [], |_| Ok(()))?;
    open.execute_batch("pragma page_size = 512; vacuum")?;
    open.close().map_err(|(_, error)| error)?;
    let bytes = fs::read(&copy)?;
    fs::remove_file(copy)?;
    Ok(bytes)
}

#[cfg(not(feature = "nsys"))]
fn database(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    Ok(fs::read(path)?)
}

/// Returns the parts of an archive that fuzzers damage: its main files, then the smallest other
/// files.
fn parts(one: &recordings::Recording) -> std::io::Result<Vec<Vec<u8>>> {
    let read = |end: &str, below: bool| {
        let depth = one.open.components().count();
        let fits = |file: &&std::path::PathBuf| {
            file.to_string_lossy().ends_with(end) && (file.components().count() > depth) == below
        };
        let file = one.files.iter().find(fits);
        file.map_or(Ok(Vec::new()), |file| fs::read(one.root.join(file)))
    };
    match one.format.as_str() {
        "otf2" => [
            (".otf2", false),
            (".def", false),
            (".def", true),
            (".evt", true),
        ]
        .into_iter()
        .map(|(end, below)| read(end, below))
        .collect(),
        _ => ["/md.idx", "/md.0", "/mmd.0", "/data.0"]
            .into_iter()
            .map(|end| read(end, true))
            .collect(),
    }
}

/// Joins parts. Each part except the last one is preceded by its length in 16 bits.
pub fn join(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut all = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if at + 1 < parts.len() {
            let length = u16::try_from(part.len()).unwrap_or(u16::MAX);
            all.extend(length.to_le_bytes());
            all.extend(&part[..usize::from(length)]);
        } else {
            all.extend(part);
        }
    }
    all
}

/// Splits the parts that [`join`] joined. Missing parts are empty.
pub fn split<const N: usize>(mut bytes: &[u8]) -> [&[u8]; N] {
    let mut parts = [&[][..]; N];
    for (at, part) in parts.iter_mut().enumerate() {
        if at + 1 == N {
            *part = bytes;
        } else if let Some((length, rest)) = bytes.split_first_chunk() {
            let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
            (*part, bytes) = rest.split_at(length);
        }
    }
    parts
}
