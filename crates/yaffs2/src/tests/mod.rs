//! A file system without an operating system above it, and what its audits must find.

mod audits;
mod places;

use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_fs::{Errno, FileKind, FileSystem, Ino, NewNode, NoPageCache};
use ffslab_mtd::{Driver, Mtd, Nand};
use ffslab_sim::{Sim, SimConfig};

use crate::{Options, Yaffs2};

/// Pages of 2048 bytes.
const PAGES_PER_BLOCK: u32 = 16;

struct Bench {
    fs: Yaffs2,
    host: NoPageCache,
    mtd: Mtd,
    options: Options,
}

impl Bench {
    fn new(blocks: u32, options: Options) -> Bench {
        let sim = Sim::new(SimConfig::default());
        let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: PAGES_PER_BLOCK, blocks };
        let timing = Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 500_000, bus_ps_per_byte: 50_000 };
        let chip = Chip::new(sim.clone(), geometry, timing, Rules { partial_programs_max: 4, in_order: true }).unwrap();
        let mtd = Mtd::new(&Nand::new(chip, Driver::default()).unwrap(), 0, blocks).unwrap();
        let fs = Yaffs2::mount(mtd.clone(), options).unwrap();
        Bench { fs, host: NoPageCache::default(), mtd, options }
    }

    fn create(&mut self, name: &str) -> Result<Ino, Errno> {
        self.fs.create(&mut self.host, 1, name.as_bytes(), &NewNode::of(FileKind::File))
    }

    /// Files of some pages, some of them overwritten and deleted, written out.
    fn used(blocks: u32, options: Options) -> Bench {
        let mut bench = Bench::new(blocks, options);
        for i in 0..40 {
            let ino = bench.create(&format!("file {i}")).unwrap();
            for at in [0, 3000, 9000] {
                bench.fs.write_at(ino, at, &[i; 5000]).unwrap();
            }
            bench.fs.close(&mut bench.host, ino).unwrap();
            if i % 3 == 0 {
                bench.fs.unlink(&mut bench.host, 1, format!("file {i}").as_bytes()).unwrap();
                bench.fs.release(ino);
            }
        }
        bench.fs.sync(&mut bench.host).unwrap();
        bench
    }

    fn remount(&mut self) {
        self.fs.unmount(&mut self.host).unwrap();
        self.fs = Yaffs2::mount(self.mtd.clone(), self.options).unwrap();
    }
}
