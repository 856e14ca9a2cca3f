//! What ECC makes a read move, and what it corrects.

use crate::common;

use common::*;
use ffslab_flash::{Faults, Torn};
use ffslab_mtd::{Code, Corrected, Driver, Ecc, Mtd, MtdError, Nand};
use ffslab_sim::{CpuCosts, Sim, SimConfig, Work, WorkCost};

/// BCH as many controllers have it.
const STRONG: Ecc = Ecc { code: Code { step_bytes: 512, code_bytes: 13, strength_bits: 8 }, ..Ecc::HARDWARE };

/// `nand_read_subpage`: the steps touched and 3 bytes for each. A 64 B header read costs 25 + 259 x 0.05 us. A read that
/// needs every step moves the whole data area and is no partial one: so the measured cases count.
#[test]
fn software_ecc_moves_only_the_steps_it_needs() {
    let mtd = written(Ecc::SOFTWARE);
    for (at, bytes, moved_bytes) in [(0, 64, 259), (250, 6, 259), (250, 7, 518), (2047, 1, 259), (1, 2047, 2072)] {
        let (counts, took_ns) = cost(&mtd, || {
            reads(&mtd, at, bytes);
        });
        let partial = u64::from(moved_bytes < 2048);
        assert_eq!((counts.page_reads, counts.partial_page_reads), (1, partial), "{bytes} bytes at {at}");
        assert_eq!(counts.bus_out_bytes, moved_bytes, "{bytes} bytes at {at}");
        assert_eq!(took_ns, 25_000 + moved_bytes * 50);
    }
}

#[test]
fn software_ecc_takes_the_cpu_as_long_as_the_board_says() {
    for (ecc, ns_per_byte) in [(Ecc::SOFTWARE, 20), (Ecc::HARDWARE, 0)] {
        let mut costs = CpuCosts::FREE;
        costs.of[Work::SoftwareEcc as usize] = WorkCost { each_ns: 0, per_byte_ps: 20_000 };
        let chip = chip_on(Sim::with_costs(SimConfig::default(), &costs), 2048, 64);
        let mtd = whole(&Nand::new(chip, Driver { ecc, ..Driver::default() }).unwrap());
        let cpu_ns = |f: &dyn Fn()| cost(&mtd, f).0.cpu_ns;
        assert_eq!(cpu_ns(&|| mtd.write(0, &pattern(1, 2 * BLOCK)).unwrap()), 8 * PAGE * ns_per_byte);
        assert_eq!(cpu_ns(&|| assert_eq!(reads(&mtd, 0, 2048), 1)), PAGE * ns_per_byte);
        // Of a header only the steps that it touches.
        assert_eq!(cpu_ns(&|| assert_eq!(reads(&mtd, PAGE, 64), 1)), 256 * ns_per_byte);
    }
}

/// `nand_scan_tail`: `subpage_sft` by the steps of a page.
#[test]
fn the_smallest_program_hangs_on_the_steps_of_a_page() {
    for (step_bytes, expected_bytes) in [(256, 512), (512, 512), (1024, 1024), (2048, 2048)] {
        let code = Code { step_bytes, code_bytes: 13, strength_bits: 4 };
        let driver = Driver { ecc: Ecc { code, ..Ecc::HARDWARE }, ..Driver::default() };
        let chip = chip_on(Sim::new(SimConfig::default()), 2048, 128);
        let mtd = whole(&Nand::new(chip, driver).unwrap());
        assert_eq!(mtd.capabilities().partial_program_bytes, expected_bytes, "{step_bytes}");
    }
}

#[test]
fn software_ecc_has_no_page_cache() {
    let mtd = written(Ecc::SOFTWARE);
    assert_eq!([reads(&mtd, 100, 64), reads(&mtd, 100, 64), reads(&mtd, 200, 1)], [1, 1, 1]);
    let (counts, took_ns) = cost(&mtd, || {
        reads(&mtd, 0, 2048);
    });
    assert_eq!((counts.page_reads, counts.partial_page_reads, took_ns), (1, 0, 130_600));
    // A node over three pages: two partial reads and a whole one.
    let (counts, _) = cost(&mtd, || {
        reads(&mtd, 1000, 4164);
    });
    assert_eq!((counts.page_reads, counts.partial_page_reads), (3, 2));
}

/// `nand_scan_tail` gives only large pages sub-page reads.
#[test]
fn small_pages_are_read_whole_and_cached_with_software_ecc_too() {
    let driver = Driver { ecc: Ecc::SOFTWARE, ..Driver::default() };
    let mtd = whole(&Nand::new(chip_of(512, 16), driver).unwrap());
    mtd.write(0, &pattern(1, 512)).unwrap();
    let (counts, _) = cost(&mtd, || {
        mtd.read(0, &mut [0; 64]).unwrap();
        mtd.read(300, &mut [0; 64]).unwrap();
    });
    assert_eq!((counts.page_reads, counts.partial_page_reads, counts.bus_out_bytes), (1, 0, 528));
}

