//! A risky road with marked lanes in its breaks, where nearly every steering is harmless: only a car far from where the next
//! stretch must be entered is in a hurry. The marks change rewards and nothing else: traffic, crashes and true risk are those of the risky road. What they pay is a [`MarkRule`].

use super::{CHANNELS, Difficulty, EPISODE_ROWS, HEIGHT, LANES, PLANE, RiskyRoad, Row, State, Steering};
use crate::picture::Colour;
use crate::{picture, snapshot};
use sane_env::{
    Action, EnvSpec, Environment, FrameSpace, GroundTruth, LegendEntry, Picture, Reward, SnapshotError, Step, Stream,
    WorldFault,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::fmt::Debug;

const MARKS_STREAM: &str = "risky-road marks";

/// Tight stretches before the first marks of an episode. A car that steers at random crashes before, so that marks are met
/// by drivers only.
const TIGHT_BEFORE_MARKS: u32 = 2;

/// What marks there are, and what they pay.
pub(super) trait MarkRule: Debug + Clone + Send + Serialize + DeserializeOwned + 'static {
    /// Planes behind those of the road, and their colours.
    const COLOURS: &'static [Colour];

    /// What they stand for.
    const MEANINGS: &'static [&'static str];

    /// The marks of one row.
    type Marks: Debug + Clone + Copy + Default + Send + Serialize + DeserializeOwned;

    /// An episode begins.
    fn begin_episode(&mut self) {}

    /// The marks of the `i`-th row of a break that has at least as many empty rows as [`BREAK`](super::traffic::BREAK).
    fn marks(&mut self, i: u32, stream: &mut Stream) -> Self::Marks;

    /// What a row pays beyond the reward of the road; the car has entered it in `lane` and did not crash.
    fn pay(&mut self, marks: Self::Marks, lane: usize) -> f32;

    /// Sets a row of the planes, each of `LANES` cells; `lane` is that of the car in its own row.
    fn paint(&self, marks: Self::Marks, lane: Option<usize>, plane: usize) -> u8;

    /// Whether it is a state of the same rule as `other`.
    fn is_valid(&self, other: &Self) -> bool;

    /// One interaction has passed.
    fn tick(&mut self) {}

    /// See [`Environment::settle`].
    fn settle(&mut self) {}
}

/// A road and its marks.
#[derive(Debug, Clone)]
pub(super) struct MarkedRoad<R: MarkRule> {
    spec: EnvSpec,
    road: RiskyRoad,
    marked: Marked<R>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "R: MarkRule")]
struct Marked<R: MarkRule> {
    rule: R,
    /// Of the row the car is in, then of those ahead.
    rows: [R::Marks; HEIGHT],
    stream: Stream,
    /// Tight stretches since the episode began.
    tight: u32,
    /// Rows of the break that the newest row belongs to; 0 if it belongs to none.
    rows_of_break: u32,
    was_tight: bool,
}

impl<R: MarkRule> MarkedRoad<R> {
    /// A road of normal difficulty.
    pub fn new(name: String, rule: R, seed: u64) -> Self {
        let road = RiskyRoad::new(Difficulty::NORMAL, seed);
        let frame = FrameSpace::planes(CHANNELS + R::COLOURS.len(), HEIGHT, LANES);
        let spec = EnvSpec { name, frame, ..road.spec.clone() };
        Self { spec, road, marked: Marked::new(rule, seed) }
    }

    fn paint(&self, frame: &mut [u8]) {
        let (road, marks) = frame.split_at_mut(CHANNELS * PLANE);
        self.road.paint(road);
        for (plane, cells) in marks.chunks_exact_mut(PLANE).enumerate() {
            for (distance, row) in self.marked.rows.iter().enumerate() {
                let lane = (distance == 0).then_some(self.road.state.lane);
                let lanes = self.marked.rule.paint(*row, lane, plane);
                let at = (HEIGHT - 1 - distance) * LANES;
                (0..LANES).for_each(|lane| cells[at + lane] = lanes >> lane & 1);
            }
        }
    }
}

