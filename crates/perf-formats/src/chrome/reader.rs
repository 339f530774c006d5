//! [`read()`]: reads one Chrome trace file into a [`Part`]: the array of events, and around it the
//! properties, devices and rank in the outer object.

use super::event::Raw;
use super::phases::Phases;
use super::rules;
use crate::json::{Cursor, Element, Elements, End, Got, More, Next, Source, Stop, Token, integer};
use crate::read_context::ReadContext;
use crate::timeline::{MemoryBudget, Part};
use crate::{Error, Result};
use perf_core::Place;

/// Longest value of the outer object that is kept as a property, in bytes.
const PROPERTY: usize = 256;

/// Reads a file.
pub(super) fn read(
    mut source: Source,
    options: &ReadContext,
    budget: &MemoryBudget,
) -> Result<Part> {
    let part = Part::new(source.name(), budget);
    let mut phases = Phases::new(part);
    let expected = "an object with `traceEvents`, or an array of events";
    if source.peek()? == Some(0xef) {
        // Skip the byte order mark.
        source.take(3);
    }
    let is_whole = match source.peek()? {
        Some(b'[') => array(&mut source, &mut phases, options, true)?,
        Some(b'{') => object(&mut source, &mut phases, options)?,
        None => return Err(source.ended(expected)),
        Some(byte) => {
            return Err(Error::Malformed {
                place: source.place(),
                expected: expected.into(),
                got: format!("byte {byte:#04x}"),
            });
        }
    };
    let place = source.place();
    let has_more = is_whole && source.peek()?.is_some();
    if source.damage().is_some() {
        phases.part.found.add(rules::DAMAGED, place);
    } else if has_more {
        phases.part.found.add(rules::TRAILING, place);
    }
    Ok(phases.finish())
}

/// Reads the members of the object; returns `false` if the text ends within it.
fn object(source: &mut Source, phases: &mut Phases, options: &ReadContext) -> Result<bool> {
    source.take(1);
    let mut has_events = false;
    source.stop_at(Some("\"traceEvents\""));
    loop {
        let next = source.next_key()?;
        let key = match next {
            Next::Key(key) => key,
            Next::Close if has_events => return Ok(true),
            Next::Close => {
                let place = source.place();
                if !source.find_key("traceEvents")? {
                    return Err(Error::Malformed {
                        place,
                        expected: "`traceEvents`".into(),
                        got: "an object without this key".into(),
                    });
                }
                damaged(phases, place, "`traceEvents`");
                continue;
            }
            Next::End if has_events => {
                let place = source.place();
                phases.part.found.add(rules::TRUNCATED, place);
                return Ok(false);
            }
            Next::End => return Err(source.ended("`traceEvents`")),
            Next::Bad(expected) if has_events => {
                let place = source.place().record(format!("expected {expected}"));
                phases.part.found.add(rules::MALFORMED, place);
                return Ok(false);
            }
            Next::Bad(expected) => {
                let place = source.place();
                if !source.find_key("traceEvents")? {
                    return Err(Error::Malformed {
                        place,
                        expected: expected.into(),
                        got: "another text, and no `traceEvents` after it".into(),
                    });
                }
                damaged(phases, place, expected);
                continue;
            }
        };
        let first = source.peek()?;
        let place = source.place();
        let is_renamed = !has_events && first == Some(b'[') && holds_events(source)?;
        if is_renamed && key != "traceEvents" {
            damaged(phases, place.clone(), "the key `traceEvents`");
        }
        let is_inside = match (key.as_str(), first) {
            (key, Some(b'[')) if key == "traceEvents" || is_renamed => {
                has_events = true;
                source.stop_at(None);
                array(source, phases, options, false)?
            }
            ("deviceProperties", Some(b'[')) => devices(source, phases)?,
            ("distributedInfo", Some(b'{')) => distributed(source, phases)?,
            (_, Some(b'{' | b'[')) | (_, None) => source.skip()?,
            _ => property(source, phases, &key)?,
        };
        if source.has_stopped() {
            damaged(phases, place, "the end of a value");
        }
        if !is_inside && !has_events {
            return Err(source.ended("`traceEvents`"));
        }
        if !is_inside {
            if key != "traceEvents" {
                let place = source.place();
                phases.part.found.add(rules::TRUNCATED, place);
            }
            return Ok(false);
        }
    }
}

/// Returns `true` if the next array begins with an event: an object with a phase.
fn holds_events(source: &mut Source) -> Result<bool> {
    loop {
        let mut has_phase = false;
        let done = Cursor::new(source.bytes()).array(|cursor| {
            has_phase = Raw::read(cursor)?.phase != 0;
            Err(Stop::Bad("only the first"))
        });
        if done != Err(Stop::More) || !matches!(source.more()?, More::Read(_)) {
            return Ok(has_phase);
        }
    }
}

