//! Media that are assembled byte by byte from the specification in the README (`medium`) mount and read identical.

use crate::medium;
use crate::support;

use ffslab_flash::Geometry;
use ffslab_fs::FileKind;
use ffslab_linux::Calls;
use ffslab_yaffs2::{Generation, Options};
use medium::{header, put, sum, xor, Builder, Layout, CHECKPOINT, EXTRA, SUMMARY};
use support::{content, usual, Bench, Files};

const GENERATIONS: [Generation; 4] = [Generation::Y2010, Generation::Y2011, Generation::Y2012, Generation::Today];

const FILE: u32 = 1;
const SYMLINK: u32 = 2;
const DIRECTORY: u32 = 3;
const HARD_LINK: u32 = 4;
const SPECIAL: u32 = 5;

const DIR_ID: u32 = 300;
const FILE_ID: u32 = 301;
const LARGE_ID: u32 = 307;
const FILE_BYTES: usize = 5_000;

/// An object as a checkpoint lists it.
struct Record {
    id: u32,
    parent: u32,
    kind: u32,
    header: usize,
    /// Size of a file, object that a hard link stands for.
    rest: u32,
    data: Vec<usize>,
}

struct Assembled {
    builder: Builder,
    extra: bool,
    records: Vec<Record>,
}

impl Assembled {
    /// Writes a header; `rest` is the last word of its extra tags.
    fn header(&mut self, id: u32, bytes: &[u8], rest: u32) -> usize {
        let [kind, parent] = [0, 4].map(|at| medium::word(bytes, at));
        if self.extra {
            self.builder.page(bytes, kind << 28 | id, EXTRA | parent, rest)
        } else {
            self.builder.page(bytes, id, 0, 0xFFFF)
        }
    }

    /// The same, and the object exists from now on.
    fn object(&mut self, id: u32, bytes: &[u8], rest: u32, data: Vec<usize>) {
        let header = self.header(id, bytes, rest);
        let [kind, parent] = [0, 4].map(|at| medium::word(bytes, at));
        self.records.push(Record { id, parent, kind, header, rest, data });
    }
}

fn file_header(parent: u32, name: &str, size: u32) -> Vec<u8> {
    let mut bytes = header(FILE, parent, name, 0o100_640);
    put(&mut bytes, 292, size);
    put(&mut bytes, 496, 0);
    bytes
}

/// Content of the file, whose second chunk has been written anew.
fn file_content(layout: Layout) -> Vec<u8> {
    let mut expected = content(0, FILE_BYTES);
    let chunk = layout.data_bytes();
    expected[chunk..2 * chunk].fill(b'n');
    expected
}

/// One object of each kind, with older versions of some, over two blocks.
fn assemble(layout: Layout, extra: bool) -> Assembled {
    let mut medium = Assembled { builder: Builder::new(layout), extra, records: Vec::new() };
    medium.header(FILE_ID, &file_header(1, "old name", 0), 0);
    let mut data = medium.builder.data(FILE_ID, &content(0, FILE_BYTES));
    // Beyond the size of the newest header: of a time when the file was longer.
    medium.builder.page(&[7; 100], FILE_ID, 9, 100);
    medium.object(DIR_ID, &header(DIRECTORY, 1, "dir", 0o040_751), 0, vec![]);
    medium.header(306, &file_header(DIR_ID, "gone", 10), 10);
    medium.builder.data(306, b"0123456789");
    medium.builder.next_block();

    let chunk = layout.data_bytes();
    data[1] = medium.builder.page(&vec![b'n'; chunk], FILE_ID, 2, chunk as u32);
    medium.object(FILE_ID, &file_header(DIR_ID, "file", FILE_BYTES as u32), FILE_BYTES as u32, data);
    let mut symlink = header(SYMLINK, 1, "symlink", 0o120_777);
    symlink[300..460].fill(0);
    symlink[300..308].copy_from_slice(b"dir/file");
    medium.object(302, &symlink, 0, vec![]);
    let mut link = header(HARD_LINK, 1, "hard link", u32::MAX);
    put(&mut link, 296, FILE_ID);
    medium.object(303, &link, FILE_ID, vec![]);
    let mut tty = header(SPECIAL, 1, "tty", 0o020_620);
    put(&mut tty, 460, 0x0501);
    medium.object(304, &tty, 0, vec![]);
    medium.object(305, &file_header(DIR_ID, &"n".repeat(255), 0), 0, vec![]);
    for (parent, name) in [(3, "unlinked"), (4, "deleted")] {
        let mut gone = file_header(parent, name, 0);
        put(&mut gone, 508, 1);
        put(&mut gone, 492, 1);
        let shrink = if extra { 1 << 30 } else { 0 };
        let [id, chunk] = if extra { [FILE << 28 | 306, EXTRA | shrink | parent] } else { [306, 0] };
        medium.builder.page(&gone, id, chunk, if extra { 0 } else { 0xFFFF });
    }
    medium
}

