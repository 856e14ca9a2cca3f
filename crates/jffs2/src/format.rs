//! The on-flash format: node headers, inode nodes, directory entry nodes, padding, clean markers.
//!
//! Source: Linux 6.1 `include/uapi/linux/jffs2.h`. Every node starts with a 12-byte header (magic, type, total
//! length, CRC of these), is aligned to 4 bytes and ends before the end of its erase block. All CRCs are CRC-32 with
//! initial value 0 and no final inversion.

use ffslab_fs::FileKind;

pub const MAGIC: u16 = 0x1985;

pub const TYPE_DIRENT: u16 = 0xE001;
pub const TYPE_INODE: u16 = 0xE002;
pub const TYPE_CLEAN_MARKER: u16 = 0x2003;
pub const TYPE_PADDING: u16 = 0x2004;
pub const TYPE_SUMMARY: u16 = 0x2006;
pub const TYPE_XATTR: u16 = 0xE008;
pub const TYPE_XREF: u16 = 0xE009;
/// This bit of the node type is cleared to mark a node as obsolete, on media where that is possible in place.
pub const ACCURATE: u16 = 0x2000;
pub const COMPAT_MASK: u16 = 0xC000;
pub const FEATURE_INCOMPAT: u16 = 0xC000;
pub const FEATURE_ROCOMPAT: u16 = 0x8000;
pub const FEATURE_RWCOMPAT_COPY: u16 = 0x4000;

pub const HEADER_BYTES: u32 = 12;
pub const INODE_BYTES: u32 = 68;
pub const DIRENT_BYTES: u32 = 40;
pub const XATTR_BYTES: u32 = 32;
pub const XREF_BYTES: u32 = 28;
/// A node with less data than this is not worth its header at the end of a block (`JFFS2_MIN_DATA_LEN`).
pub const MIN_DATA_BYTES: u32 = 128;
/// The name length is one byte, and 0xFF is empty flash (`JFFS2_MAX_NAME_LEN`).
pub const NAME_BYTES_MAX: usize = 254;

pub const COMPR_NONE: u8 = 0;
pub const COMPR_ZERO: u8 = 1;
pub const COMPR_RTIME: u8 = 2;
pub const COMPR_ZLIB: u8 = 6;
pub const COMPR_LZO: u8 = 7;
/// Of OpenWrt's kernels only.
pub const COMPR_LZMA: u8 = 8;

/// Rounds a length up to the alignment of nodes. A length too large for any node stays too large instead of wrapping
/// around.
#[inline]
pub fn pad(bytes: u32) -> u32 {
    bytes.saturating_add(3) & !3
}

/// The kernel's `crc32(seed, data)`.
#[inline]
pub fn crc32(seed: u32, data: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(!seed);
    hasher.update(data);
    !hasher.finalize()
}

/// Byte order of an image. JFFS2 is written in the CPU's own order; the boards in question are little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Endian {
    #[default]
    Little,
    Big,
}

impl Endian {
    #[inline]
    pub fn u16(self, b: &[u8], at: usize) -> u16 {
        let raw = [b[at], b[at + 1]];
        match self {
            Endian::Little => u16::from_le_bytes(raw),
            Endian::Big => u16::from_be_bytes(raw),
        }
    }

    #[inline]
    pub fn u32(self, b: &[u8], at: usize) -> u32 {
        let raw = [b[at], b[at + 1], b[at + 2], b[at + 3]];
        match self {
            Endian::Little => u32::from_le_bytes(raw),
            Endian::Big => u32::from_be_bytes(raw),
        }
    }

    #[inline]
    pub fn put16(self, b: &mut [u8], at: usize, value: u16) {
        let raw = match self {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        };
        b[at..at + 2].copy_from_slice(&raw);
    }

    #[inline]
    pub fn put32(self, b: &mut [u8], at: usize, value: u32) {
        let raw = match self {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        };
        b[at..at + 4].copy_from_slice(&raw);
    }

    pub fn put_header(self, b: &mut [u8], node_type: u16, total_bytes: u32) {
        self.put16(b, 0, MAGIC);
        self.put16(b, 2, node_type);
        self.put32(b, 4, total_bytes);
        let crc = crc32(0, &b[..8]);
        self.put32(b, 8, crc);
    }
}

