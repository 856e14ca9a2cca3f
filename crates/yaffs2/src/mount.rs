//! Mounting: checkpoint or scan, then putting right what a power cut has left.
//!
//! Follows `yaffs_guts_initialise` and the functions that it calls at the end, in `yaffs_guts.c`.

use crate::causes;
use ffslab_fs::{FileKind, Result, Unwritten};

use crate::device::Device;
use crate::objects::{Obj, DELETED_ID, LOST_AND_FOUND_ID, NONE, ROOT_ID, UNLINKED_ID};
use crate::tags::Kind;

/// Permissions of the directories that need no header (`YAFFS_ROOT_MODE`, `YAFFS_LOSTNFOUND_MODE`).
const ROOT_PERMISSIONS: u32 = 0o755;
const LOST_AND_FOUND_PERMISSIONS: u32 = 0o700;
/// Characters of what a mount tells on the console (`yaffs_internal_read_super` of `yaffs_vfs_multi.c`): lines of device, options, attempt
/// and checkpoint, each behind the time since boot.
const MESSAGES_CHARS: u64 = 220;
/// Directories deeper than this count as not connected to the root.
const DEPTH_MAX: u32 = 100;

impl Device {
    /// Brings the medium's content into memory.
    pub fn load(&mut self) -> Result<()> {
        let _why = self.chunks.sim.because(&causes::MOUNT_SCAN);
        self.chunks.sim.prints(MESSAGES_CHARS);
        self.make_initial_directories();
        if self.restore_checkpoint()? {
            self.load_details(self.objects.root)?;
        } else {
            self.start_over();
            self.make_initial_directories();
            self.scan()?;
        }
        self.begin_audits();
        self.delete_leftovers()?;
        self.catch_hanging_objects();
        if self.chunks.options.empty_lost_and_found && !self.chunks.options.read_only {
            self.empty_directory(self.objects.lost_and_found)?;
        }
        if !self.chunks.checkpoint.is_valid && self.chunks.checkpoint.blocks > 0 {
            self.chunks.invalidate_checkpoint()?;
        }
        self.chunks.super_is_dirty = !self.chunks.checkpoint.is_valid;
        self.audit();
        Ok(())
    }

    fn make_initial_directories(&mut self) {
        self.objects.unlinked = self.make_fake_directory(UNLINKED_ID, 0);
        self.objects.deleted = self.make_fake_directory(DELETED_ID, 0);
        self.objects.root = self.make_fake_directory(ROOT_ID, ROOT_PERMISSIONS);
        self.objects.lost_and_found = self.make_fake_directory(LOST_AND_FOUND_ID, LOST_AND_FOUND_PERMISSIONS);
        self.objects.enter_directory(self.objects.root, self.objects.lost_and_found);
    }

    fn make_fake_directory(&mut self, id: u32, permissions: u32) -> Obj {
        let obj = self.new_object(id, Kind::Directory);
        let object = &mut self.objects[obj];
        object.fake = true;
        object.rename_allowed = false;
        object.unlink_allowed = false;
        object.attributes.mode = FileKind::Directory.mode_bits() | permissions;
        obj
    }

    /// Deletes the objects that had lost their names before the power cut (`yaffs_strip_deleted_objs`).
    fn delete_leftovers(&mut self) -> Result<()> {
        for dir in [self.objects.unlinked, self.objects.deleted] {
            for obj in self.objects.children(dir) {
                // A header that garbage collection copies loses the note that it shadows this object. So no collection
                // may run until the object is deleted, as `yaffs_rename_obj` ensures. The original does not ensure it
                // here, and after a second power cut the object can come back.
                self.chunks.gc.disabled = self.objects[obj].is_shadowed;
                self.delete_object(obj)?;
                self.chunks.gc.disabled = false;
            }
        }
        Ok(())
    }

    fn has_no_parent(&self, obj: Obj) -> bool {
        [self.objects.root, self.objects.unlinked, self.objects.deleted].contains(&obj)
    }

    /// Moves objects that cannot be reached from the root to lost+found (`yaffs_fix_hanging_objs`).
    fn catch_hanging_objects(&mut self) {
        let all: Vec<Obj> = self.objects.in_checkpoint_order().collect();
        for obj in all {
            if self.is_hanging(obj) {
                self.objects.enter_directory(self.objects.lost_and_found, obj);
            }
        }
    }

    fn is_hanging(&self, obj: Obj) -> bool {
        if self.has_no_parent(obj) {
            return false;
        }
        let mut parent = self.objects[obj].parent;
        if !self.objects.is_directory(parent) {
            return true;
        }
        if self.has_no_parent(parent) {
            return false;
        }
        for _ in 0..DEPTH_MAX {
            let above = self.objects[parent].parent;
            if parent == self.objects.root || above == NONE || !self.objects.is_directory(above) {
                break;
            }
            parent = above;
        }
        parent != self.objects.root
    }

    fn empty_directory(&mut self, dir: Obj) -> Result<()> {
        for obj in self.objects.children(dir) {
            if self.objects.is_directory(obj) {
                self.empty_directory(obj)?;
            }
            self.unlink_object(obj)?;
        }
        Ok(())
    }

    // ---- writing everything out ----------------------------------------------------------------------------

    /// How much [`Device::flush_everything`] would write.
    pub fn unwritten(&self) -> Unwritten {
        let changed = self
            .objects
            .in_checkpoint_order()
            .filter(|&obj| self.objects[obj].dirty && (self.objects[obj].in_use || self.objects[obj].in_dirty_list));
        let (inodes, buffered_bytes) = (changed.count() as u64, self.cache.unwritten_bytes());
        Unwritten { inodes, buffered_bytes, ..Unwritten::default() }
    }

    /// Writes all changed objects and cached chunks to flash, then a checkpoint if one is wanted (`yaffs_flush_super`).
    pub fn flush_everything(&mut self, checkpoint: bool) -> Result<()> {
        let dirty: Vec<Obj> = self
            .objects
            .in_checkpoint_order()
            .filter(|&obj| self.objects[obj].dirty && self.objects[obj].in_use)
            .collect();
        for obj in dirty {
            self.flush_object(obj, false)?;
        }
        self.update_dirty_directories()?;
        self.flush_all_cached()?;
        if checkpoint {
            self.save_checkpoint()?;
        }
        self.chunks.super_is_dirty = false;
        self.audit();
        Ok(())
    }
}
