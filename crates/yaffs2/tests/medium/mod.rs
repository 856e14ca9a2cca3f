//! YAFFS2's on-flash format once more, from the crate's README alone: nothing of the crate is used here.
#![allow(dead_code)]

use ffslab_flash::Geometry;
use std::collections::BTreeMap;

pub const SUMMARY: u32 = 0x10;
pub const CHECKPOINT: u32 = 0x21;
pub const FIRST_SEQUENCE: u32 = 0x1000;
pub const EXTRA: u32 = 1 << 31;

pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

pub fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

pub fn sum(bytes: &[u8]) -> u32 {
    bytes.iter().map(|&byte| u32::from(byte)).fold(0, u32::wrapping_add)
}

pub fn xor(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |all, &byte| all ^ u32::from(byte))
}

/// The ECC over tags, counted bit by bit.
pub fn ecc(tags: &[u8]) -> [u8; 12] {
    let (mut columns, mut lines, mut inverted) = (0u8, 0u32, 0u32);
    for (position, &byte) in tags.iter().enumerate() {
        let mut odd = false;
        for bit in 0..8 {
            if byte & 1 << bit != 0 {
                odd = !odd;
                for digit in 0..3 {
                    columns ^= 1 << (2 * digit + (bit >> digit & 1));
                }
            }
        }
        if odd {
            lines ^= position as u32;
            inverted ^= !(position as u32);
        }
    }
    let mut code = [0; 12];
    code[0] = columns;
    put(&mut code, 4, lines);
    put(&mut code, 8, inverted);
    code
}

/// Where things stand in an image with OOB.
#[derive(Clone, Copy)]
pub struct Layout {
    pub geometry: Geometry,
    pub inband: bool,
}

impl Layout {
    pub fn stride(&self) -> usize {
        (self.geometry.page_bytes + self.geometry.oob_bytes) as usize
    }

    /// Bytes of a chunk.
    pub fn data_bytes(&self) -> usize {
        self.geometry.page_bytes as usize - if self.inband { 16 } else { 0 }
    }

    pub fn tags_offset(&self) -> usize {
        self.geometry.page_bytes as usize + 2 - if self.inband { 18 } else { 0 }
    }

    pub fn pages_per_block(&self) -> usize {
        self.geometry.pages_per_block as usize
    }
}

/// A written page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Place on the chip.
    pub number: usize,
    pub data: Vec<u8>,
    pub sequence: u32,
    pub object: u32,
    pub chunk: u32,
    pub bytes: u32,
}

impl Page {
    pub fn is_header(&self) -> bool {
        self.chunk == 0 || self.chunk & EXTRA != 0
    }

    /// The object, without the type that extra tags add.
    pub fn id(&self) -> u32 {
        if self.is_header() {
            self.object & 0x0FFF_FFFF
        } else {
            self.object
        }
    }

    pub fn name(&self) -> String {
        String::from_utf8(self.data[10..266].split(|&byte| byte == 0).next().unwrap().to_vec()).unwrap()
    }
}

/// All written pages. Their ECC must be right, and the other OOB bytes untouched.
pub fn pages(image: &[u8], layout: Layout) -> Vec<Page> {
    let page_bytes = layout.geometry.page_bytes as usize;
    let mut found = Vec::new();
    for (number, page) in image.chunks_exact(layout.stride()).enumerate() {
        let at = layout.tags_offset();
        let mut others = page[page_bytes..].to_vec();
        if !layout.inband {
            others[2..30].fill(0xFF);
        }
        assert!(others.iter().all(|&byte| byte == 0xFF), "page {number}: OOB bytes that nobody should write");
        if word(page, at) == u32::MAX {
            assert!(page.iter().all(|&byte| byte == 0xFF), "page {number} is half erased");
            continue;
        }
        if !layout.inband {
            assert_eq!(page[at + 16..at + 28], ecc(&page[at..at + 16]), "ECC of page {number}");
        }
        let [sequence, object, chunk, bytes] = [0, 4, 8, 12].map(|offset| word(page, at + offset));
        let data = page[..layout.data_bytes()].to_vec();
        found.push(Page { number, data, sequence, object, chunk, bytes });
    }
    found
}

