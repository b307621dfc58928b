//! Breadth first over configurations and events, with a check of every step.
use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;
use std::rc::Rc;

use machine_core::machine::{Kind, Machine, Path, Step};
use statig::Outcome;
use statig::blocking::{IntoStateMachine, State, Superstate};

use super::{Answer, Chart, Flaw, NoChart, Node, Reaction, Start};

type StateOf<D> = <<D as Domain>::Data as IntoStateMachine>::State;
type SuperstateOf<'s, D> = <<D as Domain>::Data as IntoStateMachine>::Superstate<'s>;
type ContextOf<'c, D> = <<D as Domain>::Data as IntoStateMachine>::Context<'c>;

/// A machine with what it is offered. One value is one setting of the world around it; a machine whose rows ask
/// their context is explored in several.
pub trait Domain {
    /// The data of the machine.
    type Data: for<'e> IntoStateMachine<Event<'e> = Self::Event>;
    /// Its events.
    type Event: Kind;
    /// What it puts into its context.
    type Signal: Debug;

    /// The machine's name.
    const NAME: &'static str;

    /// Every way to start, with the name of the constructor.
    fn starts(&self) -> Vec<(&'static str, Machine<Self::Data>)>;

    /// Representative events for a configuration, the kinds always in the same order, though not every kind each
    /// time. They keep the data finite, for instance by offering a piece of output only to who has none yet.
    fn events(&self, machine: &Machine<Self::Data>) -> Vec<Self::Event>;

    /// Whether an event may get to the machine now. One that may not is noted as refused and goes no further.
    fn admits(&self, _machine: &Machine<Self::Data>, _event: &Self::Event) -> bool {
        true
    }

    /// A context that collects signals.
    fn context<'c>(&'c self, signals: &'c mut Vec<Self::Signal>) -> ContextOf<'c, Self>;
}

/// The chart of a machine over all its domains. `limit` bounds the configurations of one domain.
pub fn recover<D>(domains: &[D], limit: usize) -> Result<Chart, NoChart>
where
    D: Domain,
    D::Data: Clone + Eq + Hash,
    StateOf<D>: State<D::Data> + Path + Clone + Eq + Hash,
    for<'s> SuperstateOf<'s, D>: Superstate<D::Data>,
{
    let mut sketch = Sketch::new(D::NAME);
    for domain in domains {
        let mut walk = Walk { domain, limit, seen: HashSet::new(), found: Vec::new() };
        walk.run(&mut sketch)?;
        sketch.chart.configurations += walk.found.len();
    }
    Ok(sketch.finish())
}

/// One exploration. What is found is also the queue.
struct Walk<'d, D: Domain>
where
    StateOf<D>: Eq + Hash,
{
    domain: &'d D,
    limit: usize,
    seen: HashSet<Rc<Machine<D::Data>>>,
    found: Vec<Found<D>>,
}

/// A configuration, and how it was first reached.
struct Found<D: Domain> {
    machine: Rc<Machine<D::Data>>,
    from: Option<usize>,
    by: &'static str,
}

impl<D> Walk<'_, D>
where
    D: Domain,
    D::Data: Clone + Eq + Hash,
    StateOf<D>: State<D::Data> + Path + Clone + Eq + Hash,
    for<'s> SuperstateOf<'s, D>: Superstate<D::Data>,
{
    fn run(&mut self, sketch: &mut Sketch) -> Result<(), NoChart> {
        for (by, machine) in self.domain.starts() {
            sketch.start(Start { by, leaf: machine.state().leaf() });
            self.reach(machine, None, by)?;
        }
        let mut next = 0;
        while next < self.found.len() {
            self.visit(next, sketch)?;
            next += 1;
        }
        Ok(())
    }

    fn reach(
        &mut self,
        machine: Machine<D::Data>,
        from: Option<usize>,
        by: &'static str,
    ) -> Result<(), NoChart> {
        let machine = Rc::new(machine);
        if self.seen.insert(machine.clone()) {
            self.found.push(Found { machine, from, by });
        }
        if self.found.len() > self.limit {
            return Err(self.flawed(from, &[by], Flaw::TooMany { limit: self.limit }));
        }
        Ok(())
    }

    fn visit(&mut self, at: usize, sketch: &mut Sketch) -> Result<(), NoChart> {
        let machine = self.found[at].machine.clone();
        let path = machine.state().path();
        let levels = levels::<D::Data>(&mut machine.state().clone());
        sketch.place(path, &levels).map_err(|flaw| self.flawed(Some(at), &[], flaw))?;
        let mut before = None;
        for event in self.domain.events(&machine) {
            let (leaf, kind) = (machine.state().leaf(), event.kind());
            sketch.order(kind, before.replace(kind));
            if !self.domain.admits(&machine, &event) {
                sketch.react(Reaction { leaf, event: kind, answer: Answer::Refused });
                continue;
            }
            let (answer, after) =
                self.offer(&machine, &event).map_err(|flaw| self.flawed(Some(at), &[kind], flaw))?;
            sketch.react(Reaction { leaf, event: kind, answer });
            self.reach(after, Some(at), kind)?;
        }
        Ok(())
    }

    /// One step, held against what the levels say one by one.
    fn offer(
        &self,
        machine: &Machine<D::Data>,
        event: &D::Event,
    ) -> Result<(Answer, Machine<D::Data>), Flaw> {
        let (mut after, mut signals) = (machine.clone(), Vec::new());
        let step = after.step(event, &mut self.domain.context(&mut signals));
        let (leaf, kind) = (machine.state().leaf(), event.kind());
        if step == Step::Ignored {
            if after != *machine {
                return Err(Flaw::IgnoredChanged { leaf, event: kind });
            }
            if !signals.is_empty() {
                let signals = format!("{signals:?}");
                return Err(Flaw::IgnoredSignalled { leaf, event: kind, signals });
            }
        }
        let answer = match (self.handler(machine, event)?, step) {
            (None, Step::Ignored) => Answer::Ignored,
            (Some((level, Step::Handled)), Step::Handled) if after.state().leaf() == leaf => {
                Answer::InPlace { level }
            }
            (Some((level, Step::Moved)), Step::Moved) => Answer::Moved { level, to: after.state().leaf() },
            _ => return Err(Flaw::StepDiffers { leaf, event: kind, step }),
        };
        Ok((answer, after))
    }

    /// The level that handles an event: each is asked alone, on a copy, from the leaf up.
    fn handler(
        &self,
        machine: &Machine<D::Data>,
        event: &D::Event,
    ) -> Result<Option<(&'static str, Step)>, Flaw> {
        for (height, level) in machine.state().path().iter().rev().enumerate() {
            let (mut data, mut state) = (machine.data().clone(), machine.state().clone());
            let mut signals = Vec::new();
            let mut ctx = self.domain.context(&mut signals);
            match ask_level::<D::Data>(&mut state, height, &mut data, event, &mut ctx) {
                Outcome::Handled => return Ok(Some((level, Step::Handled))),
                Outcome::Transition(_) => return Ok(Some((level, Step::Moved))),
                Outcome::Super => {}
            }
            drop(ctx);
            if !signals.is_empty() || data != *machine.data() || state != *machine.state() {
                return Err(Flaw::PassedOnWithEffect { level, event: event.kind() });
            }
        }
        Ok(None)
    }

    fn flawed(&self, at: Option<usize>, last: &[&'static str], flaw: Flaw) -> NoChart {
        let way = std::iter::successors(at, |at| self.found[*at].from);
        let mut trace: Vec<_> = way.map(|at| self.found[at].by).collect();
        trace.reverse();
        trace.extend(last);
        NoChart { machine: D::NAME, trace, flaw }
    }
}

/// Which superstates there are around a state, from the innermost up.
fn levels<M>(state: &mut M::State) -> Vec<u64>
where
    M: IntoStateMachine,
    M::State: State<M>,
    for<'s> M::Superstate<'s>: Superstate<M>,
{
    fn climb<M>(mut level: M::Superstate<'_>, levels: &mut Vec<u64>)
    where
        M: IntoStateMachine,
        for<'s> M::Superstate<'s>: Superstate<M>,
    {
        let mut hasher = DefaultHasher::new();
        discriminant(&level).hash(&mut hasher);
        levels.push(hasher.finish());
        if let Some(parent) = level.superstate() {
            climb::<M>(parent, levels);
        }
    }
    let mut levels = Vec::new();
    if let Some(parent) = state.superstate() {
        climb::<M>(parent, &mut levels);
    }
    levels
}

/// What the level so many levels above the leaf says, those below it left out.
fn ask_level<M>(
    state: &mut M::State,
    height: usize,
    data: &mut M,
    event: &M::Event<'_>,
    ctx: &mut M::Context<'_>,
) -> Outcome<M::State>
where
    M: IntoStateMachine,
    M::State: State<M>,
    for<'s> M::Superstate<'s>: Superstate<M>,
{
    fn climb<M>(
        mut level: M::Superstate<'_>,
        height: usize,
        data: &mut M,
        event: &M::Event<'_>,
        ctx: &mut M::Context<'_>,
    ) -> Outcome<M::State>
    where
        M: IntoStateMachine,
        for<'s> M::Superstate<'s>: Superstate<M>,
    {
        if height == 0 {
            return level.call_handler(data, event, ctx);
        }
        match level.superstate() {
            Some(parent) => climb::<M>(parent, height - 1, data, event, ctx),
            None => Outcome::Super,
        }
    }
    if height == 0 {
        return state.call_handler(data, event, ctx);
    }
    match state.superstate() {
        Some(parent) => climb::<M>(parent, height - 1, data, event, ctx),
        None => Outcome::Super,
    }
}

/// The chart as far as it is known.
struct Sketch {
    chart: Chart,
    /// Which superstate a name stands for.
    named: BTreeMap<&'static str, u64>,
}

impl Sketch {
    fn new(name: &'static str) -> Self {
        let chart = Chart {
            name,
            nodes: Vec::new(),
            events: Vec::new(),
            starts: Vec::new(),
            reactions: Default::default(),
            configurations: 0,
        };
        Self { chart, named: BTreeMap::new() }
    }

    fn start(&mut self, start: Start) {
        if !self.chart.starts.contains(&start) {
            self.chart.starts.push(start);
        }
    }

    /// Writes down where a leaf is; `levels` are the superstates around it.
    fn place(&mut self, path: &'static [&'static str], levels: &[u64]) -> Result<(), Flaw> {
        if path.len() != levels.len() + 1 {
            return Err(Flaw::PathDepth { path, depth: levels.len() + 1 });
        }
        let mut parent = None;
        for (height, name) in (0..path.len()).rev().zip(path) {
            let node = Node { name, parent, leaf: height == 0 };
            match self.chart.nodes.iter().find(|known| known.name == *name) {
                Some(known) if *known == node => {}
                Some(_) => return Err(Flaw::TwoPlaces { name }),
                None => self.chart.nodes.push(node),
            }
            if let Some(level) = height.checked_sub(1).map(|above| levels[above]) {
                self.name(name, level).map_err(|name| Flaw::PathName { path, name })?;
            }
            parent = Some(*name);
        }
        Ok(())
    }

    fn name(&mut self, name: &'static str, level: u64) -> Result<(), &'static str> {
        match self.named.iter().find(|(known, at)| **known == name || **at == level) {
            Some((known, at)) if *known == name && *at == level => Ok(()),
            Some(_) => Err(name),
            None => {
                self.named.insert(name, level);
                Ok(())
            }
        }
    }

    /// A new kind stands behind the one that was offered before it.
    fn order(&mut self, kind: &'static str, before: Option<&'static str>) {
        let events = &mut self.chart.events;
        if !events.contains(&kind) {
            let at = before.and_then(|before| events.iter().position(|known| *known == before));
            events.insert(at.map_or(0, |at| at + 1), kind);
        }
    }

    fn react(&mut self, reaction: Reaction) {
        self.chart.reactions.insert(reaction);
    }

    fn finish(self) -> Chart {
        let Self { mut chart, named: _ } = self;
        let mut nodes = Vec::new();
        nest(&chart, None, &mut nodes);
        chart.nodes = nodes;
        chart
    }
}

/// Superstates with what lies in them; final leaves after their siblings.
fn nest(chart: &Chart, parent: Option<&str>, nodes: &mut Vec<Node>) {
    let mut children: Vec<_> = chart.children(parent).collect();
    children.sort_by_key(|node| node.leaf && chart.is_final(node.name));
    for child in children {
        nodes.push(child.clone());
        nest(chart, Some(child.name), nodes);
    }
}