/// First 12 bytes of every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub magic: u16,
    pub node_type: u16,
    pub total_bytes: u32,
    pub header_crc: u32,
}

impl Header {
    pub fn decode(e: Endian, b: &[u8]) -> Header {
        Header { magic: e.u16(b, 0), node_type: e.u16(b, 2), total_bytes: e.u32(b, 4), header_crc: e.u32(b, 8) }
    }

    /// Decodes the header at the start of `b`; `None` if no node can begin there.
    pub fn sound(e: Endian, b: &[u8]) -> Option<Header> {
        // Scans ask it at each word of a block: most are no header by the first two bytes.
        if e.u16(b, 0) != MAGIC {
            return None;
        }
        let header = Header::decode(e, b);
        (header.total_bytes >= HEADER_BYTES && header.crc_ok(e, b)).then_some(header)
    }

    /// Whether the CRC is right, computed as if the "accurate" bit were set.
    pub fn crc_ok(&self, e: Endian, b: &[u8]) -> bool {
        let mut copy = [0u8; 8];
        copy.copy_from_slice(&b[..8]);
        e.put16(&mut copy, 2, self.node_type | ACCURATE);
        crc32(0, &copy) == self.header_crc
    }
}

/// A padding node's header that covers `total_bytes`.
pub fn encode_padding(e: Endian, total_bytes: u32) -> [u8; 12] {
    let mut b = [0u8; 12];
    e.put_header(&mut b, TYPE_PADDING, total_bytes);
    b
}

/// A clean marker as the first node of a block (`jffs2_mark_erased_block`).
pub fn encode_clean_marker(e: Endian) -> [u8; 12] {
    let mut b = [0u8; 12];
    e.put_header(&mut b, TYPE_CLEAN_MARKER, HEADER_BYTES);
    b
}

/// The 8 bytes of the clean marker in the out-of-band area (no CRC: `fs/jffs2/wbuf.c`, `oob_cleanmarker`).
pub fn oob_clean_marker(e: Endian) -> [u8; 8] {
    let mut b = [0u8; 8];
    e.put16(&mut b, 0, MAGIC);
    e.put16(&mut b, 2, TYPE_CLEAN_MARKER);
    e.put32(&mut b, 4, 8);
    b
}

/// An inode node without its data (`struct jffs2_raw_inode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawInode {
    pub ino: u32,
    pub version: u32,
    pub mode: u32,
    pub uid: u16,
    pub gid: u16,
    pub file_bytes: u32,
    pub accessed_s: u32,
    pub modified_s: u32,
    pub changed_s: u32,
    pub offset: u32,
    pub compressed_bytes: u32,
    pub data_bytes: u32,
    pub compression: u8,
    pub requested_compression: u8,
    pub data_crc: u32,
}

impl RawInode {
    pub fn total_bytes(&self) -> u32 {
        INODE_BYTES.saturating_add(self.compressed_bytes)
    }

    pub fn encode(&self, e: Endian) -> [u8; INODE_BYTES as usize] {
        let mut b = [0u8; INODE_BYTES as usize];
        e.put_header(&mut b, TYPE_INODE, self.total_bytes());
        e.put32(&mut b, 12, self.ino);
        e.put32(&mut b, 16, self.version);
        e.put32(&mut b, 20, self.mode);
        e.put16(&mut b, 24, self.uid);
        e.put16(&mut b, 26, self.gid);
        e.put32(&mut b, 28, self.file_bytes);
        e.put32(&mut b, 32, self.accessed_s);
        e.put32(&mut b, 36, self.modified_s);
        e.put32(&mut b, 40, self.changed_s);
        e.put32(&mut b, 44, self.offset);
        e.put32(&mut b, 48, self.compressed_bytes);
        e.put32(&mut b, 52, self.data_bytes);
        b[56] = self.compression;
        b[57] = self.requested_compression;
        e.put32(&mut b, 60, self.data_crc);
        let crc = crc32(0, &b[..60]);
        e.put32(&mut b, 64, crc);
        b
    }

