//! [`Properties`]: list of (name, value) properties of a part of the machine, which needs no
//! allocation for one short property.

use std::fmt;

/// Total length in bytes of a name and value up to which a single property needs no allocation.
const SHORT: usize = 14;

/// List of properties as (name, value), in the order in which they were added.
///
/// Most parts of a machine have no property or a single short property, such as a rank. These lists
/// need no allocation.
///
/// ```
/// use perf_core::Properties;
/// let mut facts = Properties::from([("rank", "3")]);
/// facts.add("Hostname", "node0017.cluster");
/// assert_eq!(facts.get("rank"), Some("3"));
/// assert_eq!(facts.get("core"), None);
/// let names: Vec<_> = facts.iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["rank", "Hostname"]);
/// ```
#[derive(Clone)]
pub struct Properties(Facts);

#[derive(Clone)]
enum Facts {
    /// One property: its name followed by its value, with their lengths.
    Short {
        name: u8,
        value: u8,
        text: [u8; SHORT],
    },
    /// Any number of properties.
    Many(Vec<(String, String)>),
}

impl Properties {
    /// Creates an empty list.
    pub const fn new() -> Self {
        Properties(Facts::Many(Vec::new()))
    }

    /// Adds a property at the end.
    pub fn add(&mut self, name: &str, value: &str) {
        if !self.set_only(name, value) {
            self.change(|facts| facts.push((name.into(), value.into())));
        }
    }

    /// Adds a property at the end, like [`add`](Self::add).
    pub fn push(&mut self, (name, value): (String, String)) {
        if !self.set_only(&name, &value) {
            self.change(|facts| facts.push((name, value)));
        }
    }

    /// Inserts a property at the front, or replaces the first property if it has the same name.
    pub fn set_first(&mut self, name: &str, value: &str) {
        if !self.set_only(name, value) {
            self.change(|facts| match facts.first_mut() {
                Some((first, old)) if first == name => *old = value.into(),
                _ => facts.insert(0, (name.into(), value.into())),
            });
        }
    }

    /// Sets the property in the form that needs no allocation, if it is short and the list is empty.
    /// Returns `false` otherwise.
    fn set_only(&mut self, name: &str, value: &str) -> bool {
        let (names, values) = (name.len(), value.len());
        if names.saturating_add(values) > SHORT || !self.is_empty() {
            return false;
        }
        // The texts are copied to their final place. Moving them right after they were written in
        // pieces of a few bytes would make the processor wait for the writes.
        self.0 = Facts::Short {
            name: names as u8,
            value: values as u8,
            text: [0; SHORT],
        };
        if let Facts::Short { text, .. } = &mut self.0 {
            let (to, rest) = text.split_at_mut(names);
            to.copy_from_slice(name.as_bytes());
            rest[..values].copy_from_slice(value.as_bytes());
        }
        true
    }

    /// Modifies the properties as a list.
    fn change(&mut self, change: impl FnOnce(&mut Vec<(String, String)>)) {
        let fact = self.short();
        let mut facts: Vec<_> = fact
            .map(|(n, v)| (n.into(), v.into()))
            .into_iter()
            .collect();
        if let Facts::Many(many) = &mut self.0 {
            facts = std::mem::take(many);
        }
        change(&mut facts);
        self.0 = Facts::Many(facts);
    }

    fn short(&self) -> Option<(&str, &str)> {
        let Facts::Short { name, value, text } = &self.0 else {
            return None;
        };
        let (name, value) = (usize::from(*name), usize::from(*value));
        // Both parts were copied from strings, so they are UTF-8.
        let part = |range| std::str::from_utf8(&text[range]).unwrap_or_default();
        Some((part(0..name), part(name..name + value)))
    }

    /// Returns the value of the first property of this name, or `None` if there is no such
    /// property.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut facts = self.iter();
        facts.find_map(|(own, value)| (own == name).then_some(value))
    }

    /// Returns the properties as (name, value).
    pub fn iter(&self) -> PropertiesIter<'_> {
        let many = match &self.0 {
            Facts::Many(facts) => facts.as_slice(),
            Facts::Short { .. } => &[],
        };
        PropertiesIter {
            short: self.short(),
            many: many.iter(),
        }
    }

    /// Returns the number of properties.
    pub fn len(&self) -> usize {
        match &self.0 {
            Facts::Many(facts) => facts.len(),
            Facts::Short { .. } => 1,
        }
    }

    /// Returns `true` if there are no properties.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for Properties {
    fn default() -> Self {
        Properties::new()
    }
}

