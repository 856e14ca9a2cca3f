//! Making, finding, renaming and deleting objects.
//!
//! Follows the object functions of `yaffs_guts.c`. Nothing is ever deleted in place: an object that loses its name gets a
//! header that puts it into the pseudo directory "unlinked" or "deleted", which programs cannot see.

use ffslab_fs::Result;

use crate::device::Device;
use crate::faults;
use crate::header::Attributes;
use crate::headers::HeaderUpdate;
use crate::objects::{Obj, NONE};
use crate::tags::Kind;

/// What a new object is.
pub struct NewObject<'a> {
    pub kind: Kind,
    pub attributes: Attributes,
    /// Target of a symbolic link.
    pub alias: &'a [u8],
    /// The object that a hard link stands for.
    pub equivalent: Obj,
}

impl Device {
    // ---- making --------------------------------------------------------------------------------------------

    /// Makes an object with a name that is not there yet. `None`: no space.
    pub fn create_object(&mut self, dir: Obj, name: &[u8], new: &NewObject<'_>) -> Result<Option<Obj>> {
        let id = self.objects.new_id();
        let obj = self.new_object(id, new.kind);
        let object = &mut self.objects[obj];
        object.valid = true;
        object.changed(&self.chunks.sim);
        object.attributes = new.attributes;
        object.alias = new.alias.to_vec();
        self.objects.set_name(obj, name);
        self.objects.enter_directory(dir, obj);
        if new.kind == Kind::HardLink {
            self.objects[obj].equivalent = new.equivalent;
            self.objects[obj].equivalent_id = self.objects[new.equivalent].id;
            self.objects[new.equivalent].links.push(obj);
        }
        let update = HeaderUpdate { name: Some(name), ..HeaderUpdate::default() };
        if !self.update_header(obj, update)? {
            self.delete_object(obj)?;
            return Ok(None);
        }
        self.directory_changed(dir)?;
        Ok(Some(obj))
    }

    /// Updates the time stamps of a directory whose entries have changed, at once or later as the options say.
    fn directory_changed(&mut self, dir: Obj) -> Result<()> {
        if dir == NONE {
            return Ok(());
        }
        let now_s = self.now_s;
        let object = &mut self.objects[dir];
        object.changed(&self.chunks.sim);
        object.attributes.modified_s = now_s;
        object.attributes.changed_s = now_s;
        if !self.chunks.options.deferred_directory_update {
            return self.update_header(dir, HeaderUpdate::default()).map(drop);
        }
        if !object.in_dirty_list {
            object.in_dirty_list = true;
            self.dirty_directories.push(dir);
        }
        Ok(())
    }

    /// Writes the headers of changed directories (`yaffs_update_dirty_dirs`).
    pub fn update_dirty_directories(&mut self) -> Result<()> {
        while let Some(dir) = self.dirty_directories.pop() {
            self.objects[dir].in_dirty_list = false;
            if self.objects[dir].dirty {
                let _of_setup = self.chunks.sim.because_left(self.objects[dir].changed_in);
                self.update_header(dir, HeaderUpdate::default())?;
            }
        }
        Ok(())
    }

    // ---- finding -------------------------------------------------------------------------------------------

    // ---- renaming ------------------------------------------------------------------------------------------

    /// Gives an object a name and a directory, in memory and in a new header. `shadows`: number of the object whose
    /// name it takes over; 0: none. Returns `false` when there is no space.
    fn change_name(&mut self, obj: Obj, dir: Obj, name: &[u8], shadows: u32) -> Result<bool> {
        let update = self.give_name(obj, dir, name, shadows)?;
        self.update_header(obj, update)
    }

    /// Renames `obj` to `name` in `dir`; `target` is the object that has this name already. Returns `false` when there
    /// is no space.
    pub fn rename_object(&mut self, obj: Obj, dir: Obj, name: &[u8], target: Option<Obj>) -> Result<bool> {
        let old_dir = self.objects[obj].parent;
        if let Some(target) = target.filter(|&target| target != obj) {
            // Garbage collection would remove the note of shadowing from the header, which must stay until the target
            // is deleted.
            self.chunks.gc.disabled = true;
            let shadows = self.objects[target].id;
            if faults::TARGET_GOES_FIRST.is_seeded() {
                self.unlink_object(target)?;
                self.chunks.gc.disabled = false;
                return self.change_name(obj, dir, name, 0);
            }
            self.change_name(obj, dir, name, shadows)?;
            self.objects[target].is_shadowed = true;
            self.unlink_object(target)?;
            self.chunks.gc.disabled = false;
        }
        let renamed = self.change_name(obj, dir, name, 0)?;
        self.directory_changed(old_dir)?;
        if dir != old_dir {
            self.directory_changed(dir)?;
        }
        Ok(renamed)
    }

