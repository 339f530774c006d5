//! [`DataType`]: data types of Cube metrics: their names, the decoding and encoding of rows, and
//! the types of the values in a profile.

use perf_core::{Combine, Severities, ValueType};

/// Layout of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cube) enum DataType {
    Signed(u8),
    Unsigned(u8),
    Double,
    Min,
    Max,
    /// u32 count, then minimum, maximum, sum, sum of squares as f64, without padding.
    TauAtomic,
    /// Floats that are added component-wise: RATE, COMPLEX, NDOUBLES(n).
    Doubles(u32),
    /// Minimum, maximum, n bins.
    Histogram(u32),
    /// 27 coefficients.
    ScaleFunction,
}

const SCALE_FUNCTION: u32 = 27;

impl DataType {
    /// Returns the data type for a name. Some names have aliases.
    pub(in crate::cube) fn named(name: &str) -> Option<Self> {
        let name = name.trim();
        Some(match name {
            "DOUBLE" | "FLOAT" => DataType::Double,
            "INT64" | "INTEGER" => DataType::Signed(8),
            "UINT64" | "UNSIGNED INTEGER" => DataType::Unsigned(8),
            "INT32" | "INT" => DataType::Signed(4),
            "UINT32" | "UNSIGNED INT" => DataType::Unsigned(4),
            "INT16" | "SHORT INT" => DataType::Signed(2),
            "UINT16" | "UNSIGNED SHORT INT" => DataType::Unsigned(2),
            "INT8" | "CHAR" => DataType::Signed(1),
            "UINT8" | "UNSIGNED CHAR" => DataType::Unsigned(1),
            "MINDOUBLE" => DataType::Min,
            "MAXDOUBLE" => DataType::Max,
            "TAU_ATOMIC" => DataType::TauAtomic,
            "RATE" | "COMPLEX" => DataType::Doubles(2),
            "SCALE_FUNC" => DataType::ScaleFunction,
            _ => {
                let (kind, count) = name.strip_suffix(')')?.split_once('(')?;
                let count = count.trim().parse().ok().filter(|count| *count > 0)?;
                match kind.trim() {
                    "NDOUBLES" => DataType::Doubles(count),
                    "HISTOGRAM" => DataType::Histogram(count),
                    _ => return None,
                }
            }
        })
    }

    /// Returns name and layout for values of a type with this combination and number of floats.
    pub(in crate::cube) fn for_values(kind: ValueType, combine: Combine) -> (String, Self) {
        let (name, kind) = match (combine, kind) {
            (Combine::Minimum, _) => ("MINDOUBLE", DataType::Min),
            (Combine::Maximum, _) => ("MAXDOUBLE", DataType::Max),
            (Combine::Statistics, _) => ("TAU_ATOMIC", DataType::TauAtomic),
            (Combine::Histogram(bins), _) => {
                return (format!("HISTOGRAM({bins})"), DataType::Histogram(bins));
            }
            (Combine::Never(SCALE_FUNCTION), _) => ("SCALE_FUNC", DataType::ScaleFunction),
            (Combine::Elementwise(count) | Combine::Never(count), _) if count > 1 => {
                return (format!("NDOUBLES({count})"), DataType::Doubles(count));
            }
            (_, ValueType::U64) => ("UINT64", DataType::Unsigned(8)),
            (_, ValueType::I64) => ("INT64", DataType::Signed(8)),
            (_, ValueType::F64) => ("DOUBLE", DataType::Double),
        };
        (name.into(), kind)
    }

    /// Returns the size of a value in bytes.
    pub(in crate::cube) fn size(self) -> u64 {
        match self {
            DataType::Signed(size) | DataType::Unsigned(size) => size.into(),
            DataType::Double | DataType::Min | DataType::Max => 8,
            DataType::TauAtomic => 36,
            DataType::Doubles(count) => 8 * u64::from(count),
            DataType::Histogram(bins) => 16 + 8 * u64::from(bins),
            DataType::ScaleFunction => 8 * u64::from(SCALE_FUNCTION),
        }
    }

    pub(in crate::cube) fn value_type(self) -> ValueType {
        match self {
            DataType::Signed(_) => ValueType::I64,
            DataType::Unsigned(_) => ValueType::U64,
            _ => ValueType::F64,
        }
    }

