//! Objects and their names in memory, with what must be read from flash for it.
//!
//! Follows the object functions of `yaffs_guts.c` (`yaffs_new_obj`, `yaffs_find_by_name`, `yaffs_get_obj_name`).

use ffslab_fs::Result;

use crate::device::Device;
use crate::header::{self, Attributes, HEADER_BYTES};
use crate::headers::HeaderUpdate;
use crate::objects::{name_sum, Obj, LOST_AND_FOUND_ID, NONE};
use crate::tags::Kind;

const LOST_AND_FOUND_NAME: &[u8] = b"lost+found";

impl Device {
    /// Makes an object in memory. It is in lost+found until it is put into its directory (`yaffs_new_obj`).
    pub fn new_object(&mut self, id: u32, kind: Kind) -> Obj {
        let top = if kind == Kind::File { self.tnodes.add() } else { 0 };
        let obj = self.objects.add(id, kind);
        let now_s = self.now_s;
        let object = &mut self.objects[obj];
        object.file.tree.top = top;
        object.file.shrink_bytes = u64::from(crate::tnodes::CHUNK_ID_MAX) * u64::from(self.chunks.data_bytes);
        object.attributes =
            Attributes { accessed_s: now_s, modified_s: now_s, changed_s: now_s, ..Attributes::default() };
        if self.objects.lost_and_found != NONE {
            self.objects.enter_directory(self.objects.lost_and_found, obj);
        }
        obj
    }

    pub fn find_or_make(&mut self, id: u32, kind: Kind) -> Obj {
        match self.objects.find(id) {
            Some(obj) => obj,
            None => self.new_object(id, kind),
        }
    }

    /// An object's name. Long ones are read from flash (`yaffs_get_obj_name`).
    pub fn name_of(&mut self, obj: Obj) -> Result<Vec<u8>> {
        self.load_details(obj)?;
        let object = &self.objects[obj];
        if object.id == LOST_AND_FOUND_ID {
            return Ok(b"lost+found".to_vec());
        }
        if let Some(name) = object.short_name() {
            return Ok(name.to_vec());
        }
        let (id, chunk) = (object.id, object.header_chunk);
        let mut name = Vec::new();
        if chunk > 0 {
            let mut data = self.chunks.buffer();
            self.chunks.read_chunk(chunk, &mut data)?;
            name = header::name(&data[..HEADER_BYTES]);
            self.chunks.release(data);
        }
        if name.is_empty() {
            name = format!("obj{id}").into_bytes();
        }
        Ok(name)
    }

    /// Finds the entry with this name. Entries whose names are not known yet are met from the newest one on, and their
    /// headers are read one after another.
    pub fn find_by_name(&mut self, dir: Obj, name: &[u8]) -> Result<Option<Obj>> {
        let sum = name_sum(name);
        if !self.objects.has_unnamed_children(dir) {
            let special = self.objects.lost_and_found;
            if name == LOST_AND_FOUND_NAME && self.objects[special].parent == dir {
                return Ok(Some(special));
            }
            return self.find_among(self.objects.children_with_sum(dir, sum), name);
        }
        let mut next = self.objects.first_child(dir);
        while let Some(child) = next {
            self.load_details(child)?;
            let object = &self.objects[child];
            if object.id == LOST_AND_FOUND_ID {
                if name == LOST_AND_FOUND_NAME {
                    return Ok(Some(child));
                }
            } else if (object.name_sum == sum || object.header_chunk == 0) && self.name_of(child)? == name {
                return Ok(Some(child));
            }
            next = self.objects.next_sibling(child);
        }
        Ok(None)
    }

    fn find_among(&mut self, candidates: Vec<Obj>, name: &[u8]) -> Result<Option<Obj>> {
        for child in candidates {
            let found = match self.objects[child].short_name() {
                Some(short) => short == name,
                None => self.objects[child].id != LOST_AND_FOUND_ID && self.name_of(child)? == name,
            };
            if found {
                return Ok(Some(child));
            }
        }
        Ok(None)
    }

    /// Gives an object a name and a directory in memory. A new header must say so. Returns what that header says.
    pub fn give_name<'a>(&mut self, obj: Obj, dir: Obj, name: &'a [u8], shadows: u32) -> Result<HeaderUpdate<'a>> {
        let unlinking = dir == self.objects.unlinked;
        let deleting = dir == self.objects.deleted;
        // The result is not needed. The original searches as well, and the search may read headers from flash, which
        // costs time.
        self.find_by_name(dir, name)?;
        self.objects.set_name(obj, name);
        self.objects[obj].changed(&self.chunks.sim);
        self.objects.enter_directory(dir, obj);
        if unlinking {
            self.objects[obj].unlinked = true;
        }
        Ok(HeaderUpdate { name: Some(name), is_shrink: deleting, shadows, ..HeaderUpdate::default() })
    }

    /// Forgets an object whose last header says that it is deleted: that header goes out of use, too.
    pub fn forget_deleted(&mut self, obj: Obj) -> Result<()> {
        self.objects.leave_directory(obj);
        let chunk = self.objects[obj].header_chunk;
        self.chunks.delete_chunk(chunk)?;
        self.objects[obj].header_chunk = 0;
        self.forget_object(obj);
        Ok(())
    }

    fn forget_object(&mut self, obj: Obj) {
        self.objects[obj].dirty = false;
        for link in std::mem::take(&mut self.objects[obj].links) {
            self.objects[link].equivalent = NONE;
        }
        if self.objects[obj].in_use {
            self.objects[obj].deferred_free = true;
        } else {
            self.objects.remove(obj);
        }
    }
}
