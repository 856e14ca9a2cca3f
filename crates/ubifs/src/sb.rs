//! The superblock: what the file system was made for.
//!
//! Follows `fs/ubifs/sb.c` (`ubifs_read_superblock`, `validate_sb`, `ubifs_fixup_free_space`).

use crate::compress::COMPR_TYPES;
use crate::error::{Fail, Res};
use crate::format::*;
use crate::geometry::Geometry;
use crate::leb::Lebs;
use crate::lpt::LptGeometry;
use ffslab_ubi::DataLife;

/// Positions of the fields.
pub(crate) mod field {
    pub const KEY_HASH: usize = 26;
    pub const KEY_FMT: usize = 27;
    pub const FLAGS: usize = 28;
    pub const MIN_IO: usize = 32;
    pub const LEB_SIZE: usize = 36;
    pub const LEB_CNT: usize = 40;
    pub const MAX_LEB_CNT: usize = 44;
    pub const MAX_BUD_BYTES: usize = 48;
    pub const LOG_LEBS: usize = 56;
    pub const LPT_LEBS: usize = 60;
    pub const ORPH_LEBS: usize = 64;
    pub const JHEAD_CNT: usize = 68;
    pub const FANOUT: usize = 72;
    pub const LSAVE_CNT: usize = 76;
    pub const FMT_VERSION: usize = 80;
    pub const DEFAULT_COMPR: usize = 84;
    pub const RP_SIZE: usize = 96;
    pub const TIME_GRAN: usize = 104;
    pub const UUID: usize = 108;
    pub const RO_COMPAT: usize = 124;
    pub const HASH_ALGO: usize = 256;
}

/// The superblock node as it stands on flash, and what is needed of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Superblock {
    pub bytes: Vec<u8>,
    pub default_compression: u16,
    /// Time stamps are kept as multiples of this.
    pub time_granularity_ns: u32,
    pub big_lpt: bool,
    pub space_fixup: bool,
    lsave_cnt: u32,
    must_write: bool,
}

const BAD: Fail = Fail::corrupt("bad superblock");

impl Geometry {
    fn place_areas(&mut self) -> Res<()> {
        let before = [self.log_lebs, self.lpt_lebs, self.orph_lebs].iter().map(|&n| u64::from(n)).sum::<u64>();
        let main = u64::from(self.leb_cnt).checked_sub(before + u64::from(LOG_LNUM)).ok_or(BAD)?;
        self.main_lebs = main as u32;
        self.main_first = self.leb_cnt - self.main_lebs;
        self.log_last = LOG_LNUM + self.log_lebs.max(1) - 1;
        self.lpt_first = LOG_LNUM + self.log_lebs;
        self.lpt_last = self.lpt_first + self.lpt_lebs.max(1) - 1;
        self.orph_first = self.lpt_last + 1;
        self.orph_last = self.orph_first + self.orph_lebs.max(1) - 1;
        Ok(())
    }

    /// What follows from the superblock (`init_constants_sb`).
    fn calc_constants(&mut self, sb: &Superblock) -> Res<LptGeometry> {
        self.idx_bytes_min = align8(idx_node_bytes(1));
        self.idx_bytes_max = align8(idx_node_bytes(self.fanout));
        let leb = i64::from(self.leb_bytes);
        let buds = (self.max_bud_bytes + leb - 1) / leb;
        let log_lebs = (i64::from(self.ref_bytes) * buds + leb - 1) / leb + 1;
        if i64::from(self.log_lebs) < log_lebs || align(self.idx_bytes_max, self.min_io) > self.leb_bytes {
            return Err(BAD);
        }
        // Each head needs room for a bud of its own, and the next bud must fit, too, or the heads block each other.
        let least = (HEADS as i64 + 1) * leb + 1;
        self.bg_bud_bytes = ((self.max_bud_bytes * 13) >> 4).max(least);
        self.max_bud_bytes = self.max_bud_bytes.max(least + leb);
        self.idx_leb_bytes = self.leb_bytes - self.idx_bytes_max;
        LptGeometry::checked(self, sb.big_lpt, sb.lsave_cnt)
    }
}

