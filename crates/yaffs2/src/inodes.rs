//! The inodes of Linux above the objects: what stat(2) shows.
//!
//! Follows `yaffs_vfs_multi.c`. An inode is filled from its object when it comes into memory
//! (`yaffs_fill_inode_from_obj`), and from then on stat(2) is answered from the inode. Inode and object then change
//! independently: a write stamps the inode at once (`file_update_time`) and the object only when it is flushed; a name
//! that is taken away is counted in the inode (`inode_dec_link_count`). Once the inode has left memory, stat(2) shows
//! the object's times. Nothing of an inode reaches the medium: the port has no `->write_inode`.
//!
//! The direct interface has no inodes ([`crate::Options::direct`]).

use ffslab_fs::{Host, Ino, SetAttr, TimeSpec};
use rustc_hash::FxHashMap;

use crate::objects::Obj;
use crate::Yaffs2;

/// The fields in which an inode can differ from its object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inode {
    pub links: u32,
    pub accessed: TimeSpec,
    pub modified: TimeSpec,
    pub changed: TimeSpec,
}

pub(crate) type Inodes = FxHashMap<Ino, Inode>;

/// A time stamp as objects keep it.
pub(crate) fn time(seconds: u32) -> TimeSpec {
    TimeSpec { seconds: i64::from(seconds), nanoseconds: 0 }
}

/// Cuts a time stamp to whole seconds, as the kernel does for this port, which leaves `s_time_gran` at a second
/// (`fs/super.c`).
fn whole_seconds(time: TimeSpec) -> TimeSpec {
    TimeSpec { nanoseconds: 0, ..time }
}

impl Yaffs2 {
    /// A new inode, filled from its object.
    fn of_object(&self, obj: Obj) -> Inode {
        let attributes = &self.device.objects[obj].attributes;
        Inode {
            links: self.device.objects.link_count(obj),
            accessed: time(attributes.accessed_s),
            modified: time(attributes.modified_s),
            changed: time(attributes.changed_s),
        }
    }

    /// The inode that stat(2) shows: the one in memory, or else one filled from the object.
    pub(crate) fn shown(&self, obj: Obj) -> Inode {
        self.inodes.get(&self.device.objects[obj].id).copied().unwrap_or_else(|| self.of_object(obj))
    }

    /// Notes that the system above uses an object from now on (`yaffs_iget`).
    pub(crate) fn bring_in(&mut self, obj: Obj) {
        self.device.objects[obj].in_use = true;
        self.inode_mut(obj);
    }

    /// Notes that the system above does not use an object any more (`yaffs_evict_inode`).
    pub(crate) fn put_away(&mut self, obj: Obj) {
        self.inodes.remove(&self.device.objects[obj].id);
        self.device.release_object(obj);
    }

    fn inode_mut(&mut self, obj: Obj) -> Option<&mut Inode> {
        if self.device.chunks.options.direct {
            return None;
        }
        let new = self.of_object(obj);
        Some(self.inodes.entry(self.device.objects[obj].id).or_insert(new))
    }

    /// Fills the inode of a directory from its object again, after an entry was made in it (`yaffs_mknod`).
    pub(crate) fn refill(&mut self, dir: Obj) {
        let new = self.of_object(dir);
        if let Some(inode) = self.inode_mut(dir) {
            *inode = new;
        }
    }

    /// Sets the times of a directory whose entries have changed. Only these time stamps keep their nanoseconds
    /// (`update_dir_time`).
    pub(crate) fn stamp_directory(&mut self, host: &dyn Host, dir: Obj) {
        let now = host.now();
        if let Some(inode) = self.inode_mut(dir) {
            (inode.modified, inode.changed) = (now, now);
        }
    }

    /// Sets the times of a file at the start of a write(2) (`file_update_time`).
    pub(crate) fn stamp_file(&mut self, host: &dyn Host, obj: Obj) {
        let now = whole_seconds(host.now());
        if let Some(inode) = self.inode_mut(obj) {
            (inode.modified, inode.changed) = (now, now);
        }
    }

    /// Takes over the object's number of names after a further one was made (`yaffs_link`). No time stamp changes.
    pub(crate) fn gain_link(&mut self, obj: Obj) {
        let links = self.device.objects.link_count(obj);
        if let Some(inode) = self.inode_mut(obj) {
            inode.links = links;
        }
    }

    /// Counts a name less for an inode in memory. No time stamp changes.
    pub(crate) fn lose_link(&mut self, ino: Ino) {
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.links = inode.links.saturating_sub(1);
        }
    }

    /// Takes over attributes that a program has set (`setattr_copy`).
    pub(crate) fn set_inode(&mut self, host: &dyn Host, obj: Obj, change: &SetAttr) {
        let now = whole_seconds(host.now());
        if let Some(inode) = self.inode_mut(obj) {
            inode.accessed = change.accessed.map_or(inode.accessed, whole_seconds);
            inode.modified = change.modified.map_or(inode.modified, whole_seconds);
            if change.moves_change_time() {
                inode.changed = now;
            }
        }
    }
}
