//! File calls without a page cache: how RTEMS (and eCos) drive JFFS2.
//!
//! Follows `cpukit/libfs/src/jffs2/src/fs-rtems.c` of RTEMS cf811a4eb2 (`rtems_jffs2_file_read`, `rtems_jffs2_file_write`).

use ffslab_fs::{Errno, Host, Ino, NoPageCache, Result, PAGE_BYTES};

use crate::inode::seconds;
use crate::Jffs2;

impl Jffs2 {
    /// Reads a file from byte `at` on. Returns fewer bytes than asked for at the end of the file.
    pub fn read_at(&mut self, ino: Ino, at: u64, into: &mut [u8]) -> Result<usize> {
        self.load(ino)?;
        let inode = self.inodes.get(&ino).ok_or(Errno::NoEnt)?;
        let left = u64::from(inode.file_bytes).saturating_sub(at);
        let bytes = left.min(into.len() as u64) as usize;
        if bytes > 0 {
            self.store.reader.read_range(&self.store.space, &self.store.flash, inode, at as u32, &mut into[..bytes])?;
        }
        Ok(bytes)
    }

    /// Writes to a file from byte `at` on, page by page. Each page becomes one node unless the erase block ends before
    /// it. A gap between the end of the file and `at` becomes a hole.
    pub fn write_at(&mut self, host: &mut NoPageCache, ino: Ino, at: u64, data: &[u8]) -> Result<usize> {
        let end = at + data.len() as u64;
        if u32::try_from(end).is_err() {
            return Err(Errno::FBig);
        }
        let now_s = seconds(host.now());
        if at > u64::from(self.loaded(ino)?.file_bytes) {
            self.write_hole(host, ino, at as u32, now_s)?;
        }
        let mut page = [0; PAGE_BYTES];
        let mut done = 0;
        while done < data.len() {
            let position = at + done as u64;
            let (index, from) = (position / PAGE_BYTES as u64, (position % PAGE_BYTES as u64) as usize);
            let to = PAGE_BYTES.min(from + data.len() - done);
            page[from..to].copy_from_slice(&data[done..done + to - from]);
            host.set_page(ino, index, &page);
            let written = self.write_page_range(host, ino, index, from, to, now_s)?;
            done += written;
            let inode = self.inodes.get_mut(&ino).ok_or(Errno::NoEnt)?;
            inode.file_bytes = inode.file_bytes.max((at + done as u64) as u32);
            inode.modified_s = now_s;
            inode.changed_s = now_s;
            if written < to - from {
                return Err(Errno::NoSpc);
            }
        }
        Ok(done)
    }
}
