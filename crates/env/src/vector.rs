//! N environments stepping on M threads. What each of them does depends on its own seed alone, never on M.

use crate::{Action, Environment, FrameStack, Step, Stream};
use rayon::prelude::*;

/// A row of worlds of one shape, each with its own frame stack and its own stream of starts. A world whose episode
/// ended is reset at the beginning of the next [`step`](Self::step), which then only shows the new episode's start.
pub struct VectorEnv {
    places: Vec<Place>,
}

struct Place {
    world: Box<dyn Environment>,
    starts: Stream,
    stack: FrameStack,
    frame: Vec<u8>,
    ended: bool,
    last: Step,
}

impl VectorEnv {
    /// Takes worlds together with the stream each draws its starts from, and resets them all.
    pub fn new(worlds: Vec<(Box<dyn Environment>, Stream)>) -> Self {
        let mut places: Vec<Place> = worlds
            .into_iter()
            .map(|(world, starts)| {
                let stack = FrameStack::new(world.spec());
                let frame = vec![0; world.spec().frame.bytes()];
                Place { world, starts, stack, frame, ended: false, last: Step::default() }
            })
            .collect();
        places.par_iter_mut().for_each(Place::restart);
        Self { places }
    }

    /// How many worlds there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// One decision in every world, on the threads of the rayon pool this is called in.
    pub fn step(&mut self, actions: &[Action]) {
        assert_eq!(actions.len(), self.len(), "step: {} actions for {} worlds", actions.len(), self.len());
        self.places.par_iter_mut().zip(actions).for_each(|(place, &action)| place.step(action));
    }

    /// What the last step of world `i` gave; all zero right after a reset.
    pub fn last_step(&self, i: usize) -> Step {
        self.places[i].last
    }

    /// The state of world `i`.
    pub fn state(&self, i: usize) -> &[u8] {
        self.places[i].stack.state()
    }

    /// The world at place `i`.
    pub fn world(&self, i: usize) -> &dyn Environment {
        &*self.places[i].world
    }
}

impl Place {
    fn restart(&mut self) {
        self.world.reset(&mut self.starts, &mut self.frame);
        self.stack.restart(&self.frame);
        self.ended = false;
        self.last = Step::default();
    }

    fn step(&mut self, action: Action) {
        if self.ended {
            return self.restart();
        }
        self.last = self.world.step(action, &mut self.frame);
        self.stack.push(&self.frame);
        self.ended = self.last.ending.ends_episode();
    }
}
