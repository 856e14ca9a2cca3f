//! A file system without an operating system above it, and the audit of its bookkeeping.

mod accounting;
mod asleep;
mod damage;
mod deletions;
mod fragments;
mod kernel_2_6_37;
mod name_order;
mod places;
mod program_failures;
mod standing_clock;
mod xattrs;

use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_fs::{Errno, FileKind, FileSystem, Ino, NewNode, NoPageCache, SetAttr, WritePlan, PAGE_BYTES};
use ffslab_mtd::{Driver, Mtd, Nand};
use ffslab_sim::{Idle, NandWait, Sim, SimConfig};

use crate::blocks::List;
use crate::ledger::Shares;
use crate::refs::{NodeState, NONE};
use crate::store::Store;
use crate::{Jffs2, Options};

/// Pages of 2048 bytes, blocks of 16 pages.
const BLOCK_BYTES: u32 = 32 << 10;

struct Bench {
    fs: Jffs2,
    host: NoPageCache,
    sim: Sim,
    mtd: Mtd,
    options: Options,
}

impl Bench {
    fn new(blocks: u32, options: Options) -> Bench {
        Bench::waiting(NandWait::Busy, blocks, options)
    }

    fn waiting(nand_wait: NandWait, blocks: u32, options: Options) -> Bench {
        Bench::on(SimConfig { nand_wait, ..SimConfig::default() }, blocks, options)
    }

    fn on(config: SimConfig, blocks: u32, options: Options) -> Bench {
        let sim = Sim::new(config);
        let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks };
        let timing = Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 500_000, bus_ps_per_byte: 50_000 };
        let chip = Chip::new(sim.clone(), geometry, timing, Rules { partial_programs_max: 4, in_order: true }).unwrap();
        let nand = Nand::new(chip, Driver::default()).unwrap();
        let mtd = Mtd::new(&nand, 0, blocks).unwrap();
        let fs = Jffs2::mount(mtd.clone(), options).unwrap();
        let mut bench = Bench { fs, host: NoPageCache::default(), sim, mtd, options };
        bench.sleep_ms(30_000);
        bench
    }

    /// Lets background work run.
    fn sleep_ms(&mut self, ms: u64) {
        self.sim.foreground_sleeps_until(self.sim.now_ns() + ms * 1_000_000);
        while let Idle::Run(task) = self.sim.idle_next() {
            let _turn = self.sim.run_as(task);
            self.fs.run_task(&mut self.host, task);
        }
    }

    fn create(&mut self, name: &str) -> Result<Ino, Errno> {
        self.fs.create(&mut self.host, 1, name.as_bytes(), &NewNode::of(FileKind::File))
    }

    /// Writes page by page, as a page cache would.
    fn write(&mut self, ino: Ino, at: u64, data: &[u8]) -> Result<(), Errno> {
        let mut done = 0;
        while done < data.len() {
            let position = at + done as u64;
            let (index, within) = (position / PAGE_BYTES as u64, position as usize % PAGE_BYTES);
            let bytes = (PAGE_BYTES - within).min(data.len() - done);
            let plan = self.fs.write_begin(&mut self.host, ino, position, bytes, false)?;
            let mut page = [0; PAGE_BYTES];
            if plan == WritePlan::ReadFirst {
                self.fs.read_page(ino, index, &mut page)?;
            }
            page[within..within + bytes].copy_from_slice(&data[done..done + bytes]);
            self.host.set_page(ino, index, &page);
            done += self.fs.write_end(&mut self.host, ino, position, bytes)?;
            self.fs.resched(&mut self.host);
        }
        Ok(())
    }

    fn read(&mut self, ino: Ino) -> Vec<u8> {
        let size = self.fs.getattr(ino).unwrap().size_bytes as usize;
        let mut data = vec![0; size.next_multiple_of(PAGE_BYTES)];
        for (index, page) in data.chunks_mut(PAGE_BYTES).enumerate() {
            self.fs.read_page(ino, index as u64, page).unwrap();
        }
        data.truncate(size);
        data
    }

    fn truncate(&mut self, ino: Ino, bytes: u64) -> Result<(), Errno> {
        self.fs.setattr(&mut self.host, ino, &SetAttr { size_bytes: Some(bytes), ..SetAttr::default() })
    }

    /// Takes a name and, as nobody holds the file open, the file away.
    fn unlink(&mut self, name: &str) -> Result<(), Errno> {
        let ino = self.fs.lookup(1, name.as_bytes())?;
        self.fs.unlink(&mut self.host, 1, name.as_bytes())?;
        self.fs.evict(&mut self.host, ino)
    }

    /// Mounts again, after an orderly end or a reset.
    fn remount(&mut self, orderly: bool) {
        if orderly {
            self.fs.unmount(&mut self.host).unwrap();
        } else {
            self.fs.stop_tasks();
            // Its end, when it is replaced below, must not stop the tasks of its successor.
            self.fs.unmounted = true;
        }
        self.fs = Jffs2::mount(self.mtd.clone(), self.options).unwrap();
    }
}

/// Bytes that depend on their offset.
fn content(at: usize, bytes: usize) -> Vec<u8> {
    (at..at + bytes).map(|i| (i as u32).wrapping_mul(2_654_435_761).rotate_left(9) as u8).collect()
}

/// Checks what must hold between any two operations: the shares of each block agree with its list and its nodes and add up
/// to the block, the totals are the sums over the blocks, the number of blocks in erasure is that of their lists.
fn audit(store: &Store) {
    let mut sums = Shares::default();
    let mut in_erasure = 0;
    for number in 0..store.space.blocks.count() {
        let b = store.space.blocks[number];
        let whole = match b.list() {
            List::Erasing | List::EraseComplete | List::EraseChecking => b.erasing_bytes(),
            List::Bad => b.bad_bytes(),
            _ => b.sum_bytes() - b.erasing_bytes() - b.bad_bytes(),
        };
        assert_eq!(whole, store.flash.block_bytes, "block {number}: {b:?}");
        in_erasure += u32::from(matches!(
            b.list(),
            List::ErasePending | List::Erasing | List::EraseComplete | List::EraseChecking
        ));
        sums += *b;
        audit_nodes(store, number);
    }
    assert_eq!(*store.space.blocks.totals(), sums);
    assert_eq!(sums.sum_bytes(), store.flash.bytes);
    assert_eq!(store.space.erasing_blocks, in_erasure);
}

/// The nodes of a block follow one another without a gap and have the sizes that the block says.
fn audit_nodes(store: &Store, number: u32) {
    let b = store.space.blocks[number];
    let (mut unchecked, mut used, mut obsolete) = (0, 0, 0);
    let mut at = number * store.flash.block_bytes;
    let mut id = b.first;
    while id != NONE {
        assert_eq!(store.space.refs[id].offset(), at, "block {number}");
        let bytes = store.space.ref_bytes(id);
        match store.space.refs[id].state() {
            NodeState::Unchecked => unchecked += bytes,
            NodeState::Obsolete => obsolete += bytes,
            NodeState::Pristine | NodeState::Normal => used += bytes,
        }
        at += bytes;
        assert_eq!(store.space.refs[id].next_in_block == NONE, id == b.last, "block {number}");
        id = store.space.refs[id].next_in_block;
    }
    if b.first != NONE {
        assert_eq!(at + b.free_bytes(), (number + 1) * store.flash.block_bytes, "block {number}");
        assert_eq!(
            [unchecked, used, obsolete],
            [b.unchecked_bytes(), b.used_bytes(), b.dirty_bytes() + b.wasted_bytes()]
        );
    }
}
