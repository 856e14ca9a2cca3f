//! For the tests of write-back: files whose pages tell their number, on a file system that delays writes.

use super::{config, mounted, Log, MemFs};
use ffslab_fs::Ino;
use ffslab_linux::{Calls, DirtyLimits, Fd, OpenFlags, ReadAheadRules, Vfs, VfsConfig};
use std::cell::RefCell;
use std::rc::Rc;

pub const PAGE: u64 = 4096;
pub const SECOND_NS: u64 = 1_000_000_000;
pub const CREATE: OpenFlags = OpenFlags { create: true, ..OpenFlags::READ_WRITE };

pub fn with_limits(rules: ReadAheadRules, dirty_pages: u64, background_pages: u64) -> VfsConfig {
    let mut config = config(rules, 0);
    config.write_back.limits =
        DirtyLimits::Bytes { dirty_bytes: dirty_pages * PAGE, background_bytes: background_pages * PAGE };
    config
}

/// A page takes 650 us to write, as on SLC NAND.
pub fn delaying_with(config: VfsConfig) -> (Vfs, Rc<RefCell<Log>>) {
    let (vfs, log) = mounted(config, MemFs::delaying);
    log.borrow_mut().write_ns = 650_000;
    (vfs, log)
}

pub fn write_pages(vfs: &mut Vfs, fd: Fd, pages: impl IntoIterator<Item = u64>) {
    for index in pages {
        assert_eq!(vfs.pwrite(fd, &[(index as u8).wrapping_add(1); PAGE as usize], index * PAGE), Ok(PAGE as usize));
    }
}

pub fn file(vfs: &mut Vfs, name: &str, pages: impl IntoIterator<Item = u64>) -> (Fd, Ino) {
    let fd = vfs.open(name.as_bytes(), CREATE, 0o644).unwrap();
    write_pages(vfs, fd, pages);
    (fd, vfs.fstat(fd).unwrap().ino)
}

pub fn pages_of(ino: Ino, pages: impl IntoIterator<Item = u64>) -> Vec<(Ino, Option<u64>)> {
    pages.into_iter().map(|index| (ino, Some(index))).collect()
}
