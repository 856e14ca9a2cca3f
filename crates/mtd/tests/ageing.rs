//! A chip that ages below the driver: what is reported, counted, read again, and kept.

use ffslab_flash::{Ageing, Chip, Geometry, Promise, Rules, Timing};
use ffslab_mtd::{Corrected, Driver, Ecc, Health, Mtd, MtdError};
use ffslab_sim::{Sim, SimConfig};

const BLOCKS: u32 = 8;
const PAGE: usize = 2048;

fn geometry() -> Geometry {
    Geometry { page_bytes: PAGE as u32, oob_bytes: 64, pages_per_block: 16, blocks: BLOCKS }
}

/// A part that keeps its data for a year when new, behind an ECC that corrects one bit.
fn ageing() -> Ageing {
    let promise =
        Promise { endurance_erases: 1_000, retention_years: 1.0, reads: 1e5, corrected_bits: 1, step_bytes: 256 };
    Ageing { retention_rate: 2e-5, worn_erases: 100, disturb_rate: 1e-7, ..Ageing::promised(&promise) }
}

fn mtd(model: Option<Ageing>) -> Mtd {
    let sim = Sim::new(SimConfig::default());
    ffslab_mtd::causes::register(&sim);
    let timing = Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 2_000_000, bus_ps_per_byte: 25_000 };
    let rules = Rules { partial_programs_max: 4, in_order: false };
    let mut chip = Chip::new(sim, geometry(), timing, rules).unwrap();
    if let Some(model) = model {
        chip.set_ageing(model);
    }
    let driver = Driver { ecc: Ecc::HARDWARE, ..Driver::default() };
    Mtd::of_chip(chip, driver, 0..BLOCKS).unwrap()
}

fn data(page: u64) -> Vec<u8> {
    (0..PAGE).map(|at| (at as u64 * 31 + page * 7) as u8).collect()
}

fn pages() -> u64 {
    u64::from(BLOCKS) * 16
}

fn filled(model: Option<Ageing>) -> Mtd {
    let mtd = mtd(model);
    (0..pages()).for_each(|page| mtd.write(page * PAGE as u64, &data(page)).unwrap());
    mtd
}

/// Answers of reading every page, and whether what ECC could correct is right.
fn read_all(mtd: &Mtd) -> Vec<Result<Corrected, MtdError>> {
    let read = |page| {
        let mut found = vec![0; PAGE];
        let answer = mtd.read(page * PAGE as u64, &mut found);
        assert_eq!(found == data(page), answer != Err(MtdError::Uncorrectable), "page {page}: {answer:?}");
        answer
    };
    (0..pages()).map(read).collect()
}

fn health(mtd: &Mtd) -> Health {
    mtd.health().unwrap()
}

#[test]
fn a_chip_that_does_not_age_has_no_counters() {
    let mtd = filled(None);
    assert!(!mtd.lies(1e9, 85.0));
    assert_eq!(mtd.health(), None);
    assert!(read_all(&mtd).iter().all(|answer| *answer == Ok(Corrected::Clean)));
}

/// EUCLEAN from the threshold on, EBADMSG beyond the strength, and the driver's statistics count both.
#[test]
fn what_ecc_corrects_is_reported_and_what_it_cannot_is_an_error() {
    let mtd = filled(Some(ageing()));
    read_all(&mtd);
    assert_eq!(health(&mtd).uncorrectable_frames, 0);
    assert!(mtd.lies(2.0 * ffslab_flash::YEAR_S, 55.0));
    let answers = read_all(&mtd);
    let count =
        |wanted: fn(&Result<Corrected, MtdError>) -> bool| answers.iter().filter(|answer| wanted(answer)).count();
    let (clean, flipped) =
        (count(|answer| *answer == Ok(Corrected::Clean)), count(|answer| matches!(answer, Ok(Corrected::BitFlips(1)))));
    let lost = count(|answer| *answer == Err(MtdError::Uncorrectable));
    assert!(clean > 0 && flipped > 10 && lost > 0, "{clean} {flipped} {lost}");
    let counted = health(&mtd);
    assert!(counted.uncorrectable_frames >= lost as u64 && counted.corrected_bits >= flipped as u64);
    // A strength of one bit is reported from one bit on.
    assert_eq!(counted.corrected_bits, counted.threshold_frames);
    // The same errors again, and at most a few more by the reads themselves.
    read_all(&mtd);
    let again = health(&mtd);
    assert!(again.uncorrectable_frames >= 2 * counted.uncorrectable_frames);
}

