//! Parallel loops, and their serial twins. Either way the results are in order.

use crate::Result;

/// `work` on each item, all results or the first error by position.
#[cfg(feature = "parallel")]
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Send + Sync,
) -> Result<Vec<R>> {
    use rayon::prelude::*;
    // Collected before errors are looked at, so that the one reported does not depend on threads.
    let results: Vec<Result<R>> = items.par_iter().map(work).collect();
    results.into_iter().collect()
}

/// `work` on each item, all results or the first error by position.
#[cfg(not(feature = "parallel"))]
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Send + Sync,
) -> Result<Vec<R>> {
    items.iter().map(work).collect()
}

/// `work` on pieces of at most `piece` columns of each row: row, first column, cells.
#[cfg(feature = "parallel")]
pub(crate) fn pieces<T: Send>(
    cells: &mut [T],
    columns: usize,
    piece: usize,
    work: impl Fn(usize, usize, &mut [T]) -> Result<()> + Sync,
) -> Result<()> {
    use rayon::prelude::*;
    let rows = cells.par_chunks_mut(columns.max(1)).enumerate();
    rows.try_for_each(|(row, cells)| {
        let pieces = cells.par_chunks_mut(piece.max(1)).enumerate();
        pieces.try_for_each(|(index, cells)| work(row, index * piece, cells))
    })
}

/// `work` on pieces of at most `piece` columns of each row: row, first column, cells.
#[cfg(not(feature = "parallel"))]
pub(crate) fn pieces<T: Send>(
    cells: &mut [T],
    columns: usize,
    piece: usize,
    work: impl Fn(usize, usize, &mut [T]) -> Result<()> + Sync,
) -> Result<()> {
    for (row, cells) in cells.chunks_mut(columns.max(1)).enumerate() {
        for (index, cells) in cells.chunks_mut(piece.max(1)).enumerate() {
            work(row, index * piece, cells)?;
        }
    }
    Ok(())
}

/// How many workspaces a fold can use at a time.
pub(crate) fn lanes() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    return 1;
}
