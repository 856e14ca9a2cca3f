//! YAFFS2 as RTEMS ports it, on flash that lies in memory: chunks of 4 KiB with their tags, no page cache.
//!
//! Follows what is known of the port (`direct/rtems/rtems_yaffs.c`): calls go to YAFFS Direct as they are. The core is the one
//! of the crate `ffslab-yaffs2`, the flash [`ffslab_mtd::ram`]. No counts of the real port are known.

use crate::cpu::Cpu;
use crate::port::{Direct, Port};
use ffslab_flash::Traffic;
use ffslab_fs::{Errno, FileSystem, NoPageCache};
use ffslab_mtd::Mtd;
pub use ffslab_yaffs2::{Generation, MountError, Options};
use std::collections::BTreeMap;

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
    flash: Mtd,
    users: BTreeMap<u32, Users>,
    charged: Traffic,
}

impl Yaffs2 {
    /// Mounts the flash. Erased flash is an empty file system. There is no background thread.
    ///
    /// # Errors
    /// [`MountError`]: too few erase blocks, or a medium that cannot be read.
    pub fn mount(flash: &Mtd) -> Result<Yaffs2, MountError> {
        let options = Options { background: None, direct: true, ..Options::of(Generation::Today) };
        let charged = flash.traffic();
        let core = ffslab_yaffs2::Yaffs2::mount(flash.clone(), options)?;
        Ok(Port::of(Yaffs2Core { core, flash: flash.clone(), users: BTreeMap::new(), charged }))
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
        let traffic = self.flash.traffic();
        let done = traffic - std::mem::replace(&mut self.charged, traffic);
        cpu.spend(done.reads + done.programs, |costs| costs.yaffs2_chunk_ps);
        cpu.copy_from_flash(done.read_bytes);
        cpu.copy_to_flash(done.write_bytes);
        cpu.clear_flash(done.erases * u64::from(self.flash.erase_block_bytes()));
    }
}
