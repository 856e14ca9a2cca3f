//! Inodes in memory.
//!
//! Follows `fs/jffs2/jffs2_fs_i.h` (`struct jffs2_inode_info`) with what Linux keeps in `struct inode`.

use std::collections::btree_map::Entry;
use std::collections::BTreeMap;
use std::rc::Rc;

use ffslab_fs::{FileKind, NameHash, TimeSpec};

use crate::flash::Flash;
use crate::format::{Endian, RawInode};
use crate::fragments::FragmentMap;
use crate::refs::{RefId, NONE};
use crate::space::Space;

/// A name in a directory (`struct jffs2_full_dirent`). `ino` 0: the name was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dirent {
    pub node: RefId,
    pub version: u32,
    pub ino: u32,
    pub dirent_type: u8,
}

struct Slot {
    name: Rc<[u8]>,
    dirent: Dirent,
}

/// Names of a directory, ordered by hash as the kernel lists them. A node reference knows the slot of its entry
/// (in its `fragments_or_slot` field), so garbage collection finds an entry without a search.
pub struct Dirents {
    hash: NameHash,
    order: BTreeMap<(u32, Rc<[u8]>), u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    live: usize,
}

impl Dirents {
    pub fn new(hash: NameHash) -> Dirents {
        Dirents { hash, order: BTreeMap::new(), slots: Vec::new(), free: Vec::new(), live: 0 }
    }

    pub fn get(&self, name: &[u8]) -> Option<Dirent> {
        self.order.get(&(self.hash.of(name), name.into())).map(|&slot| self.slots[slot as usize].dirent)
    }

    /// Adds an entry. Of two entries for the same name the newer one stays, and the node of the other one becomes
    /// obsolete (`jffs2_add_fd_to_list`).
    pub fn add(&mut self, space: &mut Space, flash: &Flash, name: &[u8], new: Dirent) {
        let name: Rc<[u8]> = name.into();
        match self.order.entry((self.hash.of(&name), name.clone())) {
            Entry::Vacant(vacant) => {
                let slot = Slot { name, dirent: new };
                let id = match self.free.pop() {
                    Some(id) => {
                        self.slots[id as usize] = slot;
                        id
                    }
                    None => {
                        self.slots.push(slot);
                        self.slots.len() as u32 - 1
                    }
                };
                vacant.insert(id);
                space.refs[new.node].fragments_or_slot = id;
                self.live += usize::from(new.ino != 0);
            }
            Entry::Occupied(occupied) => {
                let id = *occupied.get();
                let old = self.slots[id as usize].dirent;
                if new.version < old.version {
                    space.mark_obsolete(flash, new.node);
                } else {
                    self.slots[id as usize].dirent = new;
                    self.live = self.live + usize::from(new.ino != 0) - usize::from(old.ino != 0);
                    space.refs[old.node].leave_memory();
                    space.refs[new.node].fragments_or_slot = id;
                    space.mark_obsolete(flash, old.node);
                }
            }
        }
    }

    /// The entry that stands in `node`, with its name.
    pub fn of_node(&self, space: &Space, node: RefId) -> Option<(Rc<[u8]>, Dirent)> {
        let slot = self.slots.get(space.refs[node].fragments_or_slot as usize)?;
        (slot.dirent.node == node).then(|| (slot.name.clone(), slot.dirent))
    }

