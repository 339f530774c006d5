//! Tests of trends, time balance and versions.

mod time_balance;
mod trends;
mod versions;
