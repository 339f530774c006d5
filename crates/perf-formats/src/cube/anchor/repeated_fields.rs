//! [`Runs`]: fast path for elements whose fields repeat the text of the previous element of the
//! same kind, as those of most locations and regions do.

use super::stack::What;
use crate::xml::{Leaf, Xml};
use std::ops::Range;

/// The fields of one element, up to the first that is not plain text.
///
/// While an element is read, the first `read` fields are its own, and the others belong to the
/// previous element of its kind.
#[derive(Debug, Default)]
pub(super) struct Run<'a> {
    /// Fields of this element and the previous one.
    leaves: Vec<Leaf<'a>>,
    /// Number of fields that belong to this element.
    read: usize,
    /// Position of the others in the document.
    others: Range<usize>,
}

impl<'a> Run<'a> {
    /// Returns the remaining fields and skips them, if the document repeats the previous text
    /// verbatim.
    pub(super) fn repeated(&mut self, xml: &mut Xml<'a>) -> Option<&[Leaf<'a>]> {
        let others = self.others.clone();
        if others.is_empty() || !xml.repeats(others.clone()) {
            return None;
        }
        let at = xml.at();
        xml.skip_to(at + others.len());
        let from = self.read;
        let leaves = self.leaves.get_mut(from..)?;
        for leaf in &mut *leaves {
            leaf.end = leaf.end - others.start + at;
        }
        self.read += leaves.len();
        self.others = 0..0;
        Some(leaves)
    }

    /// Adds a parsed field.
    #[inline]
    pub(super) fn push(&mut self, leaf: Leaf<'a>) {
        match self.leaves.get_mut(self.read) {
            Some(other) => {
                self.others.start = other.end;
                *other = leaf;
            }
            None => self.leaves.push(leaf),
        }
        self.read += 1;
    }

    /// Keeps the fields, the first of which began at `start`, for the next element.
    pub(super) fn ends(&mut self, start: usize) {
        self.leaves.truncate(self.read);
        let end = self.leaves.last().map_or(start, |leaf| leaf.end);
        self.others = start..end;
        self.read = 0;
    }
}

/// Fields of the last element of each frequent kind, and of the last other element.
#[derive(Debug, Default)]
pub(super) struct Runs<'a>([Run<'a>; 5]);

impl<'a> Runs<'a> {
    pub(super) fn of(&mut self, what: What) -> &mut Run<'a> {
        let [regions, nodes, groups, locations, others] = &mut self.0;
        match what {
            What::Region(_) => regions,
            What::Node(_) => nodes,
            What::Group(_) => groups,
            What::Location(_) => locations,
            _ => {
                *others = Run::default();
                others
            }
        }
    }
}
