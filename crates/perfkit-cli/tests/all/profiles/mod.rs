//! Profiles: tables by rank, scopes of values, and computed profiles.

mod by_rank;
mod profile_algebra;
mod scope;
