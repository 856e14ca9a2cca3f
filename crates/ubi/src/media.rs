//! The on-flash format: erase counter header, volume identifier header, volume table record. All numbers big-endian.
//!
//! From Linux 6.1 `drivers/mtd/ubi/ubi-media.h`; what a header may hold from `io.c` (`validate_ec_hdr`,
//! `validate_vid_hdr`).

/// Bytes of either header, its CRC in the last four.
pub const HEADER_BYTES: usize = 64;
pub const VERSION: u8 = 1;
/// `UBI_MAX_ERASECOUNTER`: 64 bits are reserved, 31 are used.
pub const ERASE_COUNTER_MAX: u32 = 0x7FFF_FFFF;
/// Volume numbers from here on belong to UBI itself.
pub const INTERNAL_VOLUME_START: u32 = 0x7FFF_FFFF - 4096;
pub const LAYOUT_VOLUME: u32 = INTERNAL_VOLUME_START;
/// Copies of the volume table, a LEB each.
pub const LAYOUT_LEBS: u32 = 2;
pub const VOLUMES_MAX: u32 = 128;
pub const NAME_BYTES_MAX: usize = 127;
pub const RECORD_BYTES: usize = 172;

const EC_MAGIC: u32 = 0x5542_4923;
const VID_MAGIC: u32 = 0x5542_4921;

/// What to do with an internal volume that the attaching code does not know.
pub mod compat {
    pub const DELETE: u8 = 1;
    pub const READ_ONLY: u8 = 2;
    pub const PRESERVE: u8 = 4;
    pub const REJECT: u8 = 5;
}

/// Whether the LEBs of a volume can change one by one, or only all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeKind {
    /// LEBs are written one by one; UBI knows nothing about their content.
    Dynamic,
    /// Written as a whole ([`crate::Volume::update`]); UBI knows the size of the data and has a CRC of each LEB.
    Static,
}

impl VolumeKind {
    fn code(self) -> u8 {
        match self {
            VolumeKind::Dynamic => 1,
            VolumeKind::Static => 2,
        }
    }

    fn from_code(code: u8) -> Option<VolumeKind> {
        match code {
            1 => Some(VolumeKind::Dynamic),
            2 => Some(VolumeKind::Static),
            _ => None,
        }
    }
}

/// CRC-32 as `crc32(UBI_CRC32_INIT, ..)` computes it: without the final inversion.
pub fn crc(bytes: &[u8]) -> u32 {
    !crc32fast::hash(bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) << 32 | u64::from(u32_at(bytes, at + 4))
}

fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// Why bytes are not a valid header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHeader {
    Magic,
    Crc,
    /// The CRC is right, but the fields cannot be.
    Content,
}

/// Checks magic number and CRC of a header.
fn check_header(bytes: &[u8], magic: u32) -> Result<(), NoHeader> {
    if u32_at(bytes, 0) != magic {
        return Err(NoHeader::Magic);
    }
    if u32_at(bytes, HEADER_BYTES - 4) != crc(&bytes[..HEADER_BYTES - 4]) {
        return Err(NoHeader::Crc);
    }
    Ok(())
}

fn finish_header(bytes: &mut [u8], magic: u32) {
    put_u32(bytes, 0, magic);
    bytes[4] = VERSION;
    let crc = crc(&bytes[..HEADER_BYTES - 4]);
    put_u32(bytes, HEADER_BYTES - 4, crc);
}

/// Offsets of headers and data in an erase block, as each erase counter header states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    pub vid_header_offset: u32,
    pub data_offset: u32,
}

/// Erase counter header, with which every erase block begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcHeader {
    pub erases: u32,
    pub image_number: u32,
}

impl EcHeader {
    pub fn encode(&self, offsets: Offsets, bytes: &mut [u8]) {
        bytes[..HEADER_BYTES].fill(0);
        put_u32(bytes, 12, self.erases);
        put_u32(bytes, 16, offsets.vid_header_offset);
        put_u32(bytes, 20, offsets.data_offset);
        put_u32(bytes, 24, self.image_number);
        finish_header(bytes, EC_MAGIC);
    }

    pub fn decode(bytes: &[u8], offsets: Offsets) -> Result<EcHeader, NoHeader> {
        check_header(bytes, EC_MAGIC)?;
        let found = Offsets { vid_header_offset: u32_at(bytes, 16), data_offset: u32_at(bytes, 20) };
        let erases = u64_at(bytes, 8);
        if bytes[4] != VERSION || found != offsets || erases > u64::from(ERASE_COUNTER_MAX) {
            return Err(NoHeader::Content);
        }
        Ok(EcHeader { erases: erases as u32, image_number: u32_at(bytes, 24) })
    }
}

/// The offset of the volume identifier header that the erase counter header at the start of an erase block states.
/// `None`: there is no erase counter header. For images of partitions that were attached elsewhere.
pub fn vid_header_offset(block: &[u8]) -> Option<u32> {
    let header = block.get(..HEADER_BYTES)?;
    check_header(header, EC_MAGIC).is_ok().then(|| u32_at(header, 16))
}

/// A LEB of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LebAddress {
    pub volume_id: u32,
    pub leb_number: u32,
}

