//! [`Order`]: order in which the rows of a metric number the call paths, such as depth first;
//! [`Forest`]: call tree in document order, which lists its nodes in such an order.

use perf_core::{CallPathId, Scope};

/// Numbering order of the rows of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cube) enum Order {
    /// Depth first, parents before children: exclusive metrics.
    Deep,
    /// For each root: the root itself, then recursively for each node all its children before any
    /// deeper descendant: inclusive metrics. This is not breadth first.
    Wide,
    /// Order of definition: simple metrics.
    Defined,
}

impl Order {
    pub(in crate::cube) fn of(scope: Scope, is_simple: bool) -> Self {
        match scope {
            _ if is_simple => Order::Defined,
            Scope::Inclusive => Order::Wide,
            Scope::Exclusive => Order::Deep,
        }
    }
}

/// A call tree in document order: children are ordered.
#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct Forest {
    /// Roots in the order of the document.
    roots: Vec<u32>,
    /// Children of node `i` are `children[starts[i]..starts[i + 1]]`.
    children: Vec<u32>,
    /// Start of the children of each node.
    starts: Vec<usize>,
}

impl Forest {
    /// Creates the tree from the parent of each node. Siblings have the order of `nodes`, which
    /// must contain each node once.
    pub(in crate::cube) fn new(
        parents: &[Option<CallPathId>],
        nodes: impl Iterator<Item = u32>,
    ) -> Self {
        let mut starts = vec![0; parents.len() + 2];
        for parent in parents.iter().flatten() {
            starts[parent.index() + 2] += 1;
        }
        for at in 2..starts.len() {
            starts[at] += starts[at - 1];
        }
        // During filling, `starts[i + 1]` advances from the start of node i to its end, which is
        // the start of i + 1.
        let mut children = vec![0; parents.iter().flatten().count()];
        let mut roots = Vec::new();
        for node in nodes {
            match parents[node as usize] {
                Some(parent) => {
                    let next = &mut starts[parent.index() + 1];
                    children[*next] = node;
                    *next += 1;
                }
                None => roots.push(node),
            }
        }
        starts.pop();
        Forest {
            roots,
            children,
            starts,
        }
    }

    pub(in crate::cube) fn roots(&self) -> &[u32] {
        &self.roots
    }

    pub(in crate::cube) fn children(&self, node: u32) -> &[u32] {
        let at = node as usize;
        &self.children[self.starts[at]..self.starts[at + 1]]
    }

    /// Returns all nodes in row order. For [`Order::Defined`], that is the order of ids.
    pub(in crate::cube) fn rows(&self, order: Order) -> Vec<CallPathId> {
        let count = self.roots.len() + self.children.len();
        let mut rows = Vec::with_capacity(count);
        let mut stack: Vec<u32> = Vec::new();
        match order {
            Order::Defined => return (0..count as u32).map(CallPathId).collect(),
            Order::Deep => {
                stack.extend(self.roots.iter().rev());
                while let Some(node) = stack.pop() {
                    rows.push(CallPathId(node));
                    stack.extend(self.children(node).iter().rev());
                }
            }
            Order::Wide => {
                for root in &self.roots {
                    rows.push(CallPathId(*root));
                    stack.push(*root);
                    while let Some(node) = stack.pop() {
                        let children = self.children(node);
                        rows.extend(children.iter().copied().map(CallPathId));
                        stack.extend(children.iter().rev());
                    }
                }
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_and_wide() {
        // 0 > (1 > (3, 4), 2 > 5) and a second root 6 > 7.
        let parents = [
            None,
            Some(0),
            Some(0),
            Some(1),
            Some(1),
            Some(2),
            None,
            Some(6),
        ];
        let parents = parents.map(|parent: Option<u32>| parent.map(CallPathId));
        let forest = Forest::new(&parents, 0..8);
        let rows = |order| {
            forest
                .rows(order)
                .into_iter()
                .map(|id| id.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(rows(Order::Deep), [0, 1, 3, 4, 2, 5, 6, 7]);
        assert_eq!(rows(Order::Wide), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(rows(Order::Defined), [0, 1, 2, 3, 4, 5, 6, 7]);
        // All descendants of the first child precede those of the second, at any depth: not breadth
        // first.
        let parents = [None, Some(0), Some(0), Some(1), Some(2), Some(3)];
        let parents = parents.map(|parent: Option<u32>| parent.map(CallPathId));
        let wide = Forest::new(&parents, 0..6).rows(Order::Wide);
        assert_eq!(
            wide.into_iter().map(|id| id.0).collect::<Vec<_>>(),
            [0, 1, 2, 3, 5, 4]
        );
    }
}
