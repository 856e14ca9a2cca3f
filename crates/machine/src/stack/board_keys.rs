//! What the keys of `[stack]` and the layers of a board say of the machine: the chip that stands on it, its driver, its kernel.

use crate::error::MachineError;
use crate::media;
use crate::stack_keys::{StackKeys, NO_FS};
use ffslab_flash::Timing;
use ffslab_linux::Kernel;
use ffslab_mtd::{Driver, Ecc, PageMemory};
use ffslab_profiles::{with_words, Circumstances, NandWaitName, Profile};
use std::collections::BTreeMap;
use std::path::Path;

/// How a chip is called that has no profile.
const IN_PLACE: &str = "[stack.chip]";

/// Puts the chip of `[stack.chip]` on the board.
///
/// Errors: a part is named, too; what is wrong with a key.
pub(super) fn set_chip(
    profile: &mut Profile,
    part: Option<&str>,
    chip: &BTreeMap<String, serde_json::Value>,
    base_dir: &Path,
) -> Result<(), MachineError> {
    if let Some(part) = part {
        return Err(MachineError::word("part", part, "[stack.chip] describes the chip already: leave one of them out"));
    }
    let wrong = |error: toml::ser::Error| MachineError::word("chip", IN_PLACE, error.to_string());
    let mut keys = toml::Table::try_from(chip).map_err(wrong)?;
    keys.entry("title").or_insert_with(|| "A chip of [stack.chip]".into());
    Ok(profile.set_part(IN_PLACE, &keys, base_dir)?)
}

/// Lets the layers of the board hold that are meant for what the keys say.
///
/// Errors: a strength of the ECC that it does not have; what is wrong with a layer.
pub(super) fn hold_layers(
    profile: &mut Profile,
    keys: &StackKeys,
    medium: &media::Descriptor,
    base_dir: &Path,
) -> Result<(), MachineError> {
    let ecc = match medium.keys.contains(&"ecc") {
        true => ecc_of(keys, profile.driver().ecc)?,
        false => profile.driver().ecc,
    };
    let kernel = profile.kernel_name.clone();
    let circumstances = Circumstances {
        fs: (keys.fs != NO_FS).then_some(keys.fs.as_str()),
        medium: medium.name,
        kernel: &kernel,
        page_bytes: profile.part.geometry().page_bytes,
        yaffs2_version: keys.yaffs2_version.unwrap_or(profile.yaffs2_version()),
        ecc: ecc.engine.name,
        ecc_strength_bits: ecc.code.strength_bits,
    };
    Ok(profile.hold_in(&circumstances, base_dir)?)
}

/// The ECC that the keys want in place of the board's.
///
/// Errors: its strength is what it is.
pub(super) fn ecc_of(keys: &StackKeys, of_board: Ecc) -> Result<Ecc, MachineError> {
    let ecc = keys.ecc.map_or(of_board, |ecc| of_board.by(ecc.engine()));
    let Some(strength_bits) = keys.ecc_strength_bits else { return Ok(ecc) };
    if ecc.engine.is_on_die || ecc.engine.only_code.is_some() {
        let needed =
            format!("{} corrects {} in {} bytes", ecc.engine.title, ecc.code.strength_bits, ecc.code.step_bytes);
        return Err(MachineError::number("ecc_strength_bits", strength_bits, needed));
    }
    Ok(ecc.of_strength(strength_bits))
}

/// Gives the driver of NAND what it costs where tasks wait in this way, and the chip what it takes where nandsim stands in for it.
pub(super) fn complete_driver(
    keys: &StackKeys,
    profile: &Profile,
    driver: &mut Driver,
    chip: Timing,
    wait: NandWaitName,
) -> Timing {
    let geometry = profile.part.geometry();
    let simulated = profile.simulated_chip();
    let timing = match simulated.filter(|simulated| simulated.has_whole_page_transfers) {
        Some(_) => {
            let transfer_ns = chip.bus_ps_per_byte * u64::from(geometry.page_bytes) / 1_000;
            let (read_ns, program_ns) = (chip.read_ns + transfer_ns, chip.program_ns + transfer_ns);
            Timing { read_ns, program_ns, bus_ps_per_byte: 0, ..chip }
        }
        None => chip,
    };
    profile.complete_driver(driver, wait, &timing);
    let uptime_ns = keys.uptime_us.map_or(0, |uptime| uptime.ns);
    driver.page_memory = simulated.and_then(|simulated| {
        Some(PageMemory {
            pages_per_slab: pages_per_slab(geometry.page_bytes),
            slab_ns: simulated.slab_ns?,
            free_ns: simulated.page_free_ns,
            draw_ns: if keys.faults.as_ref().is_some_and(|faults| faults.bitflips > 0) { simulated.draw_ns } else { 0 },
            slabs_at_hand: if uptime_ns < simulated.first_chip_until_ns { 0 } else { simulated.slabs_kept },
        })
    });
    timing
}

/// How many pages with their OOB areas are in a slab (`calculate_order` of `mm/slub.c`, on one CPU): 15 of 528 B in 8 KiB, 15 of
/// 2112 B in 32 KiB, which is the most; 7 of 4 KiB and more.
fn pages_per_slab(page_bytes: u32) -> u32 {
    if page_bytes <= 2_048 {
        15
    } else {
        7
    }
}

/// What the page cache may take, which is filled in.
///
/// Errors: it is said twice.
pub(super) fn page_cache_kib(keys: &mut StackKeys, profile: &Profile) -> Result<u64, MachineError> {
    let by_default_kib = match (keys.memory_kib, keys.page_cache_kib) {
        (Some(memory_kib), Some(_)) => {
            let needed = "page_cache_KiB says already what of it files may take: leave one of them out";
            return Err(MachineError::number("memory_KiB", memory_kib, needed));
        }
        (Some(memory_kib), None) => return Ok(profile.page_cache_of_kib(memory_kib)),
        (None, _) => profile.page_cache_bytes() >> 10,
    };
    Ok(*keys.page_cache_kib.get_or_insert(by_default_kib))
}

/// The rules of the kernel on the board's processor.
///
/// Errors: words that no processor has.
pub(super) fn kernel_of(keys: &StackKeys, profile: &Profile) -> Result<Kernel, MachineError> {
    match keys.word_bits {
        None => Ok(profile.kernel()),
        Some(word_bits @ (32 | 64)) => Ok(with_words(profile.kernel(), word_bits)),
        Some(word_bits) => Err(MachineError::number("word_bits", word_bits, "32 or 64 is needed")),
    }
}
