//! [`Stack`]: the open XML elements while an anchor is parsed, each with its name and its kind,
//! [`What`]. The stack owns the names, because a document is read in parts.

/// Kind of an open element. Numbers are indices into the tables of the [`Anchor`](super::Anchor)
/// and of the parser. A kind fits into a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Metric(u32),
    Region(u32),
    Cnode(u32),
    Node(u32),
    Group(u32),
    Location(u32),
    Cart,
    Coordinate,
    Matrix(u32),
    Row,
    /// A field with text for the enclosing element.
    Field,
    Other,
}

/// Open elements, the outermost first.
#[derive(Debug, Default)]
pub(super) struct Stack {
    /// Concatenated names.
    names: Vec<u8>,
    /// Start of the name, and kind of the element.
    open: Vec<(usize, What)>,
}

impl Stack {
    pub(super) fn push(&mut self, name: &[u8], what: What) {
        self.open.push((self.names.len(), what));
        self.names.extend_from_slice(name);
    }

    pub(super) fn pop(&mut self) -> Option<What> {
        let (start, what) = self.open.pop()?;
        self.names.truncate(start);
        Some(what)
    }

    /// Returns the innermost element.
    pub(super) fn last(&self) -> Option<What> {
        self.open.last().map(|(_, what)| *what)
    }

    /// Returns the name of the innermost element, or an empty slice if none is open.
    pub(super) fn name(&self) -> &[u8] {
        let start = self.open.last().map_or(0, |(start, _)| *start);
        &self.names[start..]
    }

    /// Returns the number of open elements.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of elements around the innermost one with this name.
    pub(super) fn find(&self, name: &[u8]) -> Option<usize> {
        let mut end = self.names.len();
        self.open.iter().rposition(|(start, _)| {
            let own = self.names.get(*start..end);
            end = *start;
            own == Some(name)
        })
    }

    /// Returns the result of `is` for the innermost element that it accepts.
    pub(super) fn inside(&self, is: fn(&What) -> Option<u32>) -> Option<u32> {
        self.open.iter().rev().find_map(|(_, what)| is(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_from_within() {
        let mut stack = Stack::default();
        assert_eq!((stack.name(), stack.last()), (&b""[..], None));
        assert_eq!(stack.pop(), None);
        for (name, what) in [("cube", What::Other), ("a", What::Cart), ("ab", What::Row)] {
            stack.push(name.as_bytes(), what);
        }
        assert_eq!(stack.name(), b"ab");
        assert_eq!(stack.find(b"a"), Some(1));
        assert_eq!(stack.find(b"b"), None);
        assert_eq!(stack.pop(), Some(What::Row));
        assert_eq!(stack.name(), b"a");
        assert_eq!((stack.last(), stack.len()), (Some(What::Cart), 2));
    }
}
