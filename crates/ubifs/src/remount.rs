//! Read-only mounts, and remounting. A read-only mount writes nothing: what a power cut has left is mended in memory, and
//! written when the file system is remounted read-write.
//!
//! Follows `fs/ubifs/super.c` (`ubifs_remount_rw`, `ubifs_remount_ro`) and `recovery.c` (`ubifs_write_rcvrd_mst_node`,
//! `ubifs_clean_lebs`, `inode_fixup_size`).

use crate::causes;
use crate::core::Core;
use crate::error::{Fail, Res};
use crate::format::*;
use crate::leb::Lebs;
use crate::mount::wait_for_new_thread;
use crate::node::pad;
use crate::scan::{scan_a_node, Found};
use crate::Ubifs;
use ffslab_fs::{Errno, Host, Result};
use ffslab_ubi::DataLife;
use ffslab_ubi::Ubi;

impl Core {
    /// The last step of a read-only mount.
    pub fn finish_read_only(&mut self) -> Res<()> {
        if self.mount.need_recovery {
            return self.recover_sizes();
        }
        // The reserve LEB of garbage collection is taken as in a writable mount, so that a remount does not change
        // the free space.
        self.space.take_gc_leb(&self.lebs)
    }

    fn remount_read_write(&mut self, ubi: &Ubi) -> Res<()> {
        let _why = self.lebs.sim.because(&causes::MOUNT_SCAN);
        let check_data_crc = std::mem::replace(&mut self.lebs.check_data_crc, true);
        (self.lebs.ro_mount, self.mount.mounting) = (false, true);
        let result = self.do_remount_read_write(ubi);
        (self.mount.mounting, self.lebs.check_data_crc) = (false, check_data_crc);
        if result.is_err() {
            self.lebs.ro_mount = true;
            self.commits.stop_thread(&self.lebs);
            // Some of the deferred repairs may have been written: a second attempt would not find all of them.
            self.lebs.read_only = self.mount.need_recovery && self.mount.deferred.is_empty();
        }
        result
    }

    fn do_remount_read_write(&mut self, ubi: &Ubi) -> Res<()> {
        if self.sb.space_fixup {
            self.fix_up_free_space()?;
        }
        self.space.check_free_space(&self.lebs)?;
        if self.mount.need_recovery {
            let deferred = std::mem::take(&mut self.mount.deferred);
            if let Some(mut master) = deferred.master {
                let flags = get_u32(&master, 40);
                put_u32(&mut master, 40, flags | MASTER_DIRTY);
                self.lebs.write_recovered_master(&mut master)?;
            }
            deferred.sizes.into_iter().try_for_each(|(ino, bytes)| self.fix_size_in_place(ino, bytes))?;
            deferred.unclean_lebs.into_iter().try_for_each(|(lnum, end)| self.lebs.clean_leb(lnum, end))?;
            self.recover_heads()?;
        } else {
            self.journal.orphans.clear(&mut self.lebs)?;
        }
        if self.master.flags & MASTER_DIRTY == 0 {
            self.master.flags |= MASTER_DIRTY;
            self.master.write(&mut self.lebs, self.highest_ino)?;
        }
        self.sb.write_if_needed(&mut self.lebs)?;
        self.space.init_lpt_for_writing(&mut self.lebs)?;
        self.commits.start_thread(&self.lebs);
        wait_for_new_thread(&self.lebs.sim, ubi);
        self.consolidate_log_if_full()?;
        if self.mount.need_recovery {
            self.recover_gc()?;
        } else if let Some(lnum) = self.space.gc_lnum {
            self.lebs.unmap(lnum)?;
        }
        self.mount.need_recovery = false;
        Ok(())
    }

    fn remount_read_only(&mut self) -> Res<()> {
        self.commits.stop_thread(&self.lebs);
        let written = self.leave_clean();
        self.lebs.ro_mount = true;
        written
    }
}

impl Lebs {
    /// Writes a LEB anew up to where its damage begins (`clean_an_unclean_leb`).
    fn clean_leb(&mut self, lnum: u32, end: u32) -> Res<()> {
        if end == 0 {
            return self.unmap(lnum);
        }
        let mut bytes = self.buffer();
        let result = self.read_checked(lnum, 0, &mut bytes[..end as usize]).and_then(|()| {
            let mut offs = 0;
            while end.saturating_sub(offs) >= 8 {
                offs += match scan_a_node(&self.geo, &bytes[offs as usize..end as usize], offs) {
                    Found::Node => align8(get_u32(&bytes, offs as usize + header::LEN)),
                    Found::Padding(bytes) => bytes,
                    _ => return Err(Fail::Unclean),
                };
            }
            let len = align(end, self.geo.min_io);
            let padded = align8(end).min(len);
            bytes[end as usize..padded as usize].fill(0);
            pad(&mut bytes[padded as usize..len as usize]);
            self.expecting(DataLife::Unknown, |lebs| lebs.change(lnum, &bytes[..len as usize]))
        });
        self.buffers.push(bytes);
        result
    }
}

impl Ubifs {
    pub(crate) fn change_read_only(&mut self, _host: &mut dyn Host, read_only: bool) -> Result<()> {
        let result = match (self.core.lebs.ro_mount, read_only) {
            (true, false) | (false, true) if self.core.lebs.read_only => return Err(Errno::RoFs),
            (true, false) => {
                let ubi = self.ubi.clone();
                self.core.remount_read_write(&ubi)
            }
            (false, true) => self.core.remount_read_only(),
            _ => Ok(()),
        };
        result.map_err(Errno::from)
    }
}
