//! The text of a suite file and where things stand in it: what errors point at.

use super::SuiteError;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// A suite file as written.
#[derive(Debug, Clone)]
pub struct Document {
    /// Where it was read from.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// A line of a suite file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// Counted from 1.
    pub line: usize,
}

/// One step on the way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Into a table.
    Key(String),
    /// Into a list.
    Index(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)
    }
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.into())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl Document {
    /// Reads it.
    pub fn read(path: &Path) -> Result<Self, SuiteError> {
        let text = fs::read_to_string(path).map_err(SuiteError::io("read", path))?;
        Ok(Self { path: path.into(), text })
    }

    /// The line on which the value at `way` stands, or the last of its tables that is there.
    pub fn place(&self, way: &[Step]) -> Place {
        let offset = DeTable::parse(&self.text).map_or(0, |table| offset_of(table.get_ref(), way));
        self.place_at(offset)
    }

    /// The line of a byte.
    pub fn place_at(&self, offset: usize) -> Place {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        Place { path: self.path.clone(), line: 1 + before.iter().filter(|&&byte| byte == b'\n').count() }
    }
}

fn offset_of(table: &DeTable<'_>, way: &[Step]) -> usize {
    let Some((Step::Key(key), rest)) = way.split_first() else { return 0 };
    let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref() == key) else { return 0 };
    deeper(value.get_ref(), rest).unwrap_or(name.span().start)
}

fn deeper(value: &DeValue<'_>, way: &[Step]) -> Option<usize> {
    match (value, way) {
        (DeValue::Array(items), [Step::Index(index), rest @ ..]) => {
            let item = items.get(*index)?;
            Some(deeper(item.get_ref(), rest).unwrap_or(item.span().start))
        }
        (DeValue::Table(table), [Step::Key(_), ..]) => Some(offset_of(table, way)).filter(|&offset| 0 < offset),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_on_its_line_in_lists_tables_and_dotted_keys() {
        let text = "games = [\n  'a',\n  'b',\n]\n[[variant]]\nname = 'x'\n[[variant]]\nname = 'y'\n\
                    set.learner.gamma = 1\nset.learner.double_q = true\n";
        let document = Document { path: "s.toml".into(), text: text.into() };
        let line = |way: &[Step]| document.place(way).line;
        assert_eq!(line(&["games".into(), 1.into()]), 3);
        assert_eq!(line(&["variant".into(), 1.into(), "name".into()]), 8);
        assert_eq!(line(&["variant".into(), 1.into(), "set".into(), "learner".into(), "double_q".into()]), 10);
        assert_eq!(document.place(&["games".into()]).to_string(), "s.toml:1");
    }
}
