//! [`pair`]: pairs begin and end events into calls.

use super::names::Names;
use super::row::{Call, Edge, Mark, Row, RowKey};
use std::collections::HashMap;

/// Counts of unpaired begins and ends.
#[derive(Debug, Default)]
pub(in crate::timeline) struct Odd {
    /// Begins without an end.
    pub(in crate::timeline) begins: u64,
    /// Ends without a begin.
    pub(in crate::timeline) ends: u64,
    /// Ends of a call other than the innermost one.
    pub(in crate::timeline) crossed: u64,
}

/// Row index and mark.
type Loose = (usize, Mark);

/// Pairs the begins and ends of all rows into calls on the row of the begin.
///
/// An end with a name ends the last open call of that name. An end without a name ends the last open call. On
/// asynchronous rows, begins and ends that remain unpaired are paired across processes, because ids are global unless
/// the tag is local to a process. A begin without an end is ended at the last event of its row.
pub(in crate::timeline) fn pair(rows: &mut [Row], names: &Names) -> Odd {
    let mut odd = Odd::default();
    let (mut across, mut unpaired) = (Vec::new(), Vec::new());
    // Time of the last event on a row.
    let mut lasts = HashMap::new();
    for (number, row) in rows.iter_mut().enumerate() {
        let marks = std::mem::take(&mut row.marks);
        if marks.is_empty() {
            continue;
        }
        let last = row.calls.iter().map(|call| call.end);
        let last = last.chain(row.instants.iter().map(|it| it.at));
        lasts.insert(number, last.chain(marks.iter().map(|mark| mark.at)).max());
        let mut marks: Vec<Loose> = marks.into_iter().map(|mark| (number, mark)).collect();
        let loose = match row.key {
            RowKey::Async { .. } => &mut across,
            _ => &mut unpaired,
        };
        let calls = &mut row.calls;
        by_tag(&mut marks, names, &mut odd, loose, |_, call| {
            calls.push(call)
        });
    }
    by_tag(&mut across, names, &mut odd, &mut unpaired, |row, call| {
        if let Some(row) = rows.get_mut(row) {
            row.calls.push(call);
        }
    });
    for (number, mark) in unpaired {
        match (mark.edge, rows.get_mut(number)) {
            (Edge::Begin(region), Some(row)) => {
                odd.begins += 1;
                let last = lasts.get(&number).copied().flatten();
                row.calls
                    .push(call(mark.at, last.unwrap_or(mark.at).max(mark.at), region));
            }
            _ => odd.ends += 1,
        }
    }
    odd
}

fn call(start: i64, end: i64, region: u32) -> Call {
    Call {
        start,
        end,
        region,
        extra: 0,
    }
}

fn by_tag(
    marks: &mut [Loose],
    names: &Names,
    odd: &mut Odd,
    loose: &mut Vec<Loose>,
    mut tell: impl FnMut(usize, Call),
) {
    marks.sort_by_key(|(_, mark)| (mark.of, mark.at));
    for marks in marks.chunk_by(|(_, a), (_, b)| a.of == b.of) {
        let mut open = Open::default();
        for (row, mark) in marks {
            let name = match mark.edge {
                Edge::Begin(region) => {
                    open.begin((*row, *mark), names.text_of(region));
                    continue;
                }
                Edge::End(name) => name,
            };
            match open.end(name) {
                Some(((row, begin), is_last)) => {
                    odd.crossed += u64::from(!is_last);
                    if let Edge::Begin(region) = begin.edge {
                        tell(row, call(begin.at, mark.at, region));
                    }
                }
                None => loose.push((*row, *mark)),
            }
        }
        let left = open.begins.into_iter().flatten();
        loose.extend(left.map(|(begin, _)| begin));
    }
}

/// Stack of open calls, innermost last. Each operation takes amortised constant time.
#[derive(Debug, Default)]
struct Open {
    /// Begins with the numbers of their names; `None` for a call that is closed.
    begins: Vec<Option<(Loose, u32)>>,
    /// Indices into `begins` by name. An index may be outdated: its call is closed, or another begin has reused it.
    by_name: HashMap<u32, Vec<usize>>,
}

impl Open {
    fn begin(&mut self, begin: Loose, name: u32) {
        let own = self.by_name.entry(name).or_default();
        own.push(self.begins.len());
        self.begins.push(Some((begin, name)));
    }

    /// Returns the begin for an end, and `true` if it is the innermost open call. `None` if no call matches.
    fn end(&mut self, name: Option<u32>) -> Option<(Loose, bool)> {
        while let Some(None) = self.begins.last() {
            self.begins.pop();
        }
        let Some(name) = name else {
            let (begin, _) = self.begins.pop()??;
            return Some((begin, true));
        };
        let own = self.by_name.get_mut(&name)?;
        while let Some(at) = own.pop() {
            let is_last = at + 1 == self.begins.len();
            let slot = self.begins.get_mut(at);
            let slot = slot.filter(|slot| slot.is_some_and(|(_, own)| own == name));
            if let Some((begin, _)) = slot.and_then(Option::take) {
                return Some((begin, is_last));
            }
        }
        None
    }
}