/// Volume identifier header: which LEB an erase block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VidHeader {
    pub kind: VolumeKind,
    /// The data are a copy made by an atomic change or a move, and are valid only if their CRC is right.
    pub is_copy: bool,
    pub compat: u8,
    pub volume_id: u32,
    pub leb_number: u32,
    /// Bytes that `data_crc` covers; 0: there is no CRC of the data.
    pub data_bytes: u32,
    /// LEBs that the data of a static volume occupy.
    pub used_lebs: u32,
    /// Bytes at the end of each LEB that the volume's alignment leaves unused.
    pub pad_bytes: u32,
    pub data_crc: u32,
    pub sequence_number: u64,
}

impl VidHeader {
    pub fn encode(&self, bytes: &mut [u8]) {
        bytes[..HEADER_BYTES].fill(0);
        bytes[5] = self.kind.code();
        bytes[6] = u8::from(self.is_copy);
        bytes[7] = self.compat;
        put_u32(bytes, 8, self.volume_id);
        put_u32(bytes, 12, self.leb_number);
        put_u32(bytes, 20, self.data_bytes);
        put_u32(bytes, 24, self.used_lebs);
        put_u32(bytes, 28, self.pad_bytes);
        put_u32(bytes, 32, self.data_crc);
        bytes[40..48].copy_from_slice(&self.sequence_number.to_be_bytes());
        finish_header(bytes, VID_MAGIC);
    }

    pub fn decode(bytes: &[u8], leb_bytes: u32) -> Result<VidHeader, NoHeader> {
        check_header(bytes, VID_MAGIC)?;
        let header = VidHeader {
            kind: VolumeKind::from_code(bytes[5]).ok_or(NoHeader::Content)?,
            is_copy: bytes[6] == 1,
            compat: bytes[7],
            volume_id: u32_at(bytes, 8),
            leb_number: u32_at(bytes, 12),
            data_bytes: u32_at(bytes, 20),
            used_lebs: u32_at(bytes, 24),
            pad_bytes: u32_at(bytes, 28),
            data_crc: u32_at(bytes, 32),
            sequence_number: u64_at(bytes, 40),
        };
        if bytes[6] > 1 || !header.is_possible(leb_bytes) {
            return Err(NoHeader::Content);
        }
        Ok(header)
    }

    pub fn address(&self) -> LebAddress {
        LebAddress { volume_id: self.volume_id, leb_number: self.leb_number }
    }

    fn is_possible(&self, leb_bytes: u32) -> bool {
        let signed_max = i32::MAX as u32;
        if [self.volume_id, self.leb_number, self.used_lebs].iter().any(|&number| number > signed_max) {
            return false;
        }
        let compat_fits = match self.volume_id {
            0..VOLUMES_MAX => self.compat == 0,
            VOLUMES_MAX..INTERNAL_VOLUME_START => false,
            _ => matches!(self.compat, compat::DELETE | compat::READ_ONLY | compat::PRESERVE | compat::REJECT),
        };
        if !compat_fits || self.pad_bytes >= leb_bytes / 2 || self.data_bytes > leb_bytes {
            return false;
        }
        match self.kind {
            VolumeKind::Static => {
                let is_last = self.leb_number + 1 == self.used_lebs;
                self.leb_number < self.used_lebs
                    && self.data_bytes != 0
                    && (is_last || self.data_bytes == leb_bytes - self.pad_bytes)
            }
            VolumeKind::Dynamic => {
                let data_fit =
                    if self.is_copy { self.data_bytes != 0 } else { self.data_crc == 0 && self.data_bytes == 0 };
                data_fit && self.used_lebs == 0
            }
        }
    }
}

/// A record of the volume table, byte for byte as on flash. Fields unknown to this code are kept when the record is
/// changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Record([u8; RECORD_BYTES]);

/// The volume takes what is available at the next attach (`UBI_VTBL_AUTORESIZE_FLG`).
pub const FLAG_AUTORESIZE: u8 = 1;
/// The CRCs of a static volume are not checked when it is opened (`UBI_VTBL_SKIP_CRC_CHECK_FLG`).
pub const FLAG_SKIP_CHECK: u8 = 2;

impl Record {
    /// An empty record: zeros and their CRC.
    pub fn empty() -> Record {
        let mut record = Record([0; RECORD_BYTES]);
        record.finish();
        record
    }

