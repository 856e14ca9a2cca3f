//! A JFFS2 partition under Linux 6.1, with the chip of the measured cases.
#![allow(dead_code)]

use ffslab_conformance::{Board, Machine};
use ffslab_flash::Geometry;
use ffslab_jffs2::{Jffs2, Options};
use ffslab_linux::{Fd, OpenFlags, Vfs};
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
        let machine = Machine { page_cache_bytes: 512 << 20, read_ahead_bytes: 0 };
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

    pub fn open_new(&mut self, path: &str) -> Fd {
        let flags = OpenFlags { read: true, write: true, create: true, truncate: true, ..OpenFlags::default() };
        self.vfs.open(path.as_bytes(), flags, 0o644).unwrap()
    }

    pub fn open(&mut self, path: &str) -> Fd {
        self.vfs.open(path.as_bytes(), OpenFlags { read: true, ..OpenFlags::default() }, 0).unwrap()
    }

    /// Writes a file of `bytes`, `request` bytes at a time, with content that says where it belongs.
    pub fn create(&mut self, path: &str, bytes: usize, request: usize) {
        let fd = self.open_new(path);
        let mut at = 0;
        while at < bytes {
            let piece = request.min(bytes - at);
            self.vfs.pwrite(fd, &content(at, piece), at as u64).unwrap();
            at += piece;
        }
        self.vfs.close(fd).unwrap();
    }

    pub fn read_all(&mut self, path: &str) -> Vec<u8> {
        let size = self.vfs.stat(path.as_bytes()).unwrap().size_bytes as usize;
        let fd = self.open(path);
        let mut data = vec![0; size];
        let read = self.vfs.pread(fd, &mut data, 0).unwrap();
        self.vfs.close(fd).unwrap();
        assert_eq!(read, size);
        data
    }

    /// Counters of what `f` causes.
    pub fn counts(&mut self, f: impl FnOnce(&mut Bench)) -> OpCounts {
        let before = self.sim.total();
        f(self);
        self.sim.total() - before
    }
}

/// Bytes that depend on their offset.
pub fn content(at: usize, bytes: usize) -> Vec<u8> {
    (at..at + bytes).map(|i| (i as u32).wrapping_mul(2_654_435_761).rotate_left(9) as u8).collect()
}
