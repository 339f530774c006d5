//! [`Target`]: file of a recording and its damage cases, made from the whole file and its nested
//! parts.

use crate::Options;
use perf_testdata::damage::{self, Damage, thin_to};
use perf_testdata::xorshift::Xorshift;
use perfkit_mutate::layers::Layer;
use perfkit_mutate::places;
use perfkit_mutate::recordings::Recording;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// File of a recording with its damages.
pub(crate) struct Target {
    pub(crate) file: PathBuf,
    whole: Vec<u8>,
    layers: Vec<Layer>,
    cases: Vec<(usize, Damage)>,
}

/// Maximum number of damaged files of a recording: its main files, and some of the many similar
/// ones.
const FILES: usize = 8;
/// Minimum number of cases, even for large recordings.
const LEAST: usize = 24;

impl Target {
    /// Returns all cases of a recording: as many as requested, or fewer if it is large.
    pub(crate) fn all(recording: &Recording, options: &Options) -> io::Result<Vec<Target>> {
        let records = match recording.format.as_str() {
            "otf2" => places::of_archive(&recording.root.join(&recording.open)),
            _ => BTreeMap::new(),
        };
        let folder = recording.open.parent().unwrap_or(Path::new(""));
        let files = chosen(recording);
        let mut all = Vec::new();
        for file in &files {
            let whole = std::fs::read(recording.root.join(file))?;
            let layers = Layer::all(&whole);
            let name = file.strip_prefix(folder).unwrap_or(file);
            let known = records.get(&*name.to_string_lossy());
            let mut random = Xorshift::new(options.seed ^ hash(&file.to_string_lossy()));
            let mut cases = Vec::new();
            // The layers of a file share the cases of the file.
            let each = options.random.div_ceil(files.len() * layers.len());
            for (number, layer) in layers.iter().enumerate() {
                let mut boundaries = match known {
                    Some(known) => known.clone(),
                    None => places::inside(&layer.bytes),
                };
                thin_to(
                    &mut boundaries,
                    options.boundaries.div_ceil(files.len() * layers.len()),
                );
                let damages = damage::plan(&layer.bytes, &boundaries, each, &mut random);
                cases.extend(damages.into_iter().map(|damage| (number, damage)));
            }
            all.push(Target {
                file: file.clone(),
                whole,
                layers,
                cases,
            });
        }
        let count: usize = all.iter().map(|target| target.cases.len()).sum();
        let most = (options.budget << 20) / recording.size.max(1);
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(LEAST);
        if count > most {
            for target in &mut all {
                let share = (target.cases.len() * most).div_ceil(count);
                thin_to(&mut target.cases, share);
            }
        }
        // The undamaged recording comes first, as the reference for the others.
        if let Some(first) = all.first_mut() {
            first.cases.insert(0, (0, Damage::None));
        }
        Ok(all)
    }

    pub(crate) fn len(&self) -> usize {
        self.cases.len()
    }

    /// Returns the damaged file of a case, and a description of the damage.
    pub(crate) fn case(&self, at: usize) -> Option<(Vec<u8>, String)> {
        let (layer, damage) = self.cases.get(at)?;
        let layer = self.layers.get(*layer)?;
        let file = layer.file(&self.whole, damage.apply(&layer.bytes));
        let name = self.file.display();
        Some((file, format!("{name}: {}{damage}", layer.name)))
    }

    pub(crate) fn whole(&self) -> &[u8] {
        &self.whole
    }
}

/// Returns the files with unique names, and an even selection of those with similar names.
fn chosen(recording: &Recording) -> Vec<PathBuf> {
    let mut files = recording.files.clone();
    let is_hidden = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with('.') || name == "scorep.cfg"
    };
    files.retain(|file| !is_hidden(file));
    let depth = |file: &PathBuf| file.components().count();
    let least = files.iter().map(depth).min().unwrap_or(0);
    let (mut heads, mut rest): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| depth(file) == least);
    thin_to(&mut heads, FILES / 2);
    thin_to(&mut rest, FILES - heads.len());
    heads.extend(rest);
    heads
}

/// Returns the FNV-1a hash of a text.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
