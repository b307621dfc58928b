//! A lamp with planted faults: the exploration finds each, with the shortest way to it.
use machine_core::machine::{Kind, Machine, Path};
use machine_testkit::chart::{Answer, Chart, Domain, Edge, Flaw, NoChart, recover};
use statig::Outcome::{self, Handled, Super, Transition};
use statig::blocking as sm;

/// What is wrong with a lamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Planted {
    Nothing,
    IgnoresAndChanges,
    IgnoresAndSignals,
    PassesOnAndSignals,
    DeepPath,
    WrongPath,
    TwoPlaces,
    Endless,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lamp {
    planted: Planted,
    pressed: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    Off(Planted),
    Dim(Planted),
    Bright,
    Broken,
}

enum Parent {
    Whole,
    Lit,
}

#[derive(Clone, Copy)]
enum Event {
    Press,
    Hold,
    Break,
}

impl Kind for Event {
    fn kind(&self) -> &'static str {
        match self {
            Self::Press => "Press",
            Self::Hold => "Hold",
            Self::Break => "Break",
        }
    }
}

impl Path for State {
    fn path(&self) -> &'static [&'static str] {
        match self {
            Self::Off(_) => &["Whole", "Off"],
            Self::Dim(Planted::DeepPath) => &["Whole", "Dim"],
            Self::Dim(Planted::WrongPath) => &["Lit", "Whole", "Dim"],
            Self::Dim(Planted::TwoPlaces) => &["Whole", "Off", "Dim"],
            Self::Dim(_) => &["Whole", "Lit", "Dim"],
            Self::Bright => &["Whole", "Lit", "Bright"],
            Self::Broken => &["Broken"],
        }
    }
}

impl sm::IntoStateMachine for Lamp {
    type Event<'e> = Event;
    type Context<'c> = &'c mut Vec<&'static str>;
    type State = State;
    type Superstate<'s> = Parent;

    fn initial() -> State {
        State::Off(Planted::Nothing)
    }
}

impl sm::State<Lamp> for State {
    fn call_handler(
        &mut self,
        lamp: &mut Lamp,
        event: &Event,
        out: &mut &mut Vec<&'static str>,
    ) -> Outcome<State> {
        match (self, event, lamp.planted) {
            (State::Broken, Event::Press, Planted::IgnoresAndChanges) => {
                lamp.pressed += 1;
                Super
            }
            (State::Broken, Event::Hold, Planted::IgnoresAndSignals) => {
                out.push("click");
                Super
            }
            (State::Bright, Event::Break, Planted::PassesOnAndSignals) => {
                out.push("click");
                Super
            }
            (State::Off(_), Event::Press, Planted::Endless) => {
                lamp.pressed += 1;
                Handled
            }
            (State::Off(planted), Event::Press, _) => Transition(State::Dim(*planted)),
            (State::Dim(_), Event::Hold, _) => Transition(State::Bright),
            (State::Dim(_) | State::Bright, Event::Press, planted) => Transition(State::Off(planted)),
            _ => Super,
        }
    }

    fn superstate(&mut self) -> Option<Parent> {
        match self {
            State::Off(_) => Some(Parent::Whole),
            State::Dim(_) | State::Bright => Some(Parent::Lit),
            State::Broken => None,
        }
    }
}

impl sm::Superstate<Lamp> for Parent {
    fn call_handler(
        &mut self,
        _: &mut Lamp,
        event: &Event,
        _: &mut &mut Vec<&'static str>,
    ) -> Outcome<State> {
        match (self, event) {
            (Parent::Lit, Event::Hold) => Handled,
            (Parent::Whole, Event::Break) => Transition(State::Broken),
            _ => Super,
        }
    }

    fn superstate(&mut self) -> Option<Parent> {
        matches!(self, Parent::Lit).then_some(Parent::Whole)
    }
}

struct World(Planted);

impl Domain for World {
    type Data = Lamp;
    type Event = Event;
    type Signal = &'static str;

    const NAME: &'static str = "lamp";

    fn starts(&self) -> Vec<(&'static str, Machine<Lamp>)> {
        let lamp = Lamp { planted: self.0, pressed: 0 };
        vec![("new", Machine::resume(lamp, State::Off(self.0)))]
    }

    fn events(&self, _: &Machine<Lamp>) -> Vec<Event> {
        vec![Event::Press, Event::Hold, Event::Break]
    }

    fn context<'c>(&'c self, signals: &'c mut Vec<&'static str>) -> &'c mut Vec<&'static str> {
        signals
    }
}

fn lamp(planted: Planted) -> Result<Chart, NoChart> {
    recover(&[World(planted)], 10)
}

fn flaw(planted: Planted) -> (Vec<&'static str>, Flaw) {
    let NoChart { machine, trace, flaw } = lamp(planted).expect_err("a planted fault");
    assert_eq!(machine, "lamp");
    (trace, flaw)
}

