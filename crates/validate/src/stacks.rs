//! From a measured case to the keys of the stack on which it ran: the same keys that an experiment has.

use crate::case::{Case, Flash, System, PARTIAL_PROGRAMS_MAX};
use crate::case_yaffs2::version_of;
use crate::error::CaseError;
use crate::harness;
use ffslab_machine::exact_micros::ExactMicros;
use ffslab_machine::fault_keys::FaultKeys;
use ffslab_machine::file_systems::jffs2::JFFS2;
use ffslab_machine::file_systems::mountable;
use ffslab_machine::file_systems::ubifs::{kernel_rules, UBIFS};
use ffslab_machine::file_systems::yaffs2::YAFFS2;
use ffslab_machine::media::{NAND, NOR};
use ffslab_machine::mounts::MountsSpec;
use ffslab_machine::stack::{epoch_ns, StackSpec};
use ffslab_machine::stack_keys::{StackKeys, NO_FS};
use ffslab_machine::MachineError;
use ffslab_profiles::{kernel_series, NandWaitName, Profile};
use ffslab_sim::units::us_to_ns;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// The name of a case's system whose program calls the core of YAFFS2.
const HARNESS: &str = "yaffs2-core";

/// The boards on which cases were measured, by what the case says of what was built and where it ran.
const BOARDS: [(&str, &str); 3] = [
    ("Debian's for amd64, on QEMU with 250 instructions a us", "qemu-debian-amd64"),
    (" 1 ns an instruction)", "qemu-arm926-1000mips"),
    (" 2 ns an instruction)", "qemu-arm926-500mips"),
];
/// The board of cases that say nothing of it.
const BOARD_BY_DEFAULT: &str = "user-mode-linux";

/// The board on which a case was measured.
///
/// Errors: no profile of it is known.
fn board_of(system: &System) -> Result<&'static str, CaseError> {
    let Some(tree) = &system.tree else { return Ok(BOARD_BY_DEFAULT) };
    let found = BOARDS.iter().find(|(says, _)| tree.contains(says));
    found.map(|(_, board)| *board).ok_or_else(|| CaseError::UnknownMachine { tree: tree.clone() })
}

/// The stack on which the case runs.
///
/// Errors: settings that the file system or ffslab does not have; no cases were measured with it.
pub fn stack_of(case: &Case) -> Result<StackSpec, CaseError> {
    if case.system.name == HARNESS {
        return Ok(harness::stack(case));
    }
    Ok(StackSpec::from_keys(&keys_of(case)?, Path::new(""))?.0)
}

/// The machine with several mounts on which the case runs.
///
/// Errors: as [`stack_of`].
pub fn mounts_of(case: &Case) -> Result<MountsSpec, CaseError> {
    Ok(MountsSpec::from_keys(&keys_of(case)?, Path::new(""))?.0)
}

/// The keys of the stack on which the case runs.
///
/// Errors: as [`stack_of`].
pub fn keys_of(case: &Case) -> Result<StackKeys, CaseError> {
    let (system, flash) = (&case.system, &case.flash);
    let fs = system.fs.as_str();
    let series = kernel_series(&system.version).map_err(MachineError::from)?;
    let board = board_of(system)?;
    let profile = Profile::load(board, None, Some(&series), Path::new("")).map_err(MachineError::from)?;
    // Where nobody knows what the kernel keeps of its memory, files may take all that the machine was given.
    let memory_kib = system.mem_total_kib.filter(|_| profile.board.memory_taken_kib().is_some());
    let mut keys = StackKeys {
        kernel: Some(series),
        chip: Some(chip_of(flash, system.driver.as_deref())?),
        first_block: flash.first_block,
        faults: (flash.faults != FaultKeys::default()).then(|| flash.faults.clone()),
        read_ahead_kib: Some(system.read_ahead_kib),
        page_cache_kib: match memory_kib {
            Some(_) => None,
            None => Some(system.ram_mib.map_or(u64::MAX >> 10, |mib| mib.saturating_mul(1024))),
        },
        memory_kib,
        vm: system.vm.clone(),
        tick_rate_hz: Some(system.tick_rate_hz.unwrap_or(100)),
        smp: Some(system.smp),
        word_bits: Some(system.word_bits.unwrap_or(64)),
        uptime_us: system.uptime_us.map(exact),
        wall_clock_us: system.wall_clock_us.map(exact),
        bad_block_table: Some(system.has_bad_block_table()),
        nand_wait: Some(wait_of(system)),
        mount: case.mounts.clone(),
        ..StackKeys::of(board, fs, flash.partition_blocks)
    };
    if flash.medium.is_none() {
        keys.ecc = system.ecc;
        keys.ecc_strength_bits = system.ecc_strength_bits;
    }
    match fs {
        NO_FS => {}
        _ if fs == JFFS2.name => {
            keys.compression = Some(system.mount.compression);
            keys.summary = system.jffs2_summary.unwrap_or(false);
        }
        _ if fs == UBIFS.name => take_ubifs(case, &profile, &mut keys),
        _ if fs == YAFFS2.name => take_yaffs2(system, &mut keys)?,
        _ => {
            mountable(fs)?;
            return Err(CaseError::NotRun { fs: fs.to_string() });
        }
    }
    Ok(keys)
}

