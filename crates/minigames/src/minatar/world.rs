//! A MinAtar game as an environment: actions in, planes out.

use super::board::{Button, CELLS, Game, SIDE};
use super::{Minatar, Ramping};
use crate::picture::{self, Colour};
use crate::registry::{Family, KnownWorld, SuitableNetwork, WorldName};
use crate::{MinigameError, snapshot};
use sane_env::{
    Action, Ending, EnvFrames, EnvSpec, Environment, FrameSkip, FrameSpace, LegendEntry, Picture, Reward,
    SnapshotError, Step, Stream, WorldFault,
};
use std::fmt::Write;

pub(crate) const FAMILY: Family = Family {
    name: "minatar",
    pattern: "minatar/GAME",
    worlds: &[
        KnownWorld { name: "minatar/asterix", description: "collect gold, evade enemies, ever faster" },
        KnownWorld { name: "minatar/breakout", description: "knock out the wall, keep the ball" },
        KnownWorld { name: "minatar/freeway", description: "cross the road as often as time allows" },
        KnownWorld { name: "minatar/seaquest", description: "shoot fish, bring divers up, breathe" },
        KnownWorld { name: "minatar/space_invaders", description: "shoot the aliens before they land" },
    ],
    preset: "minatar",
    network: SuitableNetwork::Convolutional,
    solved: None,
    episode_length: |_| None,
    make: |name, seed| {
        let game = Game::ALL.into_iter().find(|game| game.name() == name.variant).ok_or_else(|| name.unknown())?;
        Ok(Box::new(MinatarWorld::new(game, MinatarOptions::parse(name)?, seed)))
    },
};

/// The buttons offered to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ActionSet {
    /// All six in every game, as published results have it.
    #[default]
    Full,
    /// Those that have an effect in the game.
    Minimal,
}

/// Settings of a game; the defaults are those of published results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MinatarOptions {
    pub actions: ActionSet,
    /// Probability that the previous button is pressed instead.
    pub sticky: f64,
    pub ramping: Ramping,
    /// Steps after which an episode is truncated. The package has no limit, and in seaquest a player who stays at the
    /// surface plays for ever.
    pub limit: Option<u64>,
}

impl Default for MinatarOptions {
    fn default() -> Self {
        Self { actions: ActionSet::Full, sticky: 0.1, ramping: Ramping::On, limit: None }
    }
}

impl MinatarOptions {
    fn parse(name: &WorldName<'_>) -> Result<Self, MinigameError> {
        let mut chosen = Self::default();
        for (option, value) in name.options() {
            let bad = |expected| name.bad_option(option, value, expected);
            match option {
                "actions" => {
                    chosen.actions = match value {
                        "full" => ActionSet::Full,
                        "minimal" => ActionSet::Minimal,
                        _ => return Err(bad("full or minimal")),
                    }
                }
                "ramping" => {
                    chosen.ramping = match value {
                        "on" => Ramping::On,
                        "off" => Ramping::Off,
                        _ => return Err(bad("on or off")),
                    }
                }
                "sticky" => {
                    chosen.sticky = name.value(option, value, "a number from 0 to 1")?;
                    if !(0.0..=1.0).contains(&chosen.sticky) {
                        return Err(bad("a number from 0 to 1"));
                    }
                }
                "limit" => {
                    chosen.limit = Some(name.value(option, value, "a number of steps, at least 1")?);
                    if chosen.limit == Some(0) {
                        return Err(bad("a number of steps, at least 1"));
                    }
                }
                _ => return Err(name.unknown_option(option, &["actions", "sticky", "ramping", "limit"])),
            }
        }
        Ok(chosen)
    }
}

/// A game as an environment. All randomness comes from the package's own generator, seeded at construction, so a reset
/// draws nothing from the stream of starts.
#[derive(Debug, Clone)]
pub struct MinatarWorld {
    spec: EnvSpec,
    buttons: &'static [Button],
    limit: Option<u64>,
    game: Minatar,
    steps: u64,
}