impl Superblock {
    /// Reads the superblock. Everything that follows from it is calculated: the geometry of `lebs`, and that of the LPT.
    pub fn read(lebs: &mut Lebs) -> Res<(Superblock, LptGeometry)> {
        let mut bytes = Vec::new();
        lebs.read_node(&mut bytes, SB_NODE, SB_LNUM, 0, SB_BYTES)?;
        let flags = get_u32(&bytes, field::FLAGS);
        let version = get_u32(&bytes, field::FMT_VERSION);
        if !(3..=FORMAT_VERSION).contains(&version) {
            return Err(Fail::corrupt("format version that is not supported"));
        }
        if flags & !SB_FLAGS != 0 || bytes[field::KEY_FMT] != 0 || bytes[field::KEY_HASH] > KEY_HASH_TEST {
            return Err(BAD);
        }
        if flags & SB_AUTHENTICATION != 0 {
            return Err(Fail::corrupt("authenticated file systems are not supported"));
        }
        if flags & SB_ENCRYPTION != 0 {
            return Err(Fail::corrupt("encrypted file systems are not supported"));
        }
        let volume_lebs = lebs.geo.leb_cnt;
        let geo = &mut lebs.geo;
        if get_u32(&bytes, field::MIN_IO) != geo.min_io || get_u32(&bytes, field::LEB_SIZE) != geo.leb_bytes {
            return Err(Fail::corrupt("the superblock was made for another chip"));
        }
        geo.leb_cnt = get_u32(&bytes, field::LEB_CNT);
        geo.max_leb_cnt = get_u32(&bytes, field::MAX_LEB_CNT);
        geo.log_lebs = get_u32(&bytes, field::LOG_LEBS);
        geo.lpt_lebs = get_u32(&bytes, field::LPT_LEBS);
        geo.orph_lebs = get_u32(&bytes, field::ORPH_LEBS);
        geo.fanout = get_u32(&bytes, field::FANOUT);
        geo.key_hash = bytes[field::KEY_HASH];
        geo.double_hash = flags & SB_DOUBLE_HASH != 0;
        geo.max_bud_bytes = get_u64(&bytes, field::MAX_BUD_BYTES) as i64;
        geo.rp_bytes = get_u64(&bytes, field::RP_SIZE) as i64;
        let mut sb = Superblock {
            default_compression: get_u16(&bytes, field::DEFAULT_COMPR),
            time_granularity_ns: get_u32(&bytes, field::TIME_GRAN),
            big_lpt: flags & SB_BIG_LPT != 0,
            space_fixup: flags & SB_SPACE_FIXUP != 0,
            lsave_cnt: get_u32(&bytes, field::LSAVE_CNT),
            must_write: false,
            bytes,
        };
        if geo.leb_cnt > volume_lebs || geo.max_leb_cnt < geo.leb_cnt {
            return Err(Fail::corrupt("the superblock has more LEBs than the volume"));
        }
        if geo.leb_cnt < volume_lebs && geo.leb_cnt < geo.max_leb_cnt {
            // The volume was enlarged after the file system was made; it may use LEBs up to `max_leb_cnt`.
            geo.leb_cnt = geo.max_leb_cnt.min(volume_lebs);
            put_u32(&mut sb.bytes, field::LEB_CNT, geo.leb_cnt);
            sb.must_write = true;
        }
        geo.place_areas()?;
        sb.validate(geo, version)?;
        let lpt = geo.calc_constants(&sb)?;
        Ok((sb, lpt))
    }

    fn validate(&self, geo: &Geometry, version: u32) -> Res<()> {
        let leb = i64::from(geo.leb_bytes);
        let main = geo.main_bytes();
        let rules = [
            (geo.log_lebs >= LOG_LEBS_MIN, "bad superblock: too few LEBs for the log"),
            (geo.lpt_lebs >= LPT_LEBS_MIN, "bad superblock: too few LEBs for the LPT"),
            (geo.orph_lebs >= ORPHAN_LEBS_MIN, "bad superblock: too few LEBs for orphans"),
            (
                geo.main_lebs >= MAIN_LEBS_MIN,
                "bad superblock: too few LEBs for the main area; is the volume too small?",
            ),
            (geo.max_bud_bytes >= leb * i64::from(BUD_LEBS_MIN), "bad superblock: the journal is too small"),
            (
                geo.max_bud_bytes <= main,
                "bad superblock: the journal is larger than the main area; is the volume too small?",
            ),
            (get_u32(&self.bytes, field::JHEAD_CNT) == 1, "bad superblock: another number of journal heads than 1"),
            (
                geo.fanout >= 3
                    && u64::from(geo.fanout) < u64::from(geo.leb_bytes)
                    && idx_node_bytes(geo.fanout) <= geo.leb_bytes,
                "bad superblock: impossible number of branches of an index node",
            ),
            (
                self.lsave_cnt <= 256 || self.lsave_cnt <= geo.main_lebs,
                "bad superblock: the LPT's save table is too large",
            ),
            (self.default_compression < COMPR_TYPES, "bad superblock: unknown compressor"),
            ((0..=main).contains(&geo.rp_bytes), "bad superblock: more is reserved than there is"),
            (
                (1..=1_000_000_000).contains(&self.time_granularity_ns),
                "bad superblock: time stamps are multiples of 1 ns to 1 s",
            ),
            (geo.double_hash || version < 5, "bad superblock: format version 5 without double hashes"),
        ];
        match rules.into_iter().find(|(is_kept, _)| !is_kept) {
            None => Ok(()),
            Some((_, what)) => Err(Fail::corrupt(what)),
        }
    }

    /// Every LEB with free space was written anew ([`SB_SPACE_FIXUP`]).
    pub fn space_is_fixed_up(&mut self) {
        self.space_fixup = false;
        let flags = get_u32(&self.bytes, field::FLAGS) & !SB_SPACE_FIXUP;
        put_u32(&mut self.bytes, field::FLAGS, flags);
        self.must_write = true;
    }

    /// Writes the superblock if something in it has changed.
    pub fn write_if_needed(&mut self, lebs: &mut Lebs) -> Res<()> {
        if !std::mem::take(&mut self.must_write) {
            return Ok(());
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.resize(align(SB_BYTES, lebs.geo.min_io) as usize, 0);
        lebs.finish_node(&mut bytes, SB_BYTES, SB_NODE, NO_GROUP);
        crate::node::pad(&mut bytes[SB_BYTES as usize..]);
        let result = lebs.expecting(DataLife::Long, |lebs| lebs.change(SB_LNUM, &bytes));
        self.bytes = bytes;
        result
    }
}

impl Lebs {
    pub fn fix_up_leb(&mut self, lnum: u32, used: u32) -> Res<()> {
        if used == 0 {
            return self.unmap(lnum);
        }
        let mut bytes = self.buffer();
        let used = used as usize;
        let result = self
            .read(lnum, 0, &mut bytes[..used])
            .and_then(|()| self.expecting(DataLife::Unknown, |lebs| lebs.change(lnum, &bytes[..used])));
        self.buffers.push(bytes);
        result
    }
}
