//! [`training`] and [`collective`]: store the `args` of a training job's operation (step, sequence)
//! or of a collective operation (group, root, bytes) as arguments of a call in a [`Part`].

use super::event::Raw;
use crate::json::{Cursor, Token, integer};
use crate::timeline::{Argument, Extra, Part};
use perf_core::CollectiveOp;

/// Keeps the numbers of an operation of a training job.
#[cold]
pub(super) fn training(
    part: &mut Part,
    raw: &Raw<'_>,
    (start, end): (i64, i64),
    extra: &mut Extra,
) {
    // The text has been read once without a fault.
    let _ = Cursor::new(raw.args.text).object(|key, cursor| {
        let value = integer(cursor.value()?.bytes());
        let name = match key {
            b"step" => Argument::Step,
            b"seq_id" => Argument::Sequence,
            b"model_chunk" => Argument::ModelChunk,
            b"mb_id" => Argument::MicroBatch,
            _ => return Ok(()),
        };
        if let Some(value) = value {
            part.argument(extra, name, value);
        }
        Ok(())
    });
    // The duration of communication counts from the begin of the last participant.
    if end < start {
        let length = end.saturating_sub(start).cast_unsigned();
        part.argument(extra, Argument::Duration, (length, true));
    }
}

/// Keeps operation, group, number and bytes of a collective operation.
#[cold]
pub(super) fn collective(part: &mut Part, raw: &Raw<'_>, extra: &mut Extra) {
    let [
        mut name,
        mut group,
        mut ranks,
        mut number,
        mut sent,
        mut received,
        mut data,
        mut root,
    ] = [Token::Missing; 8];
    // The text has been read once without a fault.
    let _ = Cursor::new(raw.args.text).object(|key, cursor| {
        let value = cursor.value()?;
        match key {
            b"Collective name" => name = value,
            b"Process Group Name" => group = value,
            b"Process Group Ranks" => ranks = value,
            b"Seq" => number = value,
            b"In msg nelems" => sent = value,
            b"Out msg nelems" => received = value,
            b"dtype" => data = value,
            b"Is root" => root = value,
            _ => {}
        }
        Ok(())
    });
    let Some(op) = operation(name.bytes()) else {
        return;
    };
    part.argument(extra, Argument::Collective, (u64::from(op.code()), false));
    if group.scalar().is_some() || ranks.scalar().is_some() {
        let group = part.group(group.bytes(), ranks.bytes());
        if let Some(group) = group {
            part.argument(extra, Argument::Group, (u64::from(group), false));
        }
    }
    if let Some(number) = integer(number.bytes()) {
        part.argument(extra, Argument::Number, number);
    }
    if let Some(root) = integer(root.bytes()) {
        part.argument(extra, Argument::Root, root);
    }
    let size = element_size(data.bytes());
    for (argument, token) in [(Argument::Sent, sent), (Argument::Received, received)] {
        let count = integer(token.bytes()).filter(|it| !it.1);
        if let Some(bytes) = count
            .zip(size)
            .and_then(|(it, size)| it.0.checked_mul(size))
        {
            part.argument(extra, argument, (bytes, false));
        }
    }
}

/// Returns the operation of a name. Those with lists of sizes and prefix operations are those of MPI.
fn operation(name: &[u8]) -> Option<CollectiveOp> {
    Some(match name {
        b"gatherv" => CollectiveOp::Gatherv,
        b"scatterv" => CollectiveOp::Scatterv,
        b"allgatherv" => CollectiveOp::Allgatherv,
        b"alltoallv" => CollectiveOp::Alltoallv,
        b"alltoallw" => CollectiveOp::Alltoallw,
        b"scan" => CollectiveOp::Scan,
        b"exscan" => CollectiveOp::Exscan,
        name => return CollectiveOp::of_name(std::str::from_utf8(name).ok()?),
    })
}

/// Returns the bytes of an element of a type of PyTorch.
fn element_size(name: &[u8]) -> Option<u64> {
    match name {
        b"Byte" | b"Char" | b"Bool" => Some(1),
        b"Short" | b"Half" | b"BFloat16" => Some(2),
        b"Int" | b"Float" | b"ComplexHalf" => Some(4),
        b"Long" | b"Double" | b"ComplexFloat" => Some(8),
        b"ComplexDouble" => Some(16),
        name if name.starts_with(b"Float8") => Some(1),
        _ => None,
    }
}
