//! The search: breadth first over every order of events, so the first violation found has a shortest trace.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::Hash;

use crate::fingerprint::{FingerprintSet, fingerprint};
use crate::{Property, Violation};

/// A bounded world: where it starts, what may happen, what must hold.
pub trait Model {
    /// Everything that decides what may happen next, budgets included.
    type State: Clone + Hash;
    /// One thing that may happen.
    type Event: Copy + Debug;

    /// Where every trace begins.
    fn initial(&self) -> Self::State;

    /// Appends all that may happen in `state`, faults included, within the budgets.
    fn events(&self, state: &Self::State, into: &mut Vec<Self::Event>);

    /// What `event` makes of `state`.
    ///
    /// # Errors
    /// A property that the step itself violates.
    fn apply(&self, state: &Self::State, event: Self::Event) -> Result<Self::State, Violation>;

    /// Checks what must hold in every state.
    ///
    /// # Errors
    /// A property that does not hold in `state`.
    fn check(&self, state: &Self::State) -> Result<(), Violation>;

    /// Whether nothing is left to be completed in `state`.
    fn complete(&self, state: &Self::State) -> bool;

    /// Appends what `state` may become in a world without further faults and without budgets.
    ///
    /// [`Property::Progress`] holds if [`Model::complete`] can be reached this way from every reachable state.
    ///
    /// # Errors
    /// A property that such a step violates.
    fn calm(&self, state: &Self::State, into: &mut Vec<Self::State>) -> Result<(), Violation>;

    /// How `event` reads in a trace.
    fn describe(&self, state: &Self::State, event: Self::Event) -> String {
        let _ = state;
        format!("{event:?}")
    }

    /// Situations that the bounds are meant to reach: bit `i` is set where `landmark_names()[i]` is the case.
    fn landmarks(&self, state: &Self::State) -> u32;

    /// The names of the situations.
    fn landmark_names(&self) -> &'static [&'static str];
}

/// Where a search stops at the latest.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most states visited.
    pub states: usize,
    /// Most states tried in search of one fault-free completion.
    pub calm_states: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { states: 20_000_000, calm_states: 4_000 }
    }
}

/// How a search ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Every state within the bounds was visited, and all properties hold in each.
    Proved,
    /// The limit of states was reached without a violation: nothing is proved.
    Unfinished,
    /// A property does not hold.
    Violated(CounterExample),
}

/// A shortest sequence of events that violates a property.
#[derive(Clone, Debug)]
pub struct CounterExample {
    /// What is violated.
    pub violation: Violation,
    /// The events from the start, in words.
    pub trace: Vec<String>,
}

impl std::fmt::Display for CounterExample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.violation)?;
        for (step, event) in self.trace.iter().enumerate() {
            writeln!(f, "  {:>2}. {event}", step + 1)?;
        }
        Ok(())
    }
}

/// What a search visited and how it ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// Distinct states visited.
    pub states: usize,
    /// Events applied.
    pub transitions: usize,
    /// Length of the longest of the shortest traces.
    pub depth: usize,
    /// How the search ended.
    pub outcome: Outcome,
    /// Names of situations that the bounds were meant to reach and did not.
    pub missed_landmarks: Vec<&'static str>,
}

/// Visits every state that `model` can reach, or as many as `limits` allow.
pub fn explore<M: Model>(model: &M, limits: Limits) -> Report {
    let mut search = Search {
        model,
        seen: FingerprintSet::default(),
        completing: FingerprintSet::default(),
        steps: Vec::new(),
        landmarks: 0,
    };
    let start = model.initial();
    search.seen.insert(fingerprint(&start));
    search.steps.push(None);
    let mut waiting = VecDeque::from([(0_usize, 0_usize, start)]);
    let (mut events, mut transitions, mut deepest) = (Vec::new(), 0, 0);

    while let Some((at, depth, state)) = waiting.pop_front() {
        deepest = deepest.max(depth);
        search.landmarks |= model.landmarks(&state);
        if let Err(violation) = model.check(&state) {
            let found = search.trace(at, violation);
            return search.report(transitions, deepest, Outcome::Violated(found));
        }
        if let Err(violation) = search.completion(&state, limits.calm_states) {
            let mut found = search.trace(at, violation);
            found.trace.push("from here on, nothing fails".to_owned());
            return search.report(transitions, deepest, Outcome::Violated(found));
        }
        events.clear();
        model.events(&state, &mut events);
        for &event in &events {
            transitions += 1;
            match model.apply(&state, event) {
                Ok(next) => {
                    if search.seen.insert(fingerprint(&next)) {
                        search.steps.push(Some((at, event)));
                        waiting.push_back((search.steps.len() - 1, depth + 1, next));
                    }
                }
                Err(violation) => {
                    let mut found = search.trace(at, violation);
                    found.trace.push(model.describe(&state, event));
                    return search.report(transitions, depth + 1, Outcome::Violated(found));
                }
            }
        }
        if search.steps.len() > limits.states {
            return search.report(transitions, deepest, Outcome::Unfinished);
        }
    }
    search.report(transitions, deepest, Outcome::Proved)
}

struct Search<'m, M: Model> {
    model: &'m M,
    seen: FingerprintSet,
    /// States known to have a fault-free completion.
    completing: FingerprintSet,
    /// For each state, in the order found, the state and the event it was first reached by.
    steps: Vec<Option<(usize, M::Event)>>,
    landmarks: u32,
}

impl<M: Model> Search<'_, M> {
    /// Looks for a fault-free completion of `state`, depth first; remembers every state on the way that has one.
    fn completion(&mut self, state: &M::State, most: usize) -> Result<(), Violation> {
        let mut tried = FingerprintSet::default();
        let mut path: Vec<(u128, Vec<M::State>)> = Vec::new();
        let mut here = state.clone();
        loop {
            let print = fingerprint(&here);
            if self.completing.contains(&print) || self.model.complete(&here) {
                self.completing.insert(print);
                self.completing.extend(path.iter().map(|(print, _)| *print));
                return Ok(());
            }
            let mut next = Vec::new();
            if tried.insert(print) {
                self.model.calm(&here, &mut next)?;
            }
            path.push((print, next));
            here = loop {
                let Some((_, untried)) = path.last_mut() else {
                    return Err(Violation::new(Property::Progress, "no fault-free completion from here"));
                };
                match untried.pop() {
                    Some(next) => break next,
                    None => drop(path.pop()),
                }
            };
            if tried.len() > most {
                let seen = format!("no completion within {most} fault-free states");
                return Err(Violation::new(Property::Progress, seen));
            }
        }
    }

    fn trace(&self, at: usize, violation: Violation) -> CounterExample {
        let mut events = Vec::new();
        let mut step = at;
        while let Some((before, event)) = self.steps[step] {
            events.push(event);
            step = before;
        }
        let mut state = self.model.initial();
        let mut trace = Vec::new();
        for event in events.into_iter().rev() {
            trace.push(self.model.describe(&state, event));
            match self.model.apply(&state, event) {
                Ok(next) => state = next,
                Err(_) => break,
            }
        }
        CounterExample { violation, trace }
    }

    fn report(&self, transitions: usize, depth: usize, outcome: Outcome) -> Report {
        let names = self.model.landmark_names();
        let missed = names.iter().enumerate().filter(|(bit, _)| self.landmarks >> bit & 1 == 0);
        Report {
            states: self.steps.len(),
            transitions,
            depth,
            outcome,
            missed_landmarks: missed.map(|(_, name)| *name).collect(),
        }
    }
}