#[test]
fn what_is_written_again_is_young() {
    let mtd = filled(Some(ageing()));
    mtd.lies(2.0 * ffslab_flash::YEAR_S, 55.0);
    mtd.erase(0).unwrap();
    (0..16).for_each(|page| mtd.write(page * PAGE as u64, &data(page)).unwrap());
    let answers = read_all(&mtd);
    assert!(answers[..16].iter().all(|answer| *answer == Ok(Corrected::Clean)));
    assert!(answers[16..].contains(&Err(MtdError::Uncorrectable)));
}

/// When a page was programmed travels with the content, in memory and as bytes.
#[test]
fn a_state_keeps_the_age_of_its_pages() {
    let old = filled(Some(ageing()));
    old.lies(2.0 * ffslab_flash::YEAR_S, 55.0);
    let wanted = read_all(&old);
    let young = mtd(Some(ageing()));
    young.restore(&old.snapshot()).unwrap();
    assert_eq!(read_all(&young)[1..], wanted[1..]);
    let bytes = old.nand().unwrap().with_chip(|chip| chip.snapshot().to_bytes());
    let image = ffslab_flash::ChipImage::from_bytes(&bytes, geometry()).unwrap();
    let third = mtd(Some(ageing()));
    third.nand().unwrap().with_chip(|chip| chip.restore(&image).unwrap());
    assert_eq!(read_all(&third)[1..], wanted[1..]);
}

/// Retries find what the normal voltages do not, and cost a read each.
#[test]
fn read_retry_saves_pages() {
    let lost = |modes: u32| {
        let mtd = filled(Some(Ageing { retry_modes: modes, retry_share: 0.3, ..ageing() }));
        mtd.lies(2.0 * ffslab_flash::YEAR_S, 55.0);
        let answers = read_all(&mtd);
        let lost = answers.iter().filter(|answer| **answer == Err(MtdError::Uncorrectable)).count();
        (lost, health(&mtd), mtd.traffic().reads)
    };
    let (without, plain, reads) = lost(0);
    let (with, retried, reads_with) = lost(5);
    assert!(with < without, "{with} of {without} are lost with read retry");
    assert_eq!(plain.read_retries, 0);
    assert!(retried.read_retries >= without as u64);
    assert_eq!(reads_with, reads + retried.read_retries);
    assert!(retried.uncorrectable_frames < plain.uncorrectable_frames);
}

/// Blocks beyond their life fail for good and are marked bad by who uses them.
#[test]
fn worn_blocks_fail() {
    let mtd = mtd(Some(Ageing { worn_erases: 5_000, ..ageing() }));
    let mut failed = 0;
    for block in 0..u64::from(BLOCKS) {
        let start = block * u64::from(mtd.erase_block_bytes());
        let pages = (0..16).map(|page| mtd.write(start + page * PAGE as u64, &data(page)));
        let program_fails = pages.filter(|done| done == &Err(MtdError::ProgramFailed)).count();
        let erase_fails = mtd.erase(start) == Err(MtdError::EraseFailed);
        assert!(program_fails <= 1 && !(program_fails == 1 && erase_fails));
        failed += u32::from(program_fails == 1 || erase_fails);
        if erase_fails {
            assert_eq!(mtd.erase(start), Err(MtdError::EraseFailed));
        }
    }
    assert!(failed > BLOCKS / 2, "{failed} blocks of {BLOCKS} have failed at five times the endurance");
    let counted = health(&mtd);
    assert!(counted.failed_programs > 0 || counted.failed_erases > 0);
    let before = counted.grown_bad_blocks;
    let _ = mtd.mark_bad(0);
    assert_eq!(health(&mtd).grown_bad_blocks, before + 1);
}
