//! What `[stack]` says about the UBI below a file system that stands on it.

use crate::error::MachineError;
use crate::stack_keys::StackKeys;
use ffslab_profiles::{MlcRules, Profile, ReserveOf};
use ffslab_ubi::{BadReserve, UbiOptions, WearRules, WL_THRESHOLD_DEFAULT};

/// Keys of `[stack]` that are UBI's.
pub(super) const UBI_KEYS: [&str; 7] = [
    "max_beb_per1024",
    "beb_reserve_pct",
    "subpage_writes",
    "wl_threshold",
    "fastmap",
    "fm_autoconvert",
    "vid_hdr_offset_B",
];

/// Steps of experiments that are about UBI.
pub(super) const UBI_STEPS: &[&str] = &["ubi_attach", "ubi_detach", "ubi_make_volume"];

/// The reserve for bad blocks of kernels before 3.7 (`CONFIG_MTD_UBI_BEB_RESERVE`).
const BAD_RESERVE_PERCENT_2_6: u32 = 1;

/// The options with which the partition is attached.
///
/// Errors: what contradicts itself.
pub(super) fn ubi_options(keys: &StackKeys, board: &Profile) -> Result<UbiOptions, MachineError> {
    let rules = board.flash_rules();
    let reserve = match (keys.bad_reserve_percent, keys.bad_reserve_per_1024, rules.ubi_reserve_of) {
        (Some(percent), ..) => BadReserve::PercentOfPartition(percent),
        (None, Some(per_1024), _) => BadReserve::Per1024OfChip(per_1024),
        (None, None, ReserveOf::Partition) => BadReserve::PercentOfPartition(BAD_RESERVE_PERCENT_2_6),
        (None, None, ReserveOf::Chip) => BadReserve::Per1024OfChip(ffslab_ubi::MAX_BEB_PER1024_DEFAULT),
    };
    let options = UbiOptions {
        bad_reserve: reserve,
        subpage_writes: keys.subpage_writes.unwrap_or(true),
        reads_failed_writes: rules.ubi_reads_failed_writes,
        asks_data_life: rules.ubi_asks_data_life,
        flushes_all_works: rules.ubi_flushes_all_works,
        chip_blocks: Some(board.part.geometry().blocks),
        vid_header_offset_bytes: keys.vid_header_offset_bytes,
        wl_threshold_erases: keys.wl_threshold_erases.unwrap_or(WL_THRESHOLD_DEFAULT),
        wear_rules: wear_rules(keys, board)?,
        fastmap: keys.fastmap,
        fm_autoconvert: keys.fm_autoconvert,
        ..UbiOptions::default()
    };
    check_fastmap(&options)?;
    Ok(options)
}

/// Why UBI does not take raw NAND whose cells hold several bits, below the kernel of `board`; `None`: it does.
pub(super) fn ubi_refuses_mlc(keys: &StackKeys, board: &Profile) -> Option<&'static str> {
    (board.flash_rules().mlc != MlcRules::V2_6 && !keys.slc_mode).then_some(
        "UBI says \"refuse attaching - MLC NAND is not supported\" (drivers/mtd/ubi/build.c since 4.17), because a power cut in \
         the program of a page destroys another page: slc_mode = true uses half of the pages, with a kernel from 5.8 on",
    )
}

/// Whether what is asked of the fastmap is what a kernel can have.
fn check_fastmap(ubi: &UbiOptions) -> Result<(), MachineError> {
    let refuse = |key, needed| Err(MachineError::word(key, "true", needed));
    if ubi.fm_autoconvert && !ubi.fastmap {
        let hint = "fm_autoconvert is a parameter of a UBI that knows fastmap";
        return Err(MachineError::Without { key: "fm_autoconvert", other: "fastmap", hint });
    }
    if ubi.fastmap && (ubi.asks_data_life || ubi.flushes_all_works) {
        return refuse("fastmap", "UBI has fastmap since Linux 3.7: choose a later kernel");
    }
    if ubi.fastmap && (ubi.wear_rules.free.is_some() || ubi.wear_rules.levelling.is_some()) {
        return refuse("fastmap", "its pools follow the kernel's own rules of wear: leave those of [stack.policy] out");
    }
    Ok(())
}

/// What `[stack.policy]` says about UBI.
fn wear_rules(keys: &StackKeys, board: &Profile) -> Result<WearRules, MachineError> {
    let Some(policy) = &keys.policy else { return Ok(WearRules::default()) };
    Ok(WearRules {
        free: policy.free()?,
        levelling: policy.levelling()?,
        endurance_erases: board.part.endurance_erases().unwrap_or(ffslab_policy::ENDURANCE_ERASES),
        seed: policy.seed,
    })
}
