//! BP files of ADIOS: their versions, the indexes of their steps, and the blocks of their variables.

pub(super) mod bp3;
pub(super) mod bp4;
pub(super) mod bp5;
pub(super) mod bp_file;
pub(super) mod data_files;
pub(super) mod header;
pub(super) mod member;
pub(super) mod primitives;
pub(super) mod variables;
