//! [`spread`]: adds the counts of one histogram to the bins of another, in proportion to the
//! overlap of their bins.

use super::Histogram;

/// Part of a bin of the source that is not distributed yet.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Lower edge.
    lower: f64,
    /// Upper edge.
    upper: f64,
    /// Remaining count.
    count: u64,
}

impl Piece {
    /// Removes the part at or below `at`, and returns its count. The count of the smaller part is
    /// rounded half up; the larger part gets the rest.
    fn cut(&mut self, at: f64) -> u64 {
        if at >= self.upper {
            return std::mem::take(&mut self.count);
        }
        let all = self.count as f64;
        let fraction = (at - self.lower) / (self.upper - self.lower);
        let rest = 1.0 - fraction;
        let below = if rest > fraction {
            (fraction * all + 0.5).floor()
        } else {
            all - (rest * all + 0.5).floor()
        };
        let below = (below as u64).min(self.count);
        self.count -= below;
        self.lower = at;
        below
    }
}

/// Adds the counts of `source` to the bins of `target`, which span its range, in proportion to
/// their overlap. The total is kept: counts that rounding leaves outside of the outer edges go to
/// the outer bins.
pub(super) fn spread(source: &Histogram, target: &mut Histogram) {
    let last = target.counts().len() - 1;
    if source.min() == source.max() {
        // The edges have no meaning, because all values are equal.
        let bin = (0..=last).find(|&bin| source.max() <= upper_edge(target, bin));
        add(target, bin.unwrap_or(last), source.total());
        return;
    }
    let mut bin = 0;
    let start = target.edges(0).0;
    let mut upper = upper_edge(target, 0);
    let mut lower = source.edges(0).0;
    for (index, &count) in source.counts().iter().enumerate() {
        let mut piece = Piece {
            lower,
            upper: source.edges(index).1,
            count,
        };
        lower = piece.upper;
        if index == 0 && piece.lower < start {
            add(target, 0, piece.cut(start));
        }
        while upper < piece.upper && bin < last {
            if upper > piece.lower {
                add(target, bin, piece.cut(upper));
            }
            bin += 1;
            upper = upper_edge(target, bin);
        }
        add(target, bin, piece.count);
    }
}

fn add(target: &mut Histogram, bin: usize, more: u64) {
    if let Some(count) = target.counts_mut().get_mut(bin) {
        *count = count.saturating_add(more);
    }
}

/// Returns the upper edge of a bin, as merged histograms compute it.
fn upper_edge(histogram: &Histogram, bin: usize) -> f64 {
    histogram.edges(bin).1
}
