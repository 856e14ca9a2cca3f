//! JFFS2 as RTEMS ports it, on NOR flash: fsync fails with EINVAL as the default handler does.
//!
//! Follows `cpukit/libfs/src/jffs2/src` of RTEMS cf811a4eb2. The core is the one of the crate `ffslab-jffs2`.

use crate::cpu::Cpu;
use crate::port::{Direct, Port};
pub use ffslab_flash::NorFlash;
use ffslab_flash::Traffic;
use ffslab_fs::{Errno, FileSystem, NoPageCache};
use ffslab_jffs2::CompressionWork;
pub use ffslab_jffs2::{Compression, MountError};
use ffslab_mtd::Mtd;

/// A mounted JFFS2.
pub type Jffs2 = Port<Jffs2Core>;

/// JFFS2 with its flash. The CPU carries out the operations of the flash.
pub struct Jffs2Core {
    core: ffslab_jffs2::Jffs2,
    flash: Mtd,
    charged: (Traffic, CompressionWork),
}

impl Jffs2 {
    /// Mounts the flash. Blocks that are erased are erased once more and marked clean. Without a compressor, data are
    /// stored uncompressed.
    ///
    /// # Errors
    /// [`MountError`]: too few erase blocks, a flash that is too large, or no JFFS2.
    pub fn mount(flash: &Mtd, compression: Compression) -> Result<Jffs2, MountError> {
        let options = ffslab_jffs2::Options { compression, direct: true, ..ffslab_jffs2::Options::default() };
        let before = flash.traffic();
        let core = ffslab_jffs2::Jffs2::mount(flash.clone(), options)?;
        let flash = flash.clone();
        Ok(Port::of(Jffs2Core { core, flash, charged: (before, CompressionWork::default()) }))
    }
}

impl Direct for Jffs2Core {
    fn core(&mut self) -> &mut dyn FileSystem {
        &mut self.core
    }

    fn take(&mut self, ino: u32) -> Result<(), Errno> {
        self.core.take_inode(ino)
    }

    fn release(&mut self, _host: &mut NoPageCache, ino: u32) {
        self.core.release_inode(ino);
    }

    fn parent_of(&self, ino: u32) -> u32 {
        self.core.parent_of(ino)
    }

    fn set_parent(&mut self, ino: u32, parent: u32) {
        self.core.set_parent(ino, parent);
    }

    fn read_at(&mut self, ino: u32, at: u64, into: &mut [u8]) -> Result<usize, Errno> {
        self.core.read_at(ino, at, into)
    }

    fn write_at(&mut self, host: &mut NoPageCache, ino: u32, at: u64, data: &[u8]) -> Result<usize, Errno> {
        self.core.write_at(host, ino, at, data)
    }

    /// Charges the CPU for the flash operations since the last call. Each read or write of the flash is counted as half
    /// of the work on a node, because its header and its data are moved separately. All bytes that are read or written
    /// pass a CRC.
    fn charge(&mut self, cpu: &mut Cpu) {
        if !cpu.is_priced() {
            return;
        }
        let (counts, packed) = (self.flash.traffic(), self.core.compression_work());
        let (counts_before, packed_before) = std::mem::replace(&mut self.charged, (counts, packed));
        let (done, packed) = (counts - counts_before, packed - packed_before);
        let moved_bytes = done.read_bytes + done.write_bytes;
        cpu.spend(1, |costs| {
            (done.reads + done.programs) * costs.jffs2_node_ps / 2
                + moved_bytes * costs.crc_ps_per_byte
                + packed.zlib_in_bytes * costs.deflate_ps_per_byte
                + packed.zlib_out_bytes * costs.inflate_ps_per_byte
                + (packed.rtime_in_bytes + packed.rtime_out_bytes) * costs.rtime_ps_per_byte
        });
        cpu.copy_from_flash(done.read_bytes);
        cpu.copy_to_flash(done.write_bytes);
        cpu.clear_flash(done.erases * u64::from(self.flash.erase_block_bytes()));
    }
}
