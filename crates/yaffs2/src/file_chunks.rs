//! Which chunk of flash holds which chunk of a file.
//!
//! Follows `yaffs_rd_data_obj` and `yaffs_put_chunk_in_file` of `yaffs_guts.c`.

use ffslab_fs::Result;

use crate::device::Device;
use crate::objects::Obj;

impl Device {
    /// Reads a chunk of a file; a chunk that is not on flash reads as zeros. Data that ECC cannot correct are returned
    /// as they are: YAFFS2 reports no read errors.
    pub fn read_file_chunk(&mut self, obj: Obj, chunk: u32, data: &mut [u8]) -> Result<()> {
        match self.tnodes.find(&self.objects[obj].file.tree, chunk) {
            Some(at) => self.chunks.read_chunk(at, data).map(drop),
            None => {
                data.fill(0);
                Ok(())
            }
        }
    }

    /// Enters into the file's tree that its `chunk` is at chunk `at` of the flash from now on.
    pub fn put_chunk(&mut self, obj: Obj, chunk: u32, at: u32) {
        let file = &mut self.objects[obj].file;
        if let Some(entry) = self.tnodes.entry(&mut file.tree, chunk) {
            if *entry == 0 {
                file.chunks += 1;
            }
            *entry = at;
        }
    }
}
