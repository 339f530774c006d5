//! Texts by number: names of calls, and the short words that say where they ran.

use perf_core::{Paradigm, Region, RegionRole};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a call is, as far as its category says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Anything on the host.
    Host,
    /// Marked by hand.
    User,
    /// A call of the runtime or driver of a device.
    Runtime,
    /// The profiler itself.
    Overhead,
    /// A kernel.
    Kernel,
    /// A copy between memories, or filling one.
    Copy,
}

impl Kind {
    const COUNT: usize = 6;

    /// Returns a region of this kind. `device` is the programming model of the devices.
    pub(crate) fn region(self, name: &str, device: Paradigm) -> Region {
        let (paradigm, role) = match self {
            Kind::Host => (Paradigm::Unknown, RegionRole::Unknown),
            Kind::User => (Paradigm::User, RegionRole::Unknown),
            Kind::Runtime => (device, RegionRole::Wrapper),
            Kind::Overhead => (Paradigm::Measurement, RegionRole::Unknown),
            Kind::Kernel => (device, RegionRole::Function),
            Kind::Copy => (device, RegionRole::DataTransfer),
        };
        Region {
            paradigm,
            role,
            ..Region::named(name)
        }
    }
}

/// A text that is equal to itself alone, wherever it is shared.
#[derive(Debug)]
struct Same(Arc<str>);

impl PartialEq for Same {
    fn eq(&self, other: &Same) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Same {}

impl Hash for Same {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(Arc::as_ptr(&self.0), state);
    }
}

/// Texts of all parts by number. The letters of one that parts share are looked at once, however many share it.
#[derive(Debug, Default)]
pub(super) struct Texts {
    same: HashMap<Same, u32>,
    by_text: HashMap<Arc<str>, u32>,
}

impl Texts {
    /// The number of a text.
    pub(super) fn number(&mut self, text: &Arc<str>) -> u32 {
        let by_text = &mut self.by_text;
        let same = self.same.entry(Same(Arc::clone(text)));
        *same.or_insert_with(|| {
            let next = by_text.len() as u32;
            *by_text.entry(Arc::clone(text)).or_insert(next)
        })
    }
}

/// The name of all that have none since there are too many.
pub(super) const PAST_LIMIT: &str = "(names past the limit)";

const NONE: u32 = u32::MAX;

/// Names of calls: text by number, and the regions of each text.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// By the bytes of the file, escapes and all.
    raw: HashMap<Box<[u8]>, u32>,
    by_text: HashMap<Arc<str>, u32>,
    texts: Vec<(Arc<str>, [u32; Kind::COUNT])>,
    /// What the regions are, by their number in this file.
    pub(crate) regions: Vec<(u32, Kind)>,
    /// The long form of regions that have one beside their name, such as the signature of a kernel.
    forms: HashMap<u32, u32>,
    /// Regions by name, kind and long form.
    #[cfg(feature = "nsys")]
    formed: HashMap<(u32, Kind, u32), u32>,
}

impl Names {
    /// The number of a text that was seen before.
    #[inline]
    pub(crate) fn known(&self, raw: &[u8]) -> Option<u32> {
        self.raw.get(raw).copied()
    }

    /// The number of a text, which is `raw` in the file.
    pub(crate) fn add(&mut self, raw: &[u8], text: String) -> u32 {
        let id = self.text(text);
        self.raw.insert(raw.into(), id);
        id
    }

    /// The number of a text.
    pub(crate) fn text(&mut self, text: String) -> u32 {
        if let Some(id) = self.by_text.get(text.as_str()) {
            return *id;
        }
        let (id, text) = (self.texts.len() as u32, Arc::<str>::from(text));
        self.by_text.insert(Arc::clone(&text), id);
        self.texts.push((text, [NONE; Kind::COUNT]));
        id
    }

    /// The number of a text that several files or processes share. Nobody looks whether it was seen before.
    #[cfg(feature = "nsys")]
    pub(crate) fn share(&mut self, text: &Arc<str>) -> u32 {
        self.texts.push((Arc::clone(text), [NONE; Kind::COUNT]));
        self.texts.len() as u32 - 1
    }

    /// The number of a text that is told later.
    #[cfg(feature = "rocprof")]
    pub(crate) fn unnamed(&mut self) -> u32 {
        self.texts.push((Arc::from(""), [NONE; Kind::COUNT]));
        self.texts.len() as u32 - 1
    }

    /// Gives a number another text.
    #[cfg(feature = "rocprof")]
    pub(crate) fn rename(&mut self, id: u32, text: Arc<str>) {
        if let Some((own, _)) = self.texts.get_mut(id as usize) {
            *own = text;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The text of a number.
    pub(crate) fn get(&self, id: u32) -> Arc<str> {
        let known = self.texts.get(id as usize);
        known.map_or_else(Arc::default, |(text, _)| Arc::clone(text))
    }

    /// The number of the text of a region.
    pub(crate) fn text_of(&self, region: u32) -> u32 {
        let known = self.regions.get(region as usize);
        known.map_or(NONE, |(text, _)| *text)
    }

    /// The region of a text and kind.
    #[inline]
    pub(crate) fn region(&mut self, text: u32, kind: Kind) -> u32 {
        let slot = self.texts.get_mut(text as usize);
        let Some(slot) = slot.and_then(|(_, regions)| regions.get_mut(kind as usize)) else {
            return NONE;
        };
        if *slot == NONE {
            *slot = self.regions.len() as u32;
            self.regions.push((text, kind));
        }
        *slot
    }

    /// The region of a text and kind whose long form is another text: a region for each of these.
    #[cfg(feature = "nsys")]
    pub(crate) fn region_with(&mut self, text: u32, kind: Kind, form: u32) -> u32 {
        if text == form {
            return self.region(text, kind);
        }
        *self.formed.entry((text, kind, form)).or_insert_with(|| {
            let region = self.regions.len() as u32;
            self.regions.push((text, kind));
            self.forms.insert(region, form);
            region
        })
    }

    /// Gives a region a long form.
    #[cfg(feature = "rocprof")]
    pub(crate) fn form(&mut self, region: u32, form: String) {
        let form = self.text(form);
        self.forms.insert(region, form);
    }

    /// The long form of a region, by its number in this file.
    pub(crate) fn long(&self, region: u32) -> Option<Arc<str>> {
        self.forms.get(&region).map(|form| self.get(*form))
    }
}
