//! Cube profiles: CUBE4 archives (`.cubex`), read and written, and Cube3 documents (`.cube`), read.
//!
//! A `.cubex` is a tar archive with an XML document, `anchor.xml`, and for each metric an index and
//! a matrix of call paths by locations. [`Cube`] opens one and [`write()`] creates one.
//!
//! # Cost
//!
//! Opening reads the anchor and the indices through a small buffer. Rows are read on request.
//! Consecutive rows are read ahead, and the memory of a row is reused after it was released. Up to
//! 2 MiB of such data are kept, because the order of call paths often differs from the order of the
//! file. Compressed rows cost the time of zlib. On Unix, each thread that reads long rows opens the
//! file again, up to 16 times in all, because reading several rows with one call uses the position of
//! the file.
//!
//! Reading all rows of an uncompressed file costs little more than reading its bytes: 17 ms of CPU
//! time for 105.9 MB in rows of 32 KiB. A C loop that reads and adds up these bytes takes 17 ms as
//! well, and pycubexr 167 ms (cached, Linux, two cores of a virtual machine). With rows of 512
//! bytes (9.2 MB), it takes 5.3 ms, of which opening takes about 2 ms. Reading only the bytes takes
//! 1.9 ms, and pycubexr 70 ms. `cargo xtask compare cube` measures these figures.
//!
//! # Limits
//!
//! | subject | limit |
//! |---|---|
//! | file | any size; a file that is compressed as a whole and a Cube3 document are held in memory: 4 GiB uncompressed, or [`Limits::memory`](perf_core::Limits::memory) |
//! | metrics, regions, call paths, locations, members, grids | [`Limits::definitions`](perf_core::Limits::definitions) of each |
//! | nesting of elements, depth of call paths and of the machine | [`Limits::depth`](perf_core::Limits::depth) |
//! | text of an element | [`Limits::string`](perf_core::Limits::string) bytes |
//! | rows | one for each call path; positions have 64 bits, also beyond 2^32 values in a metric |
//! | bit-vector indices (kind 2) | an error: the format has dropped them |
//! | derived metrics | CubePL with numbers, texts, `metric::NAME(i)`, `(e)` or `()`, variables and arrays, facts of regions and call paths, arithmetic, comparisons, regular expressions, `if`, `while` and `global`, nested up to 100 levels. 0 / 0 is 0, other ratios by zero are the largest number. A call path has a row if an input has one there or below, or if the value is not 0 without inputs. Metrics with other parts, such as `cubeplaggr` or `metric::call::`, are kept as [properties](property), without values, and counted with line and column. Programs run when a row is read, up to a million statements for each call path; the job of opening cancels them |
//! | clustered iterations | counted, not expanded: clusters represent several iterations |
//! | `remapping.spec` and other free members | kept as bytes, [`Cube::member`], and written by [`Cube::write`]; [`write()`] counts them as lost |
//! | values | returned in their stored type; a histogram or tuple is not converted to other units |
//! | writing | stored metrics of all types; grids over ranks of a communicator, which the format cannot represent, are counted and dropped; Cube3 is not written |

mod anchor;
mod cubepl;
mod derived;
mod format;
mod names;
mod read;
mod remap;
mod resolve;
mod rows;
pub mod rules;
mod tar;
mod write;

use rows::{cube3_rows, cubex_rows, data_type, index, row_order};

pub use format::FORMAT;
pub use names::property;
pub use read::Cube;
pub use remap::remap;
pub use write::{Layout, WriteOptions, write};
