//! Chunks that programs cause to be written. Before each of them garbage is collected if that is due.
//!
//! Follows `yaffs_wr_data_obj` and `yaffs_update_oh` of `yaffs_guts.c`.

use ffslab_fs::Result;

use crate::causes;
use crate::device::Device;
use crate::headers::HeaderUpdate;
use crate::objects::Obj;
use crate::tags::Tags;

impl Device {
    /// Writes a chunk of a file to flash (`yaffs_wr_data_obj`). `false`: no space.
    pub fn write_file_chunk(
        &mut self,
        obj: Obj,
        chunk: u32,
        data: &[u8],
        count_bytes: u32,
        use_reserve: bool,
    ) -> Result<bool> {
        let _why = self.chunks.sim.because(&causes::DATA);
        self.check_gc(false)?;
        let file = &mut self.objects[obj].file;
        let before = self.tnodes.find(&file.tree, chunk);
        // The leaf of the tree is made before the chunk is written, because a failure can still be reported without
        // harm here.
        if before.is_none() && self.tnodes.entry(&mut file.tree, chunk).is_none() {
            return Ok(false);
        }
        let end = u64::from(chunk - 1) * u64::from(self.chunks.data_bytes) + u64::from(count_bytes);
        let mut tags = Tags::of_data(self.objects[obj].id, chunk, count_bytes);
        let kept_blocks = (!use_reserve).then(|| self.checkpoint_blocks());
        let Some(at) = self.chunks.write_new_chunk(data, &mut tags, kept_blocks)? else { return Ok(false) };
        let file = &mut self.objects[obj].file;
        file.stored_bytes = file.stored_bytes.max(end);
        self.put_chunk(obj, chunk, at);
        if let Some(before) = before {
            self.chunks.delete_chunk(before)?;
        }
        Ok(true)
    }

    /// Writes an object's header anew. `false`: no space.
    pub fn update_header(&mut self, obj: Obj, update: HeaderUpdate<'_>) -> Result<bool> {
        if !self.needs_header(obj, &update) {
            return Ok(true);
        }
        let _why = self.because_of_header();
        self.check_gc(false)?;
        self.write_header(obj, update)
    }
}
