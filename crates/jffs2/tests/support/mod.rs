//! A JFFS2 partition under Linux 6.1, with the chip of the measured cases.
#![allow(dead_code, unused_imports)]

pub use ffslab_conformance::files::{content, Files};
use ffslab_conformance::{Board, Machine};
use ffslab_flash::Geometry;
use ffslab_jffs2::{Jffs2, Options};
use ffslab_linux::{Calls, Vfs};
use ffslab_mtd::Mtd;
use ffslab_sim::{OpCounts, Sim};

pub const SECOND_NS: u64 = 1_000_000_000;
/// 64 pages of 2048 bytes.
pub const BLOCK_BYTES: usize = 128 << 10;

pub struct Bench {
    pub sim: Sim,
    pub mtd: Mtd,
    pub vfs: Vfs,
    pub options: Options,
}

impl Bench {
    /// A chip of `blocks` erase blocks, mounted, its blocks marked clean.
    pub fn new(blocks: u32) -> Bench {
        Bench::with_options(blocks, Options::default())
    }

    pub fn with_options(blocks: u32, options: Options) -> Bench {
        let mut bench = Bench::mounted(blocks, options);
        bench.vfs.sleep_ns(30 * SECOND_NS);
        bench
    }

    /// A partition that was mounted a moment ago: the thread still has to erase and mark its blocks.
    pub fn unprepared(blocks: u32) -> Bench {
        Bench::mounted(blocks, Options::default())
    }

    fn mounted(blocks: u32, options: Options) -> Bench {
        let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks };
        let machine = Machine { page_cache_bytes: 512 << 20, read_ahead_bytes: 0, ..Machine::USUAL };
        let Board { sim, mtd, vfs, .. } = Board::new(geometry, machine, 1_000_000_000, |_| Ok(())).unwrap();
        let mut bench = Bench { sim, mtd, vfs, options };
        bench.mount();
        bench
    }

    pub fn mount(&mut self) {
        self.vfs.mount(Box::new(Jffs2::mount(self.mtd.clone(), self.options).unwrap())).unwrap();
    }

    pub fn remount(&mut self) {
        self.vfs.umount().unwrap();
        self.mount();
    }

    /// Counters of what `f` causes.
    pub fn counts(&mut self, f: impl FnOnce(&mut Bench)) -> OpCounts {
        let before = self.sim.total();
        f(self);
        self.sim.total() - before
    }
}

impl Files for Bench {
    fn vfs(&mut self) -> &mut Vfs {
        &mut self.vfs
    }
}
