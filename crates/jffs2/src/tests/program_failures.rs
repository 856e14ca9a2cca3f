//! A page that cannot be programmed: its nodes move to another block, the bad one is emptied and given up, nothing is
//! lost.

use crate::causes;
use ffslab_flash::{Faults, Weak};
use ffslab_fs::{Errno, FileSystem};

use super::{audit, content, Bench, BLOCK_BYTES};
use crate::blocks::List;
use crate::ledger::Share;
use crate::refs::{NodeState, NONE};
use crate::summary::NO_SUMMARY;
use crate::Options;

const PAGES_PER_BLOCK: u32 = 16;

/// A file system on 16 blocks of which some pages fail at their next program.
fn with_weak_pages(pages: &[u32], options: Options) -> Bench {
    let bench = Bench::new(16, options);
    let weakpages = pages.iter().map(|&number| Weak { number, good_operations: 0 }).collect();
    let faults = Faults { weakpages, ..Faults::default() };
    bench.mtd.nand().unwrap().with_chip(|chip| chip.set_faults(&faults)).unwrap();
    bench
}

/// Writes a file, lets background work run, mounts anew: the content is there every time, and the sums are right.
fn survives(mut bench: Bench, bytes: usize, request_bytes: usize) -> Bench {
    let data = content(0, bytes);
    let ino = bench.create("file").unwrap();
    for (i, piece) in data.chunks(request_bytes).enumerate() {
        bench.write(ino, (i * request_bytes) as u64, piece).unwrap();
        audit(&bench.fs.store);
    }
    assert!(bench.read(ino) == data, "from memory");
    bench.fs.sync(&mut bench.host).unwrap();
    audit(&bench.fs.store);
    bench.fs.drop_inodes(&|_| false);
    assert!(bench.read(ino) == data, "from flash");
    bench.sleep_ms(60_000);
    audit(&bench.fs.store);
    assert!(bench.read(ino) == data, "after background work");
    bench.remount(true);
    audit(&bench.fs.store);
    let ino = bench.fs.lookup(1, b"file").unwrap();
    assert!(bench.read(ino) == data, "after a mount");
    bench
}

#[test]
fn each_page_of_a_block_may_fail() {
    // The block that is written to first.
    let first = {
        let mut bench = Bench::new(16, Options::default());
        bench.create("file").unwrap();
        bench.fs.store.space.next_block.unwrap()
    };
    let programs_without = survives(Bench::new(16, Options::default()), 60_000, 5_000).sim.total().page_programs;
    for page in 0..PAGES_PER_BLOCK {
        let bench = survives(with_weak_pages(&[first * PAGES_PER_BLOCK + page], Options::default()), 60_000, 5_000);
        let programs = bench.sim.total().page_programs;
        assert!(programs > programs_without, "page {page} did not fail: {programs} programs");
    }
}

#[test]
fn small_nodes_that_share_the_failing_page_all_move() {
    let bench = with_weak_pages(
        &(0..16).map(|block| block * PAGES_PER_BLOCK + 3).take(4).collect::<Vec<_>>(),
        Options::default(),
    );
    survives(bench, 30_000, 300);
}

#[test]
fn failures_in_several_blocks_in_a_row() {
    let pages: Vec<u32> = (2..8).map(|block| block * PAGES_PER_BLOCK + block % 5).collect();
    survives(with_weak_pages(&pages, Options::default()), 60_000, 7_000);
    survives(with_weak_pages(&pages, Options { summary: true, ..Options::default() }), 60_000, 7_000);
}

/// The file is gone, the blocks stay usable for what still works: the space comes back.
#[test]
fn space_comes_back_after_a_failure() {
    let mut bench = survives(with_weak_pages(&[5 * PAGES_PER_BLOCK + 2], Options::default()), 100_000, 4096);
    bench.unlink("file").unwrap();
    bench.fs.sync(&mut bench.host).unwrap();
    bench.sleep_ms(60_000);
    audit(&bench.fs.store);
    let space = bench.fs.space();
    assert!(space.used_bytes < BLOCK_BYTES, "{space:?}");
}

/// The node that garbage collection copied stood in the buffer that the erase check wanted to read into (found by the
/// fuzzer).
#[test]
fn a_block_can_be_erased_for_a_copy_that_failed() {
    let mut bench = Bench::new(16, Options::default());
    let data = content(0, 175_000);
    let ino = bench.create("file").unwrap();
    bench.write(ino, 0, &data).unwrap();
    bench.fs.sync(&mut bench.host).unwrap();
    let store = &mut bench.fs.store;
    assert!(store.space.blocks[store.space.next_block.unwrap()].free_bytes() > 5_000, "room for the copy");
    let current = store.space.next_block.unwrap();
    let nodes = std::iter::successors(Some(store.space.inode_caches[&ino].first), |&id| {
        Some(store.space.refs[id].next_in_inode)
    });
    let mut nodes = nodes.take_while(|&id| id != NONE);
    let copied = nodes.find(|&id| {
        let node = &store.space.refs[id];
        node.state() == NodeState::Pristine && store.space.blocks.of(node.offset()) != current
    });
    let copied = copied.unwrap();
    // The current block takes no more programs, and all others must be erased first.
    let pages = current * PAGES_PER_BLOCK..(current + 1) * PAGES_PER_BLOCK;
    let weakpages = pages.map(|number| Weak { number, good_operations: 0 }).collect();
    bench.mtd.nand().unwrap().with_chip(|chip| chip.set_faults(&Faults { weakpages, ..Faults::default() })).unwrap();
    while let Some(block) = store.space.blocks.take_first(List::Free) {
        store.space.blocks.append(block, List::ErasePending);
        store.space.erasing_blocks += 1;
    }
    let victim = store.space.blocks.of(store.space.refs[copied].offset());
    store.space.blocks.take(victim);
    store.space.gc_block = Some(victim);
    store.space.blocks.shift_all(victim, Share::Wasted, Share::Dirty);
    bench.fs.collect_live(&mut bench.host, victim, copied, ino).unwrap();
    audit(&bench.fs.store);
    bench.fs.drop_inodes(&|_| false);
    assert!(bench.read(ino) == data);
}

/// On a full medium a page could not be programmed; the blocks to be erased next waited for just that page. Recovery
/// flushed the buffer that it had emptied itself, again and again (found by the fuzzer).
#[test]
fn recovery_does_not_wait_for_itself() {
    let mut bench = Bench::new(16, Options::default());
    let store = &mut bench.fs.store;
    while let Some(block) = store.space.blocks.take_first(List::Free) {
        store.space.blocks.append(block, List::BadUsed);
    }
    let waiting = store.space.blocks.take_first(List::BadUsed).unwrap();
    store.space.blocks.append(waiting, List::ErasablePendingWbuf);
    assert!(store.space.next_block.is_none() && !store.flash.wbuf.is_dirty());
    assert_eq!(store.reserve_for_gc(100, NO_SUMMARY), Err(Errno::NoSpc));
    assert_eq!(bench.fs.gc_pass(&mut bench.host, &causes::CALLER), Err(Errno::Io));
}
