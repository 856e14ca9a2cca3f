//! Reading a page of a file: every fragment's node is read and checked.
//!
//! Follows `fs/jffs2/read.c`. A node's header is read first, then its data; both are checked against their CRCs.

use ffslab_fs::{Errno, Result};
use ffslab_sim::Work;

use crate::compress::{decompress, decompression, CompressionWork};
use crate::flash::Flash;
use crate::format::{crc32, RawInode, COMPR_NONE, COMPR_ZERO, INODE_BYTES};
use crate::inode::Inode;
use crate::refs::{RefId, NONE};
use crate::space::Space;

/// Reads nodes. It changes nothing but its own buffers.
pub struct Reader {
    /// For a node and for data whose CRC is computed, one erase block long.
    pub node: Vec<u8>,
    /// For node headers: two pages and what a header may need beyond them.
    pub headers: Vec<u8>,
    /// For decompressed data.
    pub plain: Vec<u8>,
    /// Work of decompression so far.
    pub expanded: CompressionWork,
}

impl Reader {
    pub fn new(flash: &Flash) -> Reader {
        Reader {
            node: vec![0; flash.block_bytes as usize],
            headers: vec![0; 3 * flash.page_bytes as usize + INODE_BYTES as usize],
            plain: Vec::new(),
            expanded: CompressionWork::default(),
        }
    }

    /// Reads `out.len()` bytes of a node's file data, beginning `skip` bytes after the first that it covers.
    pub fn read_data(&mut self, space: &Space, flash: &Flash, id: RefId, skip: u32, out: &mut [u8]) -> Result<()> {
        let offset = space.refs[id].offset();
        let mut header = [0u8; INODE_BYTES as usize];
        flash.read(offset, &mut header)?;
        let raw = RawInode::decode(flash.endian, &header).ok_or(Errno::Io)?;
        flash.node_work(Work::NodeRead, (INODE_BYTES + raw.compressed_bytes) as usize);
        if raw.compression == COMPR_ZERO {
            out.fill(0);
            return Ok(());
        }
        let data_at = offset + INODE_BYTES;
        let whole = raw.compression == COMPR_NONE && raw.data_bytes as usize == out.len();
        if whole {
            if raw.compressed_bytes != raw.data_bytes {
                return Err(Errno::Io);
            }
            flash.read(data_at, out)?;
            return if crc32(0, out) == raw.data_crc { Ok(()) } else { Err(Errno::Io) };
        }
        let stored = raw.compressed_bytes as usize;
        let mut data = std::mem::take(&mut self.node);
        let result = self.read_part(flash, &raw, data_at, skip as usize, out, data.get_mut(..stored));
        self.node = data;
        result
    }

    fn read_part(
        &mut self,
        flash: &Flash,
        raw: &RawInode,
        data_at: u32,
        skip: usize,
        out: &mut [u8],
        data: Option<&mut [u8]>,
    ) -> Result<()> {
        let data = data.ok_or(Errno::Io)?;
        flash.read(data_at, data)?;
        if crc32(0, data) != raw.data_crc {
            return Err(Errno::Io);
        }
        if raw.compression == COMPR_NONE {
            out.copy_from_slice(data.get(skip..skip + out.len()).ok_or(Errno::Io)?);
            return Ok(());
        }
        // The kernel would fail to allocate so much memory (`kmalloc`).
        if raw.data_bytes > flash.block_bytes {
            return Err(Errno::Io);
        }
        self.expanded.decompresses(raw.compression, raw.data_bytes as usize);
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        plain.resize(raw.data_bytes as usize, 0);
        if let Some(work) = decompression(raw.compression) {
            flash.sim.work(work, plain.len());
        }
        let result = if decompress(raw.compression, data, &mut plain) {
            plain.get(skip..skip + out.len()).map(|part| out.copy_from_slice(part)).ok_or(Errno::Io)
        } else {
            Err(Errno::Io)
        };
        self.plain = plain;
        result
    }

    /// Reads `out.len()` bytes of the file from `offset` on. Holes and bytes beyond the end of the file read as zeros.
    pub fn read_range(
        &mut self,
        space: &Space,
        flash: &Flash,
        inode: &Inode,
        offset: u32,
        out: &mut [u8],
    ) -> Result<()> {
        let end = offset + out.len() as u32;
        let mut at = offset;
        let mut next = inode.fragments.lookup(offset);
        while at < end {
            let here = (at - offset) as usize;
            match next {
                Some(f) if f.offset <= at && at < f.end() => {
                    let to = f.end().min(end);
                    let part = &mut out[here..(to - offset) as usize];
                    if f.node == NONE {
                        clear(flash, part);
                    } else {
                        let skip = at - space.refs[f.node].file_offset;
                        self.read_data(space, flash, f.node, skip, part)?;
                    }
                    at = to;
                    next = inode.fragments.after(f.offset);
                }
                other => {
                    let to = other.filter(|f| f.offset > at).map_or(end, |f| f.offset.min(end));
                    clear(flash, &mut out[here..(to - offset) as usize]);
                    at = to;
                    next = inode.fragments.lookup(at).filter(|f| f.end() > at).or_else(|| inode.fragments.after(at));
                }
            }
        }
        Ok(())
    }
}

fn clear(flash: &Flash, hole: &mut [u8]) {
    flash.sim.work(Work::PageClear, hole.len());
    hole.fill(0);
}