fn exact(us: f64) -> ExactMicros {
    ExactMicros { ns: us_to_ns(us) }
}

fn wait_of(system: &System) -> NandWaitName {
    match (system.nand_wait, system.cond_resched_after_program_and_erase) {
        (Some(NandWaitName::Sleep), _) => NandWaitName::Sleep,
        (_, true) => NandWaitName::Resched,
        (_, false) => NandWaitName::Busy,
    }
}

/// The chip as a part's profile would say it.
///
/// Errors: a medium of which no cases were measured.
fn chip_of(flash: &Flash, driver: Option<&str>) -> Result<BTreeMap<String, Value>, MachineError> {
    let us = |value: Option<f64>| json!(value.unwrap_or(0.0));
    let chip = match flash.medium.as_deref() {
        None => json!({
            "kind": NAND.name,
            "page_B": flash.page_bytes,
            "oob_B": flash.oob_bytes,
            "pages_per_block": flash.pages_per_block,
            "blocks": flash.chip_blocks,
            "t_read_us": us(flash.t_read_us),
            "t_program_us": us(flash.t_program_us),
            "t_erase_us": us(flash.t_erase_us),
            "bus_ns_per_B": us(flash.bus_ns_per_byte),
            "partial_programs_max": PARTIAL_PROGRAMS_MAX,
            "in_order": false,
        }),
        // The board has memory in its place, so that only sizes count.
        Some(name) if name == NOR.name && driver == Some("mtdram") => json!({
            "base": "w25q128jv",
            "kind": "spi-nor",
            "program_page_B": flash.page_bytes,
            "erase_block_KiB": flash.page_bytes * flash.pages_per_block / 1024,
            "size_KiB": u64::from(flash.page_bytes * flash.pages_per_block) * u64::from(flash.chip_blocks) / 1024,
        }),
        Some(name) => {
            let needed = "cases were measured on NAND, and on \"nor\" with driver = \"mtdram\"".to_string();
            return Err(MachineError::word("medium", name, needed));
        }
    };
    Ok(serde_json::from_value(chip).expect("it is an object"))
}

fn take_ubifs(case: &Case, profile: &Profile, keys: &mut StackKeys) {
    let (system, ubi) = (&case.system, case.system.ubi.as_ref());
    keys.compression = Some(system.mount.compression);
    keys.subpage_writes = system.subpage_writes;
    keys.vid_header_offset_bytes = ubi.and_then(|ubi| ubi.vid_header_offset_bytes);
    keys.bad_reserve_percent = ubi.and_then(|ubi| ubi.bad_reserve_percent);
    if keys.bad_reserve_percent.is_none() {
        keys.bad_reserve_per_1024 = Some(ubi.map_or(0, |ubi| ubi.bad_reserve_per_1024));
    }
    let without = ffslab_ubifs::Options { rules: kernel_rules(profile.flash_rules()), ..Default::default() };
    keys.ubifs_debug = system.has_ubifs_debug(case.flash.page_bytes, &without);
}

fn take_yaffs2(system: &System, keys: &mut StackKeys) -> Result<(), CaseError> {
    let in_linux = system.yaffs2_in_linux.as_ref();
    let in_linux = in_linux.ok_or_else(|| CaseError::NotRun { fs: system.fs.clone() })?;
    keys.yaffs2_version = Some(version_of(&in_linux.version));
    keys.yaffs2 = Some(in_linux.settings.keys());
    Ok(())
}

/// Adds what the program that measured did without writing it into the case.
pub fn complete(case: &mut Case) {
    if case.system.name == HARNESS {
        harness::add_unsaid_steps(case);
    }
}

pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// How far the wall clock is in its second when the machine begins, in ns.
pub(crate) fn wall_clock_ns(stack: &StackSpec) -> u64 {
    (stack.sim.uptime_ns + u64::from(stack.vfs.epoch_ns)) % SECOND_NS
}

/// Lets the wall clock stand so far in its second when the machine begins, however long that has been up.
pub(crate) fn set_wall_clock(stack: &mut StackSpec, wall_clock_ns: u64) {
    stack.vfs.epoch_ns = epoch_ns(wall_clock_ns, stack.sim.uptime_ns);
}

/// What nobody knows of the time at which something comes in a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unknown {
    /// At which tick, if its kernel has ticks.
    pub tick: bool,
    /// How far the wall clock was in its second, if the file system keeps times by seconds and writes inodes for them.
    pub wall_clock: bool,
}

impl Unknown {
    pub fn of(case: &Case) -> Unknown {
        let system = &case.system;
        let in_kernel = system.name != HARNESS && system.fs != NO_FS;
        // The nodes of JFFS2 are written by each call, whatever the time.
        let keeps_seconds = in_kernel && system.fs != JFFS2.name;
        Unknown { tick: in_kernel, wall_clock: keeps_seconds && system.wall_clock_us.is_none() }
    }
}
