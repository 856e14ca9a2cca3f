//! Reading a page of a file: every fragment's node is read and checked.
//!
//! Follows `fs/jffs2/read.c`. A node's header is read first, then its data; both are checked against their CRCs.

use ffslab_fs::{Errno, Result};
use ffslab_sim::Work;

use crate::compress::{decompress, decompression, is_known, CompressionWork};
use crate::damage::{Damage, Fail, Flaw, Res};
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
    /// The contradiction on the medium that was met last.
    pub damage: Option<Damage>,
}

impl Reader {
    pub fn new(flash: &Flash) -> Reader {
        Reader {
            node: vec![0; flash.block_bytes as usize],
            headers: vec![0; 3 * flash.page_bytes as usize + INODE_BYTES as usize],
            plain: Vec::new(),
            expanded: CompressionWork::default(),
            damage: None,
        }
    }

    /// Keeps the contradiction, if that is why reading failed. Returns what a system call says.
    pub fn note(&mut self, space: &Space, ino: u32, fail: Fail) -> Errno {
        match fail {
            Fail::Errno(error) => error,
            Fail::Flaw(flaw, node) => {
                self.damage = Some(Damage::of_node(space, flaw, ino, node));
                Errno::Io
            }
        }
    }

    /// Reads `out.len()` bytes of a node's file data, beginning `skip` bytes after the first that it covers.
    pub fn read_data(&mut self, space: &Space, flash: &Flash, id: RefId, skip: u32, out: &mut [u8]) -> Result<()> {
        let node = space.refs[id];
        let read = self.read_node(flash, (id, node.offset()), skip, out);
        read.map_err(|fail| self.note(space, node.owner, fail))
    }

    fn read_node(&mut self, flash: &Flash, (id, offset): (RefId, u32), skip: u32, out: &mut [u8]) -> Res<()> {
        let mut header = [0u8; INODE_BYTES as usize];
        flash.read(offset, &mut header)?;
        let raw = RawInode::decode(flash.endian, &header).ok_or(Fail::Flaw(Flaw::Header, id))?;
        flash.node_work(Work::NodeRead, (INODE_BYTES + raw.compressed_bytes) as usize);
        if raw.compression == COMPR_ZERO {
            out.fill(0);
            return Ok(());
        }
        let data_at = offset + INODE_BYTES;
        let whole = raw.compression == COMPR_NONE && raw.data_bytes as usize == out.len();
        if whole {
            if raw.compressed_bytes != raw.data_bytes {
                return Err(Fail::Flaw(length_of(&raw), id));
            }
            flash.read(data_at, out)?;
            return check_data(&raw, out).map_err(|flaw| Fail::Flaw(flaw, id));
        }
        let stored = raw.compressed_bytes as usize;
        let mut data = std::mem::take(&mut self.node);
        let part = match data.get_mut(..stored) {
            None => Err(Fail::Flaw(too_long(flash, raw.compressed_bytes), id)),
            Some(data) => flash.read(data_at, data).map_err(Fail::from).and_then(|()| {
                let taken = self.take_part(flash, &raw, skip as usize, out, data);
                taken.map_err(|flaw| Fail::Flaw(flaw, id))
            }),
        };
        self.node = data;
        part
    }

    /// Checks the stored data of a node, expands them, and takes `out.len()` bytes of them from `skip` on.
    fn take_part(
        &mut self,
        flash: &Flash,
        raw: &RawInode,
        skip: usize,
        out: &mut [u8],
        data: &[u8],
    ) -> std::result::Result<(), Flaw> {
        check_data(raw, data)?;
        if raw.compression == COMPR_NONE {
            out.copy_from_slice(data.get(skip..skip + out.len()).ok_or(length_of(raw))?);
            return Ok(());
        }
        // The kernel would fail to allocate so much memory (`kmalloc`).
        if raw.data_bytes > flash.block_bytes {
            return Err(too_long(flash, raw.data_bytes));
        }
        self.expanded.decompresses(raw.compression, raw.data_bytes as usize);
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        plain.resize(raw.data_bytes as usize, 0);
        if let Some(work) = decompression(raw.compression) {
            flash.sim.work(work, plain.len());
        }
        let wrong = if is_known(raw.compression) {
            Flaw::Compression { compression: raw.compression, data_bytes: raw.data_bytes }
        } else {
            Flaw::Compressor { compression: raw.compression }
        };
        let result = if decompress(raw.compression, data, &mut plain) {
            plain.get(skip..skip + out.len()).map(|part| out.copy_from_slice(part)).ok_or(wrong)
        } else {
            Err(wrong)
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
                        flash.sim.clear(part);
                    } else {
                        let skip = at - space.refs[f.node].file_offset;
                        self.read_data(space, flash, f.node, skip, part)?;
                    }
                    at = to;
                    next = inode.fragments.after(f.offset);
                }
                other => {
                    let to = other.filter(|f| f.offset > at).map_or(end, |f| f.offset.min(end));
                    flash.sim.clear(&mut out[here..(to - offset) as usize]);
                    at = to;
                    next = inode.fragments.lookup(at).filter(|f| f.end() > at).or_else(|| inode.fragments.after(at));
                }
            }
        }
        Ok(())
    }
}

fn too_long(flash: &Flash, bytes: u32) -> Flaw {
    Flaw::TooLong { bytes, block_bytes: flash.block_bytes }
}

fn length_of(raw: &RawInode) -> Flaw {
    Flaw::Length { stored_bytes: raw.compressed_bytes, data_bytes: raw.data_bytes }
}

/// Compares the check sum of the stored data with that in their header.
fn check_data(raw: &RawInode, data: &[u8]) -> std::result::Result<(), Flaw> {
    let found = crc32(0, data);
    if found == raw.data_crc {
        Ok(())
    } else {
        Err(Flaw::Data { found, expected: raw.data_crc })
    }
}
