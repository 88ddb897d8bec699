//! Replies without a process: the bytes that a worker may have sent, read as a session reads them. Here the protocol is tried
//! with bytes that were made to harm.

use crate::error::GymError;
use crate::gym_env::{View, rendered};
use crate::options::GymOptions;
use crate::picture::picture_of;
use crate::protocol::{Payload, ReplyHeader, Request};
use crate::replies::{BadReply, ReplyReader};
use crate::source::spec_of;
use crate::worker::Exchange;
use sane_env::{Action, Stream};

/// Interactions between two resets, and between two pictures.
const EPISODE: u64 = 7;
const PICTURE: u64 = 3;

/// Frames up to this size are also drawn.
const MOST_DRAWN_BYTES: usize = 1 << 16;

/// Makes the environment that `replies` describe, resets it, steps it and renders it, until a reply is refused or the bytes
/// end: the number of steps taken, and the error that ended them.
pub fn play_replies(options: &GymOptions, replies: &[u8]) -> (u64, GymError) {
    let mut steps = 0;
    let end = play(options, replies, &mut steps);
    (steps, end.expect_err("a session continues until its bytes end"))
}

/// There is none: the bytes end before the session does.
#[derive(Debug)]
enum Never {}

fn play(options: &GymOptions, replies: &[u8], steps: &mut u64) -> Result<Never, GymError> {
    let world = &options.world;
    let mut replies = ReplyReader::new(replies).map_err(|source| GymError::Start {
        python: String::new(),
        world: world.clone(),
        source,
    })?;
    let refused = |bad: BadReply| bad.described(world, "make");
    let header = replies.header(Payload::Nothing).map_err(refused)?;
    let info = replies.info(&header).map_err(refused)?;
    let spec = spec_of(options, &info)?;
    let mut view = View::of(options, &info, 1)?;
    let mut frame = vec![0; spec.frame.bytes()];
    let mut starts = Stream::named(1, "starts");
    let mut recorded = Recorded { world, replies };
    loop {
        if steps.is_multiple_of(EPISODE) {
            view.reset(&mut recorded, world, &mut starts, &mut frame)?;
        }
        let action = Action((*steps % spec.actions.len() as u64) as u16);
        let step = view.step(&mut recorded, world, action, &mut frame)?;
        assert!(step.reward.raw().is_finite(), "a reward that is not finite is refused");
        *steps += 1;
        if steps.is_multiple_of(PICTURE) {
            rendered(&mut recorded)?;
        }
        if frame.len() <= MOST_DRAWN_BYTES {
            picture_of(&spec.frame, &frame);
        }
    }
}

struct Recorded<'a> {
    world: &'a str,
    replies: ReplyReader<&'a [u8]>,
}

impl Exchange for Recorded<'_> {
    fn call(&mut self, request: Request<'_>, payload: Payload) -> Result<ReplyHeader, GymError> {
        self.replies.header(payload).map_err(|bad| bad.described(self.world, request.name()))
    }

    fn observation(&self) -> &[u8] {
        self.replies.observation()
    }

    fn picture(&mut self, header: &ReplyHeader) -> Result<Vec<u8>, GymError> {
        self.replies.picture(header).map_err(|bad| bad.described(self.world, "render"))
    }
}
