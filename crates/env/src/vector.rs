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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ending, EnvFrames, EnvSpec, FrameSkip, FrameSpace, Picture, Reward, SnapshotError};

    /// Counts upwards from a random start by the action taken; ends at 200.
    #[derive(Clone)]
    struct Counter {
        spec: EnvSpec,
        value: u8,
    }

    impl Environment for Counter {
        fn spec(&self) -> &EnvSpec {
            &self.spec
        }
        fn reset(&mut self, starts: &mut Stream, frame: &mut [u8]) {
            self.value = starts.below(100) as u8;
            frame[0] = self.value;
        }
        fn step(&mut self, action: Action, frame: &mut [u8]) -> Step {
            self.value += action.0 as u8;
            frame[0] = self.value;
            let ending = if 200 <= self.value { Ending::GameOver } else { Ending::Continues };
            Step { reward: Reward(f32::from(self.value)), ending, frames: EnvFrames(1) }
        }
        fn snapshot(&self) -> Vec<u8> {
            vec![self.value]
        }
        fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
            self.value = snapshot[0];
            Ok(())
        }
        fn fork(&self) -> Box<dyn Environment> {
            Box::new(self.clone())
        }
        fn picture(&self) -> Picture {
            Picture { width: 1, height: 1, rgb: vec![self.value; 3] }
        }
    }

    fn counters(n: usize) -> VectorEnv {
        let spec = EnvSpec {
            name: "counter".into(),
            frame: FrameSpace::gray(1, 1),
            history: 2,
            actions: vec!["none".into(), "one".into(), "two".into()],
            frame_skip: FrameSkip(1),
        };
        let world = |i| {
            let counter: Box<dyn Environment> = Box::new(Counter { spec: spec.clone(), value: 0 });
            (counter, Stream::named(i, "starts"))
        };
        VectorEnv::new((0..n as u64).map(world).collect())
    }

    fn history(threads: usize) -> Vec<(Step, Vec<u8>)> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let mut worlds = counters(7);
            let mut seen = Vec::new();
            for t in 0..400_u16 {
                let actions: Vec<Action> = (0..7).map(|i| Action((t + i) % 3)).collect();
                worlds.step(&actions);
                seen.extend((0..7).map(|i| (worlds.last_step(i), worlds.state(i).to_vec())));
            }
            seen
        })
    }

    #[test]
    fn what_the_worlds_do_does_not_depend_on_the_number_of_threads() {
        let alone = history(1);
        assert_eq!(alone, history(2));
        assert_eq!(alone, history(4));
        assert!(alone.iter().any(|(step, _)| step.ending.ends_episode()), "no episode ended");
    }

    #[test]
    fn after_an_episode_the_next_step_shows_a_fresh_start_without_reward() {
        let mut worlds = counters(1);
        while !worlds.last_step(0).ending.ends_episode() {
            worlds.step(&[Action(2)]);
        }
        worlds.step(&[Action(2)]);
        assert_eq!(worlds.last_step(0), Step::default());
        assert_eq!(worlds.state(0)[0], worlds.state(0)[1], "a fresh start repeats its first frame");
    }
}