#[test]
fn a_sound_machine_gives_its_chart() {
    let chart = lamp(Planted::Nothing).unwrap();
    let nodes: Vec<_> = chart.nodes.iter().map(|node| (node.name, node.parent, node.leaf)).collect();
    assert_eq!(
        nodes,
        [
            ("Whole", None, false),
            ("Off", Some("Whole"), true),
            ("Lit", Some("Whole"), false),
            ("Dim", Some("Lit"), true),
            ("Bright", Some("Lit"), true),
            ("Broken", None, true),
        ]
    );
    let edge = |level, event, to| Edge { level, event, to };
    assert_eq!(
        chart.edges().into_iter().collect::<Vec<_>>(),
        [
            edge("Bright", "Press", Some("Off")),
            edge("Dim", "Hold", Some("Bright")),
            edge("Dim", "Press", Some("Off")),
            edge("Lit", "Hold", None),
            edge("Off", "Press", Some("Dim")),
            edge("Whole", "Break", Some("Broken")),
        ]
    );
    assert_eq!(chart.events, ["Press", "Hold", "Break"]);
    assert_eq!(chart.starts.iter().map(|start| (start.by, start.leaf)).collect::<Vec<_>>(), [("new", "Off")]);
    assert_eq!(chart.configurations, 4);
    assert_eq!(
        chart.ignored().into_iter().collect::<Vec<_>>(),
        [("Broken", "Break"), ("Broken", "Hold"), ("Broken", "Press"), ("Off", "Hold")]
    );
}

#[test]
fn what_is_drawn_comes_from_what_was_seen() {
    let chart = lamp(Planted::Nothing).unwrap();
    assert!(chart.is_final("Broken") && !chart.is_final("Off"));
    assert_eq!(chart.in_place("Lit"), ["Hold"]);
    assert_eq!(
        chart.answers("Bright", "Break").collect::<Vec<_>>(),
        [Answer::Moved { level: "Whole", to: "Broken" }]
    );
    assert!(chart.passes_on("Bright", "Hold"), "Lit takes it");
    assert!(!chart.passes_on("Lit", "Hold"));
    assert!(!chart.passes_on("Dim", "Hold"));
    let arrows: Vec<_> = chart.arrows().into_iter().map(|a| (a.from, a.to, a.events)).collect();
    assert_eq!(
        arrows,
        [
            ("Whole", "Broken", vec!["Break"]),
            ("Off", "Dim", vec!["Press"]),
            ("Dim", "Off", vec!["Press"]),
            ("Dim", "Bright", vec!["Hold"]),
            ("Bright", "Off", vec!["Press"]),
        ]
    );
}

#[test]
fn an_ignored_event_that_changes_or_signals_is_found() {
    assert_eq!(
        flaw(Planted::IgnoresAndChanges),
        (vec!["new", "Break", "Press"], Flaw::IgnoredChanged { leaf: "Broken", event: "Press" })
    );
    assert_eq!(
        flaw(Planted::IgnoresAndSignals),
        (
            vec!["new", "Break", "Hold"],
            Flaw::IgnoredSignalled { leaf: "Broken", event: "Hold", signals: r#"["click"]"#.into() }
        )
    );
}

#[test]
fn a_level_that_passes_on_and_signals_is_found() {
    let (trace, flaw) = flaw(Planted::PassesOnAndSignals);
    assert_eq!(trace, ["new", "Press", "Hold", "Break"]);
    assert_eq!(flaw, Flaw::PassedOnWithEffect { level: "Bright", event: "Break" });
}

#[test]
fn a_path_that_disagrees_with_the_superstates_is_found() {
    assert_eq!(
        flaw(Planted::DeepPath),
        (vec!["new", "Press"], Flaw::PathDepth { path: &["Whole", "Dim"], depth: 3 })
    );
    assert_eq!(
        flaw(Planted::WrongPath),
        (vec!["new", "Press"], Flaw::PathName { path: &["Lit", "Whole", "Dim"], name: "Lit" })
    );
    assert_eq!(flaw(Planted::TwoPlaces), (vec!["new", "Press"], Flaw::TwoPlaces { name: "Off" }));
}

#[test]
fn samples_that_never_end_are_a_clear_error() {
    let error = lamp(Planted::Endless).unwrap_err();
    assert_eq!(
        error.to_string(),
        "lamp machine, after new, Press, Press, Press, Press, Break: more than 10 configurations: narrow the samples"
    );
}

/// A lamp that nobody may break, and that nobody tries to hold while it is off.
struct Guarded(World);

impl Domain for Guarded {
    type Data = Lamp;
    type Event = Event;
    type Signal = &'static str;

    const NAME: &'static str = "lamp";

    fn starts(&self) -> Vec<(&'static str, Machine<Lamp>)> {
        self.0.starts()
    }

    fn events(&self, machine: &Machine<Lamp>) -> Vec<Event> {
        let off = matches!(machine.state(), State::Off(_));
        self.0.events(machine).into_iter().filter(|event| !off || !matches!(event, Event::Hold)).collect()
    }

    fn admits(&self, _: &Machine<Lamp>, event: &Event) -> bool {
        !matches!(event, Event::Break)
    }

    fn context<'c>(&'c self, signals: &'c mut Vec<&'static str>) -> &'c mut Vec<&'static str> {
        self.0.context(signals)
    }
}

#[test]
fn what_is_refused_goes_no_further_and_is_told() {
    let chart = recover(&[Guarded(World(Planted::Nothing))], 10).unwrap();
    assert_eq!(chart.leaves().collect::<Vec<_>>(), ["Off", "Dim", "Bright"]);
    assert_eq!(chart.answers("Off", "Break").collect::<Vec<_>>(), [Answer::Refused]);
    assert_eq!(chart.answers("Off", "Hold").count(), 0);
    assert!(!chart.passes_on("Bright", "Break") && !chart.edges().iter().any(|edge| edge.event == "Break"));
}

#[test]
fn a_kind_that_is_met_late_has_its_place() {
    let chart = recover(&[Guarded(World(Planted::Nothing))], 10).unwrap();
    assert_eq!(chart.events, ["Press", "Hold", "Break"]);
}
