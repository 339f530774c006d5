//! [`Palette`]: colours of states by name, and [`numbered`]: colours of numbered items.

use crate::Colour;
use std::collections::HashMap;

/// Colours of states, chosen by name.
///
/// A state has the same colour in every picture, because the colour is computed from its name. The
/// only exception is a name that selects a colour that is already in use; it takes the next free
/// colour. MPI functions are red, as is usual in timelines of parallel programs.
///
/// ```
/// use perf_view::Palette;
/// let few = Palette::plan(["solve"]);
/// let many = Palette::plan(["solve", "MPI_Wait"]);
/// assert_eq!(few.of("solve"), many.of("solve"));
/// assert_ne!(many.of("solve"), many.of("MPI_Wait"));
/// assert_eq!(few.of("not planned"), perf_view::OTHER);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Palette {
    given: HashMap<String, Colour>,
}

/// Colour that all states share that are too rare for an individual colour.
pub const OTHER: Colour = Colour::hex(0x9a9aa2);

const CODE: [u32; 14] = [
    0x2f7d4f, 0x3b76b0, 0xe3a72f, 0x7a5ca8, 0x4fb3a9, 0x9c6b3f, 0x8fbf4d, 0x5a5f9e, 0xc9b458,
    0x2c9ac7, 0x6b8e23, 0x7189d6, 0x1f5f5b, 0xa8a03c,
];
const MPI: [u32; 7] = [
    0xc8322d, 0xe8743b, 0xa61c4b, 0xef9473, 0x7d1f1f, 0xd9577f, 0xff6f59,
];
/// Maximum number of states with an individual colour. Readers cannot distinguish more colours.
const STATES: usize = 24;

impl Palette {
    /// Assigns colours to states, the most important ones first. States after the first 24 share
    /// [`OTHER`].
    pub fn plan<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut palette = Palette::default();
        for name in names {
            if palette.given.contains_key(name) {
                continue;
            }
            let colour = match palette.given.len() {
                0..STATES => palette.choose(name),
                _ => OTHER,
            };
            palette.given.insert(name.to_string(), colour);
        }
        palette
    }

    /// Returns the colour of a state, or [`OTHER`] if the palette does not contain it.
    pub fn of(&self, name: &str) -> Colour {
        self.given.get(name).copied().unwrap_or(OTHER)
    }

    /// Returns the first free colour, starting at the hash of the name. If all colours are in use,
    /// darker variants follow.
    fn choose(&self, name: &str) -> Colour {
        let palette: &[u32] = if name.starts_with("MPI") { &MPI } else { &CODE };
        // FNV-1a gives the same hash on every machine and in every version.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        let first = (hash % palette.len() as u64) as usize;
        let turns = (0..4).flat_map(|turn| {
            let colours = palette.iter().cycle().skip(first).take(palette.len());
            colours.map(move |value| Colour::hex(*value).lit(0.72_f64.powi(turn)))
        });
        let is_free = |colour: &Colour| self.given.values().all(|taken| taken != colour);
        turns.into_iter().find(is_free).unwrap_or(OTHER)
    }
}

const OBJECTS: [u32; 12] = [
    0xd1422f, 0x2f7fc1, 0x3a9a52, 0xe39a23, 0x8457b0, 0x28a8a3, 0xc2538f, 0x8a6a3b, 0x5560b8,
    0x9fb52d, 0xe07a5f, 0x457b6b,
];

/// Returns the colour of a numbered item, such as a cluster or a rank. After 12 colours, darker
/// variants of the same colours follow.
///
/// ```
/// use perf_view::numbered;
/// assert_ne!(numbered(0), numbered(1));
/// assert_ne!(numbered(0), numbered(12));
/// ```
pub fn numbered(index: usize) -> Colour {
    let value = OBJECTS[index % OBJECTS.len()];
    let turn = (index / OBJECTS.len()).min(3) as i32;
    Colour::hex(value).lit(0.72_f64.powi(turn))
}
