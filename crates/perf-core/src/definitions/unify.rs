//! [`Unify`]: rule that decides which regions are one function, and labels that distinguish functions.

use crate::{Region, RegionId};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Rule that decides which regions of a recording are one function.
///
/// Recordings may define one function several times, such as once for each rank. They may also
/// define two functions with the same name, such as `static` functions in two source files.
///
/// ```
/// use perf_core::{Region, RegionId, Unify};
/// let at = |file: &str| Region {
///     file: Some(file.into()),
///     lines: Some((12, 40)),
///     ..Region::named("solve")
/// };
/// // Two ranks define the function of `a.c`, and one of them another function of that name.
/// let regions = [at("src/a.c"), at("src/a.c"), at("src/b.c")];
/// let ids = |ids: [u32; 3]| ids.map(RegionId).to_vec();
/// assert_eq!(Unify::Location.representatives(&regions), ids([0, 0, 2]));
/// assert_eq!(Unify::Name.representatives(&regions), ids([0, 0, 0]));
/// assert_eq!(Unify::Never.representatives(&regions), ids([0, 1, 2]));
/// assert_eq!(Unify::Location.labels(&regions)[1..], ["solve (a.c:12)", "solve (b.c:12)"]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unify {
    /// Regions with the same name are one function.
    Name,
    /// Regions with the same name, source file and first line are one function. An unknown file or
    /// line equals only another unknown one.
    #[default]
    Location,
    /// Each definition is a separate function.
    Never,
}

impl Unify {
    /// Returns, for each region, the first region that belongs to the same function.
    pub fn representatives(self, regions: &[Region]) -> Vec<RegionId> {
        let mut first = HashMap::new();
        let mut same = Vec::with_capacity(regions.len());
        for (id, region) in (0..).map(RegionId).zip(regions) {
            let (file, line) = place(region);
            same.push(match self {
                Unify::Name => *first
                    .entry((region.name.as_str(), None, None))
                    .or_insert(id),
                Unify::Location => *first
                    .entry((region.name.as_str(), file, line))
                    .or_insert(id),
                Unify::Never => id,
            });
        }
        same
    }

    /// Returns a label for each region. Regions of the same function have equal labels, and regions
    /// of different functions have different labels.
    ///
    /// The label is the name of the region. If several functions have the same name, the source
    /// file and line follow in parentheses, without the folders if the file name alone
    /// distinguishes the functions. The number of the region follows if the labels are still equal.
    pub fn labels(self, regions: &[Region]) -> Vec<Cow<'_, str>> {
        let same = self.representatives(regions);
        let mut by_name: HashMap<&str, Vec<RegionId>> = HashMap::new();
        for (id, region) in (0..).map(RegionId).zip(regions) {
            if same.get(id.index()) == Some(&id) {
                by_name.entry(&region.name).or_default().push(id);
            }
        }
        let names = regions.iter().map(|it| Cow::from(it.name.as_str()));
        let mut labels: Vec<Cow<'_, str>> = names.collect();
        for functions in by_name.values().filter(|functions| functions.len() > 1) {
            let named = [false, true].map(|is_whole| placed(functions, regions, is_whole));
            let is_apart = |texts: &&Vec<String>| {
                texts.iter().collect::<HashSet<_>>().len() == functions.len()
            };
            let apart = named.iter().find(is_apart).cloned();
            let numbered = || {
                let texts = named[1].iter().zip(functions);
                texts.map(|(text, id)| format!("{text} #{id}")).collect()
            };
            for (id, text) in functions.iter().zip(apart.unwrap_or_else(numbered)) {
                if let Some(label) = labels.get_mut(id.index()) {
                    *label = text.into();
                }
            }
        }
        // The representative comes first, so its label is final.
        for (at, first) in same.iter().enumerate() {
            if first.index() != at
                && let Some(label) = labels.get(first.index()).cloned()
                && let Some(slot) = labels.get_mut(at)
            {
                *slot = label;
            }
        }
        labels
    }
}

/// Returns the source file and the first line of a region, if known.
fn place(region: &Region) -> (Option<&str>, Option<u32>) {
    (region.file.as_deref(), region.lines.map(|lines| lines.0))
}

/// Returns names with the source location of each function, with or without the folders of the
/// file.
fn placed(functions: &[RegionId], regions: &[Region], is_whole: bool) -> Vec<String> {
    let known = functions.iter().filter_map(|id| regions.get(id.index()));
    let text = |region: &Region| {
        let (file, line) = place(region);
        let file = file.map(|file| {
            if is_whole {
                file
            } else {
                file.rsplit(['/', '\\']).next().unwrap_or(file)
            }
        });
        match (file, line) {
            (Some(file), Some(line)) => format!("{} ({file}:{line})", region.name),
            (Some(file), None) => format!("{} ({file})", region.name),
            (None, Some(line)) => format!("{} (line {line})", region.name),
            (None, None) => region.name.clone(),
        }
    };
    known.map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(name: &str, file: Option<&str>, line: Option<u32>) -> Region {
        Region {
            file: file.map(str::to_owned),
            lines: line.map(|line| (line, line + 9)),
            ..Region::named(name)
        }
    }

    #[test]
    fn labels_tell_functions_apart() {
        let regions = [
            region("main", Some("a/main.c"), Some(1)),
            region("init", Some("a/util.c"), Some(3)),
            region("init", Some("b/util.c"), Some(3)),
            region("init", Some("a/util.c"), Some(3)),
            region("step", Some("a/step.c"), Some(3)),
            region("step", None, None),
            region("wait", None, None),
            region("wait", None, None),
        ];
        let expected = [
            "main",
            "init (a/util.c:3)",
            "init (b/util.c:3)",
            "init (a/util.c:3)",
            "step (step.c:3)",
            "step",
            "wait",
            "wait",
        ];
        assert_eq!(Unify::Location.labels(&regions), expected);
        let names: Vec<_> = regions.iter().map(|region| region.name.as_str()).collect();
        assert_eq!(Unify::Name.labels(&regions), names);
        let never = Unify::Never.labels(&regions);
        assert_eq!(never[1], "init (a/util.c:3) #1");
        assert_eq!(never[6..], ["wait #6", "wait #7"]);
        assert_eq!(never.iter().collect::<HashSet<_>>().len(), regions.len());
        assert!(Unify::Location.labels(&[]).is_empty());
    }
}
