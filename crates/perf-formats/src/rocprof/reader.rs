//! [`read()`]: reads a rocprofv3 file into one [`Part`] for each process, with its agents, names
//! and sections of records, and passes each [`Record`] to a [`Tool`].

use super::records::{Agent, Record, Section, Tool, kernel};
use super::rules;
use crate::json::{Cursor, Element, Elements, End, Got, Next, Source, Stop, Token, decode, whole};
use crate::read_context::ReadContext;
use crate::timeline::{MemoryBudget, Part};
use crate::{Error, Result};

const TOP: &str = "`rocprofiler-sdk-tool`";

/// The text ended or cannot be interpreted further; the records so far are kept.
struct Cut;

type Step = Result<Result<(), Cut>>;

/// Reads all processes of a file.
pub(super) fn read(
    mut source: Source,
    options: &ReadContext,
    budget: &MemoryBudget,
) -> Result<Vec<Part>> {
    let mut tools = Vec::new();
    match source.peek()? {
        Some(b'{') => source.take(1),
        None => return Err(source.ended(TOP)),
        Some(byte) => return Err(malformed(&source, format!("byte {byte:#04x}"))),
    }
    loop {
        match source.next_key()? {
            Next::Key(key) if key == "rocprofiler-sdk-tool" => match source.peek()? {
                Some(b'[') => {
                    source.take(1);
                    break;
                }
                Some(_) => return Err(malformed(&source, "no array".into())),
                None => return Err(source.ended(TOP)),
            },
            Next::Key(_) => {
                if !source.skip()? {
                    return Err(source.ended(TOP));
                }
            }
            Next::Close => return Err(malformed(&source, "an object without this key".into())),
            Next::Bad(_) => return Err(malformed(&source, "something else".into())),
            Next::End => return Err(source.ended(TOP)),
        }
    }
    let mut is_cut = false;
    loop {
        match source.peek()? {
            Some(b'{') => {
                source.take(1);
                let part = Part::new(source.name(), budget);
                let mut tool = Tool::new(part);
                is_cut = entry(&mut source, &mut tool, options)?.is_err();
                tools.push(tool);
                if is_cut {
                    break;
                }
            }
            Some(b',') => source.take(1),
            Some(b']') => break,
            _ => {
                is_cut = true;
                break;
            }
        }
    }
    let place = source.place();
    let rule = match source.damage() {
        Some(_) => rules::DAMAGED,
        None => rules::TRUNCATED,
    };
    match tools.last_mut() {
        Some(tool) if is_cut => tool.part.found.add(rule, place),
        None if is_cut => return Err(source.ended(TOP)),
        _ => {}
    }
    Ok(tools.into_iter().map(Tool::finish).collect())
}

fn malformed(source: &Source, got: String) -> Error {
    Error::Malformed {
        place: source.place(),
        expected: format!("an object with {TOP}"),
        got,
    }
}

/// Reads the members of an object after its opening bracket. `member` is called for each and must
/// consume the value.
fn members(
    source: &mut Source,
    tool: &mut Tool,
    mut member: impl FnMut(&mut Source, &mut Tool, &str) -> Step,
) -> Step {
    loop {
        match source.next_key()? {
            Next::Key(key) => {
                if member(source, tool, &key)?.is_err() {
                    return Ok(Err(Cut));
                }
            }
            Next::Close => return Ok(Ok(())),
            Next::End => return Ok(Err(Cut)),
            Next::Bad(expected) => {
                let place = source.place().record(format!("expected {expected}"));
                tool.part.found.add(rules::MALFORMED, place);
                return Ok(Err(Cut));
            }
        }
    }
}

fn skip(source: &mut Source) -> Step {
    Ok(if source.skip()? { Ok(()) } else { Err(Cut) })
}

/// Reads one process.
fn entry(source: &mut Source, tool: &mut Tool, options: &ReadContext) -> Step {
    members(source, tool, |source, tool, key| {
        match (key, source.peek()?) {
            ("metadata", Some(b'{')) => metadata(source, tool),
            ("agents", Some(b'[')) => each(source, tool, options, |tool, cursor, _, _| {
                let (handle, agent) = agent(cursor)?;
                tool.agents.extend(handle.map(|handle| (handle, agent)));
                Ok(())
            }),
            ("kernel_symbols", Some(b'[')) => each(source, tool, options, |tool, cursor, _, _| {
                tool.kernels.extend(kernel(cursor)?);
                Ok(())
            }),
            ("strings", Some(b'{')) => {
                source.take(1);
                members(source, tool, |source, tool, key| {
                    strings(source, tool, options, key)
                })
            }
            ("buffer_records", Some(b'{')) => {
                source.take(1);
                members(source, tool, |source, tool, key| {
                    records(source, tool, options, key)
                })
            }
            ("callback_records", Some(b'{')) => {
                source.take(1);
                members(source, tool, |source, tool, key| {
                    other(source, tool, options, key)
                })
            }
            _ => skip(source),
        }
    })
}

