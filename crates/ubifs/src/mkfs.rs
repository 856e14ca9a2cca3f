//! The file system that the first mount makes on an empty volume.
//!
//! Follows `fs/ubifs/sb.c` (`create_default_filesystem`).

use crate::error::{Fail, Res};
use crate::format::*;
use crate::geometry::Geometry;
use crate::key::Key;
use crate::leb::Lebs;
use crate::lprops::Stats;
use crate::lpt::{create_default_lpt, LptGeometry};
use crate::master::Master;
use crate::node::NodeAt;
use crate::options::{KernelRules, Options};
use crate::sb::field;
use ffslab_ubi::DataLife;

const JOURNAL_PERCENT: u32 = 5;
const JOURNAL_BYTES_MAX: u32 = 32 << 20;
const FANOUT: u32 = 8;
const LSAVE_CNT: u32 = 256;
const ROOT_RESERVE_PERCENT: i64 = 5;
const ROOT_RESERVE_BYTES_MAX: i64 = 5 << 20;
const TIME_GRANULARITY_NS: u32 = 1_000_000_000;
/// Places in the main area.
const INDEX_LEB: u32 = 0;
const DATA_LEB: u32 = 1;
const GC_LEB: u32 = 2;

/// Bytes of the main area that formatting lays out in a volume ("file system size" of the kernel's log). Sizes in bytes; `None`: the
/// volume is too small.
pub fn formatted_bytes(leb_bytes: u32, lebs: u32, min_io_bytes: u32, options: &Options) -> Option<u64> {
    let mut geo = Geometry::of_volume(leb_bytes, lebs, min_io_bytes, min_io_bytes);
    geo.lay_out(options).ok()?;
    Some(geo.main_bytes() as u64)
}

impl Geometry {
    /// Areas in the kernel's default sizes, as far as `options` have no other numbers. Also the most buds that the journal has.
    fn lay_out(&mut self, options: &Options) -> Res<(LptGeometry, u32)> {
        let geo = self;
        let lebs = geo.leb_cnt;
        geo.fanout = options.children_count.unwrap_or(FANOUT);
        let mut journal_lebs =
            (geo.leb_cnt / 100 * JOURNAL_PERCENT).max(geo.leb_cnt.saturating_mul(JOURNAL_PERCENT) / 100);
        journal_lebs = journal_lebs.max(JOURNAL_LEBS_MIN);
        if u64::from(journal_lebs) * u64::from(geo.leb_bytes) > u64::from(JOURNAL_BYTES_MAX) {
            journal_lebs = JOURNAL_BYTES_MAX / geo.leb_bytes;
        }
        if let Some(bytes) = options.journal_bytes {
            journal_lebs = ((bytes / u64::from(geo.leb_bytes)) as u32).clamp(JOURNAL_LEBS_MIN, geo.leb_cnt);
        }
        let mut lebs_min = LEBS_MIN;
        let ref_bytes = u64::from(geo.ref_bytes) * u64::from(journal_lebs) * 2;
        geo.log_lebs = ref_bytes.div_ceil(u64::from(geo.leb_bytes)) as u32 + 1;
        if geo.leb_cnt - lebs_min > 8 {
            geo.log_lebs += 1;
            lebs_min += 1;
        }
        let max_buds = journal_lebs.saturating_sub(geo.log_lebs).max(BUD_LEBS_MIN);
        let second = (options.rules != KernelRules::V2_6 || options.fs_debug) && geo.leb_cnt - lebs_min > 1;
        geo.orph_lebs = ORPHAN_LEBS_MIN + u32::from(second);
        // The journal is a part of the main area (`validate_sb` refuses a larger one).
        let main_lebs_min = MAIN_LEBS_MIN.max(max_buds);
        let before = LOG_LNUM + geo.log_lebs + geo.orph_lebs;
        let too_small = Fail::TooFewLebs { lebs, needed: before + LPT_LEBS_MIN + main_lebs_min };
        let rest = lebs.checked_sub(before).ok_or(too_small)?;
        geo.lpt_first = LOG_LNUM + geo.log_lebs;
        let lpt_geo = LptGeometry::default_for(geo, rest, LSAVE_CNT).ok_or(too_small)?;
        geo.lpt_last = geo.lpt_first + geo.lpt_lebs - 1;
        geo.main_first = geo.leb_cnt - geo.main_lebs;
        if geo.main_lebs < main_lebs_min {
            return Err(Fail::TooFewLebs { lebs, needed: lebs - geo.main_lebs + main_lebs_min });
        }
        Ok((lpt_geo, max_buds))
    }
}

