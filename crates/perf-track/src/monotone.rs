//! [`monotone`]: alignment of two short sequences as ascending pairs of elements with the largest
//! sum of gains.

/// Returns the best monotone alignment of `rows` with `columns`, as pairs in ascending order. Only pairs
/// with a gain above 0 are aligned.
pub(crate) fn monotone(
    rows: usize,
    columns: usize,
    gain: impl Fn(usize, usize) -> f64,
) -> Vec<(usize, usize)> {
    let width = columns + 1;
    let mut best = vec![0.0_f64; (rows + 1) * width];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let gain = gain(row, column);
            let skip = best[(row + 1) * width + column].max(best[row * width + column + 1]);
            let both = best[(row + 1) * width + column + 1] + gain.max(0.0);
            best[row * width + column] = skip.max(both);
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut pairs = Vec::new();
    while row < rows && column < columns {
        let here = best[row * width + column];
        let value = gain(row, column);
        if value > 0.0 && here <= best[(row + 1) * width + column + 1] + value {
            pairs.push((row, column));
            (row, column) = (row + 1, column + 1);
        } else if here <= best[(row + 1) * width + column] {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}
