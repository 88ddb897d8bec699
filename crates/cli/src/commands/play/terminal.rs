//! The terminal during a game: the alternate screen without a cursor, single key events, pictures as half blocks. Its
//! state is restored on drop.

use crate::failure::Failure;
use anyhow::Context;
use crossterm::event::{
    Event, KeyEvent, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags, poll, read,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode, size, supports_keyboard_enhancement,
};
use crossterm::{cursor, execute};
use sane_env::Picture;
use std::io::{IsTerminal, Write, stdin, stdout};
use std::time::Duration;

/// Which key events are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyEvents {
    Presses,
    /// Releases are reported only by terminals that know the kitty protocol. A terminal that does not answer the query
    /// for it costs two seconds.
    PressesAndReleases,
}

/// The terminal in game mode; dropping it restores its state.
pub struct Terminal {
    reports_releases: bool,
    size: (u16, u16),
}

impl Terminal {
    pub fn take(events: KeyEvents) -> Result<Self, Failure> {
        if !stdout().is_terminal() || !stdin().is_terminal() {
            return Err(Failure::usage(
                "play needs a terminal for its picture and its keys; `sane risk film RUN` writes a GIF instead",
            ));
        }
        enable_raw_mode().context("cannot read single keys from the terminal")?;
        // Constructed before the next fallible call, so that an error there restores the terminal.
        let mut terminal = Self { reports_releases: false, size: (0, 0) };
        execute!(stdout(), EnterAlternateScreen, cursor::Hide).context("cannot draw on the terminal")?;
        if events == KeyEvents::PressesAndReleases && supports_keyboard_enhancement().unwrap_or(false) {
            let flags =
                KeyboardEnhancementFlags::REPORT_EVENT_TYPES | KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
            execute!(stdout(), PushKeyboardEnhancementFlags(flags)).context("cannot set up the keyboard")?;
            terminal.reports_releases = true;
        }
        Ok(terminal)
    }

    pub fn reports_releases(&self) -> bool {
        self.reports_releases
    }

    /// Columns and rows. After a change of size the screen is cleared.
    pub fn size(&mut self) -> Result<(usize, usize), Failure> {
        let now = size().context("cannot measure the terminal")?;
        if now != self.size {
            self.size = now;
            execute!(stdout(), Clear(ClearType::All)).context("cannot draw on the terminal")?;
        }
        Ok((usize::from(now.0), usize::from(now.1)))
    }

