//! Topologies derived from another one: permuted, split, joined, sliced or embedded.

use crate::topology::{NOWHERE, Topology, same};
use crate::{Axis, Check, Error, Result, Shape};

impl Topology {
    /// Reorders the axes: axis `i` of the result is axis `order[i]`.
    ///
    /// # Errors
    /// Returns [`Error::Permutation`] if `order` is not a permutation of the axes.
    pub fn permute(&self, order: &[usize]) -> Result<Self> {
        let shape = self.shape.permuted(order)?;
        let lens = shape.lens();
        Ok(self.map(shape, |at| {
            let mut cell = 0;
            for (axis, len) in order.iter().zip(&lens) {
                cell = cell * len + at.get(*axis)?;
            }
            Some(cell)
        }))
    }

    /// Splits one axis into several, such as 12 into 3 x 4; the last of them varies fastest. The
    /// first new axis takes the name and periodicity of the old one. The other new axes are called
    /// `name.1`, `name.2` and so on, and are not periodic.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if the product of `lens` is not the length of the axis, and the
    /// errors of [`Shape::new`].
    pub fn split(&self, axis: usize, lens: &[usize]) -> Result<Self> {
        let old = self.shape.axis(axis)?.clone();
        let product = lens
            .iter()
            .try_fold(1usize, |product, len| product.checked_mul(*len));
        same("length of the axis", old.len, product.unwrap_or(usize::MAX))?;
        let parts = lens.iter().enumerate().map(|(part, len)| Axis {
            name: if part == 0 || old.name.is_empty() {
                old.name.clone()
            } else {
                format!("{}.{part}", old.name)
            },
            len: *len,
            periodic: old.periodic && part == 0,
        });
        let mut axes = self.shape.axes().to_vec();
        axes.splice(axis..=axis, parts);
        // Cell numbers do not change, because the new axes keep the order of the cells.
        Ok(Topology {
            shape: Shape::new(axes)?,
            ..self.clone()
        })
    }

    /// Joins several adjacent axes into one, the last of them varying fastest. The result is
    /// periodic if the first joined axis is periodic, so joining undoes [`split`](Self::split).
    ///
    /// # Errors
    /// Returns [`Error::UnknownAxis`] if the range is empty or contains an axis that does not
    /// exist.
    pub fn join(&self, axes: std::ops::Range<usize>) -> Result<Self> {
        let all = self.shape.axes();
        let count = all.len();
        let parts = all.get(axes.clone()).filter(|parts| !parts.is_empty());
        let parts = parts.ok_or(Error::UnknownAxis {
            axis: axes.end,
            count,
        })?;
        let names: Vec<&str> = parts
            .iter()
            .map(|axis| axis.name.as_str())
            .filter(|name| !name.is_empty())
            .collect();
        let joined = Axis {
            name: names.join("*"),
            len: parts.iter().map(|axis| axis.len).product(),
            periodic: parts.first().is_some_and(|axis| axis.periodic),
        };
        let mut new = all.to_vec();
        new.splice(axes, [joined]);
        Ok(Topology {
            shape: Shape::new(new)?,
            ..self.clone()
        })
    }

    /// Returns the hyperplane at coordinate `at` of `axis`, without that axis. Locations at other
    /// coordinates are not placed.
    ///
    /// # Errors
    /// Returns [`Error::UnknownAxis`] if there is no such axis, or [`Error::OutOfRange`] if `at`
    /// lies past its end.
    pub fn slice(&self, axis: usize, at: usize) -> Result<Self> {
        self.shape.on_axis(axis, at)?;
        let shape = self.shape.without(axis)?;
        let lens = self.shape.lens();
        Ok(self.map(shape, |coordinates| {
            let mut cell = 0;
            for (other, (here, len)) in coordinates.iter().zip(&lens).enumerate() {
                if other != axis {
                    cell = cell * len + here;
                } else if *here != at {
                    return None;
                }
            }
            Some(cell)
        }))
    }

    /// Embeds the topology into a larger grid, with its first cell at `origin`. The surrounding
    /// cells hold no location; [`Grid::filled`](crate::Grid::filled) can give them a value.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if the number of axes differs, or [`Error::OutOfRange`] if the
    /// topology does not fit at `origin`.
    pub fn embed(&self, into: Shape, origin: &[usize]) -> Result<Self> {
        let own = self.shape.axes();
        same("axes", own.len(), into.axes().len())?;
        same("coordinates of the origin", own.len(), origin.len())?;
        for (axis, ((own, into), from)) in own.iter().zip(into.axes()).zip(origin).enumerate() {
            let end = from.checked_add(own.len).unwrap_or(usize::MAX);
            if end > into.len {
                let len = into.len;
                return Err(Error::OutOfRange {
                    axis,
                    at: end - 1,
                    len,
                });
            }
        }
        let lens = into.lens();
        Ok(self.map(into, |at| {
            let mut cell = 0;
            for ((here, from), len) in at.iter().zip(origin).zip(&lens) {
                cell = cell * len + here + from;
            }
            Some(cell)
        }))
    }

    /// Moves each location to another cell. All calls of `to` share one coordinate buffer.
    fn map(&self, shape: Shape, to: impl Fn(&[usize]) -> Option<usize>) -> Self {
        let mut at = vec![0; self.shape.axes().len()];
        let cells = self.cells.iter().map(|cell| {
            if *cell == NOWHERE {
                return NOWHERE;
            }
            let coordinates = self.shape.coordinates(*cell as usize);
            at.iter_mut()
                .zip(coordinates)
                .for_each(|(slot, here)| *slot = here);
            to(&at).map_or(NOWHERE, |cell| cell as u32)
        });
        let cells = cells.collect();
        let found = Check {
            outside: self.check.outside,
            repeated: self.check.repeated,
            strangers: self.check.strangers,
            ..Check::default()
        };
        Self::new(self.name.clone(), shape, cells, found)
    }
}
