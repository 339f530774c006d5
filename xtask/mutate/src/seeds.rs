//! What fuzzers start from: a folder a target, with small inputs in it.

use crate::{made, recordings};
use std::error::Error;
use std::fs;
use std::path::Path;

/// Largest input that is worth a place.
const MOST: usize = 64 << 10;

/// Writes what each fuzzer of `fuzz/` starts from: `folder/TARGET/NAME`.
///
/// # Errors
/// What the system and the writers of recordings say.
pub fn write(folder: &Path) -> Result<(), Box<dyn Error>> {
    let source = folder.join(".made");
    made::write(&source)?;
    let bundled = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data"));
    for root in [source.as_path(), bundled] {
        for one in recordings::below(root)? {
            let read = |file: &Path| fs::read(one.root.join(file));
            let mut inputs = Vec::new();
            match one.format.as_str() {
                "otf2" => inputs.push(("otf2", join(&parts(&one)?))),
                "adios" => inputs.push(("adios", join(&parts(&one)?))),
                "paraver" => {
                    for file in &one.files {
                        let is_trace = *file == one.open;
                        inputs.push((if is_trace { "paraver" } else { "pcf" }, read(file)?));
                    }
                }
                "tau" if one.open.extension().is_some_and(|end| end == "ppk") => {
                    inputs.push(("ppk", read(&one.open)?));
                }
                "tau" => {
                    for file in &one.files {
                        inputs.push(("tau", read(file)?));
                    }
                }
                "cube" if one.open.extension().is_some_and(|end| end == "cube") => {
                    inputs.push(("cube3", read(&one.open)?));
                }
                "cube" => inputs.push(("cube", read(&one.open)?)),
                "streams" if one.open.extension().is_some_and(|end| end == "ndjson") => {
                    inputs.push(("ndjson", read(&one.open)?));
                }
                "streams" => inputs.push(("streams", read(&one.open)?)),
                "chrome" => inputs.push(("chrome", read(&one.open)?)),
                "rocprof" => inputs.push(("rocprof", read(&one.open)?)),
                "nsys" => inputs.push(("nsys", read(&one.open)?)),
                "wire" => inputs.push(("wire", read(&one.open)?)),
                "provenance" => inputs.push(("provenance", read(&one.open)?)),
                "spectra" => inputs.push(("spectra", read(&one.open)?)),
                _ => {}
            }
            for (at, (target, bytes)) in inputs.into_iter().enumerate() {
                let stem = one.open.to_string_lossy().replace('/', "-");
                let to = folder.join(target);
                fs::create_dir_all(&to)?;
                if bytes.len() <= MOST {
                    fs::write(to.join(format!("{at}-{stem}")), bytes)?;
                }
            }
        }
    }
    fs::remove_dir_all(source)?;
    Ok(())
}

/// The parts of an archive that fuzzers damage: its heads, then the smallest of the rest.
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
        _ => ["md.idx", "md.0", "data.0"]
            .into_iter()
            .map(|end| read(end, true))
            .collect(),
    }
}

/// Parts one after the other, each but the last behind its length of 16 bits.
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

/// The parts that [`join`] put together; what is missing is empty.
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
