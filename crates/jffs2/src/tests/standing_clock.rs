//! A medium that takes no time, below a caller whose code takes none: the clock stands, and with it the tick counter by which
//! garbage collection draws the block that it empties.

use ffslab_flash::NorFlash;
use ffslab_fs::{FileKind, FileSystem, NewNode, NoPageCache, PAGE_BYTES};
use ffslab_mtd::Mtd;
use ffslab_sim::{EventSink, OpEvent, Sim, SimConfig};

use super::{audit, content};
use crate::{Jffs2, Options};

const BLOCK_BYTES: u32 = 64 << 10;
const BLOCKS: u32 = 16;
/// Pages of the file: three quarters of the partition.
const PAGES: usize = 185;
/// How many of them are overwritten.
const OVERWRITTEN_PAGES: usize = 90;

/// Panics after so many flash operations, because an endless loop would never fail.
struct Limit {
    operations_left: u32,
}

impl EventSink for Limit {
    fn flash_op(&mut self, _: &OpEvent) {
        self.operations_left = self.operations_left.checked_sub(1).expect("garbage collection comes to no end");
    }
}

/// Overwrites pages of a file on a nearly full partition while the tick counter stands at `ticks`.
fn overwrite_at(ticks: u64) {
    let sim = Sim::new(SimConfig::default());
    let mtd: Mtd = NorFlash::new(sim.clone(), BLOCK_BYTES, BLOCKS).into();
    sim.advance(ticks * sim.tick_ns());
    let mut fs = Jffs2::mount(mtd, Options { direct: true, ..Options::default() }).unwrap();
    let host = &mut NoPageCache::default();
    // The file fills some blocks whose data stay, and others in which it is overwritten here and there.
    let file = fs.create(host, 1, b"file", &NewNode::of(FileKind::File)).unwrap();
    fs.take_inode(file).unwrap();
    let mut expected = content(0, PAGES * PAGE_BYTES);
    assert_eq!(fs.write_at(host, file, 0, &expected), Ok(expected.len()));
    sim.set_sink(Some(Box::new(Limit { operations_left: 1_000_000 })));
    for round in 0..600 {
        let at = round * 37 % OVERWRITTEN_PAGES * PAGE_BYTES;
        let data = content(at + round, PAGE_BYTES);
        assert_eq!(fs.write_at(host, file, at as u64, &data), Ok(data.len()), "round {round}");
        expected[at..at + PAGE_BYTES].copy_from_slice(&data);
    }
    assert_eq!(sim.now_ns(), ticks * sim.tick_ns(), "the clock has moved");
    audit(&fs.store);
    let mut found = vec![0; expected.len()];
    assert_eq!(fs.read_at(file, 0, &mut found), Ok(expected.len()));
    assert!(found == expected);
}

/// At these two values Linux draws a clean block. Such a block gives no space, and while the clock stood nothing else was
/// collected: writes failed with ENOSPC on a partition that had room.
#[test]
fn garbage_collection_ends_at_ticks_that_draw_clean_blocks() {
    overwrite_at(126);
    overwrite_at(127);
}

#[test]
fn garbage_collection_ends_at_other_ticks() {
    for ticks in [0, 49, 50, 109, 110, 125] {
        overwrite_at(ticks);
    }
}
