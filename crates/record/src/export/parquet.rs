//! Tables as Parquet. Written here, since four types, one page per column and optional values need two hundred lines, and the
//! published crate brings arrow's buffers, a thrift stack and minutes of compilation:
//!
//! ```text
//! file          "PAR1"  row groups  FileMetaData  u32 its length  "PAR1"
//! row group     one page per column: PageHeader, then, compressed as gzip: definition levels (1: there is a value), values
//! values        plain: 8 bytes little-endian; a bit per truth value; u32 length and bytes of a text
//! ```
//!
//! PageHeader and FileMetaData are structs of thrift's compact protocol; field numbers are those of `parquet.thrift`.

use super::Cell;
use super::tables::{Column, ColumnType};
use crate::{RecordError, temporary_beside};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 4] = b"PAR1";
const PLAIN: i64 = 0;
const RLE: i64 = 3;
const GZIP: i64 = 2;
const OPTIONAL: i64 = 1;
const UTF8: i64 = 0;

/// Rows after which a group ends in any case.
const MOST_ROWS: usize = 1 << 20;

/// A Parquet file being written.
pub(super) struct ParquetTable {
    path: PathBuf,
    file: BufWriter<File>,
    position: u64,
    columns: Vec<(Column, ColumnBuffer)>,
    rows: usize,
    groups: Vec<RowGroup>,
}

/// The values of a column in the group being filled.
#[derive(Default)]
struct ColumnBuffer {
    present: Vec<bool>,
    values: Vec<u8>,
    truths: Vec<bool>,
}

struct RowGroup {
    rows: usize,
    chunks: Vec<Chunk>,
}

/// Where a column of a group is.
struct Chunk {
    offset: u64,
    plain_bytes: usize,
    stored_bytes: usize,
}

impl ParquetTable {
    pub fn create(path: &Path, columns: &[Column]) -> Result<Self, RecordError> {
        let file = File::create(temporary_beside(path)).map_err(RecordError::io("write", path))?;
        let columns = columns.iter().map(|column| (column.clone(), ColumnBuffer::default())).collect();
        let (rows, groups) = (0, Vec::new());
        let mut table = Self { path: path.into(), file: BufWriter::new(file), position: 0, columns, rows, groups };
        table.write(MAGIC)?;
        Ok(table)
    }

    pub fn row(&mut self, cells: &BTreeMap<String, Cell>) -> Result<(), RecordError> {
        for ((name, kind), buffer) in &mut self.columns {
            let cell = cells.get(name);
            buffer.present.push(cell.is_some());
            match (kind, cell) {
                (_, None) => {}
                (ColumnType::Truth, Some(Cell::Truth(truth))) => buffer.truths.push(*truth),
                (ColumnType::Integer, Some(Cell::Integer(value))) => buffer.values.extend(value.to_le_bytes()),
                (ColumnType::Number, Some(Cell::Integer(value))) => buffer.values.extend((*value as f64).to_le_bytes()),
                (ColumnType::Number, Some(Cell::Number(value))) => buffer.values.extend(value.to_le_bytes()),
                (_, Some(other)) => {
                    let text = other.text();
                    buffer.values.extend((text.len() as u32).to_le_bytes());
                    buffer.values.extend(text.as_bytes());
                }
            }
        }
        self.rows += 1;
        if self.rows == MOST_ROWS { self.end_row_group() } else { Ok(()) }
    }