impl Lebs {
    /// Writes an empty file system.
    pub fn make_file_system(&mut self, options: &Options, now_s: u64) -> Res<()> {
        let (lpt_geo, max_buds) = self.geo.lay_out(options)?;
        let geo = self.geo;
        let index_len = idx_node_bytes(1);
        let lpt = create_default_lpt(&geo, &lpt_geo, align8(index_len), INO_BYTES);
        for (i, bytes) in lpt.lebs.iter().enumerate() {
            self.change(geo.lpt_first + i as u32, bytes)?;
        }
        let unit = |len: u32| vec![0u8; align(len, geo.min_io) as usize];

        let mut sb = unit(SB_BYTES);
        let flags = SB_DOUBLE_HASH | if lpt_geo.big { SB_BIG_LPT } else { 0 };
        let reserve = (geo.main_bytes() * ROOT_RESERVE_PERCENT / 100).min(ROOT_RESERVE_BYTES_MAX);
        sb[field::KEY_HASH] = KEY_HASH_R5;
        let words = [
            (field::FLAGS, flags),
            (field::MIN_IO, geo.min_io),
            (field::LEB_SIZE, geo.leb_bytes),
            (field::LEB_CNT, geo.leb_cnt),
            (field::MAX_LEB_CNT, geo.max_leb_cnt),
            (field::LOG_LEBS, geo.log_lebs),
            (field::LPT_LEBS, geo.lpt_lebs),
            (field::ORPH_LEBS, geo.orph_lebs),
            (field::JHEAD_CNT, 1),
            (field::FANOUT, geo.fanout),
            (field::LSAVE_CNT, LSAVE_CNT),
            (field::FMT_VERSION, FORMAT_VERSION),
            (field::TIME_GRAN, TIME_GRANULARITY_NS),
            (field::RO_COMPAT, RO_COMPAT_VERSION),
        ];
        words.into_iter().for_each(|(at, value)| put_u32(&mut sb, at, value));
        put_u64(&mut sb, field::MAX_BUD_BYTES, u64::from(max_buds) * u64::from(geo.leb_bytes));
        put_u64(&mut sb, field::RP_SIZE, reserve as u64);
        put_u16(&mut sb, field::DEFAULT_COMPR, options.compression.code());
        put_u16(&mut sb, field::HASH_ALGO, 0xFFFF);
        sb[field::UUID..field::UUID + 16].copy_from_slice(&random_uuid(options.seed));

        let data_lnum = geo.main_first + DATA_LEB;
        let mut ino = unit(INO_BYTES);
        let creation = self.next_sqnum();
        Key::inode(ROOT_INO).write_in_node(&mut ino, KEY_AT);
        let times = [ino::ATIME_SEC, ino::CTIME_SEC, ino::MTIME_SEC];
        times.into_iter().for_each(|at| put_u64(&mut ino, at, now_s));
        put_u64(&mut ino, ino::CREAT_SQNUM, creation);
        put_u64(&mut ino, ino::SIZE, u64::from(INO_BYTES));
        put_u32(&mut ino, ino::NLINK, 2);
        put_u32(&mut ino, ino::MODE, 0o040755);
        put_u32(&mut ino, ino::FLAGS, INODE_COMPR);

        let mut index = unit(index_len);
        put_u16(&mut index, idx::CHILD_CNT, 1);
        put_u32(&mut index, idx::BRANCHES, data_lnum);
        put_u32(&mut index, idx::BRANCHES + 8, INO_BYTES);
        Key::inode(ROOT_INO).write(&mut index, idx::BRANCHES + 12);

        let index_end = align(index_len, geo.min_io);
        let ino_end = align(INO_BYTES, geo.min_io);
        let index_lnum = geo.main_first + INDEX_LEB;
        let master = Master {
            highest_ino: u64::from(FIRST_INO),
            log_lnum: LOG_LNUM,
            root: NodeAt { lnum: index_lnum, offs: 0, len: index_len },
            gc_lnum: geo.main_first + GC_LEB,
            ihead_lnum: index_lnum,
            ihead_offs: index_end,
            index_bytes: i64::from(align8(index_len)),
            lpt: lpt.root,
            nhead: lpt.nhead,
            ltab: lpt.ltab,
            lsave: lpt.lsave,
            lscan_lnum: geo.main_first,
            leb_cnt: geo.leb_cnt,
            stats: Stats {
                empty_lebs: i64::from(geo.main_lebs) - 2,
                idx_lebs: 1,
                total_free: geo.main_bytes() - i64::from(index_end) - i64::from(ino_end),
                total_dirty: i64::from(index_end - align8(index_len)) + i64::from(ino_end - INO_BYTES),
                total_used: i64::from(INO_BYTES),
                total_dark: i64::from(geo.main_lebs - 1) * i64::from(geo.dark_wm),
                ..Stats::default()
            },
            ..Master::default()
        };
        let mut master_node = unit(MASTER_BYTES);
        master.pack(&mut master_node);
        let mut cs = unit(CS_BYTES);

        self.expecting(DataLife::Long, |lebs| lebs.write_node(&mut sb, SB_BYTES, SB_NODE, SB_LNUM, 0))?;
        let mut tree = |lebs: &mut Lebs| {
            lebs.write_node(&mut ino, INO_BYTES, INO_NODE, data_lnum, 0)?;
            lebs.write_node(&mut index, index_len, IDX_NODE, index_lnum, 0)
        };
        let mut master = |lebs: &mut Lebs| {
            lebs.write_node(&mut master_node, MASTER_BYTES, MASTER_NODE, MASTER_LNUM, 0)?;
            lebs.write_node(&mut master_node, MASTER_BYTES, MASTER_NODE, MASTER_LNUM + 1, 0)
        };
        self.expecting(DataLife::Unknown, |lebs| {
            match options.rules {
                KernelRules::V2_6 => master(lebs).and_then(|()| tree(lebs))?,
                KernelRules::V6_1 => tree(lebs).and_then(|()| master(lebs))?,
            }
            lebs.write_node(&mut cs, CS_BYTES, CS_NODE, LOG_LNUM, 0)
        })
    }
}

/// A UUID of version 4 that depends on the seed alone.
fn random_uuid(seed: u64) -> [u8; 16] {
    let mut uuid = [0; 16];
    let mut state = seed;
    for half in uuid.chunks_mut(8) {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        half.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes());
    }
    uuid[6] = (uuid[6] & 0x0F) | 0x40;
    uuid[8] = (uuid[8] & 0x3F) | 0x80;
    uuid
}