    /// `None` when the node CRC is wrong. `b` holds at least 68 bytes.
    pub fn decode(e: Endian, b: &[u8]) -> Option<RawInode> {
        if crc32(0, &b[..60]) != e.u32(b, 64) {
            return None;
        }
        Some(RawInode {
            ino: e.u32(b, 12),
            version: e.u32(b, 16),
            mode: e.u32(b, 20),
            uid: e.u16(b, 24),
            gid: e.u16(b, 26),
            file_bytes: e.u32(b, 28),
            accessed_s: e.u32(b, 32),
            modified_s: e.u32(b, 36),
            changed_s: e.u32(b, 40),
            offset: e.u32(b, 44),
            compressed_bytes: e.u32(b, 48),
            data_bytes: e.u32(b, 52),
            compression: b[56],
            requested_compression: b[57],
            data_crc: e.u32(b, 60),
        })
    }

    /// Bytes of the file that the node covers. Old writers swapped the two lengths of hole nodes
    /// (`fs/jffs2/read.c`).
    pub fn covered_bytes(&self) -> u32 {
        if self.compression == COMPR_ZERO && self.data_bytes == 0 {
            self.compressed_bytes
        } else {
            self.data_bytes
        }
    }
}

/// A directory entry node without its name (`struct jffs2_raw_dirent`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawDirent {
    pub parent: u32,
    pub version: u32,
    /// 0: the entry deletes the name.
    pub ino: u32,
    pub changed_s: u32,
    pub name_bytes: u8,
    pub dirent_type: u8,
    pub name_crc: u32,
}

impl RawDirent {
    /// Kind of what the entry names.
    pub fn kind(&self) -> FileKind {
        kind_of_dirent_type(self.dirent_type)
    }

    pub fn total_bytes(&self) -> u32 {
        DIRENT_BYTES + u32::from(self.name_bytes)
    }

    pub fn encode(&self, e: Endian) -> [u8; DIRENT_BYTES as usize] {
        let mut b = [0u8; DIRENT_BYTES as usize];
        e.put_header(&mut b, TYPE_DIRENT, self.total_bytes());
        e.put32(&mut b, 12, self.parent);
        e.put32(&mut b, 16, self.version);
        e.put32(&mut b, 20, self.ino);
        e.put32(&mut b, 24, self.changed_s);
        b[28] = self.name_bytes;
        b[29] = self.dirent_type;
        let crc = crc32(0, &b[..32]);
        e.put32(&mut b, 32, crc);
        e.put32(&mut b, 36, self.name_crc);
        b
    }

    /// `None` when the node CRC is wrong. `b` holds at least 40 bytes.
    pub fn decode(e: Endian, b: &[u8]) -> Option<RawDirent> {
        if crc32(0, &b[..32]) != e.u32(b, 32) {
            return None;
        }
        Some(RawDirent {
            parent: e.u32(b, 12),
            version: e.u32(b, 16),
            ino: e.u32(b, 20),
            changed_s: e.u32(b, 24),
            name_bytes: b[28],
            dirent_type: b[29],
            name_crc: e.u32(b, 36),
        })
    }
}

/// A node with an extended attribute, without its name and value (`struct jffs2_raw_xattr`). Behind the header stand the
/// name without its namespace, a NUL and the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawXattr {
    /// Number by which [`RawXref`]s name the attribute.
    pub xid: u32,
    pub version: u32,
    /// The namespace (`JFFS2_XPREFIX_*`).
    pub prefix: u8,
    pub name_bytes: u8,
    pub value_bytes: u16,
    /// CRC of what stands behind the header.
    pub data_crc: u32,
}

impl RawXattr {
    /// Bytes of the name, its NUL and the value.
    pub fn data_bytes(&self) -> u32 {
        u32::from(self.name_bytes) + 1 + u32::from(self.value_bytes)
    }

    /// Bytes of the node. Unlike in other nodes the length in the header counts the bytes that align the next node.
    pub fn total_bytes(&self) -> u32 {
        pad(XATTR_BYTES + self.data_bytes())
    }