impl<R: MarkRule> Marked<R> {
    fn new(rule: R, seed: u64) -> Self {
        let stream = Stream::named(seed, MARKS_STREAM);
        Self { rule, rows: Default::default(), stream, tight: 0, rows_of_break: 0, was_tight: false }
    }

    /// The road has moved on by one row.
    fn drive(&mut self, road: &State) {
        let (is_break, is_tight) = (road.traffic.is_break(), road.traffic.is_tight());
        self.tight += u32::from(is_tight && !self.was_tight);
        self.was_tight = is_tight;
        self.rows.rotate_left(1);
        let may_be_marked = is_break && TIGHT_BEFORE_MARKS <= self.tight;
        self.rows[HEIGHT - 1] =
            if may_be_marked { self.rule.marks(self.rows_of_break, &mut self.stream) } else { Default::default() };
        self.rows_of_break = if is_break { self.rows_of_break + 1 } else { 0 };
        debug_assert!(!is_break || road.rows[HEIGHT - 1] == Row::EMPTY);
    }
}

impl<R: MarkRule> Environment for MarkedRoad<R> {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, starts: &mut Stream, frame: &mut [u8]) -> Result<(), WorldFault> {
        let seed = starts.next_u64();
        self.road.state = State::new(self.road.difficulty, seed);
        self.marked = Marked::new(self.marked.rule.clone(), seed);
        self.marked.rule.begin_episode();
        self.paint(frame);
        Ok(())
    }

    fn step(&mut self, action: Action, frame: &mut [u8]) -> Result<Step, WorldFault> {
        let Some(&steering) = Steering::ALL.get(usize::from(action.0)) else {
            panic!("step: action {} of {}, which has 3", action.0, self.spec.name);
        };
        self.road.state.drive(steering);
        self.marked.drive(&self.road.state);
        let mut step = self.road.outcome();
        if !self.road.state.crashed {
            let pay = self.marked.rule.pay(self.marked.rows[0], self.road.state.lane);
            step.reward = Reward(step.reward.raw() + pay);
        }
        self.marked.rule.tick();
        self.paint(frame);
        Ok(step)
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&self.spec.name, &(&self.road.state, &self.marked))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        let (state, marked): (State, Marked<R>) = snapshot::decode(&self.spec.name, snapshot)?;
        let is_counted = marked.tight <= EPISODE_ROWS && marked.rows_of_break <= EPISODE_ROWS;
        let is_valid = state.is_valid(self.road.difficulty) && marked.rule.is_valid(&self.marked.rule) && is_counted;
        snapshot::check(&self.spec.name, is_valid)?;
        (self.road.state, self.marked) = (state, marked);
        Ok(())
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    fn reseed(&mut self, seeds: &mut Stream) -> bool {
        let seed = seeds.next_u64();
        self.road = self.road.reseeded(seed);
        self.marked.stream = Stream::named(seed, MARKS_STREAM);
        true
    }

    fn settle(&mut self) {
        self.marked.rule.settle();
    }

    fn picture(&self) -> Picture {
        let mut frame = vec![0; self.spec.frame.bytes()];
        self.paint(&mut frame);
        picture::paint(&frame, HEIGHT, LANES, &[&super::COLOURS[..], R::COLOURS].concat())
    }

    fn legend(&self) -> Vec<LegendEntry> {
        let meanings = [&super::MEANINGS[..], R::MEANINGS].concat();
        picture::legend(&meanings, &[&super::COLOURS[..], R::COLOURS].concat())
    }

    fn ground_truth(&self) -> Option<&dyn GroundTruth> {
        Some(&self.road)
    }
}

impl<R: MarkRule> MarkedRoad<R> {
    /// The road without its marks.
    #[cfg(test)]
    pub fn road(&self) -> &RiskyRoad {
        &self.road
    }

    /// The marks of the next row, the lanes of the given plane.
    #[cfg(test)]
    pub fn next_marks(&self, plane: usize) -> u8 {
        self.marked.rule.paint(self.marked.rows[1], None, plane)
    }
}