    /// Writes the rows so far as a group.
    pub fn end_row_group(&mut self) -> Result<(), RecordError> {
        if self.rows == 0 {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        let mut chunks = Vec::new();
        for i in 0..self.columns.len() {
            let ((_, kind), buffer) = &mut self.columns[i];
            let page = std::mem::take(buffer).page(*kind);
            let compressed = gzip(&page).map_err(RecordError::io("compress", &self.path))?;
            let header = page_header(rows, page.len(), compressed.len());
            let offset = self.position;
            self.write(&header)?;
            self.write(&compressed)?;
            let (plain_bytes, stored_bytes) = (header.len() + page.len(), header.len() + compressed.len());
            chunks.push(Chunk { offset, plain_bytes, stored_bytes });
        }
        self.groups.push(RowGroup { rows, chunks });
        Ok(())
    }

    pub fn finish(mut self) -> Result<PathBuf, RecordError> {
        self.end_row_group()?;
        let metadata = self.metadata();
        self.write(&metadata)?;
        self.write(&(metadata.len() as u32).to_le_bytes())?;
        self.write(MAGIC)?;
        let written = self.file.flush().and_then(|()| fs::rename(temporary_beside(&self.path), &self.path));
        written.map_err(RecordError::io("write", &self.path))?;
        Ok(self.path)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        self.position += bytes.len() as u64;
        self.file.write_all(bytes).map_err(RecordError::io("write", &self.path))
    }

    /// FileMetaData.
    fn metadata(&self) -> Vec<u8> {
        let mut file = Thrift::default();
        file.i32(1, 1);
        file.structs(2, self.columns.len() + 1, |thrift, i| match i.checked_sub(1) {
            None => {
                thrift.text(4, "schema");
                thrift.i32(5, self.columns.len() as i64);
            }
            Some(i) => {
                let ((name, kind), _) = &self.columns[i];
                thrift.i32(1, physical(*kind));
                thrift.i32(3, OPTIONAL);
                thrift.text(4, name);
                if *kind == ColumnType::Text {
                    thrift.i32(6, UTF8);
                }
            }
        });
        file.i64(3, self.groups.iter().map(|group| group.rows as i64).sum());
        file.structs(4, self.groups.len(), |thrift, i| self.row_group(thrift, &self.groups[i]));
        file.text(6, concat!("sane ", env!("CARGO_PKG_VERSION")));
        file.end()
    }

    fn row_group(&self, thrift: &mut Thrift, group: &RowGroup) {
        thrift.structs(1, group.chunks.len(), |thrift, i| {
            let (Chunk { offset, plain_bytes, stored_bytes }, ((name, kind), _)) = (&group.chunks[i], &self.columns[i]);
            thrift.i64(2, *offset as i64);
            thrift.structure(3, |thrift| {
                thrift.i32(1, physical(*kind));
                thrift.i32_list(2, &[PLAIN, RLE]);
                thrift.text_list(3, &[name]);
                thrift.i32(4, GZIP);
                thrift.i64(5, group.rows as i64);
                thrift.i64(6, *plain_bytes as i64);
                thrift.i64(7, *stored_bytes as i64);
                thrift.i64(9, *offset as i64);
            });
        });
        thrift.i64(2, group.chunks.iter().map(|chunk| chunk.plain_bytes as i64).sum());
        thrift.i64(3, group.rows as i64);
    }
}

impl ColumnBuffer {
    /// Definition levels, then the values there are.
    fn page(self, kind: ColumnType) -> Vec<u8> {
        let mut levels = Vec::new();
        for run in self.present.chunk_by(|one, other| one == other) {
            varint(&mut levels, (run.len() as u64) << 1);
            levels.push(u8::from(run[0]));
        }
        let mut page = (levels.len() as u32).to_le_bytes().to_vec();
        page.extend(levels);
        match kind {
            ColumnType::Truth => page.extend(
                self.truths
                    .chunks(8)
                    .map(|bits| bits.iter().enumerate().fold(0_u8, |byte, (i, truth)| byte | u8::from(*truth) << i)),
            ),
            _ => page.extend(self.values),
        }
        page
    }
}

fn page_header(rows: usize, plain_bytes: usize, stored_bytes: usize) -> Vec<u8> {
    let mut header = Thrift::default();
    header.i32(1, 0);
    header.i32(2, plain_bytes as i64);
    header.i32(3, stored_bytes as i64);
    header.structure(5, |page| {
        page.i32(1, rows as i64);
        page.i32(2, PLAIN);
        page.i32(3, RLE);
        page.i32(4, RLE);
    });
    header.end()
}

fn physical(kind: ColumnType) -> i64 {
    match kind {
        ColumnType::Truth => 0,
        ColumnType::Integer => 2,
        ColumnType::Number => 5,
        ColumnType::Text => 6,
    }
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while 0x80 <= value {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// A struct of thrift's compact protocol being written; fields in ascending order.
#[derive(Default)]
struct Thrift {
    bytes: Vec<u8>,
    last: u8,
}

impl Thrift {
    const I32: u8 = 5;
    const I64: u8 = 6;
    const BINARY: u8 = 8;
    const LIST: u8 = 9;
    const STRUCT: u8 = 12;

    fn field(&mut self, number: u8, kind: u8) {
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    fn zigzag(&mut self, value: i64) {
        varint(&mut self.bytes, (value << 1 ^ value >> 63) as u64);
    }

    fn i32(&mut self, number: u8, value: i64) {
        self.field(number, Self::I32);
        self.zigzag(value);
    }

    fn i64(&mut self, number: u8, value: i64) {
        self.field(number, Self::I64);
        self.zigzag(value);
    }

    fn raw_text(&mut self, text: &str) {
        varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    fn text(&mut self, number: u8, text: &str) {
        self.field(number, Self::BINARY);
        self.raw_text(text);
    }

    fn list(&mut self, number: u8, kind: u8, length: usize) {
        self.field(number, Self::LIST);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, length as u64);
        }
    }

    fn i32_list(&mut self, number: u8, values: &[i64]) {
        self.list(number, Self::I32, values.len());
        values.iter().for_each(|value| self.zigzag(*value));
    }

    fn text_list(&mut self, number: u8, texts: &[&str]) {
        self.list(number, Self::BINARY, texts.len());
        texts.iter().for_each(|text| self.raw_text(text));
    }

    fn structs(&mut self, number: u8, length: usize, mut each: impl FnMut(&mut Self, usize)) {
        self.list(number, Self::STRUCT, length);
        for i in 0..length {
            let mut inner = Self::default();
            each(&mut inner, i);
            self.bytes.extend(inner.end());
        }
    }

    fn structure(&mut self, number: u8, fill: impl FnOnce(&mut Self)) {
        self.field(number, Self::STRUCT);
        let mut inner = Self::default();
        fill(&mut inner);
        self.bytes.extend(inner.end());
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_level_per_row_and_a_value_where_there_is_one() {
        let buffer = ColumnBuffer {
            present: vec![true, true, false, true],
            truths: vec![true, false, true],
            ..ColumnBuffer::default()
        };
        // Two values, one gap, one value; then three bits.
        assert_eq!(buffer.page(ColumnType::Truth), [6, 0, 0, 0, 4, 1, 2, 0, 2, 1, 0b101]);
    }

    #[test]
    fn thrift_numbers_fields_by_their_distance_and_long_lists_by_a_varint() {
        let mut thrift = Thrift::default();
        thrift.i32(1, -1);
        thrift.i64(9, 150);
        thrift.i32_list(10, &[0; 15]);
        let mut expected = vec![0x15, 1, 0x86, 0xac, 0x02, 0x19, 0xf5, 15];
        expected.extend([0; 15]);
        expected.push(0);
        assert_eq!(thrift.end(), expected);
    }
}
