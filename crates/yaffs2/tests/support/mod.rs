//! A YAFFS2 partition under Linux, with the chip of the measured cases.
#![allow(dead_code, unused_imports)]

pub use ffslab_conformance::files::{content, Files};
use ffslab_conformance::{Board, Machine};
use ffslab_flash::{Geometry, ImageLayout};
use ffslab_linux::Vfs;
use ffslab_mtd::Mtd;
use ffslab_sim::{OpCounts, Sim};
use ffslab_yaffs2::{Options, Yaffs2};

pub const SECOND_NS: u64 = 1_000_000_000;
/// 64 pages of 2048 bytes.
pub const BLOCK_BYTES: usize = 128 << 10;

const WITH_OOB: ImageLayout = ImageLayout { oob: true, hamming_ecc: false };

/// The chip of the measured cases, with so many erase blocks.
pub fn usual(blocks: u32) -> Geometry {
    Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks }
}

pub struct Bench {
    pub sim: Sim,
    pub mtd: Mtd,
    pub vfs: Vfs,
    pub options: Options,
}

impl Bench {
    /// An erased chip of `blocks` erase blocks, mounted.
    pub fn new(blocks: u32, options: Options) -> Bench {
        Bench::with_image(usual(blocks), options, &[])
    }

    /// A chip with this image (pages with OOB) on it, mounted.
    pub fn with_image(geometry: Geometry, options: Options, image: &[u8]) -> Bench {
        let machine = Machine { page_cache_bytes: 512 << 20, read_ahead_bytes: 0, ..Machine::USUAL };
        let board = Board::new(geometry, machine, 1_000_000_000, |chip| {
            chip.load_bytes("image", image, 0..geometry.blocks, WITH_OOB).unwrap();
            Ok(())
        });
        let Board { sim, mtd, vfs, .. } = board.unwrap();
        let mut bench = Bench { sim, mtd, vfs, options };
        bench.mount();
        bench
    }

    /// The chip's pages with their OOB areas.
    pub fn image(&self) -> Vec<u8> {
        let mut image = Vec::new();
        let blocks = 0..self.mtd.blocks();
        self.mtd.nand().unwrap().with_chip(|chip| chip.write_image(&mut image, blocks, WITH_OOB)).unwrap();
        image
    }

    pub fn mount(&mut self) {
        self.vfs.mount(Box::new(Yaffs2::mount(self.mtd.clone(), self.options).unwrap())).unwrap();
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
