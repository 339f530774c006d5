//! Cube profiles: CUBE4 archives (`.cubex`), read and written, and Cube3 documents (`.cube`), read.
//!
//! A `.cubex` is a tar archive with an XML document, `anchor.xml`, and for each metric an index and
//! a matrix of call paths by locations. [`Cube`] opens one and [`write()`] makes one.
//!
//! # Cost
//! Opening reads the anchor and the indices, through little memory; a row costs its bytes. Rows asked
//! for one after the other are read ahead and into the memory of the row before, once that was let
//! go; up to 2 MiB of such rows stay, since call paths are often not in the order of the file. Packed
//! rows cost what zlib takes.
//!
//! All rows of an unpacked file take little more than their bytes do: of 105.9 MB in rows of 32 KiB
//! 17 ms of processor time, where a loop in C that reads these bytes and adds them up takes 17 ms, too,
//! and pycubexr 167 ms (cached, Linux, two cores of a virtual machine). No reader that copies bytes from
//! the system could be 20 times as fast as pycubexr there. With rows of 512 bytes, 9.2 MB, opening is
//! some 2 of 5.3 ms, against 1.9 ms for the bytes alone and 70 ms. `cargo xtask compare cube`
//! measures it.
//!
//! # Limits
//! | what | how far it goes |
//! |---|---|
//! | file | any size; one that is packed as a whole, and a Cube3 document, are held in memory: unpacked 4 GiB, or what [`Limits::memory`](perf_core::Limits::memory) says |
//! | metrics, regions, call paths, locations, members, grids | [`Limits::definitions`](perf_core::Limits::definitions) of each |
//! | nesting of elements, depth of call paths and of the machine | [`Limits::depth`](perf_core::Limits::depth) |
//! | text of an element | [`Limits::string`](perf_core::Limits::string) bytes |
//! | rows | one for each call path; places are 64 bits wide, also past 2^32 values a metric |
//! | bit-vector indices (kind 2) | an error: the format dropped them |
//! | derived metrics | `POSTDERIVED` ones of numbers, `metric::NAME(i)`, `(e)` or `()`, `+ - * /`, `min`, `max` and parentheses, nested 100 deep; a ratio by zero is 0 of 0, else the largest number. An expression that is not 0 of zeros has rows everywhere. All others, `PREDERIVED` ones and those with `cubeplinit` among them, are kept as [properties](property), without values, and counted |
//! | clustered iterations | counted, not expanded: clusters stand for iterations |
//! | `remapping.spec` and other free members | kept as bytes, [`Cube::member`], and written by [`Cube::write`]; [`write()`] counts them as lost |
//! | values | as they are stored, in their type; a histogram or tuple is not shown in other units |
//! | writing | stored metrics of all types; grids over ranks of a communicator, which the format has no place for, are counted and left out; Cube3 is not written |

mod anchor;
mod cubepl;
mod derived;
mod dtype;
mod format;
mod index;
mod names;
mod order;
mod read;
mod resolve;
mod rows;
pub mod rules;
mod tar;
mod text;
mod write;

pub use format::FORMAT;
pub use names::property;
pub use read::Cube;
pub use write::{Layout, WriteOptions, write};
