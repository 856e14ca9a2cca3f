//! The direct interface: files without a page cache above, as RTEMS and bare systems use YAFFS2.
//!
//! Follows `direct/yaffsfs.c`: reads and writes of any length go straight to the short-op cache and flash. Names,
//! attributes and durability are those of [`ffslab_fs::FileSystem`].

use ffslab_fs::{DirectFileSystem, Errno, FileSystem, Host, Ino, Result};

use crate::Yaffs2;

impl Yaffs2 {
    /// Reads from byte `at` of a file on; returns how many bytes there were, fewer than `data` takes at the end of the
    /// file. [`Errno::NoEnt`] when there is no such file.
    pub fn read_at(&mut self, ino: Ino, at: u64, data: &mut [u8]) -> Result<usize> {
        let obj = self.device.objects.find(ino).ok_or(Errno::NoEnt)?;
        let there = self.device.objects[obj].file.bytes.saturating_sub(at).min(data.len() as u64) as usize;
        self.device.read_file(obj, at, &mut data[..there])?;
        Ok(there)
    }

    /// Writes from byte `at` of a file on; returns how many bytes found room. [`Errno::NoSpc`] when none did,
    /// [`Errno::FBig`] beyond the longest file.
    pub fn write_at(&mut self, ino: Ino, at: u64, data: &[u8]) -> Result<usize> {
        let obj = self.device.objects.find(ino).ok_or(Errno::NoEnt)?;
        if at.saturating_add(data.len() as u64) > self.file_bytes_max() {
            return Err(Errno::FBig);
        }
        // No bytes change no size, wherever they would stand (`yaffsfs_do_write` of `direct/yaffsfs.c`).
        if data.is_empty() {
            return Ok(0);
        }
        match self.device.write_file(obj, at, data)? {
            0 => Err(Errno::NoSpc),
            written => Ok(written),
        }
    }

    /// Tells that the last handle of a file was closed: when its last name is removed now, the file is deleted at once.
    pub fn release(&mut self, ino: Ino) {
        if let Some(obj) = self.device.objects.find_even_deferred(ino) {
            self.put_away(obj);
        }
    }

    /// One step of background garbage collection, which such systems call when they have time (`yaffs_bg_gc`). Returns
    /// whether more than half of the free space is erased.
    pub fn collect_garbage(&mut self) -> Result<bool> {
        self.device.check_gc(true)?;
        let erased = self.device.chunks.blocks.erased_blocks() * self.device.chunks.blocks.chunks_per_block as i32;
        Ok(erased > self.device.chunks.blocks.free_chunks() / 2)
    }
}

impl DirectFileSystem for Yaffs2 {
    fn read_at(&mut self, ino: Ino, at: u64, into: &mut [u8]) -> Result<usize> {
        Yaffs2::read_at(self, ino, at, into)
    }

    fn write_at(&mut self, _host: &mut dyn Host, ino: Ino, at: u64, data: &[u8]) -> Result<usize> {
        Yaffs2::write_at(self, ino, at, data)
    }
}
