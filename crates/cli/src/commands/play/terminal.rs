//! The terminal while a game is on: another screen, no cursor, keys as they are pressed. Whatever happens, it is put back.

use crate::output::Failure;
use anyhow::Context;
use crossterm::event::{
    Event, KeyEvent, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags, poll, read,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode, size, supports_keyboard_enhancement,
};
use crossterm::{cursor, execute};
use std::io::{IsTerminal, Write, stdin, stdout};
use std::time::Duration;

/// What is to be heard of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listening {
    /// That they are pressed.
    Presses,
    /// Also when they are let go, where the terminal tells. Asking it takes a terminal that does not answer two seconds.
    Releases,
}

/// The terminal, taken over; dropping it gives it back.
pub struct Terminal {
    reports_releases: bool,
    size: (u16, u16),
}

impl Terminal {
    /// Takes it over.
    pub fn take(listening: Listening) -> Result<Self, Failure> {
        if !stdout().is_terminal() || !stdin().is_terminal() {
            let said = "play needs a terminal for its picture and its keys; `sane risk film RUN` writes a GIF instead";
            return Err(Failure::Usage(said.into()));
        }
        enable_raw_mode().context("cannot read single keys from the terminal")?;
        // From here on there is something to put back.
        let mut terminal = Self { reports_releases: false, size: (0, 0) };
        execute!(stdout(), EnterAlternateScreen, cursor::Hide).context("cannot draw on the terminal")?;
        // Terminals that know the kitty protocol tell when a key is let go.
        if listening == Listening::Releases && supports_keyboard_enhancement().unwrap_or(false) {
            let flags =
                KeyboardEnhancementFlags::REPORT_EVENT_TYPES | KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
            execute!(stdout(), PushKeyboardEnhancementFlags(flags)).context("cannot set up the keyboard")?;
            terminal.reports_releases = true;
        }
        Ok(terminal)
    }

    /// Whether keys that are let go are told.
    pub fn reports_releases(&self) -> bool {
        self.reports_releases
    }

    /// Columns and rows now.
    pub fn size(&mut self) -> Result<(u16, u16), Failure> {
        let now = size().context("cannot measure the terminal")?;
        if now != self.size {
            self.size = now;
            execute!(stdout(), Clear(ClearType::All)).context("cannot draw on the terminal")?;
        }
        Ok(now)
    }

    /// Shows rows of text from the top, all at once.
    pub fn show(&self, rows: &[String]) -> Result<(), Failure> {
        let mut out = stdout().lock();
        execute!(out, BeginSynchronizedUpdate).context("cannot draw on the terminal")?;
        let mut text = String::new();
        for (i, row) in rows.iter().enumerate() {
            // Row and column count from 1; whatever stood behind the row is erased.
            text += &format!("\x1b[{};1H{row}\x1b[0m\x1b[K", i + 1);
        }
        text += "\x1b[J";
        out.write_all(text.as_bytes()).context("cannot draw on the terminal")?;
        execute!(out, EndSynchronizedUpdate).context("cannot draw on the terminal")?;
        Ok(())
    }

    /// The next key within `wait`, if any.
    pub fn key(&self, wait: Duration) -> Result<Option<KeyEvent>, Failure> {
        if !poll(wait).context("cannot read from the terminal")? {
            return Ok(None);
        }
        match read().context("cannot read from the terminal")? {
            Event::Key(key) => Ok(Some(key)),
            _ => Ok(None),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Nothing better can be done where giving back fails.
        if self.reports_releases {
            let _ = execute!(stdout(), PopKeyboardEnhancementFlags);
        }
        let _ = execute!(stdout(), EndSynchronizedUpdate, cursor::Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}