/// Reads the elements of an array.
fn each(
    source: &mut Source,
    tool: &mut Tool,
    options: &ReadContext,
    read: impl FnMut(&mut Tool, &mut Cursor<'_>, u64, u64) -> Result<(), Stop>,
) -> Step {
    let odd = |tool: &mut Tool, element: Element| tool.part.report_deviation(element);
    let end = Elements::new(source, options).walk(tool, read, odd)?;
    let offset = source.offset();
    tool.part.report_deviation(Element::Window { offset })?;
    Ok(match end {
        End::Closed => Ok(()),
        End::Open | End::Within(_) => Err(Cut),
    })
}

/// Reads the records of one section.
fn records(source: &mut Source, tool: &mut Tool, options: &ReadContext, name: &str) -> Step {
    let Some(section) = Section::named(name).filter(|_| matches!(source.peek(), Ok(Some(b'['))))
    else {
        return other(source, tool, options, name);
    };
    each(source, tool, options, |tool, cursor, index, offset| {
        let record = Record::read(cursor)?;
        tool.record(section, &record, (offset, index));
        Ok(())
    })
}

/// Counts the records of an unsupported section.
fn other(source: &mut Source, tool: &mut Tool, options: &ReadContext, name: &str) -> Step {
    let place = source.place().record(name);
    let mut count = 0;
    let end = match source.peek()? {
        Some(b'[') => each(source, tool, options, |_, cursor, _, _| {
            cursor.value()?;
            count += 1;
            Ok(())
        })?,
        Some(b'{') => {
            source.take(1);
            members(source, tool, |source, _, _| {
                count = 1;
                skip(source)
            })?
        }
        _ => skip(source)?,
    };
    tool.part.found.add_many(rules::SECTION, count, place);
    Ok(end)
}

/// Reads the names of operations and the texts of markers.
fn strings(source: &mut Source, tool: &mut Tool, options: &ReadContext, key: &str) -> Step {
    match (key, source.peek()?) {
        ("buffer_records", Some(b'[')) => each(source, tool, options, |tool, cursor, _, _| {
            let mut names = Vec::new();
            cursor.object(|key, cursor| {
                if key == b"operations" && cursor.peek()? == b'[' {
                    return cursor.array(|cursor| {
                        names.push(decode(cursor.value()?.bytes()).0.into());
                        Ok(())
                    });
                }
                cursor.value().map(|_| ())
            })?;
            tool.operations.push(names);
            Ok(())
        }),
        ("marker_api", Some(b'[')) => each(source, tool, options, |tool, cursor, _, _| {
            let (mut id, mut text) = (Token::Missing, Token::Missing);
            cursor.object(|key, cursor| {
                let value = cursor.value()?;
                match key {
                    b"key" => id = value,
                    b"value" => text = value,
                    _ => {}
                }
                Ok(())
            })?;
            let id = whole(id.bytes());
            let text = text.scalar().map(|text| decode(text).0.into());
            tool.markers.extend(id.zip(text));
            Ok(())
        }),
        _ => skip(source),
    }
}

/// Reads process, host, and the begin and end of the recording.
fn metadata(source: &mut Source, tool: &mut Tool) -> Step {
    let got = source.value(|cursor| {
        let (mut process, mut host, mut facts) = (None, None, Vec::new());
        cursor.object(|key, cursor| {
            if key == b"node" && cursor.peek()? == b'{' {
                return cursor.object(|key, cursor| {
                    let value = cursor.value()?;
                    if key == b"hostname" {
                        host = value.scalar().map(|name| decode(name).0);
                    }
                    Ok(())
                });
            }
            let value = cursor.value()?;
            match (key, value.scalar()) {
                (b"pid", Some(id)) => process = whole(id),
                (_, Some(fact)) => facts.push((decode(key).0, decode(fact).0)),
                _ => {}
            }
            Ok(())
        })?;
        Ok((process, host, facts))
    })?;
    Ok(match got {
        Got::Value((process, host, facts)) => {
            tool.process = process;
            tool.part.host = host;
            tool.part.properties.extend(facts);
            Ok(())
        }
        Got::End => Err(Cut),
        Got::Bad(_) | Got::Long => return skip(source),
    })
}

fn agent(cursor: &mut Cursor<'_>) -> Result<(Option<u64>, Agent), Stop> {
    let (mut handle, mut agent) = (None, Agent::default());
    let (mut name, mut product) = (Token::Missing, Token::Missing);
    cursor.object(|key, cursor| {
        if key == b"id" && cursor.peek()? == b'{' {
            return cursor.object(|key, cursor| {
                let value = cursor.value()?;
                if key == b"handle" {
                    handle = whole(value.bytes());
                }
                Ok(())
            });
        }
        let value = cursor.value()?;
        match key {
            b"type" => agent.is_gpu = value.bytes() == b"2",
            b"logical_node_type_id" => agent.number = whole(value.bytes()),
            b"name" => name = value,
            b"product_name" => product = value,
            _ => {}
        }
        Ok(())
    })?;
    let names = [product, name].map(|name| decode(name.bytes()).0);
    agent.name = names
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or_default();
    Ok((handle, agent))
}