impl MinatarWorld {
    /// The game seeded by `seed`, not yet reset.
    pub fn new(game: Game, options: MinatarOptions, seed: u64) -> Self {
        assert!((0.0..=1.0).contains(&options.sticky), "a sticky probability of {}", options.sticky);
        let buttons = match options.actions {
            ActionSet::Full => &Button::ALL,
            ActionSet::Minimal => game.minimal_buttons(),
        };
        let spec = EnvSpec {
            name: name_of(game, options),
            frame: FrameSpace::planes(game.channels(), SIDE, SIDE),
            history: 1,
            actions: buttons.iter().map(|button| button.name().into()).collect(),
            frame_skip: FrameSkip(1),
        };
        let game = Minatar::new(game, options.sticky, options.ramping, seed);
        Self { spec, buttons, limit: options.limit, game, steps: 0 }
    }
}

/// The name that [`crate::make`] makes this world from; defaults are left out.
fn name_of(game: Game, options: MinatarOptions) -> String {
    let standard = MinatarOptions::default();
    let mut name = format!("minatar/{}", game.name());
    let mut separator = ':';
    let mut add = |option: std::fmt::Arguments<'_>| {
        write!(name, "{separator}{option}").expect("a string takes any text");
        separator = ',';
    };
    if options.actions != standard.actions {
        add(format_args!("actions=minimal"));
    }
    if options.sticky != standard.sticky {
        add(format_args!("sticky={}", options.sticky));
    }
    if options.ramping != standard.ramping {
        add(format_args!("ramping=off"));
    }
    if let Some(limit) = options.limit {
        add(format_args!("limit={limit}"));
    }
    name
}

impl Environment for MinatarWorld {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, _starts: &mut Stream, frame: &mut [u8]) -> Result<(), WorldFault> {
        self.game.reset();
        self.steps = 0;
        self.game.paint(frame);
        Ok(())
    }

    fn step(&mut self, action: Action, frame: &mut [u8]) -> Result<Step, WorldFault> {
        let Some(&button) = self.buttons.get(usize::from(action.0)) else {
            panic!("step: action {} of {}, which has {}", action.0, self.spec.name, self.buttons.len());
        };
        let acted = self.game.act(button);
        self.steps += 1;
        self.game.paint(frame);
        let ending = match self.limit {
            _ if acted.terminal => Ending::GameOver,
            Some(limit) if limit <= self.steps => Ending::Truncated,
            _ => Ending::Continues,
        };
        Ok(Step { reward: Reward(acted.reward as f32), ending, frames: EnvFrames(1) })
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&self.spec.name, &(&self.game, self.steps))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        let (game, steps): (Minatar, u64) = snapshot::decode(&self.spec.name, snapshot)?;
        snapshot::check(&self.spec.name, self.game.can_become(&game) && steps <= u64::MAX / 2)?;
        (self.game, self.steps) = (game, steps);
        Ok(())
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    fn reseed(&mut self, seeds: &mut Stream) -> bool {
        self.game.reseed(seeds.next_u64());
        true
    }

    fn picture(&self) -> Picture {
        let game = self.game.game();
        let mut planes = vec![0; game.channels() * CELLS];
        self.game.paint(&mut planes);
        picture::paint(&planes, SIDE, SIDE, &COLOURS[..game.channels()])
    }

    fn legend(&self) -> Vec<LegendEntry> {
        let game = self.game.game();
        picture::legend(game.planes(), &COLOURS[..game.channels()])
    }
}

/// One colour per channel; the player is white in every game.
const COLOURS: [Colour; 10] = [
    [240, 240, 240],
    [228, 87, 86],
    [120, 120, 130],
    [238, 202, 59],
    [76, 120, 168],
    [114, 183, 178],
    [245, 133, 24],
    [84, 162, 75],
    [178, 121, 162],
    [255, 157, 166],
];