    pub fn encode(&self, e: Endian) -> [u8; XATTR_BYTES as usize] {
        let mut b = [0u8; XATTR_BYTES as usize];
        e.put_header(&mut b, TYPE_XATTR, self.total_bytes());
        e.put32(&mut b, 12, self.xid);
        e.put32(&mut b, 16, self.version);
        b[20] = self.prefix;
        b[21] = self.name_bytes;
        e.put16(&mut b, 22, self.value_bytes);
        e.put32(&mut b, 24, self.data_crc);
        let crc = crc32(0, &b[..28]);
        e.put32(&mut b, 28, crc);
        b
    }

    /// `None` when the node is too short, its CRC is wrong, or its length contradicts those of name and value.
    pub fn decode(e: Endian, b: &[u8]) -> Option<RawXattr> {
        let b = b.get(..XATTR_BYTES as usize)?;
        let header = Header::decode(e, b);
        let raw = RawXattr {
            xid: e.u32(b, 12),
            version: e.u32(b, 16),
            prefix: b[20],
            name_bytes: b[21],
            value_bytes: e.u16(b, 22),
            data_crc: e.u32(b, 24),
        };
        let sound = header.magic == MAGIC
            && header.node_type == TYPE_XATTR
            && header.total_bytes == raw.total_bytes()
            && crc32(0, &b[..28]) == e.u32(b, 28);
        sound.then_some(raw)
    }
}

/// A node that says that an inode has an extended attribute (`struct jffs2_raw_xref`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawXref {
    pub ino: u32,
    pub xid: u32,
    /// Of two nodes for the same inode and attribute the one with the higher number counts. Odd: the inode has the
    /// attribute no more (`XREF_DELETE_MARKER`).
    pub sequence: u32,
}

impl RawXref {
    pub fn encode(&self, e: Endian) -> [u8; XREF_BYTES as usize] {
        let mut b = [0u8; XREF_BYTES as usize];
        e.put_header(&mut b, TYPE_XREF, XREF_BYTES);
        e.put32(&mut b, 12, self.ino);
        e.put32(&mut b, 16, self.xid);
        e.put32(&mut b, 20, self.sequence);
        let crc = crc32(0, &b[..24]);
        e.put32(&mut b, 24, crc);
        b
    }

    /// `None` when the node is too short, its CRC or its length is wrong.
    pub fn decode(e: Endian, b: &[u8]) -> Option<RawXref> {
        let b = b.get(..XREF_BYTES as usize)?;
        let header = Header::decode(e, b);
        let sound = header.magic == MAGIC
            && header.node_type == TYPE_XREF
            && header.total_bytes == XREF_BYTES
            && crc32(0, &b[..24]) == e.u32(b, 24);
        sound.then(|| RawXref { ino: e.u32(b, 12), xid: e.u32(b, 16), sequence: e.u32(b, 20) })
    }
}

/// Kind from a directory entry's type byte.
pub fn kind_of_dirent_type(dirent_type: u8) -> FileKind {
    FileKind::from_mode(u32::from(dirent_type) << 12).unwrap_or(FileKind::File)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_is_the_kernels() {
        // crc32(0, x) without inversions differs from the zip CRC; this value is that of an empty padding header.
        assert_eq!(crc32(0, b""), 0);
        assert_eq!(crc32(!0, b"123456789") ^ !0, 0xCBF4_3926);
    }

    #[test]
    fn nodes_survive_a_round_trip_in_both_byte_orders() {
        for e in [Endian::Little, Endian::Big] {
            let inode = RawInode { ino: 7, version: 3, mode: 0o100644, data_bytes: 5, ..Default::default() };
            let bytes = inode.encode(e);
            assert_eq!(RawInode::decode(e, &bytes), Some(inode));
            let header = Header::decode(e, &bytes);
            assert_eq!(header.magic, MAGIC);
            assert!(header.crc_ok(e, &bytes));
            let mut broken = bytes;
            broken[20] ^= 1;
            assert_eq!(RawInode::decode(e, &broken), None);
            let dirent = RawDirent { parent: 1, version: 2, ino: 7, name_bytes: 4, ..Default::default() };
            assert_eq!(RawDirent::decode(e, &dirent.encode(e)), Some(dirent));
        }
    }
}
