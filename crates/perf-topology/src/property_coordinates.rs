//! [`Topology::from_metadata`] and [`coordinates_in`]: coordinates of locations, parsed from the
//! text of a property such as `BGP Coords` of TAU.

use crate::topology::{NOWHERE, Topology, place};
use crate::{Check, Error, Result, Shape};
use perf_core::{LocationId, SystemTree};

impl Topology {
    /// Places locations at the coordinates in the property `name`, such as `BGP Coords` with the
    /// value `(3,5,1)`. A location without that property takes the coordinates of its process. A
    /// process without the property takes the coordinates of its machine node.
    ///
    /// `shape` is the grid. With `None` the grid is the smallest one that starts at 0 and contains
    /// all coordinates; its axes are unnamed and periodic. A property without numbers is ignored.
    ///
    /// ```
    /// use perf_core::{Location, SystemTree};
    /// use perf_topology::{Shape, Topology};
    /// let at = |key, text: &str| Location {
    ///     key,
    ///     properties: [("BGP Coords", text)].into(),
    ///     ..Location::default()
    /// };
    /// let locations = vec![at(0, "(0,0,1)"), at(1, "(1,0,0)")];
    /// let system = SystemTree::new(vec![], vec![], locations, &Default::default())?;
    /// let grid = Topology::from_metadata(&system, "BGP Coords", None)?;
    /// assert_eq!(grid.shape().lens(), [2, 1, 2]);
    /// assert_eq!((grid.check().placed, grid.check().missing), (2, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::NoCoordinates`] if no part of the system tree has coordinates in that
    /// property, the errors of [`Shape::plausible_for`], and without a `shape` also those of
    /// [`Shape::new`].
    pub fn from_metadata(system: &SystemTree, name: &str, shape: Option<Shape>) -> Result<Self> {
        let mut at = Vec::new();
        let ids = || system.location_ids();
        let locations = system.locations().len();
        let shape = match shape {
            Some(shape) => shape.plausible_for(locations)?,
            None => {
                let mut lens = Vec::new();
                for id in ids() {
                    let is_placed = text(system, id, name).is_some_and(|text| read(text, &mut at));
                    if is_placed && lens.is_empty() {
                        lens.resize(at.len(), 1);
                    }
                    if is_placed && lens.len() == at.len() {
                        let pairs = lens.iter_mut().zip(&at);
                        pairs.for_each(|(len, at)| *len = at.saturating_add(1).max(*len));
                    }
                }
                if lens.is_empty() {
                    return Err(Error::NoCoordinates { name: name.into() });
                }
                Shape::of(&lens)?.plausible_for(locations)?
            }
        };
        let mut cells = vec![NOWHERE; locations];
        let mut found = Check::default();
        let mut is_any = false;
        for (slot, id) in cells.iter_mut().zip(ids()) {
            if text(system, id, name).is_some_and(|text| read(text, &mut at)) {
                is_any = true;
                // A shape has at most 2^28 cells, so the number fits.
                place(slot, shape.cell(&at).map(|cell| cell as u32), &mut found);
            }
        }
        if is_any {
            Ok(Self::new(name.into(), shape, cells, found))
        } else {
            Err(Error::NoCoordinates { name: name.into() })
        }
    }
}

/// Returns the value of a property of a location. If the location does not have the property, its
/// process and then its machine node are searched.
fn text<'a>(system: &'a SystemTree, id: LocationId, name: &str) -> Option<&'a str> {
    let own = &system.location(id)?.properties;
    let group = system.process(id).and_then(|group| system.group(group));
    let node = group.and_then(|group| system.node(group.parent?));
    let above = [
        group.map(|group| &group.properties),
        node.map(|node| &node.properties),
    ];
    let all = std::iter::once(own).chain(above.into_iter().flatten());
    let mut named = all.filter_map(|properties| properties.get(name));
    named.next()
}

/// Parses coordinates like [`coordinates_in`], into a reused buffer; returns `false` if there are
/// none.
fn read(text: &str, numbers: &mut Vec<usize>) -> bool {
    numbers.clear();
    // Negative numbers and fractions are not coordinates. A dash between words is no sign, and a
    // dot between words is no decimal point.
    let letters = text.as_bytes();
    let is_digit = |at: Option<usize>| {
        at.and_then(|at| letters.get(at))
            .is_some_and(u8::is_ascii_digit)
    };
    for (at, letter) in letters.iter().enumerate() {
        let after = is_digit(Some(at + 1));
        let before = at.checked_sub(1);
        let is_word = before
            .and_then(|at| letters.get(at))
            .is_some_and(u8::is_ascii_alphanumeric);
        if (*letter == b'-' && after && !is_word) || (*letter == b'.' && after && is_digit(before))
        {
            return false;
        }
    }
    let words = text.split(|letter: char| !letter.is_ascii_digit());
    for word in words.filter(|word| !word.is_empty()) {
        match word.parse() {
            Ok(number) => numbers.push(number),
            Err(_) => return false,
        }
    }
    !numbers.is_empty()
}

/// Parses the numbers in a text such as `(3,5,1)` or `x=3 y=5 z=1`, the forms in which profiles
/// store coordinates (`BGP Coords` in TAU). Letters and brackets are skipped. Returns `None` if
/// there are no numbers, or if one is negative, a fraction or too large.
///
/// ```
/// assert_eq!(perf_topology::coordinates_in("(3,5,1)"), Some(vec![3, 5, 1]));
/// assert_eq!(perf_topology::coordinates_in("nowhere"), None);
/// assert_eq!(perf_topology::coordinates_in("-1 0"), None);
/// assert_eq!(perf_topology::coordinates_in("0 0.5"), None);
/// ```
pub fn coordinates_in(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    read(text, &mut numbers).then_some(numbers)
}
