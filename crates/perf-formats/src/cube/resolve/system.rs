//! Resolution of the machine of an anchor to a [`SystemTree`] of nodes, processes and locations,
//! and of its Cartesian topologies.

use super::ids::are_counted;
use super::{Resolved, Resolver};
use crate::cube::anchor::{Cart, Numbered, Space, Whose};
use crate::cube::rules;
use crate::{Error, Result};
use perf_core::{
    CartDimension, CartMembers, CartTopology, Location, LocationGroup, LocationGroupId, Place,
    SystemNode, SystemNodeId, SystemTree,
};
use std::sync::Arc;

impl Resolver<'_> {
    pub(super) fn system(
        &mut self,
        nodes: Numbered<SystemNode, (Space, u64)>,
        groups: Numbered<LocationGroup>,
        locations: Numbered<Location>,
        carts: Vec<Cart>,
        resolved: &mut Resolved,
    ) -> Result<()> {
        self.check_columns(&locations.ids);
        let (mut nodes, node_ids) = self.sorted(nodes, "system node")?;
        let (mut groups, group_ids) = self.sorted(groups, "process")?;
        let (mut locations, location_ids) = self.sorted(locations, "location")?;
        let node_of = |place: SystemNodeId| SystemNodeId(node_ids.placed(place.0));
        for node in &mut nodes {
            node.parent = node.parent.map(node_of);
        }
        for group in &mut groups {
            group.parent = group.parent.map(node_of);
        }
        for location in &mut locations {
            let group = location.group;
            location.group = group.map(|place| LocationGroupId(group_ids.placed(place.0)));
        }
        let limits = self.options.get_limits();
        let tree = SystemTree::new(nodes, groups, locations, limits);
        resolved.system = tree.map_err(|error| match error {
            perf_core::Error::TooDeep { what, id, limit } => Error::Limit {
                place: Place::file(Arc::clone(self.file)).record(format!("{what} {id}")),
                what: "depth of the machine",
                got: u64::from(limit) + 1,
                limit: limit.into(),
            },
            other => Error::Core(other),
        })?;
        for cart in carts {
            let topologies = self.topologies(cart, |whose, id| match whose {
                Whose::Location => location_ids.get(&id),
                Whose::Group => group_ids.get(&id),
                Whose::Node(space) => {
                    let exact = node_ids.get(&(space, id));
                    // Files of version 4 with the old keys have nodes of either kind.
                    let any = || node_ids.get(&(Space::Any, id));
                    exact.or_else(any)
                }
            });
            resolved.topologies.extend(topologies);
        }
        Ok(())
    }

    /// Counts ids of locations that are not a permutation of 0, 1, 2 and so on.
    fn check_columns(&mut self, ids: &[(u64, usize)]) {
        if are_counted(ids) {
            return;
        }
        let mut sorted = ids.to_vec();
        sorted.sort_unstable();
        if let Some((_, (_, at))) = (0u64..).zip(&sorted).find(|(at, (id, _))| at != id) {
            let place = self.place(*at);
            self.found.add(rules::SPARSE_LOCATIONS, place);
        }
    }

    /// Returns the topologies of a `<cart>`: one for each kind of elements it covers.
    fn topologies(
        &mut self,
        mut cart: Cart,
        find: impl Fn(Whose, u64) -> Option<u32>,
    ) -> Vec<CartTopology> {
        let dimension = |(name, size, periodic): &(String, u32, bool)| CartDimension {
            name: name.clone(),
            size: *size,
            periodic: *periodic,
        };
        let dimensions: Vec<_> = cart.dimensions.iter().map(dimension).collect();
        let mut coordinates: [Vec<(u32, Vec<u32>)>; 3] = Default::default();
        for (whose, id, numbers) in std::mem::take(&mut cart.coordinates) {
            let fits = |numbers: &Vec<u32>| {
                let mut pairs = numbers.iter().zip(&dimensions);
                numbers.len() == dimensions.len() && pairs.all(|(at, axis)| *at < axis.size)
            };
            let Some(numbers) = numbers.filter(fits) else {
                let place = self.place(cart.at).record(cart.name.clone());
                self.found.add(rules::BAD_COORDINATES, place);
                continue;
            };
            let Some(index) = find(whose, id) else {
                let what = format!("topology {:?}, id {id}", cart.name);
                self.unresolved(cart.at, what);
                continue;
            };
            let kind = match whose {
                Whose::Location => 0,
                Whose::Group => 1,
                Whose::Node(_) => 2,
            };
            coordinates[kind].push((index, numbers));
        }
        let kinds = [
            CartMembers::Locations,
            CartMembers::Groups,
            CartMembers::Nodes,
        ];
        let parts = kinds.into_iter().zip(coordinates);
        let used: Vec<_> = parts.filter(|(_, points)| !points.is_empty()).collect();
        if used.len() > 1 {
            let place = self.place(cart.at).record(cart.name.clone());
            self.found.add(rules::MIXED_TOPOLOGY, place);
        }
        let topology = |(of, coordinates)| CartTopology {
            name: cart.name.clone(),
            of,
            comm: None,
            dimensions: dimensions.clone(),
            coordinates,
        };
        if used.is_empty() {
            vec![topology((CartMembers::Locations, Vec::new()))]
        } else {
            used.into_iter().map(topology).collect()
        }
    }
}
