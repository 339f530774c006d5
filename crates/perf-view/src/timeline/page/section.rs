//! Builds the [`Section`] of a [`View`] and its [`Served`] side: folds, collects the data for the
//! script, and draws a picture for readers without scripts.

use super::data::{Data, GroupData, Requests, hidden_messages, rounded};
use super::overlays::Leaves;
use super::pyramid::{Codes, FINE, NUMBER, Node, OTHERS, Plan, nodes};
use super::served::Sent;
use super::unusual_rows::unusual_rows;
use super::{Part, Served, View, markup};
use crate::timeline::cell_colour::MEASURE;
use crate::timeline::counters::Tracks;
use crate::timeline::picture::{busy_share, busy_words};
use crate::timeline::{Picture, legend};
use crate::{ColourMap, Error, OTHER, Result, Section, Theme, number, section};
use perf_core::{Job, LocationKind};
use perf_fold::{Folder, Group, Usage, similar_rows};
use std::sync::OnceLock;

const SCRIPT: &str = concat!(
    include_str!("../../../assets/timeline/local.js"),
    include_str!("../../../assets/timeline/message_sizes.js"),
    include_str!("../../../assets/timeline/messages.js"),
    include_str!("../../../assets/timeline/counters.js"),
    include_str!("../../../assets/timeline/calls.js"),
    include_str!("../../../assets/timeline/rows.js"),
    include_str!("../../../assets/timeline/legend.js"),
    include_str!("../../../assets/timeline/view.js")
);
const STYLE: &str = include_str!("../../../assets/timeline/view.css");
/// Number of columns of the picture for readers without scripts.
const STILL: usize = 800;
/// Maximum size of the call stacks in bytes. A page with cells holds half of it.
const CALLS: usize = 1 << 20;

