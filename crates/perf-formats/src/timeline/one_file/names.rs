//! [`Names`]: numbers of the names and regions of calls in one file; [`Kind`]: kind of a call, from
//! its category; [`Texts`]: numbers of names over all parts.

use perf_core::{Paradigm, Region, RegionRole};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Kind of a call, derived from its category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Any call on the host.
    Host,
    /// A user-marked range.
    User,
    /// A call of the runtime or driver of a device.
    Runtime,
    /// Overhead of the profiler.
    Overhead,
    /// A kernel.
    Kernel,
    /// A copy between memories, or a fill.
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

/// A text that is compared by address.
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

/// Numbers of the texts of all parts. A text that parts share is hashed only once.
#[derive(Debug, Default)]
pub(in crate::timeline) struct Texts {
    /// Numbers by address of the text, to avoid hashing the text.
    same: HashMap<Same, u32>,
    /// Numbers by text.
    by_text: HashMap<Arc<str>, u32>,
}

impl Texts {
    /// Returns the number of a text.
    pub(in crate::timeline) fn number(&mut self, text: &Arc<str>) -> u32 {
        let by_text = &mut self.by_text;
        let same = self.same.entry(Same(Arc::clone(text)));
        *same.or_insert_with(|| {
            let next = by_text.len() as u32;
            *by_text.entry(Arc::clone(text)).or_insert(next)
        })
    }
}

/// Shared name of all regions beyond the limit on names.
pub(in crate::timeline) const PAST_LIMIT: &str = "(names past the limit)";

const NONE: u32 = u32::MAX;

/// Names of calls: texts by number, and the regions of each text.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Numbers by the raw bytes in the file, including escapes.
    raw: HashMap<Box<[u8]>, u32>,
    /// Numbers by text.
    by_text: HashMap<Arc<str>, u32>,
    /// Texts, with the region of each kind.
    texts: Vec<(Arc<str>, [u32; Kind::COUNT])>,
    /// Text and kind of the regions, by their number in this file.
    pub(crate) regions: Vec<(u32, Kind)>,
    /// Long form of regions that have one, such as the signature of a kernel.
    forms: HashMap<u32, u32>,
    /// Regions by name, kind and long form.
    #[cfg(feature = "nsys")]
    formed: HashMap<(u32, Kind, u32), u32>,
}

impl Names {
    /// Returns the number of a text by its raw bytes; `None` if the text is new.
    #[inline]
    pub(crate) fn known(&self, raw: &[u8]) -> Option<u32> {
        self.raw.get(raw).copied()
    }

    /// Adds a text whose bytes in the file are `raw`, and returns its number.
    pub(crate) fn add(&mut self, raw: &[u8], text: String) -> u32 {
        let id = self.text(text);
        self.raw.insert(raw.into(), id);
        id
    }

    /// Returns the number of a text.
    pub(crate) fn text(&mut self, text: String) -> u32 {
        if let Some(id) = self.by_text.get(text.as_str()) {
            return *id;
        }
        let (id, text) = (self.texts.len() as u32, Arc::<str>::from(text));
        self.by_text.insert(Arc::clone(&text), id);
        self.texts.push((text, [NONE; Kind::COUNT]));
        id
    }

    /// Returns a number for a text that several files or processes share, without a lookup.
    #[cfg(feature = "nsys")]
    pub(crate) fn share(&mut self, text: &Arc<str>) -> u32 {
        self.texts.push((Arc::clone(text), [NONE; Kind::COUNT]));
        self.texts.len() as u32 - 1
    }

    /// Returns the number of a text that is set later.
    #[cfg(feature = "rocprof")]
    pub(crate) fn unnamed(&mut self) -> u32 {
        self.texts.push((Arc::from(""), [NONE; Kind::COUNT]));
        self.texts.len() as u32 - 1
    }

    /// Replaces the text of a number.
    #[cfg(feature = "rocprof")]
    pub(crate) fn rename(&mut self, id: u32, text: Arc<str>) {
        if let Some((own, _)) = self.texts.get_mut(id as usize) {
            *own = text;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns the text of a number; empty if there is no such number.
    pub(crate) fn get(&self, id: u32) -> Arc<str> {
        let known = self.texts.get(id as usize);
        known.map_or_else(Arc::default, |(text, _)| Arc::clone(text))
    }

    /// Returns the text number of a region.
    pub(crate) fn text_of(&self, region: u32) -> u32 {
        let known = self.regions.get(region as usize);
        known.map_or(NONE, |(text, _)| *text)
    }

    /// Returns the region for a text and kind.
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

    /// Returns the region for a text, a kind and a long form; each combination is a separate
    /// region.
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

    /// Sets the long form of a region.
    #[cfg(feature = "rocprof")]
    pub(crate) fn form(&mut self, region: u32, form: String) {
        let form = self.text(form);
        self.forms.insert(region, form);
    }

    /// Returns the long form of a region, by its number in this file.
    pub(crate) fn long(&self, region: u32) -> Option<Arc<str>> {
        self.forms.get(&region).map(|form| self.get(*form))
    }
}
