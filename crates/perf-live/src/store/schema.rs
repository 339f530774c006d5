//! Tables beside those of the provenance store.

/// Version of the tables. In version 1 there was no `live_body`: where numbers led was forgotten with the clients.
pub(super) const VERSION: i64 = 2;

/// What a server keeps in the same database, so that one transaction has all of a batch of messages.
///
/// * `live_client`: who said hello, and the last delta and bundle of records of it. The delta is that of
///   the last stored state; later ones are in the log.
/// * `live_model`: the numbers that models of clients have in the store, and where they are.
/// * `live_body`: where the models of these numbers are, for good: records name them, whatever becomes of who
///   sent them. What an earlier version gave out twice has two rows.
/// * `live_state`, `live_log`: the state of the server in parts, and the deltas since, as they came.
/// * `live_step`: steps of ranks that had an anomaly; `live_total`: all steps of programs.
pub(super) const TABLES: &str = "
create table if not exists live_fact (name text primary key, value any) without rowid;
create table if not exists live_program (program integer primary key, name text not null);
create table if not exists live_client (
  client integer primary key, program integer not null, rank integer not null, host text not null,
  delta integer not null, records integer not null);
create table if not exists live_model (
  client integer not null, id integer not null, number integer not null, entry integer not null,
  primary key (client, id)) without rowid;
create table if not exists live_body (
  number integer not null, entry integer not null, primary key (number, entry)) without rowid;
create table if not exists live_state (part integer primary key, body blob not null);
create table if not exists live_log (id integer primary key, body blob not null);
create table if not exists live_step (
  program integer not null, rank integer not null, step integer not null,
  first integer not null, last integer not null,
  slow integer not null, fast integer not null, time integer not null,
  primary key (program, rank, step)) without rowid;
create index if not exists live_step_step on live_step (program, step);
create table if not exists live_total (
  program integer not null, step integer not null,
  calls integer not null, slow integer not null, fast integer not null, time integer not null,
  primary key (program, step)) without rowid;
";

/// Numbers and places of all models, found by their lines, of those that are numbers: not of calls, of which there are
/// many more, and nothing else has a line that is no JSON.
pub(super) const MODELS: &str = "(select json_extract(body, '$.id') number, id entry from entry
    where case when id in (select id from call) or not json_valid(body) then 0
        else json_extract(body, '$.type') = 'model' and json_type(body, '$.id') = 'integer' end)";

/// Integers of the database have 63 bits and a sign: client numbers keep their bits, counts are bounded.
pub(super) fn bits(number: u64) -> i64 {
    number.cast_signed()
}

/// A count or step, as far as the database can hold it.
pub(super) fn bound(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