/// Counts a damaged part of the outer object.
fn damaged(phases: &mut Phases, place: Place, expected: &str) {
    let place = place.record(format!("expected {expected}"));
    phases.part.found.add(rules::MALFORMED, place);
}

/// Reads the events; returns `false` if the text ends within them.
fn array(
    source: &mut Source,
    phases: &mut Phases,
    options: &ReadContext,
    is_bare: bool,
) -> Result<bool> {
    let read = |phases: &mut Phases, cursor: &mut Cursor<'_>, index: u64, offset: u64| {
        let raw = Raw::read(cursor)?;
        phases.event(&raw, (offset, index));
        Ok::<(), Stop>(())
    };
    let odd = |phases: &mut Phases, element: Element| phases.part.report_deviation(element);
    let end = Elements::new(source, options).walk(phases, read, odd)?;
    let offset = source.offset();
    phases.part.report_deviation(Element::Window { offset })?;
    let (rule, offset) = match end {
        End::Closed => return Ok(true),
        End::Open if is_bare && source.damage().is_none() => (rules::UNCLOSED, source.offset()),
        End::Open => (rules::TRUNCATED, source.offset()),
        End::Within(offset) => (rules::TRUNCATED, offset),
    };
    phases.part.found.add(rule, source.place_at(offset));
    Ok(false)
}

/// Fails for the key of the event array. It does not occur inside other members, so a bracket
/// before it is missing.
fn not_events(key: &[u8]) -> Result<(), Stop> {
    match key {
        b"traceEvents" => Err(Stop::Bad("the end of a value")),
        _ => Ok(()),
    }
}

/// Reads the names of devices by their number.
fn devices(source: &mut Source, phases: &mut Phases) -> Result<bool> {
    let got = source.value(|cursor| {
        let mut found = Vec::new();
        cursor.array(|cursor| {
            if cursor.peek()? != b'{' {
                return cursor.value().map(|_| ());
            }
            let (mut id, mut name) = (Token::Missing, Token::Missing);
            cursor.object(|key, cursor| {
                not_events(key)?;
                let value = cursor.value()?;
                match key {
                    b"id" => id = value,
                    b"name" => name = value,
                    _ => {}
                }
                Ok(())
            })?;
            if let (Some(id), Some(name)) = (id.scalar(), name.scalar()) {
                found.push((id.to_vec(), name.to_vec()));
            }
            Ok(())
        })?;
        Ok(found)
    })?;
    let Got::Value(found) = got else {
        return source.skip();
    };
    let part = &mut phases.part;
    for (id, name) in found {
        let name = part.text(&name);
        let marks = ["AMD", "Instinct", "Radeon", "gfx"];
        part.is_hip |= marks.iter().any(|mark| name.contains(mark));
        let id = part.symbol(&id);
        part.devices.insert(id, name);
    }
    Ok(true)
}

/// Reads the rank and the other members of `distributedInfo`.
fn distributed(source: &mut Source, phases: &mut Phases) -> Result<bool> {
    let got = source.value(|cursor| {
        let mut found = Vec::new();
        cursor.object(|key, cursor| {
            not_events(key)?;
            let value = cursor.value()?;
            if let Some(value) = value.scalar().filter(|value| value.len() <= PROPERTY) {
                found.push((key.to_vec(), value.to_vec()));
            }
            Ok(())
        })?;
        Ok(found)
    })?;
    let Got::Value(found) = got else {
        return source.skip();
    };
    let part = &mut phases.part;
    for (key, value) in found {
        let (key, value) = (part.text(&key), part.text(&value));
        if key == "rank" {
            part.rank = value.parse().ok();
        }
        part.properties
            .push((format!("distributedInfo.{key}"), value));
    }
    Ok(true)
}

/// Reads a property of the recording.
fn property(source: &mut Source, phases: &mut Phases, key: &str) -> Result<bool> {
    let got = source.value(|cursor| {
        let value = cursor.value()?.scalar();
        Ok(value
            .filter(|value| value.len() <= PROPERTY)
            .map(<[u8]>::to_vec))
    })?;
    let Got::Value(value) = got else {
        return source.skip();
    };
    let Some(value) = value else { return Ok(true) };
    if key == "baseTimeNanoseconds" {
        let base = integer(&value);
        phases.part.base = base.and_then(|(bits, is_negative)| {
            if is_negative {
                Some(bits.cast_signed())
            } else {
                i64::try_from(bits).ok()
            }
        });
    }
    let text = phases.part.text(&value);
    phases.part.properties.push((key.to_owned(), text));
    Ok(true)
}
