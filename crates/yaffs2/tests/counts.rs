//! Flash operations of single actions, as the sources of June 2012 and of today do them: a file system that is right but
//! reads one page more would be found out here.

use crate::support;

use ffslab_linux::{Calls, Fd, OpenFlags};
use ffslab_sim::OpCounts;
use ffslab_yaffs2::{Background, Generation, Options};
use support::{content, Bench, Files, BLOCK_BYTES};

/// Without the thread nothing happens beside what is asked for.
fn options(generation: Generation) -> Options {
    Options { background: None::<Background>, ..Options::of(generation) }
}

/// A partition on which a few pages of the open block are written: the next ones need no look at whether they are erased.
fn prepared(blocks: u32, generation: Generation) -> Bench {
    let mut bench = Bench::new(blocks, options(generation));
    bench.create("first", 3_000, 3_000);
    bench
}

fn append(bench: &mut Bench, path: &str) -> Fd {
    let flags = OpenFlags { write: true, append: true, ..OpenFlags::default() };
    bench.vfs.open(path.as_bytes(), flags, 0).unwrap()
}

/// Page programs, page reads, erases.
fn of(counts: OpCounts) -> (u64, u64, u64) {
    assert_eq!(counts.oob_reads, 0);
    (counts.page_programs, counts.page_reads, counts.erases)
}

#[test]
fn a_new_file_costs_two_headers_and_its_data() {
    for generation in [Generation::Y2012, Generation::Today] {
        let mut bench = prepared(160, generation);
        let create = bench.counts(|bench| bench.create("file", 1_024, 1_024));
        assert_eq!(of(create), (3, 1, 0), "{generation:?}");
    }
}

#[test]
fn deleting_a_file_moves_it_twice() {
    for generation in [Generation::Y2012, Generation::Today] {
        let mut bench = prepared(160, generation);
        bench.create("file", 1_024, 1_024);
        let unlink = bench.counts(|bench| bench.vfs.unlink(b"file").unwrap());
        assert_eq!(of(unlink), (2, 2, 0), "{generation:?}");
    }
}

/// Today a flushed chunk stays in the short-op cache, so the next append needs not read it.
#[test]
fn a_small_append_with_fsync_reads_the_old_chunk_once() {
    for (generation, reads) in [(Generation::Y2012, 2), (Generation::Today, 1)] {
        let mut bench = prepared(160, generation);
        bench.create("file", 1_024, 1_024);
        let fd = append(&mut bench, "file");
        for _ in 0..2 {
            bench.vfs.write(fd, &content(0, 128)).unwrap();
            bench.vfs.fsync(fd).unwrap();
        }
        let next = bench.counts(|bench| {
            bench.vfs.write(fd, &content(0, 128)).unwrap();
            bench.vfs.fsync(fd).unwrap();
        });
        assert_eq!(of(next), (2, reads, 0), "{generation:?}");
    }
}

#[test]
fn the_first_change_after_a_clean_mount_erases_the_checkpoint() {
    let mut bench = prepared(160, Generation::Today);
    bench.remount();
    let read = bench.counts(|bench| {
        bench.read_all("first");
    });
    assert_eq!(read.erases, 0);
    let first = bench.counts(|bench| bench.vfs.mkdir(b"dir", 0o755).unwrap());
    let second = bench.counts(|bench| bench.vfs.mkdir(b"dir2", 0o755).unwrap());
    assert_eq!((first.erases, second.erases), (1, 0));
}

#[test]
fn an_uncached_page_of_4_kib_is_two_flash_pages() {
    let mut bench = prepared(160, Generation::Today);
    bench.create("file", 1 << 20, 1 << 16);
    bench.vfs.umount().unwrap();
    bench.vfs.drop_caches().unwrap();
    bench.mount();
    let fd = bench.open("file");
    let read = bench.counts(|bench| {
        for page in 0..64 {
            bench.vfs.pread_discard(fd, page * 4_096, 4_096).unwrap();
        }
    });
    assert_eq!(of(read), (0, 128, 0));
}

/// The measured cases M: an empty partition of 800 blocks; then each used block.
#[test]
fn mounting_by_checkpoint_summary_or_tags() {
    let mount = |bench: &mut Bench| {
        bench.vfs.drop_caches().unwrap();
        let counts = bench.counts(Bench::mount);
        (counts.page_reads, counts.oob_reads)
    };
    let mut bench = Bench::new(800, options(Generation::Y2012));
    bench.vfs.umount().unwrap();
    assert_eq!(mount(&mut bench), (7, 2));

    // Full blocks and a part of one: the summary of each, tags of all pages where there is none.
    let full_blocks = 50;
    for (summaries, generation) in [(true, Generation::Y2012), (false, Generation::Y2010)] {
        let mut bench = Bench::new(800, options(generation));
        let chunks = if summaries { 63 } else { 64 };
        bench.create("file", full_blocks * chunks * BLOCK_BYTES / 64, BLOCK_BYTES);
        bench.vfs.crash();
        let (pages, oob) = mount(&mut bench);
        // First the search for a checkpoint, then the state of each block, then what is in them.
        let (wanted_pages, wanted_oob) = if summaries { (51, 1_600 + 64) } else { (0, 1_600 + 51 * 64) };
        assert_eq!((pages, oob), (wanted_pages, wanted_oob), "{generation:?}");
    }
}

/// A real 2.6.37 with the sources of March 2011 writes 18 pages for a directory with 500 files of 1 KiB. Those of June 2012
/// keep four bytes more for each object and begin each page with 16 bytes of their own.
#[test]
fn checkpoints_of_old_sources_are_smaller() {
    for (generation, pages) in [(Generation::Y2010, 18), (Generation::Y2012, 20)] {
        let mut bench = Bench::new(160, options(generation));
        bench.vfs.mkdir(b"d", 0o755).unwrap();
        for i in 0..500 {
            bench.create(&format!("d/f{i:04}"), 1024, 1024);
        }
        bench.vfs.sync_directories().unwrap();
        assert_eq!(bench.counts(|b| b.vfs.sync().unwrap()).page_programs, pages, "{generation:?}");
        let before = bench.sim.total().page_reads;
        bench.remount();
        // The root directory's header is read as well.
        assert_eq!(bench.sim.total().page_reads - before, pages + 1, "{generation:?}");
    }
}