    pub(in crate::cube) fn combine(self) -> Combine {
        match self {
            DataType::Signed(_) | DataType::Unsigned(_) | DataType::Double => Combine::Sum,
            DataType::Min => Combine::Minimum,
            DataType::Max => Combine::Maximum,
            DataType::TauAtomic => Combine::Statistics,
            DataType::Doubles(count) => Combine::Elementwise(count),
            DataType::Histogram(bins) => Combine::Histogram(bins),
            DataType::ScaleFunction => Combine::Never(SCALE_FUNCTION),
        }
    }

    /// Returns `true` if the layout of a row is the same in memory and in the file.
    pub(in crate::cube) fn is_in_memory(self, is_big: bool) -> bool {
        let is_whole = match self {
            DataType::Double | DataType::Min | DataType::Max | DataType::Doubles(1) => true,
            DataType::Unsigned(size) | DataType::Signed(size) => size == 8,
            _ => false,
        };
        is_whole && is_big == cfg!(target_endian = "big")
    }

    /// Resizes `row` to `size` bytes and returns its bytes to be filled. Their initial content is
    /// unspecified. The type must have the [same layout](Self::is_in_memory) in memory and in the
    /// file.
    pub(in crate::cube) fn in_memory(self, row: &mut Severities, size: u64) -> &mut [u8] {
        fn bytes<T: bytemuck::Pod>(values: &mut Vec<T>, len: usize) -> &mut [u8] {
            if values.is_empty() {
                // A fresh buffer takes zeroed pages from the system, which is cheaper than clearing
                // an old one.
                *values = vec![T::zeroed(); len];
            } else {
                values.resize(len, T::zeroed());
            }
            bytemuck::cast_slice_mut(values)
        }
        let len = usize::try_from(size / 8).unwrap_or(usize::MAX);
        let is_same = matches!(
            (self.value_type(), &*row),
            (ValueType::U64, Severities::U64(_))
                | (ValueType::I64, Severities::I64(_))
                | (ValueType::F64, Severities::F64(_))
        );
        if !is_same {
            *row = Severities::zeros(self.value_type(), 0);
        }
        match row {
            Severities::U64(values) => bytes(values, len),
            Severities::I64(values) => bytes(values, len),
            Severities::F64(values) | Severities::Tuples { values, .. } => bytes(values, len),
        }
    }

    /// Decodes a row.
    pub(in crate::cube) fn decode(self, bytes: &[u8], is_big: bool) -> Severities {
        fn numbers<const N: usize, T>(bytes: &[u8], swap: bool, f: fn([u8; N]) -> T) -> Vec<T> {
            let (chunks, _) = bytes.as_chunks::<N>();
            // Two loops, so that the one for the native byte order compiles to a copy.
            if swap {
                let swapped = chunks.iter().map(|chunk| {
                    let mut chunk = *chunk;
                    chunk.reverse();
                    f(chunk)
                });
                swapped.collect()
            } else {
                chunks.iter().map(|chunk| f(*chunk)).collect()
            }
        }
        let doubles = |bytes: &[u8]| numbers(bytes, is_big, f64::from_le_bytes);
        let unsigned = Severities::U64;
        let signed = Severities::I64;
        match self {
            DataType::Unsigned(8) => unsigned(numbers(bytes, is_big, u64::from_le_bytes)),
            DataType::Unsigned(4) => {
                unsigned(numbers(bytes, is_big, |b| u32::from_le_bytes(b).into()))
            }
            DataType::Unsigned(2) => {
                unsigned(numbers(bytes, is_big, |b| u16::from_le_bytes(b).into()))
            }
            DataType::Unsigned(_) => unsigned(bytes.iter().map(|b| u64::from(*b)).collect()),
            DataType::Signed(8) => signed(numbers(bytes, is_big, i64::from_le_bytes)),
            DataType::Signed(4) => signed(numbers(bytes, is_big, |b| i32::from_le_bytes(b).into())),
            DataType::Signed(2) => signed(numbers(bytes, is_big, |b| i16::from_le_bytes(b).into())),
            DataType::Signed(_) => {
                signed(bytes.iter().map(|b| i64::from(b.cast_signed())).collect())
            }
            DataType::Double | DataType::Min | DataType::Max => Severities::F64(doubles(bytes)),
            DataType::TauAtomic => {
                let (chunks, _) = bytes.as_chunks::<36>();
                let mut values = Vec::with_capacity(chunks.len() * 5);
                for chunk in chunks {
                    let (count, rest) = chunk.split_at(4);
                    let count = numbers(count, is_big, u32::from_le_bytes);
                    values.extend(count.into_iter().map(f64::from));
                    values.extend(doubles(rest));
                }
                Severities::Tuples { width: 5, values }
            }
            DataType::Doubles(1) => Severities::F64(doubles(bytes)),
            DataType::Doubles(_) | DataType::Histogram(_) | DataType::ScaleFunction => {
                Severities::Tuples {
                    width: self.combine().width(),
                    values: doubles(bytes),
                }
            }
        }
    }