impl View<'_> {
    pub(super) fn build(&self, served: Option<&str>, job: &Job) -> Result<(Section, Served)> {
        let nodes = nodes(&self.groups, self.most_rows);
        if nodes.is_empty() {
            return Err(Error::Empty { what: "no rows" });
        }
        if self.window.is_empty() {
            return Err(Error::Empty { what: "no time" });
        }
        let ops = self.operations(&nodes)?;
        let folder = self.folder(&nodes)?;
        let usage = folder.busy_shares(self.window, job)?;
        let roots = nodes
            .iter()
            .take_while(|node| node.parent.is_none())
            .count();
        let totals = legend::totals(&usage[..roots]);
        let shown: Vec<&Group> = nodes[..roots]
            .iter()
            .filter_map(|node| self.groups.get(node.group))
            .collect();
        let streams = shown.iter().map(|group| group.streams.len()).sum();
        let palette = legend::palette(self.timelines, (&totals, streams, self.window), job)?;
        let codes = Codes::new(&totals, self.timelines.classes(), &palette);
        let parts = legend::parts(&shown, &usage[..roots]);
        let plan = Plan {
            timelines: self.timelines,
            groups: &self.groups,
            window: self.window,
            nodes: &nodes,
            ops: &ops,
            codes: &codes,
            finest: self.finest,
            budget: self.budget,
            rules: &self.rules,
        };
        let local = match served {
            Some(_) => None,
            None => self.local(
                (&nodes, roots),
                &ops,
                (&codes, &totals, &palette),
                self.states,
            ),
        };
        let (levels, members) = match (served, &local) {
            (None, None) => (plan.levels(job)?, plan.members(job)?),
            _ => (Vec::new(), None),
        };
        let calls = match served {
            Some(_) => None,
            None if local.is_some() => self.calls_data(&nodes, &palette, CALLS, job)?,
            None => self.calls_data(&nodes, &palette, CALLS / 2, job)?,
        };
        let clock = self.timelines.clock();
        let start = clock.nanos(self.window.start).unwrap_or_default().0;
        let span = clock.total(u128::from(self.window.len())).0;
        let others = totals.iter().filter_map(|(state, _)| state.class());
        let others = others.count().saturating_sub(codes.len());
        let leaves = Leaves::of(&nodes, &folder);
        let (links, hidden) = match served {
            Some(_) => (None, [0; 2]),
            None => self.link_values(&nodes, start)?,
        };
        let sizes = match served {
            Some(_) => None,
            None => self.sizes(links.as_ref(), hidden),
        };
        // The labels of a served page need no columns.
        let columns = match served {
            Some(_) => 1,
            None => self.counter_columns(),
        };
        let whole = self.timelines.range();
        let tracks = |of| Tracks::of(of, self.window, columns).coloured(of, whole);
        let tracks: Vec<Tracks> = self.counters.iter().map(tracks).collect();
        let states = codes.states.iter();
        let states = states.map(|(name, colour)| (name.as_str(), colour.to_string()));
        let light = Theme::light();
        let themed = [(light.idle, "idle"), (light.absent, "absent")];
        let data = section::data(&Data {
            start,
            span,
            busy: busy_words(self.has_own_spans),
            groups: self.groups_of(&nodes, &usage),
            states: states.collect(),
            others: (
                format!("one of {others} other states"),
                OTHER.to_string(),
                OTHERS,
            ),
            number: (NUMBER, MEASURE.to_string()),
            ops: ops.iter().map(|op| self.operation(*op)).collect(),
            levels: &levels,
            members,
            calls,
            parts: parts
                .iter()
                .map(|part| (part.heading.clone(), part.rows.clone()))
                .collect(),
            local,
            themed: themed
                .map(|(colour, name)| (colour.to_string(), name))
                .into(),
            begin: start.to_string(),
            served: served.map(|address| self.requests(address)),
            links,
            sizes,
            command: self.command.as_deref(),
            serve: self.serve.as_deref(),
            markers: self.marker_values(&leaves, start),
            heat: (0..64)
                .map(|at| ColourMap::BlueYellow.at(f64::from(at) / 63.0).to_string())
                .collect(),
            counters: tracks.iter().map(Tracks::names).collect(),
            tracks: match served {
                Some(_) => Vec::new(),
                None => tracks.iter().map(|of| of.data(0, span)).collect(),
            },
        })?;
        let nanos = |ticks| clock.total(ticks).0 as f64;
        let classes = self.timelines.classes();
        let entries = parts.iter().map(|part| {
            let totals = legend::totals(part.rows.iter().filter_map(|row| usage.get(*row)));
            let entries = legend::entries(&totals, classes, &palette, &Theme::light(), nanos);
            (part.heading.clone(), entries)
        });
        let entries: Vec<_> = entries.collect();
        let help = Self::help(levels.last().map(|level| level.columns), span);
        let hues = legend::hues(&totals, classes, &palette).join(", ");
        let mut note = Vec::new();
        if !hues.is_empty() {
            note.push(format!("Colours: {hues}. Each shade is a function."));
        }
        note.extend(self.note(&nodes, roots));
        let streams = nodes[..roots].iter().filter_map(|node| {
            let group = self.groups.get(node.group)?;
            Some(group.streams.len())
        });
        let without_states = legend::without_states(streams.sum(), &usage[..roots]);
        note.extend(without_states.map(|text| text + "."));
        note.extend(hidden_messages(hidden));
        let [first, last] = number::window([start as f64, (start as f64) + span as f64]);
        let whole = format!("{first} to {last}");
        // A served page shows nothing without its script.
        let still = match served {
            Some(_) => None,
            None => Some(self.still(&job.without_progress())?),
        };
        let body = markup::body(
            &self.id,
            (&entries, &whole),
            (&help, &note),
            still.as_ref().ok_or(&self.heading),
            markup::table(
                (&self.groups, &nodes),
                &usage,
                classes,
                (&whole, self.has_own_spans),
            ),
        );
        let mut section = Section::new(
            "timeline",
            &self.id,
            &self.heading,
            body,
            data,
            SCRIPT,
            STYLE,
        );
        section.is_served = served.is_some();
        let messages = OnceLock::new();
        if served.is_some() && !self.has_later_lines {
            // The cell is new, so it takes the messages.
            let _ = messages.set(Sent::of(self.lines.clone()));
        }
        let data = Served {
            timelines: self.timelines.clone(),
            groups: self.groups.clone(),
            ops,
            codes,
            palette,
            messages,
            remarks: OnceLock::new(),
            has_own_spans: self.has_own_spans,
            rules: self.rules.clone(),
            start,
            roots,
            parts,
            whole: (self.window, usage),
            nodes,
            counters: self.counters.clone(),
        };
        Ok((section, data))
    }

    /// Returns the number of columns of the counters of a page, from 256 to 4,096, so that they take
    /// about half a MiB.
    fn counter_columns(&self) -> usize {
        /// Size of all counters in bytes.
        const BUDGET: usize = 512 << 10;
        // Five lines of four bytes, and two bytes for each row.
        let bytes = self
            .counters
            .iter()
            .map(|of| 20 + 2 * of.series.len().min(32));
        let columns = BUDGET / bytes.sum::<usize>().max(1);
        columns.clamp(256, 4096)
    }

    fn requests<'n>(&self, address: &'n str) -> Requests<'n> {
        /// Shortest window in ticks.
        const SHORTEST: f64 = 16.0;
        /// Number of ticks from which the length of one is computed.
        const MANY: u32 = 1_000_000;
        let clock = self.timelines.clock();
        let tick = clock.total(u128::from(MANY)).0 as f64 / f64::from(MANY);
        Requests {
            address,
            shortest: SHORTEST * tick,
            most_rows: Part::MOST_ROWS,
            most_columns: Part::MOST_COLUMNS,
            has_links: self.has_later_lines || !self.lines.is_empty(),
            has_calls: self.calls.is_some(),
        }
    }

    /// Returns a folder with one row for each node.
    fn folder(&self, nodes: &[Node]) -> Result<Folder> {
        let ids: Vec<_> = nodes.iter().map(|node| node.group).collect();
        let groups = self.groups.with_rows(&ids)?;
        let params = Folder::params().columns(512).check()?;
        Ok(Folder::new(self.timelines, groups, params)?)
    }

    fn groups_of<'n>(&'n self, nodes: &'n [Node], usage: &'n [Usage]) -> Vec<GroupData<'n>> {
        let classes = self.timelines.classes();
        let similar = similar(nodes, usage);
        let unusual = unusual_rows(nodes, &self.groups, usage);
        // Few rows are ever named, so the others need no state.
        let mut is_named = vec![false; nodes.len()];
        for (at, row) in unusual.iter().enumerate() {
            is_named[at] |= row.is_marked;
            if let Some(most) = row.most {
                is_named[most] = true;
            }
        }
        let value = |(at, (node, usage)): (usize, (&'n Node, &'n Usage))| {
            let (group, row) = (self.groups.get(node.group), unusual[at]);
            let shares = legend::named(usage, classes).take(if at < FINE { 4 } else { 0 });
            GroupData {
                label: group.map_or("", |group| &group.label),
                streams: group.map_or(0, |group| group.streams.len()),
                without_states: usage.without_states,
                parent: node.parent,
                stream: self.stream(node),
                device: group.is_some_and(|it| it.kind == LocationKind::AcceleratorStream),
                busy: rounded(busy_share(
                    usage,
                    group.map_or_else(Default::default, |it| it.kind),
                    self.has_own_spans,
                )),
                mpi: rounded(legend::mpi_share(usage, classes)),
                similar: similar[at],
                differs: rounded(row.difference),
                unusual: row.is_marked,
                state: row.state.filter(|_| is_named[at]).map(|state| {
                    let [share, median] = row.shares.map(rounded);
                    (legend::name(state, classes), share, median)
                }),
                most: row.most,
                shares: shares.map(|(name, share)| (name, rounded(share))).collect(),
            }
        };
        nodes.iter().zip(usage).enumerate().map(value).collect()
    }

    /// Returns the rows as a picture and its description, for readers without scripts.
    fn still(&self, job: &Job) -> Result<(String, String)> {
        let rows = self.groups.rows();
        let groups = self
            .groups
            .with_rows(&rows[..rows.len().min(self.most_rows).min(FINE)])?;
        let params = self.rules.clone().columns(STILL).check()?;
        let folder = Folder::new(self.timelines, groups, params)?;
        let fold = folder.fold(self.window, job)?;
        let picture = Picture::new(&folder, &fold)?.titled(&self.heading);
        let scene = picture.own_spans(self.has_own_spans).scene();
        let words = scene.title.clone();
        Ok((crate::encoding::base64(&scene.png()?), words))
    }
}

/// Returns the position of each node among the nodes of its parent if similar nodes are neighbours.
fn similar(nodes: &[Node], usage: &[Usage]) -> Vec<usize> {
    let mut places = vec![0; nodes.len()];
    let is_root = |at: &usize| nodes[*at].parent.is_none();
    let roots: Vec<usize> = (0..nodes.len()).take_while(is_root).collect();
    let members = nodes.iter().map(|node| &node.children);
    for list in members.chain([&roots]) {
        let rows: Vec<&Usage> = list.iter().map(|at| &usage[*at]).collect();
        for (place, row) in similar_rows(&rows).into_iter().enumerate() {
            places[list[row]] = place;
        }
    }
    places
}
