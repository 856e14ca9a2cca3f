//! YAFFS2 as RTEMS ports it, on flash that lies in memory: chunks of 4 KiB with their tags, no page cache.
//!
//! Follows what is known of the port (`direct/rtems/rtems_yaffs.c`): calls go to YAFFS Direct as they are. The core is the one
//! of the crate `ffslab-yaffs2`; a board of nothing but counters stands in for flash. No counts of the real port are known.

use crate::cpu::Cpu;
use crate::port::{Direct, Port};
use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_fs::{Errno, FileSystem, NoPageCache};
use ffslab_mtd::{Driver, Mtd, Nand};
use ffslab_sim::{OpCounts, Sim};
pub use ffslab_yaffs2::{Generation, MountError, Options};
use std::collections::BTreeMap;

/// Chunks of the port on RAM (the study's block size), their spare bytes, and chunks in a block.
const CHUNK_BYTES: u32 = 4096;
const SPARE_BYTES: u32 = 128;
const CHUNKS_PER_BLOCK: u32 = 64;

/// Flash in memory; clones are the same flash.
#[derive(Clone)]
pub struct RamFlash {
    nand: Nand,
    mtd: Mtd,
    sim: Sim,
}

impl RamFlash {
    /// Erased flash of so many bytes, rounded down to whole blocks. Its operations take no time of their own: the CPU
    /// is charged for copying.
    ///
    /// # Errors
    /// A size that no chip has.
    pub fn new(sim: Sim, bytes: u64) -> Result<RamFlash, String> {
        let geometry = RamFlash::geometry(bytes);
        let blocks = geometry.blocks;
        let timing = Timing { read_ns: 0, program_ns: 0, erase_ns: 0, bus_ps_per_byte: 0 };
        let rules = Rules { partial_programs_max: 255, in_order: false };
        let chip = Chip::new(sim.clone(), geometry, timing, rules).map_err(|error| error.to_string())?;
        let nand = Nand::new(chip, Driver::default()).map_err(|error| error.to_string())?;
        let mtd = Mtd::new(&nand, 0, blocks).map_err(|error| error.to_string())?;
        Ok(RamFlash { nand, mtd, sim })
    }

    /// The geometry of a flash of `bytes` bytes.
    pub fn geometry(bytes: u64) -> Geometry {
        let blocks = u32::try_from(bytes / RamFlash::block_bytes()).unwrap_or(u32::MAX);
        Geometry { page_bytes: CHUNK_BYTES, oob_bytes: SPARE_BYTES, pages_per_block: CHUNKS_PER_BLOCK, blocks }
    }

    /// The flash beside all operations: its contents.
    pub fn with_chip<R>(&self, act: impl FnOnce(&mut Chip) -> R) -> R {
        self.nand.with_chip(act)
    }

    /// Power fails and comes back, or other contents were put on it: what the driver knows of the flash is forgotten.
    pub fn restart(&self) {
        self.nand.restart();
    }

    /// Bytes of an erase block.
    pub fn block_bytes() -> u64 {
        u64::from(CHUNK_BYTES) * u64::from(CHUNKS_PER_BLOCK)
    }
}

/// A mounted YAFFS2.
pub type Yaffs2 = Port<Yaffs2Core>;

#[derive(Clone, Copy, Default)]
struct Users {
    count: u32,
    parent: Option<u32>,
}

/// YAFFS2 with its flash. The CPU carries out the operations of the flash.
pub struct Yaffs2Core {
    core: ffslab_yaffs2::Yaffs2,
    sim: Sim,
    users: BTreeMap<u32, Users>,
    charged: OpCounts,
}

impl Yaffs2 {
    /// Mounts the flash. Erased flash is an empty file system. There is no background thread.
    ///
    /// # Errors
    /// [`MountError`]: too few erase blocks, or a medium that cannot be read.
    pub fn mount(flash: &RamFlash) -> Result<Yaffs2, MountError> {
        let options = Options { background: None, direct: true, ..Options::of(Generation::Today) };
        let charged = flash.sim.total();
        let core = ffslab_yaffs2::Yaffs2::mount(flash.mtd.clone(), options)?;
        let sim = flash.sim.clone();
        Ok(Port::of(Yaffs2Core { core, sim, users: BTreeMap::new(), charged }))
    }
}

impl Direct for Yaffs2Core {
    fn core(&mut self) -> &mut dyn FileSystem {
        &mut self.core
    }

    fn take(&mut self, ino: u32) -> Result<(), Errno> {
        self.users.entry(ino).or_default().count += 1;
        Ok(())
    }

    fn release(&mut self, host: &mut NoPageCache, ino: u32) {
        let Some(users) = self.users.get_mut(&ino) else { return };
        users.count = users.count.saturating_sub(1);
        if users.count == 0 {
            self.users.remove(&ino);
            // A failure does no harm: the object is deleted at the next mount.
            let _ = self.core.evict(host, ino);
        }
    }

    fn parent_of(&self, ino: u32) -> u32 {
        self.users.get(&ino).and_then(|users| users.parent).unwrap_or_else(|| self.core.root())
    }

    fn set_parent(&mut self, ino: u32, parent: u32) {
        if ino != parent {
            self.users.entry(ino).or_default().parent = Some(parent);
        }
    }

    fn read_at(&mut self, ino: u32, at: u64, into: &mut [u8]) -> Result<usize, Errno> {
        self.core.read_at(ino, at, into)
    }

    fn write_at(&mut self, _host: &mut NoPageCache, ino: u32, at: u64, data: &[u8]) -> Result<usize, Errno> {
        self.core.write_at(ino, at, data)
    }

    fn make_safe(&mut self, host: &mut NoPageCache, ino: u32) -> Result<(), Errno> {
        self.core.fsync(host, ino, false)
    }

    fn close_file(&mut self, host: &mut NoPageCache, ino: u32) -> Result<(), Errno> {
        self.core.close(host, ino)
    }

    fn shut_down(&mut self, host: &mut NoPageCache) -> Result<(), Errno> {
        self.core.unmount(host)
    }

    fn charge(&mut self, cpu: &mut Cpu) {
        if !cpu.is_priced() {
            return;
        }
        let counts = self.sim.total();
        let done = counts - std::mem::replace(&mut self.charged, counts);
        let chunks =
            done.page_reads + done.partial_page_reads + done.oob_reads + done.page_programs + done.oob_programs;
        cpu.spend(chunks, |costs| costs.yaffs2_chunk_ps);
        cpu.copy_from_flash(done.bus_out_bytes);
        cpu.copy_to_flash(done.bus_in_bytes);
        cpu.clear_flash(done.erases * RamFlash::block_bytes());
    }
}
