//! What the crate writes on flash, decoded by code of its own (`medium`) that follows the specification in the README.

use crate::medium;
use crate::support;

use ffslab_flash::Geometry;
use ffslab_fs::FileKind;
use ffslab_linux::{Calls, OpenFlags};
use ffslab_yaffs2::{Generation, Options};
use medium::{content_of, headers, pages, sum, word, xor, Layout, Page};
use medium::{CHECKPOINT, EXTRA, FIRST_SEQUENCE, SUMMARY};
use support::{content, usual, Bench, Files};

const GENERATIONS: [Generation; 4] = [Generation::Y2010, Generation::Y2011, Generation::Y2012, Generation::Today];
const DEVICE: u32 = 0x0501;

fn options(generation: Generation, inband_tags: bool) -> Options {
    Options { inband_tags, ..Options::of(generation) }
}

/// One object of each kind.
fn populate(bench: &mut Bench) {
    bench.vfs.mkdir(b"dir", 0o751).unwrap();
    bench.create("dir/file", 5_000, 5_000);
    bench.vfs.chmod(b"dir/file", 0o640).unwrap();
    bench.vfs.chown(b"dir/file", Some(1_000), Some(1_001)).unwrap();
    bench.vfs.symlink(b"dir/file", b"symlink").unwrap();
    bench.vfs.link(b"dir/file", b"hard link").unwrap();
    bench.vfs.mknod(b"tty", FileKind::CharDevice, 0o620, DEVICE).unwrap();
    bench.create("gone", 3_000, 3_000);
    bench.vfs.unlink(b"gone").unwrap();
}

fn written(
    generation: Generation,
    inband: bool,
    geometry: Geometry,
    fill: impl FnOnce(&mut Bench),
) -> (Vec<Page>, Layout) {
    let mut bench = Bench::with_image(geometry, options(generation, inband), &[]);
    fill(&mut bench);
    bench.vfs.umount().unwrap();
    let layout = Layout { geometry, inband };
    (pages(&bench.image(), layout), layout)
}

fn named<'a>(pages: &'a [Page], name: &str) -> &'a Page {
    headers(pages).into_values().find(|page| page.name() == name).unwrap_or_else(|| panic!("no header of {name}"))
}

/// Fields that are `0xFF` because the type does not use them.
fn assert_unused(page: &Page, fields: &[(usize, usize)]) {
    for &(at, bytes) in fields {
        assert!(page.data[at..at + bytes].iter().all(|&byte| byte == 0xFF), "{} at {at}", page.name());
    }
}

const SIZE: &[(usize, usize)] = &[(292, 4), (496, 4)];
const ALIAS: (usize, usize) = (300, 160);
const EQUIVALENT: (usize, usize) = (296, 4);