/// Everything that is not a checkpoint or a summary, the newest first.
pub fn newest_first(pages: &[Page]) -> Vec<&Page> {
    let mut files: Vec<&Page> =
        pages.iter().filter(|page| page.sequence >= FIRST_SEQUENCE && page.object != SUMMARY).collect();
    files.sort_by_key(|page| std::cmp::Reverse((page.sequence, page.number)));
    files
}

/// The newest header of each object.
pub fn headers(pages: &[Page]) -> BTreeMap<u32, &Page> {
    let mut headers = BTreeMap::new();
    for page in newest_first(pages) {
        if page.is_header() {
            headers.entry(page.id()).or_insert(page);
        }
    }
    headers
}

/// Content of a file, from its newest chunks.
pub fn content_of(pages: &[Page], id: u32, layout: Layout) -> Vec<u8> {
    let size = word(&headers(pages)[&id].data, 292) as usize;
    let mut content = vec![0; size.next_multiple_of(layout.data_bytes())];
    let mut seen = Vec::new();
    for page in newest_first(pages) {
        if !page.is_header() && page.object == id && !seen.contains(&page.chunk) {
            seen.push(page.chunk);
            let start = (page.chunk as usize - 1) * layout.data_bytes();
            content[start..start + page.bytes as usize].copy_from_slice(&page.data[..page.bytes as usize]);
        }
    }
    content.truncate(size);
    content
}

/// An image in the making.
pub struct Builder {
    pub layout: Layout,
    pub image: Vec<u8>,
    pub sequence: u32,
    pub next: usize,
}

impl Builder {
    pub fn new(layout: Layout) -> Builder {
        let pages = (layout.geometry.pages_per_block * layout.geometry.blocks) as usize;
        Builder { layout, image: vec![0xFF; pages * layout.stride()], sequence: FIRST_SEQUENCE, next: 0 }
    }

    /// Writes the next page; each block has the next sequence number. Returns where.
    pub fn page(&mut self, data: &[u8], object: u32, chunk: u32, bytes: u32) -> usize {
        let number = self.next;
        let sequence = self.sequence + (number / self.layout.pages_per_block()) as u32;
        self.page_at(number, data, [sequence, object, chunk, bytes]);
        self.next += 1;
        number
    }

    pub fn page_at(&mut self, number: usize, data: &[u8], tags: [u32; 4]) {
        let start = number * self.layout.stride();
        let page = &mut self.image[start..start + self.layout.stride()];
        page[..self.layout.data_bytes()].fill(0);
        page[..data.len()].copy_from_slice(data);
        let at = self.layout.tags_offset();
        for (i, value) in tags.into_iter().enumerate() {
            put(page, at + 4 * i, value);
        }
        if !self.layout.inband {
            let code = ecc(&page[at..at + 16]);
            page[at + 16..at + 28].copy_from_slice(&code);
        }
    }

    /// Goes on in the next block.
    pub fn next_block(&mut self) {
        self.next = self.next.next_multiple_of(self.layout.pages_per_block());
    }

    /// A file's data, in chunks. Returns where they are.
    pub fn data(&mut self, id: u32, content: &[u8]) -> Vec<usize> {
        let pieces = content.chunks(self.layout.data_bytes()).zip(1..);
        pieces.map(|(piece, chunk)| self.page(piece, id, chunk, piece.len() as u32)).collect()
    }
}

/// The first 512 bytes of a header: what all types have.
pub fn header(kind: u32, parent: u32, name: &str, mode: u32) -> Vec<u8> {
    let mut header = vec![0xFF; 512];
    put(&mut header, 0, kind);
    put(&mut header, 4, parent);
    header[10..266].fill(0);
    header[10..10 + name.len()].copy_from_slice(name.as_bytes());
    for (at, value) in [(268, mode), (272, 11), (276, 12), (280, 1_000), (284, 2_000), (288, 3_000), (504, 0), (508, 0)]
    {
        put(&mut header, at, value);
    }
    put(&mut header, 488, 0);
    put(&mut header, 492, 0);
    header
}
