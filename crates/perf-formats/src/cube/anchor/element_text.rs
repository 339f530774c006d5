//! Methods of the [`Parser`] of `anchor.xml` that store the text of an element as a field of the
//! metric, region, system node, process, location or coordinate that encloses it.

use super::super::names::{self, property};
use super::Metric;
use super::parse::Parser;
use super::stack::What;
use perf_core::{Location, LocationGroup, Properties, Region, SystemNode};

impl Parser<'_, '_> {
    /// Stores the text of a field in the enclosing element. Returns `false` if that has no such
    /// field.
    pub(super) fn field(&mut self, name: &[u8], text: &str) -> bool {
        let anchor = &mut self.anchor;
        let done = match self.stack.last() {
            Some(What::Region(at)) => {
                let about = match name {
                    b"url" => Some(property::REGION_URL),
                    b"descr" => Some(property::DESCRIPTION),
                    b"paradigm" => {
                        let word = names::of_paradigm(names::paradigm(text.trim_ascii()));
                        (word != text.trim_ascii()).then_some(property::PARADIGM)
                    }
                    b"role" => {
                        let word = names::of_role(names::role(text.trim_ascii()));
                        (word != text.trim_ascii()).then_some(property::ROLE)
                    }
                    _ => None,
                };
                if let Some(about) = about.filter(|_| !text.is_empty()) {
                    anchor.region_texts.push((at, about, text.into()));
                }
                let region = anchor.regions.things.get_mut(at as usize);
                region.map(|region| of_region(region, name, text))
            }
            Some(What::Other) if name == b"murl" => {
                let mirror = (property::MIRROR.to_string(), text.to_string());
                anchor.around.push(mirror);
                Some(true)
            }
            Some(What::Group(at)) => {
                let group = anchor.groups.things.get_mut(at as usize);
                group.map(|group| of_group(group, name, text))
            }
            Some(What::Location(at)) => {
                let location = anchor.locations.things.get_mut(at as usize);
                location.map(|location| of_location(location, name, text))
            }
            Some(What::Node(at)) => {
                let node = anchor.nodes.things.get_mut(at as usize);
                node.map(|node| of_node(node, name, text))
            }
            Some(What::Metric(at)) => {
                let which = std::mem::take(&mut self.detail);
                let metric = anchor.metrics.things.get_mut(at as usize);
                metric.map(|metric| of_metric(metric, name, text, which))
            }
            _ => None,
        };
        done.unwrap_or(false)
    }

    /// Stores the numbers of the last opened coordinate.
    pub(super) fn coordinates(&mut self, text: &str) {
        let numbers = text.split_ascii_whitespace().map(str::parse);
        let numbers = numbers.collect::<Result<Vec<u32>, _>>().ok();
        let cart = self.anchor.carts.last_mut();
        if let Some(last) = cart.and_then(|cart| cart.coordinates.last_mut()) {
            last.2 = numbers;
        }
    }

    /// Completes a region: the display name also serves as a missing mangled name.
    pub(super) fn region_ends(&mut self, at: u32) {
        let region = self.anchor.regions.things.get_mut(at as usize);
        if let Some(region) = region.filter(|region| region.canonical.is_empty()) {
            region.canonical.clone_from(&region.name);
        }
    }
}

fn word(text: &str) -> String {
    text.trim_ascii().into()
}

fn of_metric(metric: &mut Metric, name: &[u8], text: &str, which: String) -> bool {
    match name {
        b"disp_name" => metric.display = text.into(),
        b"uniq_name" => metric.unique = text.into(),
        b"dtype" => metric.data_type = word(text),
        b"uom" => metric.unit = text.into(),
        b"val" => metric.values = word(text),
        b"url" => metric.url = text.into(),
        b"descr" => metric.description = text.into(),
        b"cubepl" => metric.expression = text.into(),
        b"cubeplinit" => metric.init = text.into(),
        b"cubeplaggr" => metric.aggregations.push((which, text.into())),
        _ => return false,
    }
    true
}

fn of_region(region: &mut Region, name: &[u8], text: &str) -> bool {
    match name {
        b"name" => region.name = text.into(),
        b"mangled_name" => region.canonical = text.into(),
        b"paradigm" => region.paradigm = names::paradigm(text.trim_ascii()),
        b"role" => region.role = names::role(text.trim_ascii()),
        b"url" | b"descr" => {}
        _ => return false,
    }
    true
}

fn of_node(node: &mut SystemNode, name: &[u8], text: &str) -> bool {
    match name {
        b"name" => node.name = text.into(),
        b"class" | b"type" => node.class = word(text),
        b"descr" => first(&mut node.properties, property::DESCRIPTION, text),
        _ => return false,
    }
    true
}

fn of_group(group: &mut LocationGroup, name: &[u8], text: &str) -> bool {
    match name {
        b"name" => group.name = text.into(),
        b"rank" => first(&mut group.properties, property::RANK, text.trim_ascii()),
        b"class" | b"type" => {
            // An empty text keeps the default.
            let word = Some(text.trim_ascii()).filter(|word| !word.is_empty());
            group.kind = word.map_or(group.kind, names::group_kind);
        }
        _ => return false,
    }
    true
}

fn of_location(location: &mut Location, name: &[u8], text: &str) -> bool {
    match name {
        b"name" => location.name = text.into(),
        b"rank" => first(&mut location.properties, property::RANK, text.trim_ascii()),
        b"class" | b"type" => {
            let word = Some(text.trim_ascii()).filter(|word| !word.is_empty());
            location.kind = word.map_or(location.kind, names::location_kind);
        }
        _ => return false,
    }
    true
}

/// Inserts a field of the format before the attributes. Of several with the same name, the last is
/// used.
fn first(properties: &mut Properties, name: &str, value: &str) {
    if !value.is_empty() {
        properties.set_first(name, value);
    }
}