#[test]
fn headers_and_tags_are_as_specified() {
    for (generation, inband) in GENERATIONS.into_iter().flat_map(|generation| [(generation, false), (generation, true)])
    {
        let (pages, layout) = written(generation, inband, usual(40), populate);
        let dir = named(&pages, "dir");
        let file = named(&pages, "file");
        for page in headers(&pages).into_values() {
            assert_eq!(page.data[8..10], [0xFF; 2]);
            assert_eq!(page.data[266..268], [0xFF; 2]);
            assert!(page.data[512..].iter().all(|&byte| byte == 0xFF));
            // Extra tags repeat type and parent.
            let deleted = u32::from(matches!(word(&page.data, 4), 3 | 4));
            let extra = EXTRA | deleted << 30 | word(&page.data, 4);
            assert_eq!((page.object >> 28, page.chunk), (word(&page.data, 0), extra));
            assert_eq!([488, 504, 508].map(|at| word(&page.data, at)), [0, 0, deleted]);
            let times = [288, 280, 284].map(|at| word(&page.data, at));
            let wide = [464, 472, 480].map(|at| (word(&page.data, at), word(&page.data, at + 4)));
            if generation == Generation::Today {
                assert_eq!(wide, times.map(|time| (time, 0)));
            } else {
                assert_eq!(wide, [(u32::MAX, u32::MAX); 3]);
            }
            assert!(
                times.iter().all(|&time| page.id() == 1 || (1_000_000_000..1_000_000_100).contains(&time)),
                "{times:?}"
            );
        }
        let types_and_modes = ["dir", "file", "symlink", "hard link", "tty"].map(|name| {
            let page = named(&pages, name);
            (word(&page.data, 0), word(&page.data, 4), word(&page.data, 268), page.bytes)
        });
        let parent = dir.id();
        assert_eq!(types_and_modes[0], (3, 1, 0o040_751, 0));
        assert_eq!(types_and_modes[1], (1, parent, 0o100_640, 5_000));
        assert_eq!(types_and_modes[2], (2, 1, 0o120_777, 0));
        assert_eq!((types_and_modes[3].0, types_and_modes[3].1, types_and_modes[3].3), (4, 1, file.id()));
        assert_eq!(types_and_modes[4], (5, 1, 0o020_620, 0));
        assert_eq!([272, 276, 292, 496].map(|at| word(&file.data, at)), [1_000, 1_001, 5_000, 0]);
        assert_unused(file, &[EQUIVALENT, ALIAS]);
        assert_unused(dir, &[SIZE, &[EQUIVALENT, ALIAS]].concat());
        let symlink = named(&pages, "symlink");
        assert_eq!(symlink.data[300..308], *b"dir/file");
        assert_eq!(symlink.data[308..460], [0; 152]);
        assert_unused(symlink, &[SIZE, &[EQUIVALENT]].concat());
        let link = named(&pages, "hard link");
        assert_eq!(word(&link.data, 296), file.id());
        assert_unused(link, &[SIZE, &[ALIAS]].concat());
        let tty = named(&pages, "tty");
        assert_eq!(word(&tty.data, 460), DEVICE);
        assert_unused(tty, &[SIZE, &[EQUIVALENT, ALIAS]].concat());

        let data: Vec<&Page> = pages.iter().filter(|page| page.object == file.id() && !page.is_header()).collect();
        let piece = layout.data_bytes() as u32;
        let tags: Vec<(u32, u32)> = data.iter().map(|page| (page.chunk, page.bytes)).collect();
        assert_eq!(tags, [(1, piece), (2, piece), (3, 5_000 - 2 * piece)]);
        assert!(content_of(&pages, file.id(), layout) == content(0, 5_000));

        let deleted = named(&pages, "deleted");
        assert_eq!([0, 4, 292].map(|at| word(&deleted.data, at)), [1, 4, 0]);
        assert!(pages.iter().any(|page| page.is_header() && page.name() == "unlinked" && word(&page.data, 4) == 3));
    }
}

#[test]
fn blocks_are_numbered_in_the_order_of_their_use_and_filled_from_the_start() {
    let (pages, layout) = written(Generation::Today, false, usual(40), |bench| bench.create("file", 600_000, 60_000));
    let mut sequences = Vec::new();
    for block in pages.chunk_by(|a, b| a.number / layout.pages_per_block() == b.number / layout.pages_per_block()) {
        assert!(block.iter().all(|page| page.sequence == block[0].sequence));
        assert!(block.iter().enumerate().all(|(i, page)| page.number % layout.pages_per_block() == i));
        sequences.push(block[0].sequence);
    }
    assert_eq!(sequences.len(), 5);
    assert_eq!(sequences, Vec::from_iter(FIRST_SEQUENCE + 1..FIRST_SEQUENCE + 6));
}

#[test]
fn a_shrink_header_says_so_in_its_tags_and_in_itself() {
    let (pages, _) = written(Generation::Today, false, usual(40), |bench| {
        bench.create("file", 10_000, 10_000);
        let flags = OpenFlags { write: true, ..OpenFlags::default() };
        let fd = bench.vfs.open(b"file", flags, 0).unwrap();
        bench.vfs.pwrite(fd, b"behind a hole", 50_000).unwrap();
        bench.vfs.close(fd).unwrap();
    });
    let headers: Vec<&Page> = pages.iter().filter(|page| page.is_header()).collect();
    let shrinking: Vec<&&Page> = headers.iter().filter(|page| word(&page.data, 508) == 1).collect();
    assert_eq!(shrinking.len(), 1);
    assert_eq!((word(&shrinking[0].data, 292), shrinking[0].bytes), (10_000, 10_000));
    assert!(headers.iter().all(|page| page.chunk >> 30 & 1 == word(&page.data, 508)));
}

