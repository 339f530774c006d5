//! SQL schema of the tables of a server, which are in the same database as the tables of the provenance store.

/// Version of the tables. Version 1 had no `live_body`, so the positions of models were dropped
/// with the clients.
pub(super) const VERSION: i64 = 2;

/// Tables of a server in the same database, so that one transaction contains a whole batch of
/// messages.
///
/// * `live_client`: registered clients, with their last delta and bundle of records. The delta is
///   the last delta in the stored state; later deltas are in the log.
/// * `live_model`: numbers of the models of clients in the store, and their positions.
/// * `live_body`: permanent positions of the models by number, because records refer to them even
///   after their client was forgotten. Numbers that an earlier version assigned twice have two
///   rows.
/// * `live_state`, `live_log`: the state of the server in parts, and the deltas since, in order of
///   arrival.
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

/// Query for the numbers and positions of all models, which finds models by their lines. Calls,
/// which are far more numerous, are excluded by kind, and all other lines are JSON.
pub(super) const MODELS: &str = "(select json_extract(body, '$.id') number, id entry from entry
    where case when id in (select id from call) or not json_valid(body) then 0
        else json_extract(body, '$.type') = 'model' and json_type(body, '$.id') = 'integer' end)";

/// Reinterprets a client number as a signed integer of the database.
pub(super) fn bits(number: u64) -> i64 {
    number.cast_signed()
}

/// Clamps a count or step to the integers of the database.
pub(super) fn bound(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