    pub fn remove(&mut self, space: &mut Space, name: &[u8]) {
        if let Some(id) = self.order.remove(&(self.hash.of(name), name.into())) {
            let dirent = self.slots[id as usize].dirent;
            space.refs[dirent.node].leave_memory();
            self.live -= usize::from(dirent.ino != 0);
            self.free.push(id);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Dirent)> {
        self.order.values().map(|&id| (&self.slots[id as usize].name[..], &self.slots[id as usize].dirent))
    }

    /// Whether a live name is left.
    pub fn has_live(&self) -> bool {
        self.live != 0
    }

    /// Number of sub-directories, for the link count.
    pub fn directories(&self) -> u32 {
        self.iter().filter(|(_, d)| d.ino != 0 && d.dirent_type == FileKind::Directory.dirent_type()).count() as u32
    }
}

pub struct Inode {
    pub ino: u32,
    pub highest_version: u32,
    pub fragments: FragmentMap,
    /// The node that holds the attributes when no data node does.
    pub metadata: RefId,
    pub dirents: Dirents,
    /// Target of a symbolic link.
    pub target: Vec<u8>,
    pub kind: FileKind,
    pub permissions: u32,
    pub uid: u16,
    pub gid: u16,
    pub file_bytes: u32,
    /// The inode was made since the mount and has stayed in memory, so it was never read from flash.
    pub is_new: bool,
    pub accessed_s: u32,
    pub modified_s: u32,
    pub changed_s: u32,
    pub device: u32,
}

impl Inode {
    pub fn new(ino: u32, kind: FileKind, permissions: u32, hash: NameHash) -> Self {
        Inode {
            ino,
            highest_version: 0,
            fragments: FragmentMap::default(),
            metadata: NONE,
            dirents: Dirents::new(hash),
            target: Vec::new(),
            kind,
            permissions,
            uid: 0,
            gid: 0,
            file_bytes: 0,
            is_new: false,
            accessed_s: 0,
            modified_s: 0,
            changed_s: 0,
            device: 0,
        }
    }

    pub fn mode(&self) -> u32 {
        self.kind.mode_bits() | self.permissions
    }

    /// An inode node with the current attributes and the given version; the data fields are zero.
    pub fn raw(&self, version: u32) -> RawInode {
        RawInode {
            ino: self.ino,
            version,
            mode: self.mode(),
            uid: self.uid,
            gid: self.gid,
            file_bytes: self.file_bytes,
            accessed_s: self.accessed_s,
            modified_s: self.modified_s,
            changed_s: self.changed_s,
            ..RawInode::default()
        }
    }

    /// The version number for the next node. After the highest number, which occurs only on a damaged medium, it wraps
    /// around to 0 like the kernel's counter.
    pub fn next_version(&mut self) -> u32 {
        self.highest_version = self.highest_version.wrapping_add(1);
        self.highest_version
    }

    /// Marks the node with the attributes as obsolete, because a newer data node holds them, too.
    pub fn drop_metadata(&mut self, space: &mut Space, flash: &Flash) {
        let id = std::mem::replace(&mut self.metadata, NONE);
        if id != NONE {
            space.refs[id].leave_memory();
            space.mark_obsolete(flash, id);
        }
    }

    /// Length of the file according to its fragments, because during a write `i_size` may be out of date.
    pub fn bytes_on_flash(&self) -> u32 {
        self.fragments.last().map_or(self.file_bytes, |f| f.end())
    }
}

/// Time stamps are whole seconds since 1970, 32 bits wide.
pub fn seconds(time: TimeSpec) -> u32 {
    time.seconds.clamp(0, i64::from(u32::MAX)) as u32
}

/// Device numbers on flash: 16 bits when both parts are small, else 32, in the medium's byte order
/// (`jffs2_encode_dev`, and `jffs2_iget` in `fs/jffs2/fs.c`).
pub fn encode_device(e: Endian, device: u32) -> Vec<u8> {
    let (major, minor) = (device >> 8 & 0xFFF, (device & 0xFF) | (device >> 12 & 0xFFF00));
    let mut bytes = vec![0; if major < 256 && minor < 256 { 2 } else { 4 }];
    match bytes.len() {
        2 => e.put16(&mut bytes, 0, (major << 8 | minor) as u16),
        _ => e.put32(&mut bytes, 0, (minor & 0xFF) | (major << 8) | ((minor & !0xFF) << 12)),
    }
    bytes
}

pub fn decode_device(e: Endian, bytes: &[u8]) -> u32 {
    match bytes.len() {
        2 => u32::from(e.u16(bytes, 0)),
        4 => e.u32(bytes, 0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Big-endian images held device numbers in the wrong order.
    #[test]
    fn device_numbers_have_the_byte_order_of_the_medium() {
        assert_eq!(encode_device(Endian::Little, 0x0103), [3, 1]);
        assert_eq!(encode_device(Endian::Big, 0x0103), [1, 3]);
        assert_eq!(encode_device(Endian::Big, 0x0101_03FF), [0x01, 0x01, 0x03, 0xFF]);
        for e in [Endian::Little, Endian::Big] {
            for device in [0x0103, 0x1F02, 0x0010_3FF0, 0xFFF0_FF01] {
                assert_eq!(decode_device(e, &encode_device(e, device)), device);
            }
        }
    }
}