/// Lists are equal if they have equal properties in the same order, regardless of their storage.
impl PartialEq for Properties {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Properties {}

impl<N: AsRef<str>, V: AsRef<str>> PartialEq<[(N, V)]> for Properties {
    fn eq(&self, other: &[(N, V)]) -> bool {
        let other = other.iter();
        self.iter()
            .eq(other.map(|(name, value)| (name.as_ref(), value.as_ref())))
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<N: AsRef<str>, V: AsRef<str>> Extend<(N, V)> for Properties {
    fn extend<I: IntoIterator<Item = (N, V)>>(&mut self, facts: I) {
        for (name, value) in facts {
            self.add(name.as_ref(), value.as_ref());
        }
    }
}

impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for Properties {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(facts: I) -> Self {
        let mut properties = Properties::new();
        properties.extend(facts);
        properties
    }
}

impl<N: AsRef<str>, V: AsRef<str>, const COUNT: usize> From<[(N, V); COUNT]> for Properties {
    fn from(facts: [(N, V); COUNT]) -> Self {
        facts.into_iter().collect()
    }
}

impl From<Vec<(String, String)>> for Properties {
    fn from(facts: Vec<(String, String)>) -> Self {
        match facts.as_slice() {
            [(name, value)] => Properties::from([(name, value)]),
            _ => Properties(Facts::Many(facts)),
        }
    }
}

impl<'a> IntoIterator for &'a Properties {
    type Item = (&'a str, &'a str);
    type IntoIter = PropertiesIter<'a>;

    fn into_iter(self) -> PropertiesIter<'a> {
        self.iter()
    }
}

/// Iterator over [`Properties`].
#[derive(Clone, Debug)]
pub struct PropertiesIter<'a> {
    /// The property stored without an allocation.
    short: Option<(&'a str, &'a str)>,
    /// The remaining allocated properties.
    many: std::slice::Iter<'a, (String, String)>,
}

impl<'a> Iterator for PropertiesIter<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(short) = self.short.take() {
            return Some(short);
        }
        let (name, value) = self.many.next()?;
        Some((name, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::from(self.short.is_some()) + self.many.len();
        (left, Some(left))
    }
}

impl ExactSizeIterator for PropertiesIter<'_> {}

/// Serializes as a list of pairs.
#[cfg(feature = "serde")]
impl serde::Serialize for Properties {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Properties {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let facts: Vec<(String, String)> = serde::Deserialize::deserialize(from)?;
        Ok(facts.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn they_are_no_larger_than_a_list() {
        assert_eq!(
            size_of::<Properties>(),
            size_of::<Vec<(String, String)>>().max(SHORT + 2)
        );
    }

    proptest! {
        #[test]
        fn properties_equal_a_list(
            facts in prop::collection::vec((".{0,8}", ".{0,8}"), 0..4),
            first in prop::option::of((".{0,8}", ".{0,8}")),
        ) {
            let mut list = facts.clone();
            let mut properties: Properties = facts.iter().map(|(n, v)| (n, v)).collect();
            if let Some((name, value)) = first {
                properties.set_first(&name, &value);
                match list.first_mut() {
                    Some((own, old)) if *own == name => *old = value,
                    _ => list.insert(0, (name, value)),
                }
            }
            prop_assert_eq!(&properties, list.as_slice());
            prop_assert_eq!(properties.len(), list.len());
            prop_assert_eq!(properties.iter().len(), list.len());
            let mut pushed = Properties::new();
            list.iter().for_each(|fact| pushed.push(fact.clone()));
            prop_assert_eq!(&pushed, &properties);
            prop_assert_eq!(&Properties::from(list.clone()), &properties);
            for (name, _) in &list {
                let value = list.iter().find(|(own, _)| own == name);
                prop_assert_eq!(properties.get(name), value.map(|(_, value)| value.as_str()));
            }
            prop_assert_eq!(format!("{properties:?}"), format!("{list:?}"));
        }
    }
}
