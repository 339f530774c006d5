//! [`Palette`]: colours of states by [`Kind`] and name; [`numbered`]: colours of numbered items
//! such as clusters and ranks.

use crate::Colour;
use perf_core::{Paradigm, RegionRole};
use std::collections::HashMap;

/// Kind of a state, which determines its hue.
///
/// The hues are distinguishable with each of the three colour vision deficiencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Computation, and everything of no other kind: blue.
    #[default]
    Computation,
    /// MPI as one state, such as a group of all its functions: orange.
    Mpi,
    /// MPI between two ranks, and MPI functions that are not collective: orange.
    PointToPoint,
    /// Collective operations of MPI and of accelerator libraries: purple.
    Collective,
    /// File input and output: yellow.
    Io,
    /// OpenMP and other threading models: green.
    Threads,
    /// Kernels and copies of accelerators, and calls of their interfaces: cyan.
    Accelerator,
}

impl Kind {
    /// Returns the kind of a region. The name decides if paradigm and role are not recorded.
    ///
    /// ```
    /// use perf_core::{Paradigm, RegionRole};
    /// use perf_view::Kind;
    /// let of = |name| Kind::of(name, Paradigm::Unknown, RegionRole::Unknown);
    /// assert_eq!(of("MPI_Allreduce"), Kind::Collective);
    /// assert_eq!(of("mpi_bcast_"), Kind::Collective);
    /// assert_eq!(of("MPI_Waitall"), Kind::PointToPoint);
    /// assert_eq!(of("MPI"), Kind::Mpi);
    /// assert_eq!(of("MPI_File_write_at"), Kind::Io);
    /// assert_eq!(of("solve"), Kind::Computation);
    /// assert_eq!(Kind::of("loop 3", Paradigm::OpenMp, RegionRole::Loop), Kind::Threads);
    /// ```
    pub fn of(name: &str, paradigm: Paradigm, role: RegionRole) -> Self {
        let function = function_of_mpi(name);
        let is_mpi = paradigm == Paradigm::Mpi || name.starts_with("MPI") || function.is_some();
        match (paradigm, role) {
            _ if role == RegionRole::FileIo || name.starts_with("MPI_File_") => Kind::Io,
            _ if is_mpi && function.is_none() && name.starts_with("MPI") => Kind::Mpi,
            (_, RegionRole::Barrier | RegionRole::Collective) if is_mpi => Kind::Collective,
            _ if function.as_deref().is_some_and(is_collective) => Kind::Collective,
            // A group of functions with different roles.
            _ if is_mpi && function.is_none() && role == RegionRole::Unknown => Kind::Mpi,
            _ if is_mpi => Kind::PointToPoint,
            _ if name.starts_with("nccl") || name.starts_with("rccl") => {
                let is_pair = ["SendRecv", "send", "recv"]
                    .iter()
                    .any(|it| name.contains(it));
                if is_pair {
                    Kind::PointToPoint
                } else {
                    Kind::Collective
                }
            }
            (Paradigm::OpenMp | Paradigm::Pthread, _) => Kind::Threads,
            (Paradigm::Cuda | Paradigm::Hip | Paradigm::OpenCl | Paradigm::OpenAcc, _) => {
                Kind::Accelerator
            }
            (Paradigm::Shmem, _) | (_, RegionRole::PointToPoint | RegionRole::Rma) => {
                Kind::PointToPoint
            }
            _ if ["!$omp", "#pragma omp"]
                .iter()
                .any(|it| name.starts_with(it)) =>
            {
                Kind::Threads
            }
            _ => Kind::of_paraver(name),
        }
    }

    /// Returns the kind of a state of Paraver by its usual name.
    fn of_paraver(name: &str) -> Self {
        match name {
            "Waiting a message" | "Blocking Send" | "Immediate Send" | "Immediate Receive"
            | "Send Receive" | "Wait/WaitAll" | "Test/Probe" => Kind::PointToPoint,
            "Group Communication" | "Group communication" => Kind::Collective,
            "I/O" => Kind::Io,
            "Scheduling and Fork/Join" | "Synchronization" => Kind::Threads,
            "Memory transfer" => Kind::Accelerator,
            _ => Kind::Computation,
        }
    }