    // ---- deleting ------------------------------------------------------------------------------------------

    /// Removes an object's name. An object that nobody uses is deleted at once (`yaffs_unlink_worker`).
    pub fn unlink_object(&mut self, obj: Obj) -> Result<()> {
        if !self.objects[obj].unlink_allowed {
            return Ok(());
        }
        self.directory_changed(self.objects[obj].parent)?;
        if self.objects[obj].kind == Kind::HardLink {
            return self.delete_link(obj);
        }
        if let Some(link) = self.objects[obj].links.pop() {
            // The object takes over the name of one of its hard links, and that hard link is deleted instead.
            let name = self.name_of(link)?;
            let dir = self.objects[link].parent;
            self.objects.enter_directory(self.objects.unlinked, link);
            if self.change_name(obj, dir, &name, 0)? {
                self.delete_object_for_good(link)?;
            }
            return Ok(());
        }
        if self.objects[obj].in_use {
            return self.change_name(obj, self.objects.unlinked, b"unlinked", 0).map(drop);
        }
        self.delete_object(obj)
    }

    /// Deletes an object that has no name any more, or never got one (`yaffs_del_obj`).
    pub fn delete_object(&mut self, obj: Obj) -> Result<()> {
        match self.objects[obj].kind {
            Kind::File => self.delete_file(obj),
            Kind::Directory => {
                if self.objects[obj].in_dirty_list {
                    self.objects[obj].in_dirty_list = false;
                    self.dirty_directories.retain(|&other| other != obj);
                }
                if self.objects.has_children(obj) {
                    return Ok(());
                }
                self.delete_object_for_good(obj)
            }
            Kind::HardLink => self.delete_link(obj),
            Kind::Symlink | Kind::Special => self.delete_object_for_good(obj),
            Kind::Unknown => Ok(()),
        }
    }

    fn delete_link(&mut self, obj: Obj) -> Result<()> {
        let target = self.objects[obj].equivalent;
        if target != NONE {
            self.objects[target].links.retain(|&link| link != obj);
        }
        self.delete_object_for_good(obj)
    }

    fn delete_file(&mut self, obj: Obj) -> Result<()> {
        self.resize_file(obj, 0)?;
        if self.objects[obj].file.chunks <= 0 {
            self.forget_tree(obj);
            return self.delete_object_for_good(obj);
        }
        // The file still counts chunks, so its object stays until garbage collection has dropped them.
        if !self.objects[obj].unlinked {
            self.change_name(obj, self.objects.deleted, b"deleted", 0)?;
        }
        if self.objects[obj].unlinked && !self.objects[obj].deleted {
            self.objects[obj].deleted = true;
            self.objects.deleted_files += 1;
            self.soft_delete(obj);
        }
        Ok(())
    }

    fn forget_tree(&mut self, obj: Obj) {
        // Chunks that are still in the tree by mistake are left on flash; only the nodes of the tree are freed.
        let tree = self.objects[obj].file.tree;
        self.tnodes.take_all(&tree, &mut |_| {});
        self.tnodes.release(tree.top);
        self.objects[obj].file.tree = Default::default();
    }

    /// Declares all chunks of a file free without touching them (`yaffs_soft_del_file`).
    fn soft_delete(&mut self, obj: Obj) {
        let tree = self.objects[obj].file.tree;
        let blocks = &mut self.chunks.blocks;
        self.tnodes.take_all(&tree, &mut |chunk| blocks.soft_delete(chunk));
        self.objects[obj].soft_deleted = true;
    }

    /// Deletes an object in the end: a last header moves it to the directory "deleted", then that header goes out of
    /// use, too (`yaffs_generic_obj_del`).
    fn delete_object_for_good(&mut self, obj: Obj) -> Result<()> {
        self.cache.forget_file(obj);
        if self.objects[obj].parent != self.objects.deleted {
            self.change_name(obj, self.objects.deleted, b"deleted", 0)?;
        }
        self.forget_deleted(obj)
    }

    /// Notes that the system above does not use the object any more, and forgets it if it was deleted
    /// (`yaffs_unstitch_obj`).
    pub fn release_object(&mut self, obj: Obj) {
        self.objects[obj].in_use = false;
        if self.objects[obj].deferred_free {
            self.objects.remove(obj);
        }
    }
}