#[test]
fn summaries_repeat_the_tags_of_their_block() {
    // A list of 255 entries is longer than a chunk of 2 KiB.
    for (inband, pages_per_block, parts) in [(false, 64, 1), (true, 64, 1), (false, 256, 2)] {
        let geometry = Geometry { pages_per_block, ..usual(40) };
        let (pages, layout) = written(Generation::Y2012, inband, geometry, |bench| {
            for i in 0..30 {
                bench.create(&format!("file {i}"), 40_000, 40_000);
            }
        });
        let mut summaries = 0;
        for block in pages.chunk_by(|a, b| a.number / layout.pages_per_block() == b.number / layout.pages_per_block()) {
            let (tagged, summary): (Vec<&Page>, Vec<&Page>) = block.iter().partition(|page| page.object != SUMMARY);
            if summary.is_empty() {
                continue;
            }
            summaries += 1;
            assert_eq!((summary.len(), tagged.len()), (parts, pages_per_block as usize - parts));
            let wanted: Vec<u8> = tagged
                .iter()
                .flat_map(|page| [page.object, page.chunk, page.bytes])
                .flat_map(u32::to_le_bytes)
                .collect();
            let mut list = Vec::new();
            for (page, chunk) in summary.iter().zip(1..) {
                let number = (page.number / layout.pages_per_block()) as u32 + 1;
                assert_eq!([0, 4, 8, 12].map(|at| word(&page.data, at)), [1, number, page.sequence, sum(&wanted)]);
                let count = (wanted.len() - list.len()).min(layout.data_bytes() - 16);
                assert_eq!((page.chunk, page.bytes), (chunk, count as u32 + 16));
                list.extend_from_slice(&page.data[16..16 + count]);
            }
            assert!(list == wanted);
        }
        assert!(summaries > 1);
    }
}

// ---- checkpoints --------------------------------------------------------------------------------------------

/// Reads the stream of a checkpoint.
struct Stream {
    bytes: Vec<u8>,
    at: usize,
}

impl Stream {
    /// Joins the pages of a checkpoint; their own sums and tags must be right.
    fn of(pages: &[Page], layout: Layout, version: u32) -> Stream {
        let mut pages: Vec<&Page> = pages.iter().filter(|page| page.sequence == CHECKPOINT).collect();
        pages.sort_by_key(|page| page.chunk);
        let mut bytes = Vec::new();
        for (number, page) in pages.iter().enumerate() {
            let number = number as u32;
            assert_eq!([0, 4, 8, 12].map(|at| word(&page.data, at)), [version, number, sum(&bytes), xor(&bytes)]);
            let block = (page.number / layout.pages_per_block()) as u32 + 1;
            assert_eq!((page.chunk, page.bytes, page.object), (number + 1, layout.data_bytes() as u32, block + 1));
            bytes.extend_from_slice(&page.data[16..]);
        }
        Stream { bytes, at: 0 }
    }

    fn take(&mut self, count: usize) -> &[u8] {
        self.at += count;
        &self.bytes[self.at - count..self.at]
    }

    fn word(&mut self) -> u32 {
        word(self.take(4), 0)
    }

    fn words<const N: usize>(&mut self) -> [u32; N] {
        std::array::from_fn(|_| self.word())
    }
}

/// 16 numbers of `width` bits.
fn leaf(bytes: &[u8], width: usize) -> Vec<usize> {
    let bit = |at: usize| usize::from(bytes[at / 8] >> (at % 8) & 1);
    (0..16).map(|i| (0..width).map(|k| bit(i * width + k) << k).sum()).collect()
}