    /// Returns the name of the hue and of the kind.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Computation => ("blue", "computation"),
            Kind::Mpi => ("orange", "MPI"),
            Kind::PointToPoint => ("orange", "point-to-point"),
            Kind::Collective => ("purple", "collectives"),
            Kind::Io => ("yellow", "I/O"),
            Kind::Threads => ("green", "OpenMP and threads"),
            Kind::Accelerator => ("cyan", "accelerator"),
        }
    }

    /// Returns the shades of the hue, the base colour first.
    fn shades(self) -> [u32; 6] {
        match self {
            Kind::Computation => [0x466fbd, 0x7b92e8, 0x13589e, 0x75acfc, 0x627ed1, 0x9ebdff],
            Kind::Mpi | Kind::PointToPoint => {
                [0xdb6a2b, 0xf78b39, 0xc24d25, 0xffa37f, 0xcb6100, 0xec7b37]
            }
            Kind::Collective => [0x662162, 0x8b3b76, 0x4f115a, 0x97549a, 0x792d6a, 0xb366a8],
            Kind::Io => [0xdcc458, 0xe7db70, 0xd0ad42, 0xfee076, 0xccbd50, 0xe3cf63],
            Kind::Threads => [0x215c20, 0x2b7440, 0x1e4900, 0x508443, 0x226832, 0x59985c],
            Kind::Accelerator => [0x41b0bb, 0x60c8dd, 0x229c9d, 0x72dee4, 0x51bccd, 0x008b98],
        }
    }

    /// Returns the colour that rare states of the kind share.
    fn rest(self) -> Colour {
        Colour::hex(self.shades()[0]).mix(OTHER, 0.6)
    }
}

/// Returns the name of a function of MPI in small letters without its prefix, such as `waitall` for `MPI_Waitall`,
/// `PMPI_Waitall` and `mpi_waitall_`.
fn function_of_mpi(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix('p').unwrap_or(&name);
    name.strip_prefix("mpi_").map(String::from)
}

/// Returns `true` for collective operations of MPI, named as [`function_of_mpi`] does.
fn is_collective(function: &str) -> bool {
    const OPERATIONS: [&str; 9] = [
        "all", "barrier", "bcast", "reduce", "gather", "scatter", "scan", "exscan", "neighbor",
    ];
    let blocking = function.strip_prefix('i').unwrap_or(function);
    // MPI_Alloc_mem is not collective.
    !blocking.starts_with("alloc") && OPERATIONS.iter().any(|it| blocking.starts_with(it))
}

/// Colours of states, chosen by kind and name.
///
/// The kind of a state determines the hue, and the name a shade of it. A state thus has the same
/// colour in every picture. The only exception is a name that selects a shade that is already in
/// use; it takes the next free shade.
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
    given: HashMap<String, Given>,
}

/// Colour of a state.
#[derive(Clone, Copy, Debug)]
struct Given {
    colour: Colour,
    kind: Kind,
    /// `true` if other states of the kind have the same colour.
    is_shared: bool,
}

/// Colour of states that are in no palette.
pub const OTHER: Colour = Colour::hex(0x9a9aa2);

/// Maximum number of states of one kind with an individual colour. Readers cannot distinguish more
/// shades.
const STATES: usize = 12;

