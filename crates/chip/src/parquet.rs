//! Writes a table as a file of Parquet: one row group, each column one page, compressed by zstd.
//!
//! **Follows.** `parquet.thrift` and the compact protocol of Thrift. **Leaves out.** Everything that tables of runs do not have: absent
//! values, nesting, dictionaries, statistics.

use ffslab_lab::{Column, Columns};
use ffslab_timeline::push_varint;
use std::io;

/// Numbers of `parquet.thrift`.
const INT32: i32 = 1;
const INT64: i32 = 2;
const DOUBLE: i32 = 5;
const BYTE_ARRAY: i32 = 6;
const UTF8: i32 = 0;
const UINT_32: i32 = 13;
const UINT_64: i32 = 14;
const REQUIRED: i32 = 0;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const ZSTD: i32 = 6;

const MAGIC: &[u8] = b"PAR1";
const COMPRESSION_LEVEL: i32 = 1;

/// A structure in the compact protocol of Thrift.
#[derive(Default)]
struct Thrift {
    bytes: Vec<u8>,
    /// Numbers of the last fields, of the structures that are open.
    last: Vec<u8>,
}

impl Thrift {
    fn varint(&mut self, value: u64) {
        push_varint(&mut self.bytes, value);
    }

    fn zigzag(&mut self, value: i64) {
        self.varint(((value << 1) ^ (value >> 63)) as u64);
    }

    fn field(&mut self, number: u8, kind: u8) {
        let last = self.last.last_mut().expect("a field stands in a structure");
        debug_assert!(number > *last && number - *last < 16);
        let delta = number - *last;
        *last = number;
        self.bytes.push(delta << 4 | kind);
    }

    fn i32(&mut self, number: u8, value: i32) {
        self.field(number, 5);
        self.zigzag(value.into());
    }

    fn i64(&mut self, number: u8, value: u64) {
        self.field(number, 6);
        self.zigzag(value as i64);
    }

    fn bytes(&mut self, text: &str) {
        self.varint(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn text(&mut self, number: u8, text: &str) {
        self.field(number, 8);
        self.bytes(text);
    }

    /// A list whose elements follow.
    fn list(&mut self, number: u8, kind: u8, len: usize) {
        self.field(number, 9);
        match len {
            0..=14 => self.bytes.push((len as u8) << 4 | kind),
            _ => {
                self.bytes.push(0xF0 | kind);
                self.varint(len as u64);
            }
        }
    }

    /// A structure that is an element of a list, or the whole.
    fn structure(&mut self, fields: impl FnOnce(&mut Thrift)) {
        self.last.push(0);
        fields(self);
        self.last.pop();
        self.bytes.push(0);
    }

    fn structure_at(&mut self, number: u8, fields: impl FnOnce(&mut Thrift)) {
        self.field(number, 12);
        self.structure(fields);
    }
}

fn rows(column: &Column) -> usize {
    match column {
        Column::U32(values) => values.len(),
        Column::U64(values) => values.len(),
        Column::F64(values) => values.len(),
        Column::Optional(values) => values.len(),
        Column::Texts(_, places) => places.len(),
    }
}

/// Kind of the values, and what they mean if that is not all. NaN stands for numbers that a row does not have.
fn kind(column: &Column) -> (i32, Option<i32>) {
    match column {
        Column::U32(_) => (INT32, Some(UINT_32)),
        Column::U64(_) => (INT64, Some(UINT_64)),
        Column::F64(_) | Column::Optional(_) => (DOUBLE, None),
        Column::Texts(..) => (BYTE_ARRAY, Some(UTF8)),
    }
}

/// The values one behind the other.
fn plain(column: &Column) -> Vec<u8> {
    match column {
        Column::U32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Column::U64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Column::F64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Column::Optional(values) => {
            let numbers = values.iter().map(|value| value.map_or(f64::NAN, f64::from));
            numbers.flat_map(f64::to_le_bytes).collect()
        }
        Column::Texts(names, places) => {
            let mut bytes = Vec::new();
            for &place in places {
                let name = names[place as usize].as_bytes();
                bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
                bytes.extend_from_slice(name);
            }
            bytes
        }
    }
}

/// Where a column stands in the file.
struct Chunk {
    offset: u64,
    plain_bytes: u64,
    bytes: u64,
}

/// The file that holds a table.
///
/// Errors: a column is larger than a page can be.
pub(crate) fn file_of(columns: &Columns) -> io::Result<Vec<u8>> {
    let rows = columns.first().map_or(0, |(_, column)| rows(column));
    let mut file = MAGIC.to_vec();
    let mut chunks = Vec::with_capacity(columns.len());
    for (_, column) in columns {
        let values = plain(column);
        let packed = zstd::bulk::compress(&values, COMPRESSION_LEVEL)?;
        let size = |bytes: usize| i32::try_from(bytes).map_err(|_| io::Error::other("a column of more than 2 GiB"));
        let (values_bytes, packed_bytes) = (size(values.len())?, size(packed.len())?);
        let mut header = Thrift::default();
        header.structure(|page| {
            page.i32(1, 0);
            page.i32(2, values_bytes);
            page.i32(3, packed_bytes);
            page.structure_at(5, |data| {
                data.i32(1, rows as i32);
                data.i32(2, PLAIN);
                data.i32(3, RLE);
                data.i32(4, RLE);
            });
        });
        let (head, offset) = (header.bytes.len(), file.len() as u64);
        file.extend_from_slice(&header.bytes);
        file.extend_from_slice(&packed);
        let of = |bytes: usize| (head + bytes) as u64;
        chunks.push(Chunk { offset, plain_bytes: of(values.len()), bytes: of(packed.len()) });
    }
    let footer = footer_of(columns, rows as u64, &chunks);
    file.extend_from_slice(&footer);
    file.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    file.extend_from_slice(MAGIC);
    Ok(file)
}

fn footer_of(columns: &Columns, rows: u64, chunks: &[Chunk]) -> Vec<u8> {
    const STRUCTURE: u8 = 12;
    let mut footer = Thrift::default();
    footer.structure(|meta| {
        meta.i32(1, 1);
        meta.list(2, STRUCTURE, columns.len() + 1);
        meta.structure(|root| {
            root.text(4, "schema");
            root.i32(5, columns.len() as i32);
        });
        for (name, column) in columns {
            let (kind, meaning) = kind(column);
            meta.structure(|element| {
                element.i32(1, kind);
                element.i32(3, REQUIRED);
                element.text(4, name);
                if let Some(meaning) = meaning {
                    element.i32(6, meaning);
                }
            });
        }
        meta.i64(3, rows);
        meta.list(4, STRUCTURE, 1);
        meta.structure(|group| {
            group.list(1, STRUCTURE, columns.len());
            for ((name, column), chunk) in columns.iter().zip(chunks) {
                group.structure(|place| {
                    place.i64(2, chunk.offset);
                    place.structure_at(3, |of| {
                        of.i32(1, kind(column).0);
                        of.list(2, 5, 1);
                        of.zigzag(PLAIN.into());
                        of.list(3, 8, 1);
                        of.bytes(name);
                        of.i32(4, ZSTD);
                        of.i64(5, rows);
                        of.i64(6, chunk.plain_bytes);
                        of.i64(7, chunk.bytes);
                        of.i64(9, chunk.offset);
                    });
                });
            }
            group.i64(2, chunks.iter().map(|chunk| chunk.plain_bytes).sum());
            group.i64(3, rows);
        });
        meta.text(6, concat!("ffslab ", env!("CARGO_PKG_VERSION")));
    });
    footer.bytes
}
