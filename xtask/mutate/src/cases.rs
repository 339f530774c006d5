//! The cases of a recording: what is damaged, and how.

use crate::Asked;
use perf_testdata::damage::{self, Damage, thin_to};
use perf_testdata::wide::Xorshift;
use perfkit_mutate::layers::Layer;
use perfkit_mutate::places;
use perfkit_mutate::recordings::Recording;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// A file of a recording with the ways in which it is damaged.
pub(crate) struct Target {
    pub(crate) file: PathBuf,
    whole: Vec<u8>,
    layers: Vec<Layer>,
    cases: Vec<(usize, Damage)>,
}

/// Files of one recording that are damaged: its heads, and some of the many alike.
const FILES: usize = 8;
/// Least cases, however large the recording is.
const LEAST: usize = 24;

impl Target {
    /// All cases of a recording: as many as asked for, or fewer if it is large.
    pub(crate) fn all(recording: &Recording, asked: &Asked) -> io::Result<Vec<Target>> {
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
            let mut random = Xorshift::new(asked.seed ^ hash(&file.to_string_lossy()));
            let mut cases = Vec::new();
            // A layer inside shares the cases of its file.
            let each = asked.random.div_ceil(files.len() * layers.len());
            for (number, layer) in layers.iter().enumerate() {
                let mut boundaries = match known {
                    Some(known) => known.clone(),
                    None => places::inside(&layer.bytes),
                };
                thin_to(
                    &mut boundaries,
                    asked.boundaries.div_ceil(files.len() * layers.len()),
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
        let most = (asked.budget << 20) / recording.size.max(1);
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(LEAST);
        if count > most {
            for target in &mut all {
                let share = (target.cases.len() * most).div_ceil(count);
                thin_to(&mut target.cases, share);
            }
        }
        // What the others are compared with.
        if let Some(first) = all.first_mut() {
            first.cases.insert(0, (0, Damage::None));
        }
        Ok(all)
    }

    pub(crate) fn len(&self) -> usize {
        self.cases.len()
    }

    /// The damaged file of a case, and what is wrong with it.
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

/// Files with names of their own, then some of those that are alike, evenly.
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

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
