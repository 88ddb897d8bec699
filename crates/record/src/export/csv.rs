//! Tables as CSV (RFC 4180): a line of names, then a line per row; what a row lacks is empty.

use super::Cell;
use super::tables::Column;
use crate::{RecordError, temporary_beside};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A CSV file being written.
pub(super) struct CsvTable {
    path: PathBuf,
    file: BufWriter<File>,
    columns: Vec<Column>,
}

impl CsvTable {
    pub fn create(path: &Path, columns: &[Column]) -> Result<Self, RecordError> {
        let file = File::create(temporary_beside(path)).map_err(RecordError::io("write", path))?;
        let mut table = Self { path: path.into(), file: BufWriter::new(file), columns: columns.to_vec() };
        let names: Vec<String> = columns.iter().map(|(name, _)| quoted(name)).collect();
        table.line(&names)?;
        Ok(table)
    }

    pub fn row(&mut self, cells: &BTreeMap<String, Cell>) -> Result<(), RecordError> {
        let value = |(name, _): &Column| cells.get(name).map(|cell| quoted(&cell.text())).unwrap_or_default();
        let values: Vec<String> = self.columns.iter().map(value).collect();
        self.line(&values)
    }

    pub fn finish(mut self) -> Result<PathBuf, RecordError> {
        let written = self.file.flush().and_then(|()| fs::rename(temporary_beside(&self.path), &self.path));
        written.map_err(RecordError::io("write", &self.path))?;
        Ok(self.path)
    }

    fn line(&mut self, values: &[String]) -> Result<(), RecordError> {
        writeln!(self.file, "{}", values.join(",")).map_err(RecordError::io("write", &self.path))
    }
}

fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

#[cfg(test)]
mod tests {
    use crate::export::tests::run_folder;
    use crate::export::{ExportRun, TableFormat, export_tables};
    use std::fs;

    #[test]
    fn every_kind_of_record_is_a_table_that_begins_with_its_run() {
        let (folder, out) = (run_folder(), tempfile::tempdir().unwrap());
        let run = ExportRun::read(folder.path()).unwrap();
        let files = export_tables(&[run], TableFormat::Csv, out.path()).unwrap();
        let names: Vec<_> = files.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["episodes.csv", "evaluations.csv", "intervals.csv", "runs.csv"]);
        let text = fs::read_to_string(out.path().join("intervals.csv")).unwrap();
        let place = folder.path().display();
        let expected = format!(
            "run,world,agent,seed,interactions,loss_mean,sigma.mean_abs\n\
             {place},risky-road,sane,3,20,,0.25\n{place},risky-road,sane,3,40,1e-7,\n"
        );
        assert_eq!(text, expected);
        let evaluations = fs::read_to_string(out.path().join("evaluations.csv")).unwrap();
        assert!(evaluations.contains("\"[1.0,2.0]\""), "{evaluations}");
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 4, "no temporary file is left");
    }
}