/// Adds a block full of a large file's data and, if wanted, its summary.
fn add_large(medium: &mut Assembled, summary: bool) {
    let layout = medium.builder.layout;
    medium.builder.next_block();
    let first = medium.builder.next;
    let chunks = layout.pages_per_block() - 2;
    let bytes = chunks * layout.data_bytes();
    let data = medium.builder.data(LARGE_ID, &content(0, bytes));
    medium.object(LARGE_ID, &file_header(1, "large", bytes as u32), bytes as u32, data);
    if !summary {
        return;
    }
    let stride = layout.stride();
    let list: Vec<u8> = (first..medium.builder.next)
        .flat_map(|page| {
            let at = page * stride + layout.tags_offset() + 4;
            medium.builder.image[at..at + 12].to_vec()
        })
        .collect();
    let mut page = vec![0; 16];
    let block = first / layout.pages_per_block();
    let sequence = medium.builder.sequence + block as u32;
    for (at, value) in [(0, 1), (4, block as u32 + 1), (8, sequence), (12, sum(&list))] {
        put(&mut page, at, value);
    }
    page.extend_from_slice(&list);
    let count = page.len() as u32;
    medium.builder.page(&page, SUMMARY, 1, count);
}

/// Adds a checkpoint in the first erased block.
fn add_checkpoint(medium: &mut Assembled, version: u32, serial_at: u32) {
    let layout = medium.builder.layout;
    let (per_block, blocks) = (layout.pages_per_block(), layout.geometry.blocks as usize);
    let mut in_use = vec![0u8; blocks * per_block];
    for record in &medium.records {
        in_use[record.header] = 1;
        record.data.iter().for_each(|&page| in_use[page] = 1);
    }
    let next = medium.builder.next;
    let filling = next / per_block;
    let used: u32 = in_use.iter().map(|&bit| u32::from(bit)).sum();
    let highest = medium.builder.sequence + filling as u32;
    let mut words = vec![16, 0x5941_FF53, version, 1];
    let erased = (blocks - filling - 1) as u32;
    let free = (blocks * per_block) as u32 - used;
    words.extend([36, erased, filling as u32 + 1, (next % per_block) as u32, free, 0, 0, 0, highest]);
    for block in 0..blocks {
        let count: u32 = in_use[block * per_block..][..per_block].iter().map(|&bit| u32::from(bit)).sum();
        let state = 5 - u32::from(block == filling) - 2 * u32::from(block > filling);
        let sequence = if block > filling { 0 } else { medium.builder.sequence + block as u32 };
        words.extend([count << 10 | state << 20, sequence]);
    }
    let mut stream: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    stream.extend(in_use.chunks(8).map(|bits| (0..8).map(|i| bits[i] << i).sum::<u8>()));
    let add = |stream: &mut Vec<u8>, words: &[u32]| stream.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    for (id, parent) in [(1, 0), (2, 1), (3, 0), (4, 0)] {
        add(&mut stream, &[32, id, parent, 0, DIRECTORY | 1 << 6, 0, 0, 0]);
    }
    for record in &medium.records {
        let bits = record.kind | 1 << 7 | 1 << 8 | 1 << serial_at;
        let header = (record.header + per_block) as u32;
        add(&mut stream, &[32, record.id, record.parent, header, bits, record.data.len() as u32, record.rest, 0]);
        if record.kind != FILE {
            continue;
        }
        // A leaf begins at a multiple of 16 chunks; chunk 0 does not exist.
        let places: Vec<usize> = std::iter::once(0).chain(record.data.iter().map(|page| page + per_block)).collect();
        for (first, leaf) in places.chunks(16).enumerate() {
            add(&mut stream, &[first as u32 * 16]);
            let mut packed: Vec<u8> = leaf.iter().flat_map(|&place| (place as u16).to_le_bytes()).collect();
            packed.resize(32, 0);
            stream.extend(packed);
        }
        add(&mut stream, &[u32::MAX]);
    }
    add(&mut stream, &[32]);
    add(&mut stream, &[u32::MAX; 7]);
    add(&mut stream, &[16, 0x5941_FF53, version, 0]);
    let total = sum(&stream) << 8 | xor(&stream) & 0xFF;
    add(&mut stream, &[total]);

    let block = filling + 1;
    let data_bytes = layout.data_bytes();
    for (number, piece) in stream.chunks(data_bytes - 16).enumerate() {
        let before = &stream[..number * (data_bytes - 16)];
        let mut page = vec![0; 16];
        for (at, value) in [(0, version), (4, number as u32), (8, sum(before)), (12, xor(before))] {
            put(&mut page, at, value);
        }
        page.extend_from_slice(piece);
        let tags = [CHECKPOINT, block as u32 + 2, number as u32 + 1, data_bytes as u32];
        medium.builder.page_at(block * per_block + number, &page, tags);
    }
}