    /// Appends a row in little-endian order. Returns `None` if a value does not fit or the row has
    /// another type.
    pub(in crate::cube) fn encode(self, row: &Severities, bytes: &mut Vec<u8>) -> Option<()> {
        match (self, row) {
            (DataType::Unsigned(size), Severities::U64(values)) => {
                for value in values {
                    let all = value.to_le_bytes();
                    let (kept, lost) = all.split_at(size.into());
                    lost.iter().all(|byte| *byte == 0).then_some(())?;
                    bytes.extend_from_slice(kept);
                }
            }
            (DataType::Signed(size), Severities::I64(values)) => {
                let sign = u32::from(size) * 8 - 1;
                for value in values {
                    // The value fits if all bits from the sign bit on are equal.
                    matches!(*value >> sign, 0 | -1).then_some(())?;
                    bytes.extend_from_slice(&value.to_le_bytes()[..usize::from(size)]);
                }
            }
            (DataType::Double | DataType::Min | DataType::Max, Severities::F64(values)) => {
                values
                    .iter()
                    .for_each(|value| bytes.extend(value.to_le_bytes()));
            }
            (DataType::Doubles(1), Severities::F64(values)) => {
                values
                    .iter()
                    .for_each(|value| bytes.extend(value.to_le_bytes()));
            }
            (DataType::TauAtomic, Severities::Tuples { width: 5, values }) => {
                for tuple in values.chunks(5) {
                    let count = tuple[0];
                    let fits = (0.0..=f64::from(u32::MAX)).contains(&count);
                    (fits && count.fract() == 0.0).then_some(())?;
                    bytes.extend((count as u32).to_le_bytes());
                    tuple[1..]
                        .iter()
                        .for_each(|value| bytes.extend(value.to_le_bytes()));
                }
            }
            (
                DataType::Doubles(_) | DataType::Histogram(_) | DataType::ScaleFunction,
                Severities::Tuples { width, values },
            ) if *width == self.combine().width() => {
                values
                    .iter()
                    .for_each(|value| bytes.extend(value.to_le_bytes()));
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let samples = [
            ("UINT8", Severities::U64(vec![0, 255])),
            ("UINT16", Severities::U64(vec![1, 65_535])),
            ("UINT64", Severities::U64(vec![u64::MAX])),
            ("CHAR", Severities::I64(vec![-128, 127, 0, -1])),
            (
                "INT",
                Severities::I64(vec![i32::MIN.into(), i32::MAX.into()]),
            ),
            ("INTEGER", Severities::I64(vec![i64::MIN, i64::MAX])),
            ("FLOAT", Severities::F64(vec![0.5, -0.0])),
            (
                "TAU_ATOMIC",
                Severities::Tuples {
                    width: 5,
                    values: vec![2.0, 1.0, 3.0, 4.0, 10.0],
                },
            ),
            (
                "HISTOGRAM(2)",
                Severities::Tuples {
                    width: 4,
                    values: vec![1.0, 3.0, 4.0, 10.0],
                },
            ),
        ];
        for (name, row) in samples {
            let kind = DataType::named(name).unwrap();
            let mut bytes = Vec::new();
            kind.encode(&row, &mut bytes).unwrap();
            assert_eq!(bytes.len() as u64, kind.size() * row.len() as u64, "{name}");
            assert_eq!(kind.decode(&bytes, false), row, "{name}");
        }
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let mut bytes = Vec::new();
        for (name, row) in [
            ("UINT8", Severities::U64(vec![256])),
            ("INT8", Severities::I64(vec![128])),
            ("INT8", Severities::I64(vec![-129])),
            ("INT32", Severities::U64(vec![1])),
        ] {
            let kind = DataType::named(name).unwrap();
            assert_eq!(kind.encode(&row, &mut bytes), None, "{name}");
        }
        assert_eq!(DataType::named("NDOUBLES(0)"), None);
        assert_eq!(DataType::named("NDOUBLES(x"), None);
    }
}