impl Palette {
    /// Assigns colours to states by name, the most important ones first. States after the first 12 of
    /// a kind share one colour.
    pub fn plan<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let of = |name| (name, Kind::of(name, Paradigm::Unknown, RegionRole::Unknown));
        Palette::of_kinds(names.into_iter().map(of))
    }

    /// Assigns colours to states of known kinds, as [`plan`](Self::plan) does.
    pub fn of_kinds<'a>(states: impl IntoIterator<Item = (&'a str, Kind)>) -> Self {
        let mut palette = Palette::default();
        let mut chosen_of: HashMap<Kind, usize> = HashMap::new();
        for (name, kind) in states {
            if palette.given.contains_key(name) {
                continue;
            }
            let count = chosen_of.entry(kind).or_default();
            *count += 1;
            let chosen = match *count {
                ..=STATES => palette.choose(name, kind),
                _ => None,
            };
            let given = Given {
                colour: chosen.unwrap_or_else(|| kind.rest()),
                kind,
                is_shared: chosen.is_none(),
            };
            palette.given.insert(name.to_string(), given);
        }
        palette
    }

    /// Returns the colour of a state, or [`OTHER`] if the palette does not contain it.
    pub fn of(&self, name: &str) -> Colour {
        self.given.get(name).map_or(OTHER, |given| given.colour)
    }

    /// Returns the name of the states that share the colour of a state, such as `others
    /// (computation)`. Returns `None` if the state has a colour of its own.
    pub fn others(&self, name: &str) -> Option<String> {
        match self.given.get(name) {
            Some(given) if !given.is_shared => None,
            Some(given) => Some(format!("others ({})", given.kind.words().1)),
            None => Some("others".into()),
        }
    }

    /// Returns the kind of a state; computation if the palette does not contain it.
    pub fn kind(&self, name: &str) -> Kind {
        self.given
            .get(name)
            .map_or_else(Kind::default, |it| it.kind)
    }

    /// Returns the first free shade, starting at the hash of the name. If all shades are in use,
    /// darker variants follow.
    fn choose(&self, name: &str, kind: Kind) -> Option<Colour> {
        let palette = kind.shades();
        // FNV-1a gives the same hash on every machine and in every version.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        let first = (hash % palette.len() as u64) as usize;
        let turns = (0..2).flat_map(|turn| {
            let colours = palette.iter().cycle().skip(first).take(palette.len());
            colours.map(move |value| Colour::hex(*value).lit(0.72_f64.powi(turn)))
        });
        let is_free = |colour: &Colour| self.given.values().all(|taken| taken.colour != *colour);
        turns.into_iter().find(is_free)
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

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 6] = [
        Kind::Computation,
        Kind::PointToPoint,
        Kind::Collective,
        Kind::Io,
        Kind::Threads,
        Kind::Accelerator,
    ];

    /// Returns the colour in Oklab as seen with a colour vision deficiency, which is a matrix on
    /// linear RGB (Machado, Oliveira and Fernandes, 2009, severity 1).
    fn seen(hex: u32, matrix: [[f64; 3]; 3]) -> [f64; 3] {
        let linear = [16, 8, 0].map(|shift| {
            let value = f64::from(hex >> shift & 255) / 255.0;
            match value {
                ..=0.04045 => value / 12.92,
                _ => ((value + 0.055) / 1.055).powf(2.4),
            }
        });
        let times =
            |m: [[f64; 3]; 3], v: [f64; 3]| m.map(|r| r[0] * v[0] + r[1] * v[1] + r[2] * v[2]);
        let lms = [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ];
        let lab = [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ];
        times(
            lab,
            times(lms, times(matrix, linear)).map(|it| it.max(0.0).cbrt()),
        )
    }

    #[test]
    fn hues_differ_for_every_reader() {
        let readers = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ];
        let mut bases: Vec<u32> = KINDS.iter().map(|kind| kind.shades()[0]).collect();
        // The colour of idle cells on white paper.
        bases.push(0xe8e8ee);
        for reader in readers {
            for (at, one) in bases.iter().enumerate() {
                for other in &bases[at + 1..] {
                    let [a, b] = [seen(*one, reader), seen(*other, reader)];
                    let distance = a
                        .iter()
                        .zip(b)
                        .map(|(a, b)| (a - b).powi(2))
                        .sum::<f64>()
                        .sqrt();
                    // Oklab distances of 0.02 are just noticeable.
                    assert!(distance > 0.12, "{one:06x} {other:06x}: {distance}");
                }
            }
        }
    }

    #[test]
    fn states_beyond_the_limit_keep_the_hue_of_their_kind() {
        let names: Vec<String> = (0..40).map(|at| format!("f{at}")).collect();
        let palette = Palette::plan(names.iter().map(String::as_str).chain(["MPI_Send"]));
        let shared = names.iter().filter(|name| palette.others(name).is_some());
        assert_eq!(shared.count(), 40 - STATES);
        assert_eq!(
            palette.others("f39").as_deref(),
            Some("others (computation)")
        );
        assert_ne!(palette.of("f39"), palette.of("MPI_Send"));
    }
}