fn mount(medium: &Assembled, generation: Generation) -> Bench {
    let layout = medium.builder.layout;
    let options = Options { inband_tags: layout.inband, ..Options::of(generation) };
    Bench::with_image(layout.geometry, options, &medium.builder.image)
}

fn check(bench: &mut Bench, layout: Layout) {
    let mut names = Vec::new();
    for dir in ["/", "dir"] {
        names.extend(bench.vfs.readdir_path(dir.as_bytes()).unwrap().into_iter().map(|entry| entry.name));
    }
    names.sort();
    names.retain(|name| !matches!(&name[..], b"." | b".." | b"large"));
    let long = "n".repeat(255);
    let expected = ["dir", "file", "hard link", "lost+found", &long, "symlink", "tty"];
    assert_eq!(names, expected.map(|name| name.as_bytes().to_vec()));
    assert!(bench.read_all("dir/file") == file_content(layout));
    assert!(bench.read_all("hard link") == file_content(layout));
    assert_eq!(bench.vfs.readlink(b"symlink").unwrap(), b"dir/file");
    let file = bench.vfs.stat(b"dir/file").unwrap();
    assert_eq!((file.permissions, file.uid, file.gid, file.links), (0o640, 11, 12, 2));
    assert_eq!([file.accessed, file.modified, file.changed].map(|time| time.seconds), [1_000, 2_000, 3_000]);
    assert_eq!(bench.vfs.stat(b"hard link").unwrap().ino, file.ino);
    let dir = bench.vfs.stat(b"dir").unwrap();
    assert_eq!((dir.kind, dir.permissions), (FileKind::Directory, 0o751));
    let tty = bench.vfs.stat(b"tty").unwrap();
    assert_eq!((tty.kind, tty.permissions, tty.device), (FileKind::CharDevice, 0o620, 0x0501));
}

/// Layouts with tags in the OOB and in-band.
fn layouts(blocks: u32) -> [Layout; 2] {
    [false, true].map(|inband| Layout { geometry: Geometry { pages_per_block: 32, ..usual(blocks) }, inband })
}

#[test]
fn an_assembled_medium_reads_identical_with_and_without_extra_tags() {
    for layout in layouts(40) {
        for generation in GENERATIONS {
            for extra in [false, true] {
                let medium = assemble(layout, extra);
                let mut bench = mount(&medium, generation);
                check(&mut bench, layout);
                // It goes on living.
                bench.create("new", 100_000, 10_000);
                bench.remount();
                assert!(bench.read_all("new") == content(0, 100_000));
                bench.vfs.unlink(b"new").unwrap();
                check(&mut bench, layout);
            }
        }
    }
}

#[test]
fn an_assembled_summary_is_used() {
    for layout in layouts(40) {
        let reads = [false, true].map(|summary| {
            let mut medium = assemble(layout, true);
            add_large(&mut medium, summary);
            let mut bench = mount(&medium, Generation::Y2012);
            let counts = bench.sim.total();
            check(&mut bench, layout);
            let bytes = (layout.pages_per_block() - 2) * layout.data_bytes();
            assert!(bench.read_all("large") == content(0, bytes));
            counts.page_reads + counts.oob_reads
        });
        // Without it each page's tags are read; with it one page tells, as it does not for the other blocks.
        assert_eq!(reads[0] - reads[1], layout.pages_per_block() as u64, "{reads:?}");
    }
}

#[test]
fn an_assembled_checkpoint_is_used() {
    for layout in layouts(64) {
        for (generation, version, serial_at) in [(Generation::Y2012, 7, 16), (Generation::Today, 8, 9)] {
            let mut medium = assemble(layout, true);
            add_large(&mut medium, false);
            add_checkpoint(&mut medium, version, serial_at);
            let mut bench = mount(&medium, generation);
            // A scan would look at each block, and erase the checkpoint that it could not use.
            let counts = bench.sim.total();
            assert!(counts.page_reads + counts.oob_reads < 20, "{counts:?}");
            assert_eq!((counts.page_programs, counts.erases), (0, 0));
            check(&mut bench, layout);
            // One wrong bit, and it is a scan after all.
            let page = (medium.builder.next / layout.pages_per_block() + 1) * layout.pages_per_block();
            medium.builder.image[page * layout.stride() + 100] ^= 1;
            let mut bench = mount(&medium, generation);
            assert_eq!(bench.sim.total().erases, 1);
            check(&mut bench, layout);
        }
    }
}
