//! [`Wire`]: trait for values that ranks send each other, encoded as bytes and decoded, with its
//! implementations for basic types, options, vectors and arrays.
//!
//! The encoding is little-endian. All ranks of a job run the same program, so there is no version
//! number. A wrong length cannot cause a large allocation, because lengths are compared with the
//! remaining bytes first.

use crate::Result;
pub use perf_core::codec::Reader;

/// Value with an encoding as bytes.
///
/// ```
/// use perf_mpi::{Reader, Wire};
/// let value = (7_u64, vec![Some(0.5_f64), None], String::from("solve"));
/// let bytes = value.to_bytes();
/// assert_eq!(<(u64, Vec<Option<f64>>, String)>::from_bytes(&bytes)?, value);
/// // A count that exceeds the available bytes is an error.
/// assert!(Vec::<u64>::from_bytes(&u64::MAX.to_bytes()).is_err());
/// # Ok::<(), perf_mpi::Error>(())
/// ```
pub trait Wire: Sized {
    /// Minimum number of bytes of a value, at least 1.
    const LEAST: usize;

    /// Appends the encoded value.
    fn write(&self, to: &mut Vec<u8>);

    /// Decodes a value.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Decode`](crate::Error::Decode) with the position of the error.
    fn read(from: &mut Reader<'_>) -> Result<Self>;

    /// Returns the encoded value.
    fn to_bytes(&self) -> Vec<u8> {
        let mut to = Vec::new();
        self.write(&mut to);
        to
    }

    /// Decodes a value from all of the bytes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`read`](Self::read), and [`Error::Decode`](crate::Error::Decode) if
    /// bytes are left over.
    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes);
        let value = Self::read(&mut from)?;
        from.end()?;
        Ok(value)
    }
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Wire for $type {
            const LEAST: usize = size_of::<$type>();

            fn write(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            fn read(from: &mut Reader<'_>) -> Result<Self> {
                Ok(<$type>::from_le_bytes(from.array("a number")?))
            }
        }
    )*};
}

number!(u8, u32, u64, i64, f32, f64);

impl Wire for bool {
    const LEAST: usize = 1;

    fn write(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        match u8::read(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(from.error(1, "a boolean (0 or 1)").into()),
        }
    }
}

/// Encoded with 64 bits.
impl Wire for usize {
    const LEAST: usize = 8;

    fn write(&self, to: &mut Vec<u8>) {
        (*self as u64).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let value = u64::read(from)?;
        Ok(usize::try_from(value).map_err(|_| from.error(8, "a number of this machine"))?)
    }
}

impl Wire for String {
    const LEAST: usize = 8;

    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        to.extend_from_slice(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let count = from.count64(1, "the length of a text in bytes")?;
        let bytes = from.bytes(count, "a text")?;
        let text = std::str::from_utf8(bytes).map_err(|_| from.error(count, "UTF-8"))?;
        Ok(text.to_owned())
    }
}

impl<T: Wire> Wire for Option<T> {
    const LEAST: usize = 1;

    fn write(&self, to: &mut Vec<u8>) {
        self.is_some().write(to);
        if let Some(value) = self {
            value.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        if bool::read(from)? {
            T::read(from).map(Some)
        } else {
            Ok(None)
        }
    }
}

impl<T: Wire> Wire for Vec<T> {
    const LEAST: usize = 8;

    fn write(&self, to: &mut Vec<u8>) {
        to.reserve(8 + self.len() * T::LEAST);
        self.len().write(to);
        for value in self {
            value.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let count = from.count64(T::LEAST, "the number of values")?;
        (0..count).map(|_| T::read(from)).collect()
    }
}

macro_rules! tuple {
    ($($name:ident $at:tt),*) => {
        impl<$($name: Wire),*> Wire for ($($name,)*) {
            const LEAST: usize = 0 $(+ $name::LEAST)*;

            fn write(&self, to: &mut Vec<u8>) {
                $(self.$at.write(to);)*
            }

            fn read(from: &mut Reader<'_>) -> Result<Self> {
                Ok(($($name::read(from)?,)*))
            }
        }
    };
}

tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);

impl<T: Wire, const N: usize> Wire for [T; N] {
    const LEAST: usize = N * T::LEAST;

    fn write(&self, to: &mut Vec<u8>) {
        for value in self {
            value.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let values: Result<Vec<T>> = (0..N).map(|_| T::read(from)).collect();
        let values = values?.try_into();
        Ok(values.map_err(|_| from.error(0, "the number of values"))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn cut_bytes_are_errors_with_their_place() {
        let value = (
            vec![(3_u32, String::from("halo")), (4, String::new())],
            Some([1.5_f64, -0.0]),
            true,
        );
        let bytes = value.to_bytes();
        type Value = (Vec<(u32, String)>, Option<[f64; 2]>, bool);
        assert_eq!(Value::from_bytes(&bytes).unwrap(), value);
        for end in 0..bytes.len() {
            let error = Value::from_bytes(&bytes[..end]).unwrap_err();
            assert!(
                matches!(error, Error::Decode { at, .. } if at <= end),
                "{error}"
            );
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(Value::from_bytes(&longer).is_err());
    }

    #[test]
    fn counts_make_no_room_that_bytes_cannot_fill() {
        for count in [u64::MAX, 1 << 40, 3] {
            let bytes = (count, 5_u64, 6_u64).to_bytes();
            assert!(Vec::<u64>::from_bytes(&bytes).is_err(), "{count}");
            assert!(String::from_bytes(&count.to_bytes()).is_err());
        }
        assert!(bool::from_bytes(&[2]).is_err());
    }
}