    pub fn from_bytes(bytes: &[u8]) -> Record {
        let mut record = [0; RECORD_BYTES];
        record.copy_from_slice(&bytes[..RECORD_BYTES]);
        Record(record)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Computes the CRC after a change.
    pub fn finish(&mut self) {
        let crc = crc(&self.0[..RECORD_BYTES - 4]);
        put_u32(&mut self.0, RECORD_BYTES - 4, crc);
    }

    pub fn crc_is_right(&self) -> bool {
        u32_at(&self.0, RECORD_BYTES - 4) == crc(&self.0[..RECORD_BYTES - 4])
    }

    pub fn reserved_pebs(&self) -> u32 {
        u32_at(&self.0, 0)
    }

    pub fn set_reserved_pebs(&mut self, pebs: u32) {
        put_u32(&mut self.0, 0, pebs);
    }

    pub fn alignment_bytes(&self) -> u32 {
        u32_at(&self.0, 4)
    }

    pub fn pad_bytes(&self) -> u32 {
        u32_at(&self.0, 8)
    }

    /// Sets the alignment of a volume with LEBs of `leb_bytes`, and the padding that follows from it.
    pub fn set_alignment(&mut self, alignment_bytes: u32, leb_bytes: u32) {
        put_u32(&mut self.0, 4, alignment_bytes);
        put_u32(&mut self.0, 8, leb_bytes % alignment_bytes);
    }

    pub fn kind(&self) -> Option<VolumeKind> {
        VolumeKind::from_code(self.0[12])
    }

    pub fn set_kind(&mut self, kind: VolumeKind) {
        self.0[12] = kind.code();
    }

    /// 1: an update of the whole volume was begun and not finished.
    pub fn update_marker(&self) -> u8 {
        self.0[13]
    }

    pub fn set_update_marker(&mut self, updating: bool) {
        self.0[13] = u8::from(updating);
    }

    pub fn name_bytes(&self) -> usize {
        usize::from(self.0[14]) << 8 | usize::from(self.0[15])
    }

    /// The name and the zeros after it.
    pub fn name_field(&self) -> &[u8] {
        &self.0[16..16 + NAME_BYTES_MAX + 1]
    }

    /// At most [`NAME_BYTES_MAX`] bytes.
    pub fn set_name(&mut self, name: &[u8]) {
        self.0[14..16].copy_from_slice(&(name.len() as u16).to_be_bytes());
        self.0[16..16 + NAME_BYTES_MAX + 1].fill(0);
        self.0[16..16 + name.len()].copy_from_slice(name);
    }

    pub fn flags(&self) -> u8 {
        self.0[144]
    }

    pub fn set_flags(&mut self, flags: u8) {
        self.0[144] = flags;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFSETS: Offsets = Offsets { vid_header_offset: 512, data_offset: 2048 };
    const LEB_BYTES: u32 = 129_024;

    fn vid() -> VidHeader {
        VidHeader {
            kind: VolumeKind::Dynamic,
            is_copy: true,
            compat: 0,
            volume_id: 3,
            leb_number: 7,
            data_bytes: 4096,
            used_lebs: 0,
            pad_bytes: 0,
            data_crc: 0x1234_5678,
            sequence_number: 1 << 40,
        }
    }

    #[test]
    fn headers_come_back_as_they_were_written() {
        let mut bytes = [0xAA; 2 * HEADER_BYTES];
        let ec = EcHeader { erases: 9, image_number: 5 };
        ec.encode(OFFSETS, &mut bytes);
        assert_eq!(EcHeader::decode(&bytes, OFFSETS), Ok(ec));
        vid().encode(&mut bytes);
        assert_eq!(VidHeader::decode(&bytes, LEB_BYTES), Ok(vid()));
    }

    #[test]
    fn the_empty_record_has_the_check_sum_that_the_kernel_writes() {
        assert_eq!(u32_at(Record::empty().bytes(), RECORD_BYTES - 4), 0xF116_C36B);
    }

    #[test]
    fn a_flipped_bit_in_a_header_is_found() {
        let mut bytes = [0; HEADER_BYTES];
        vid().encode(&mut bytes);
        for bit in 0..HEADER_BYTES * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(VidHeader::decode(&bytes, LEB_BYTES), Err(NoHeader::Magic | NoHeader::Crc)));
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn headers_with_impossible_content_are_refused() {
        let refused = |header: VidHeader| {
            let mut bytes = [0; HEADER_BYTES];
            header.encode(&mut bytes);
            VidHeader::decode(&bytes, LEB_BYTES) == Err(NoHeader::Content)
        };
        assert!(!refused(vid()));
        assert!(refused(VidHeader { volume_id: VOLUMES_MAX, ..vid() }));
        assert!(refused(VidHeader { compat: compat::REJECT, ..vid() }));
        assert!(refused(VidHeader { data_bytes: LEB_BYTES + 1, ..vid() }));
        assert!(refused(VidHeader { data_bytes: 0, ..vid() }));
        assert!(refused(VidHeader { used_lebs: 1, ..vid() }));
        assert!(refused(VidHeader { pad_bytes: LEB_BYTES / 2, ..vid() }));
        let of_static = VidHeader { kind: VolumeKind::Static, used_lebs: 8, ..vid() };
        assert!(!refused(of_static));
        assert!(refused(VidHeader { used_lebs: 9, ..of_static }));
        assert!(refused(VidHeader { used_lebs: 7, ..of_static }));
        let mut ec = [0; HEADER_BYTES];
        EcHeader { erases: ERASE_COUNTER_MAX, image_number: 0 }.encode(OFFSETS, &mut ec);
        assert!(EcHeader::decode(&ec, OFFSETS).is_ok());
        let other = Offsets { data_offset: 4096, ..OFFSETS };
        assert_eq!(EcHeader::decode(&ec, other), Err(NoHeader::Content));
    }
}
