//! An inode in memory, and how it stands in its node.
//!
//! Follows `fs/ubifs/super.c` (`ubifs_iget`), `journal.c` (`pack_inode`), `dir.c` (`ubifs_new_inode`).

use crate::error::{Fail, Res};
use crate::format::*;
use ffslab_fs::{FileKind, PageSet, TimeSpec};

/// Reads in a row after which an inode is read in bulk.
const READS_IN_A_ROW: u32 = 3;

/// The recent reads of one inode, from which UBIFS sees whether the file is read sequentially.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    pub last_page: u64,
    in_a_row: u32,
    is_bulk: bool,
}

impl Reads {
    /// Notes that page `index` is read after page `last_page`. Returns whether page `index` is to be read in bulk.
    fn next(&mut self, index: u64, last_page: u64) -> bool {
        if index != last_page + 1 {
            (self.in_a_row, self.is_bulk) = (1, false);
        } else if !self.is_bulk {
            self.in_a_row += 1;
            self.is_bulk = self.in_a_row >= READS_IN_A_ROW;
        }
        self.is_bulk
    }

    /// The next pages are read one by one, until so many and some more were read in a row.
    pub fn leave_bulk(&mut self, in_a_row: u32) {
        (self.in_a_row, self.is_bulk) = (in_a_row, false);
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Inode {
    pub ino: u32,
    pub kind: FileKind,
    pub permissions: u32,
    pub links: u32,
    pub uid: u32,
    pub gid: u32,
    pub size_bytes: u64,
    /// The size of the file that the last written inode node has.
    pub synced_bytes: u64,
    pub accessed: TimeSpec,
    pub modified: TimeSpec,
    pub changed: TimeSpec,
    pub flags: u32,
    pub compression: u16,
    pub creation_sqnum: u64,
    /// Target of a symbolic link, number of a device, value of an extended attribute.
    pub data: Vec<u8>,
    pub xattr_cnt: u32,
    pub xattr_bytes: u32,
    pub xattr_names: u32,
    /// The inode differs from its node on flash, and a budget is reserved for writing it.
    pub dirty: bool,
    /// The commit number (`cmt_no`) at the time when the inode lost its last name.
    pub deleted_in: u64,
    /// Pages that are dirty and have a budget (`PagePrivate`).
    pub dirty_pages: PageSet,
    /// Pages, dirty or clean, for which there is no node on flash (`PageChecked`).
    pub holes: PageSet,
    /// The recent reads, for bulk-read.
    pub reads: Reads,
}

fn time_at(node: &[u8], seconds: usize, nanoseconds: usize) -> TimeSpec {
    TimeSpec { seconds: get_u64(node, seconds) as i64, nanoseconds: get_u32(node, nanoseconds) }
}

impl Inode {
    /// A new inode; its number and everything else is up to the caller.
    pub fn new(ino: u32, kind: FileKind, now: TimeSpec) -> Inode {
        Inode {
            ino,
            kind,
            permissions: 0,
            links: 1,
            uid: 0,
            gid: 0,
            size_bytes: if kind == FileKind::Directory { u64::from(INO_BYTES) } else { 0 },
            synced_bytes: 0,
            accessed: now,
            modified: now,
            changed: now,
            flags: 0,
            compression: 0,
            creation_sqnum: 0,
            data: Vec::new(),
            xattr_cnt: 0,
            xattr_bytes: 0,
            xattr_names: 0,
            dirty: false,
            deleted_in: u64::MAX,
            dirty_pages: PageSet::default(),
            holes: PageSet::default(),
            reads: Reads::default(),
        }
    }

    pub fn unpack(ino: u32, node: &[u8]) -> Res<Inode> {
        let bad = Fail::corrupt("bad inode node");
        let mode = get_u32(node, ino::MODE);
        let kind = FileKind::from_mode(mode).ok_or(bad)?;
        let data_len = get_u32(node, ino::DATA_LEN) as usize;
        let data = node.get(ino::DATA..ino::DATA.saturating_add(data_len)).ok_or(bad)?;
        let flags = get_u32(node, ino::FLAGS);
        let data_fits = match kind {
            FileKind::Symlink => data_len > 0,
            FileKind::CharDevice | FileKind::BlockDevice => matches!(data_len, 4 | 8),
            FileKind::File => data_len == 0 || flags & INODE_XATTR != 0,
            _ => data_len == 0,
        };
        let size_bytes = get_u64(node, ino::SIZE);
        let compression = get_u16(node, ino::COMPR_TYPE);
        if !data_fits || data_len > INODE_DATA_MAX || size_bytes > FILE_BYTES_MAX || compression > 3 {
            return Err(bad);
        }
        Ok(Inode {
            permissions: mode & 0o7777,
            links: get_u32(node, ino::NLINK),
            uid: get_u32(node, ino::UID),
            gid: get_u32(node, ino::GID),
            size_bytes,
            synced_bytes: size_bytes,
            accessed: time_at(node, ino::ATIME_SEC, ino::ATIME_NSEC),
            modified: time_at(node, ino::MTIME_SEC, ino::MTIME_NSEC),
            changed: time_at(node, ino::CTIME_SEC, ino::CTIME_NSEC),
            flags,
            compression,
            creation_sqnum: get_u64(node, ino::CREAT_SQNUM),
            data: data.to_vec(),
            xattr_cnt: get_u32(node, ino::XATTR_CNT),
            xattr_bytes: get_u32(node, ino::XATTR_SIZE),
            xattr_names: get_u32(node, ino::XATTR_NAMES),
            ..Inode::new(ino, kind, TimeSpec::default())
        })
    }

    /// Writes everything but header, key and data into a zeroed node.
    pub fn pack(&self, node: &mut [u8]) {
        let times = [
            (ino::ATIME_SEC, ino::ATIME_NSEC, self.accessed),
            (ino::CTIME_SEC, ino::CTIME_NSEC, self.changed),
            (ino::MTIME_SEC, ino::MTIME_NSEC, self.modified),
        ];
        for (seconds, nanoseconds, time) in times {
            put_u64(node, seconds, time.seconds as u64);
            put_u32(node, nanoseconds, time.nanoseconds);
        }
        put_u64(node, ino::CREAT_SQNUM, self.creation_sqnum);
        put_u64(node, ino::SIZE, self.size_bytes);
        let words = [
            (ino::NLINK, self.links),
            (ino::UID, self.uid),
            (ino::GID, self.gid),
            (ino::MODE, self.kind.mode_bits() | self.permissions),
            (ino::FLAGS, self.flags),
            (ino::DATA_LEN, self.data.len() as u32),
            (ino::XATTR_CNT, self.xattr_cnt),
            (ino::XATTR_SIZE, self.xattr_bytes),
            (ino::XATTR_NAMES, self.xattr_names),
        ];
        words.into_iter().for_each(|(at, value)| put_u32(node, at, value));
        put_u16(node, ino::COMPR_TYPE, self.compression);
    }

    /// Device number (`new_decode_dev` is the same layout as stat(2) has).
    pub fn device(&self) -> u32 {
        get_u32(&self.data, 0)
    }

    /// Notes that page `index` is read. Returns whether to read it in bulk, which never happens when bulk-read is off.
    pub fn note_read(&mut self, index: u64, bulk_read: bool) -> bool {
        let last_page = std::mem::replace(&mut self.reads.last_page, index);
        bulk_read && self.reads.next(index, last_page)
    }

    /// How the pages of this inode are compressed.
    pub fn data_compression(&self) -> u16 {
        if self.flags & INODE_COMPR == 0 {
            crate::compress::COMPR_NONE
        } else {
            self.compression
        }
    }
}

/// Kind of an entry on flash.
pub(crate) fn entry_type(kind: FileKind) -> u8 {
    match kind {
        FileKind::File => 0,
        FileKind::Directory => 1,
        FileKind::Symlink => 2,
        FileKind::BlockDevice => 3,
        FileKind::CharDevice => 4,
        FileKind::Fifo => 5,
        FileKind::Socket => 6,
    }
}

pub(crate) fn kind_of_entry(code: u8) -> FileKind {
    match code {
        1 => FileKind::Directory,
        2 => FileKind::Symlink,
        3 => FileKind::BlockDevice,
        4 => FileKind::CharDevice,
        5 => FileKind::Fifo,
        6 => FileKind::Socket,
        _ => FileKind::File,
    }
}

/// Bytes that a directory's size grows by an entry.
pub(crate) fn entry_bytes(name: &[u8]) -> u64 {
    u64::from(align8(DENT_BYTES + name.len() as u32 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_read_in_a_row_is_in_bulk_until_one_is_elsewhere() {
        let mut reads = Reads::default();
        let mut last_page = 0;
        let mut read = |index: u64| {
            let is_bulk = reads.next(index, last_page);
            last_page = index;
            is_bulk
        };
        assert_eq!([0, 1, 2, 3, 9, 10, 11, 11].map(&mut read), [false, false, true, true, false, false, true, false]);
    }
}
