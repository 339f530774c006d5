//! Small traces that are made call by call.

use perf_core::{
    Collective, CollectiveOp, CommId, Communicator, Definitions, Event, Events, GroupKind,
    Location, LocationGroup, LocationGroupId, LocationId, Members, Region, RegionId, SystemTree,
    Ticks, Trace, Transfer,
};

enum Step {
    Enter(String),
    Leave(String),
    Event(Event<'static>),
}

/// The events of one rank. One tick is one nanosecond, and `MPI_COMM_WORLD` has all ranks.
#[derive(Default)]
pub(crate) struct Rank(Vec<(u64, Step)>);

fn transfer(peer: u32, tag: u32, bytes: u64, request: Option<u64>) -> Transfer {
    Transfer {
        peer,
        comm: CommId(0),
        tag,
        bytes,
        request,
    }
}

impl Rank {
    fn step(mut self, at: u64, step: Step) -> Self {
        self.0.push((at, step));
        self
    }

    pub(crate) fn enter(self, region: &str, at: u64) -> Self {
        self.step(at, Step::Enter(region.into()))
    }

    pub(crate) fn leave(self, region: &str, at: u64) -> Self {
        self.step(at, Step::Leave(region.into()))
    }

    pub(crate) fn event(self, at: u64, event: Event<'static>) -> Self {
        self.step(at, Step::Event(event))
    }

    /// A call without records.
    pub(crate) fn call(self, region: &str, enter: u64, leave: u64) -> Self {
        self.enter(region, enter).leave(region, leave)
    }

    pub(crate) fn user(self, region: &str, enter: u64, leave: u64) -> Self {
        self.call(region, enter, leave)
    }

    pub(crate) fn bare_send(self, at: u64, to: u32, bytes: u64) -> Self {
        self.event(at, Event::Send(transfer(to, 0, bytes, None)))
    }

    pub(crate) fn send(self, enter: u64, leave: u64, to: u32, bytes: u64) -> Self {
        self.enter("MPI_Send", enter)
            .bare_send(enter, to, bytes)
            .leave("MPI_Send", leave)
    }

    pub(crate) fn recv(self, enter: u64, leave: u64, from: u32, bytes: u64) -> Self {
        let event = Event::Recv(transfer(from, 0, bytes, None));
        self.enter("MPI_Recv", enter)
            .event(leave, event)
            .leave("MPI_Recv", leave)
    }

    pub(crate) fn isend(
        self,
        enter: u64,
        leave: u64,
        to: u32,
        tag: u32,
        bytes: u64,
        request: u64,
    ) -> Self {
        let event = Event::Send(transfer(to, tag, bytes, Some(request)));
        self.enter("MPI_Isend", enter)
            .event(enter, event)
            .leave("MPI_Isend", leave)
    }

    pub(crate) fn irecv(self, enter: u64, leave: u64, request: u64) -> Self {
        self.enter("MPI_Irecv", enter)
            .event(enter, Event::RecvPost { request })
            .leave("MPI_Irecv", leave)
    }

    pub(crate) fn wait_send(self, region: &str, enter: u64, leave: u64, request: u64) -> Self {
        self.enter(region, enter)
            .event(leave, Event::SendComplete { request })
            .leave(region, leave)
    }

    pub(crate) fn wait_receive(
        self,
        region: &str,
        enter: u64,
        leave: u64,
        from: u32,
        bytes: u64,
        request: u64,
    ) -> Self {
        let event = Event::Recv(transfer(from, 0, bytes, Some(request)));
        self.enter(region, enter)
            .event(leave, event)
            .leave(region, leave)
    }

    pub(crate) fn collective(
        self,
        region: &str,
        enter: u64,
        leave: u64,
        op: CollectiveOp,
        root: Option<u32>,
        bytes: u64,
    ) -> Self {
        let of = Collective {
            op,
            comm: CommId(0),
            root,
            sent: bytes,
            received: bytes,
            request: None,
        };
        self.operation(region, enter, leave, of)
    }

    /// A collective operation in any communicator.
    pub(crate) fn operation(self, region: &str, enter: u64, leave: u64, of: Collective) -> Self {
        let end = Event::CollectiveEnd(of);
        self.enter(region, enter)
            .event(enter, Event::CollectiveBegin)
            .event(leave, end)
            .leave(region, leave)
    }
}

/// A trace of these ranks.
pub(crate) fn trace(ranks: &[Rank]) -> Trace {
    trace_with(ranks, &[])
}

/// A trace of these ranks with communicators of some of them, of which the first has number 1.
pub(crate) fn trace_with(ranks: &[Rank], comms: &[Vec<u32>]) -> Trace {
    let mut definitions = Definitions::default();
    let ids = || (0..ranks.len() as u32).map(LocationId);
    let group = |id: LocationId| LocationGroup {
        name: format!("rank {id}"),
        kind: GroupKind::Process,
        ..Default::default()
    };
    let location = |id: LocationId| Location {
        key: u64::from(id.0),
        group: Some(LocationGroupId(id.0)),
        ..Default::default()
    };
    let groups = ids().map(group).collect();
    let locations = ids().map(location).collect();
    definitions.system =
        SystemTree::new(vec![], groups, locations, &Default::default()).expect("a valid tree");
    definitions.comms.push(Communicator {
        members: Members::Ranks(ids().map(Some).collect()),
        ..Default::default()
    });
    definitions
        .comms
        .extend(comms.iter().map(|members| Communicator {
            members: Members::Ranks(members.iter().map(|it| Some(LocationId(*it))).collect()),
            ..Default::default()
        }));
    let mut all = Vec::new();
    for rank in ranks {
        let mut events = Events::default();
        for (at, step) in &rank.0 {
            let mut region = |name: &str| {
                let found = definitions
                    .regions
                    .iter()
                    .position(|region| region.name == name);
                RegionId(found.unwrap_or_else(|| {
                    definitions.regions.push(Region::named(name));
                    definitions.regions.len() - 1
                }) as u32)
            };
            let event = match step {
                Step::Enter(name) => Event::Enter {
                    region: region(name),
                },
                Step::Leave(name) => Event::Leave {
                    region: region(name),
                },
                Step::Event(event) => *event,
            };
            events.push(Ticks(*at), event).expect("in order");
        }
        all.push(events);
    }
    Trace::new(definitions, all).expect("one list a location")
}
