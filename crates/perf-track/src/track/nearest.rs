//! The nearest of many points: a k-d tree that is built once and only asked.

/// Points of a leaf: below, looking at all is faster than going down.
const LEAF: usize = 12;

/// A k-d tree over points with a class each.
///
/// Of points at equal distance the one of the lowest class wins, so that the answer does not depend
/// on the order of points.
#[derive(Debug)]
pub(crate) struct Nearest {
    dimensions: usize,
    /// Coordinates, in the order of the tree.
    coordinates: Vec<f64>,
    classes: Vec<u32>,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    start: u32,
    end: u32,
    /// Dimension and place of the cut, and the second child; the first one follows its parent.
    cut: Option<(u32, f64, u32)>,
}

impl Nearest {
    /// A tree over points (rows of `dimensions` coordinates) and their classes.
    pub(crate) fn new(dimensions: usize, coordinates: &[f64], classes: &[u32]) -> Self {
        let mut order: Vec<u32> = (0..classes.len() as u32).collect();
        let mut nodes = Vec::new();
        let point = |at: u32| &coordinates[at as usize * dimensions..][..dimensions];
        grow(&mut nodes, &mut order, 0, dimensions, &point);
        let mut sorted = Vec::with_capacity(coordinates.len());
        for &at in &order {
            sorted.extend_from_slice(point(at));
        }
        Nearest {
            dimensions,
            coordinates: sorted,
            classes: order.iter().map(|&at| classes[at as usize]).collect(),
            nodes,
        }
    }

    /// Class of the nearest point and the square of its distance; `None` without points.
    pub(crate) fn find(&self, query: &[f64]) -> Option<(u32, f64)> {
        let mut best = (u32::MAX, f64::INFINITY);
        if !self.classes.is_empty() {
            self.visit(0, query, &mut best);
        }
        (best.0 != u32::MAX).then_some(best)
    }

    fn visit(&self, node: usize, query: &[f64], best: &mut (u32, f64)) {
        let Node { start, end, cut } = &self.nodes[node];
        let Some((axis, place, second)) = *cut else {
            for at in *start as usize..*end as usize {
                let point = &self.coordinates[at * self.dimensions..][..self.dimensions];
                let square = squared(point, query);
                let class = self.classes[at];
                if square < best.1 || (square == best.1 && class < best.0) {
                    *best = (class, square);
                }
            }
            return;
        };
        let beyond = query[axis as usize] - place;
        let (near, far) = match beyond < 0.0 {
            true => (node + 1, second as usize),
            false => (second as usize, node + 1),
        };
        self.visit(near, query, best);
        // Equal distances are looked at, too: a lower class may be there.
        if beyond * beyond <= best.1 {
            self.visit(far, query, best);
        }
    }
}

/// The square of the Euclidean distance.
pub(crate) fn squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn grow<'c>(
    nodes: &mut Vec<Node>,
    order: &mut [u32],
    start: usize,
    dimensions: usize,
    point: &impl Fn(u32) -> &'c [f64],
) {
    let at = nodes.len();
    nodes.push(Node {
        start: start as u32,
        end: (start + order.len()) as u32,
        cut: None,
    });
    if order.len() <= LEAF {
        return;
    }
    let extent = |axis: usize| {
        let values = order.iter().map(|&of| point(of)[axis]);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (v.min(low), v.max(high))
        });
        high - low
    };
    let widest = (0..dimensions).map(|axis| (axis, extent(axis)));
    let (axis, width) = widest.fold(
        (0, 0.0),
        |best, next| if next.1 > best.1 { next } else { best },
    );
    if width <= 0.0 {
        // All alike: of equal points the lowest class wins, wherever it is.
        return;
    }
    let middle = order.len() / 2;
    let (_, median, _) =
        order.select_nth_unstable_by(middle, |&a, &b| point(a)[axis].total_cmp(&point(b)[axis]));
    let place = point(*median)[axis];
    let (first, second) = order.split_at_mut(middle);
    grow(nodes, first, start, dimensions, point);
    let other = nodes.len() as u32;
    grow(nodes, second, start + middle, dimensions, point);
    nodes[at].cut = Some((axis as u32, place, other));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_looking_at_all(
            dimensions in 1usize..4,
            // Few values, so that distances are often equal.
            raw in prop::collection::vec((0u8..9, 0u8..9, 0u8..9, 0u32..5), 0..120),
            query in prop::collection::vec(-2i8..11, 3),
        ) {
            let mut coordinates = Vec::new();
            for &(x, y, z, _) in &raw {
                coordinates.extend([x, y, z].map(f64::from).into_iter().take(dimensions));
            }
            let classes: Vec<u32> = raw.iter().map(|point| point.3).collect();
            let query: Vec<f64> = query.iter().take(dimensions).map(|&v| f64::from(v) / 2.0).collect();
            let all = coordinates.chunks(dimensions).zip(&classes);
            let naive = all
                .map(|(point, &class)| (class, squared(point, &query)))
                .min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            prop_assert_eq!(Nearest::new(dimensions, &coordinates, &classes).find(&query), naive);
        }
    }
}