    /// Replaces the screen's content by rows of text in one synchronized update.
    pub fn show(&self, rows: &[String]) -> Result<(), Failure> {
        let mut out = stdout().lock();
        execute!(out, BeginSynchronizedUpdate).context("cannot draw on the terminal")?;
        let mut text = String::new();
        for (i, row) in rows.iter().enumerate() {
            // Rows and columns are counted from 1; `[K` erases the rest of the row.
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
        // Errors are ignored: there is no other way to restore the terminal.
        if self.reports_releases {
            let _ = execute!(stdout(), PopKeyboardEnhancementFlags);
        }
        let _ = execute!(stdout(), EndSynchronizedUpdate, cursor::Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// The picture as rows of text: each character is an upper half block, two pixels in 24-bit colour. Scaled to at most
/// `columns` × `rows` characters with its aspect ratio kept, and centred.
pub fn half_blocks(picture: &Picture, columns: usize, rows: usize) -> Vec<String> {
    if columns == 0 || rows == 0 || picture.width == 0 || picture.height == 0 {
        return Vec::new();
    }
    // A character cell is about twice as high as wide, so half of it is about a square.
    let factor = (columns as f64 / picture.width as f64).min(2.0 * rows as f64 / picture.height as f64);
    let scaled = |size: usize| ((size as f64 * factor).floor() as usize).max(1);
    let (width, height) = (scaled(picture.width).min(columns), scaled(picture.height).min(2 * rows));
    let pixels = resized(picture, width, height);
    let indent = " ".repeat((columns - width) / 2);
    let pixel = |x: usize, y: usize| (y < height).then(|| pixels[y * width + x]);
    (0..height.div_ceil(2))
        .map(|row| {
            let mut text = indent.clone();
            let mut colours = (None, None);
            for x in 0..width {
                let (upper, lower) = (pixel(x, 2 * row), pixel(x, 2 * row + 1));
                if colours.0 != upper {
                    text += &colour(38, upper);
                }
                if colours.1 != lower {
                    text += &colour(48, lower);
                }
                colours = (upper, lower);
                text.push('▀');
            }
            text
        })
        .collect()
}

/// A bar of `columns` characters that is full at `maximum`.
pub fn bar(value: f64, maximum: f64, columns: usize) -> String {
    let share = if 0.0 < maximum { (value / maximum).clamp(0.0, 1.0) } else { 0.0 };
    let full = (share * columns as f64).round() as usize;
    format!("{}{}", "█".repeat(full), "·".repeat(columns - full))
}

fn colour(ground: u8, rgb: Option<[u8; 3]>) -> String {
    match rgb {
        Some([r, g, b]) => format!("\x1b[{ground};2;{r};{g};{b}m"),
        None => format!("\x1b[{}m", ground + 1),
    }
}

/// Box filter where the picture shrinks, nearest neighbour where it grows.
fn resized(picture: &Picture, width: usize, height: usize) -> Vec<[u8; 3]> {
    let span = |i: usize, to: usize, from: usize| {
        let start = i * from / to;
        start..((i + 1) * from / to).max(start + 1)
    };
    let mut pixels = Vec::with_capacity(width * height);
    for y in 0..height {
        for x in 0..width {
            let (mut sum, mut count) = ([0_u32; 3], 0);
            for row in span(y, height, picture.height) {
                for column in span(x, width, picture.width) {
                    let at = 3 * (row * picture.width + column);
                    (0..3).for_each(|c| sum[c] += u32::from(picture.rgb[at + c]));
                    count += 1;
                }
            }
            pixels.push(sum.map(|sum| (sum / count) as u8));
        }
    }
    pixels
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text without its escape sequences.
    fn characters(row: &str) -> String {
        let mut seen = String::new();
        let mut in_escape = false;
        for c in row.chars() {
            match (in_escape, c) {
                (false, '\x1b') => in_escape = true,
                (false, c) => seen.push(c),
                (true, c) => in_escape = !c.is_ascii_alphabetic(),
            }
        }
        seen
    }

    fn picture(width: usize, height: usize) -> Picture {
        Picture { width, height, rgb: (0..3 * width * height).map(|i| (i % 251) as u8).collect() }
    }

    #[test]
    fn a_picture_of_two_pixels_is_one_character_in_their_colours() {
        let two = Picture { width: 1, height: 2, rgb: vec![1, 2, 3, 4, 5, 6] };
        assert_eq!(half_blocks(&two, 1, 1), ["\x1b[38;2;1;2;3m\x1b[48;2;4;5;6m▀"]);
    }

    #[test]
    fn a_picture_fits_every_terminal_and_keeps_its_aspect_ratio() {
        for (columns, rows) in [(80, 24), (200, 60), (10, 50), (3, 1), (1, 1)] {
            let text = half_blocks(&picture(160, 210), columns, rows);
            assert!(text.len() <= rows && text.iter().all(|row| characters(row).chars().count() <= columns));
        }
        let text = half_blocks(&picture(160, 210), 200, 105);
        assert_eq!((text.len(), characters(&text[0]).trim_start().chars().count()), (105, 160));
        assert!(half_blocks(&picture(160, 210), 0, 5).is_empty());
    }

    #[test]
    fn a_bar_is_as_full_as_its_value() {
        assert_eq!([bar(0.5, 1.0, 4), bar(9.0, 1.0, 2), bar(1.0, 0.0, 3)], ["██··", "██", "···"]);
    }
}