/// Reads page 0 often on a chip that flips bits; every answer must fit the data that come with it.
/// Returns how many reads were clean, reported flips, and failed.
fn flip_and_read(mtd: &Mtd, flips_max: u32, bytes: usize, at: u64) -> [u32; 3] {
    let faults = Faults { bitflips: flips_max, seed: 3, ..Faults::default() };
    mtd.nand().unwrap().with_chip(|chip| chip.set_faults(&faults)).unwrap();
    let good = &pattern(1, PAGE)[at as usize..at as usize + bytes];
    let mut seen = [0; 3];
    let mut data = vec![0; bytes];
    for _ in 0..50_000 {
        mtd.nand().unwrap().nand().restart();
        match mtd.read(at, &mut data) {
            Ok(Corrected::Clean) => seen[0] += 1,
            Ok(Corrected::BitFlips(flips)) => {
                assert!(flips >= 1);
                seen[1] += 1;
            }
            Err(error) => {
                assert_eq!(error, MtdError::Uncorrectable);
                seen[2] += 1;
                continue;
            }
        }
        assert_eq!(data, good);
    }
    seen
}

#[test]
fn single_flips_are_corrected_and_reported() {
    for ecc in [Ecc::HARDWARE, Ecc::SOFTWARE] {
        let mtd = written(ecc);
        let [_, corrected, failed] = flip_and_read(&mtd, 1, PAGE as usize, 0);
        assert!(corrected > 25 && failed == 0, "{ecc:?}: {corrected} corrected, {failed} failed");
        let [_, corrected, failed] = flip_and_read(&mtd, 1, 300, 100);
        assert!(corrected > 25 && failed == 0, "{ecc:?}, partial: {corrected} corrected, {failed} failed");
    }
}

#[test]
fn more_flips_in_a_step_than_its_strength_are_uncorrectable() {
    for ecc in [Ecc::HARDWARE, Ecc::SOFTWARE] {
        let mtd = written(ecc);
        let [_, corrected, failed] = flip_and_read(&mtd, 16, PAGE as usize, 0);
        assert!(corrected > 3 && failed > 20, "{ecc:?}: {corrected} corrected, {failed} failed");
    }
    let strong = Driver { ecc: STRONG, ..Driver::default() };
    let mtd = whole(&Nand::new(chip_of(2048, 64), strong).unwrap());
    mtd.write(0, &pattern(1, PAGE)).unwrap();
    let [_, _, failed] = flip_and_read(&mtd, 8, PAGE as usize, 0);
    assert_eq!(failed, 0);
    assert_eq!(mtd.oob_free_bytes(), 64 - 2 - 4 * 13);
}

/// `bitflip_threshold`: three quarters of the strength, rounded up. Flips below it are corrected in silence.
#[test]
fn few_flips_are_not_reported_by_a_strong_ecc() {
    let strong = Driver { ecc: STRONG, ..Driver::default() };
    let mtd = whole(&Nand::new(chip_of(2048, 64), strong).unwrap());
    mtd.write(0, &pattern(1, PAGE)).unwrap();
    assert_eq!(flip_and_read(&mtd, 5, PAGE as usize, 0), [50_000, 0, 0]);
}

/// The bytes come as they are in the cells, in all pages of the request.
#[test]
fn uncorrectable_data_are_returned() {
    for ecc in [Ecc::HARDWARE, Ecc::SOFTWARE] {
        let mtd = mtd(ecc);
        mtd.write(PAGE, &pattern(2, PAGE)).unwrap();
        mtd.nand().unwrap().with_chip(|chip| chip.cut_power_after(1, Torn::Partial { seed: 1 }));
        assert_eq!(mtd.write(0, &pattern(1, PAGE)), Err(MtdError::PowerCut));
        assert_eq!(mtd.read(0, &mut [0; 10]), Err(MtdError::PowerCut));
        mtd.nand().unwrap().with_chip(|chip| chip.power_on());
        let mut data = vec![0; 2 * PAGE as usize];
        assert_eq!(mtd.read(0, &mut data), Err(MtdError::Uncorrectable));
        let arrived = data.iter().position(|&byte| byte == 0xFF).unwrap();
        assert!(arrived > 0 && data[..arrived] == pattern(1, PAGE)[..arrived]);
        assert_eq!(data[PAGE as usize..], pattern(2, PAGE));
        let mut last = [0];
        let expected = if ecc == Ecc::HARDWARE { Err(MtdError::Uncorrectable) } else { Ok(Corrected::Clean) };
        assert_eq!(mtd.read(PAGE - 1, &mut last), expected, "a step that the cut did not reach");
    }
}

#[test]
fn drivers_that_do_not_suit_the_chip_are_refused() {
    let refuse = |page_bytes, oob_bytes, driver| {
        Nand::new(chip_of(page_bytes, oob_bytes), driver).err().expect("refused").to_string()
    };
    let (base, code) = (Driver::default(), Ecc::HARDWARE.code);
    let of = |code| Driver { ecc: Ecc { code, ..base.ecc }, ..base };
    let software = Driver { ecc: Ecc::SOFTWARE, ..base };
    assert!(refuse(2048, 64, of(Code { step_bytes: 0, ..code })).starts_with("ecc_step_bytes = 0"));
    assert!(refuse(2048, 64, of(Code { step_bytes: 4096, ..code })).starts_with("ecc_step_bytes = 4096"));
    assert_eq!(
        refuse(2048, 64, of(Code { code_bytes: 8, ..code })),
        "64 ECC bytes and the bad block mark do not fit into an out-of-band area of 64 bytes; 62 ECC bytes would"
    );
    assert!(refuse(
        2048,
        64,
        Driver { ecc: Ecc { code: Code { strength_bits: 4, ..code }, ..software.ecc }, ..software }
    )
    .starts_with("software ECC is the Hamming code"));
    assert!(refuse(2048, 112, software).starts_with("software ECC has no layout for pages of 2048 + 112 bytes"));
}