#[test]
fn a_checkpoint_holds_what_the_medium_holds() {
    // 64 * 65 chunks need 13 bits, 64 * 1201 need 17.
    for (generation, inband, blocks, width, version, serial_at) in [
        (Generation::Y2012, false, 64, 16, 7, 16),
        (Generation::Today, false, 64, 16, 8, 9),
        (Generation::Today, true, 64, 16, 8, 9),
        (Generation::Today, false, 1_200, 18, 8, 9),
    ] {
        let (pages, layout) = written(generation, inband, usual(blocks), |bench| {
            populate(bench);
            bench.create("large", 400_000, 50_000);
        });
        let per_block = layout.pages_per_block();
        let on_medium = |chunk: usize| pages.iter().find(|page| page.number + per_block == chunk).unwrap();
        let mut stream = Stream::of(&pages, layout, version);
        assert_eq!(stream.words(), [16, 0x5941_FF53, version, 1]);
        let [bytes, erased, filling, next_page, free, _, _, zero, highest] = stream.words();
        assert_eq!((bytes, zero), (36, 0));

        let files: Vec<&Page> = pages.iter().filter(|page| page.sequence >= FIRST_SEQUENCE).collect();
        let last = files.iter().max_by_key(|page| (page.sequence, page.number)).unwrap();
        assert_eq!(highest, last.sequence);
        assert_eq!((filling, next_page), ((last.number / per_block) as u32 + 1, (last.number % per_block) as u32 + 1));
        let mut in_use = Vec::new();
        let (mut erased_blocks, mut used) = (0, 0);
        for block in 1..=blocks as usize {
            let [bits, sequence] = stream.words();
            let here: Vec<&&Page> = files.iter().filter(|page| page.number / per_block + 1 == block).collect();
            let state = match here.last() {
                None => 3,
                Some(_) if block as u32 == filling => 4,
                Some(_) => 5,
            };
            // The checkpoint's own blocks are erased when it describes them, or theirs already.
            let found = bits >> 20 & 0xF;
            assert!(found == state || (state, found) == (3, 7), "block {block}: {found}");
            erased_blocks += u32::from(state == 3);
            if let Some(page) = here.last() {
                assert_eq!(sequence, page.sequence);
                assert_eq!(bits >> 30 & 1, u32::from(here.iter().any(|page| page.object == SUMMARY)));
            }
            in_use.push((bits >> 10 & 0x3FF) as usize);
            used += bits >> 10 & 0x3FF;
        }
        assert_eq!((erased, free), (erased_blocks, blocks * 64 - used));
        for (block, count) in in_use.iter().enumerate() {
            let bits = stream.take(8).to_vec();
            let chunks: Vec<usize> = (0..64).filter(|i| bits[i / 8] >> (i % 8) & 1 == 1).collect();
            assert_eq!(chunks.len(), *count);
            assert!(chunks.iter().all(|i| files.iter().any(|page| page.number == block * per_block + i)));
        }
        let headers = headers(&pages);
        let mut seen = Vec::new();
        loop {
            let [bytes, id, parent, chunk, bits, data_chunks, low, high] = stream.words();
            assert_eq!(bytes, 32);
            if id == u32::MAX {
                assert_eq!([parent, chunk, bits, data_chunks, low, high], [u32::MAX; 6]);
                break;
            }
            seen.push(id);
            let (kind, fake) = (bits & 7, bits >> 6 & 1 == 1);
            assert_eq!(fake, id <= 4);
            if chunk > 0 {
                let header = on_medium(chunk as usize);
                assert_eq!((header.id(), kind), (id, word(&header.data, 0)));
                assert_eq!(header.number, headers[&id].number);
                assert_eq!(parent, if id == 1 { 0 } else { word(&header.data, 4) });
                assert_eq!(high, 0);
                assert_eq!(low, if matches!(kind, 1 | 4) { header.bytes } else { 0 });
                let times_written = pages.iter().filter(|page| page.is_header() && page.id() == id).count();
                assert!(fake || bits >> serial_at == times_written as u32, "serial {bits:#x} of {id}");
            }
            if kind != 1 {
                continue;
            }
            let mut chunks = 0;
            loop {
                let first = stream.word();
                if first == u32::MAX {
                    break;
                }
                for (number, chunk) in (first..).zip(leaf(stream.take(2 * width), width)) {
                    if chunk > 0 {
                        let page = on_medium(chunk);
                        assert_eq!((page.object, page.chunk), (id, number));
                        chunks += 1;
                    }
                }
            }
            assert_eq!(chunks, data_chunks);
        }
        for name in ["dir", "file", "symlink", "hard link", "tty", "large"] {
            assert!(seen.contains(&named(&pages, name).id()), "{name}");
        }
        assert_eq!(stream.words(), [16, 0x5941_FF53, version, 0]);
        let before = &stream.bytes[..stream.at];
        let total = sum(before) << 8 | xor(before) & 0xFF;
        assert_eq!(stream.word(), total);
    }
}
