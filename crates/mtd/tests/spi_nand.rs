//! SPI NAND: what operations take to the nanosecond, what they move, how bit flips and bad blocks are told.

use crate::common;

use common::{cost, pattern};
use ffslab_flash::{Chip, Faults, Geometry, Rules, Timing, Torn, Weak};
use ffslab_mtd::spi_nand::{Bus, Encoding, Layout, ReadCommand, SpiNand, Waiting, Wiring};
use ffslab_mtd::{Corrected, Driver, MediumError, Mtd, MtdError, OpCost};
use ffslab_sim::{OpCounts, PowerMilliwatt, Sim, SimConfig};

const PAGE: u64 = 2048;
const BLOCK: u64 = 4 * PAGE;

/// A byte takes 100 ns over one line and 25 ns over four.
const BUS: Bus = Bus {
    clock_hz: 80_000_000,
    transfer_overhead_ns: 2_000,
    copy_ps_per_byte: 0,
    transfer_max_bytes: u32::MAX,
    waiting: Waiting::Sleeps,
};
const CELLS: Timing = Timing { read_ns: 25_000, program_ns: 250_000, erase_ns: 2_000_000, bus_ps_per_byte: 0 };

fn wiring(layout: Layout, encoding: Encoding, strength_bits: u32) -> Wiring {
    Wiring {
        layout,
        encoding,
        strength_bits,
        bus: BUS,
        read: ReadCommand::over(4),
        program_lines: 4,
        dies: 1,
        select_die_bytes: 2,
        continuous_reads: false,
    }
}

fn winbond_kv() -> Wiring {
    wiring(Layout::WinbondW25n02kv, Encoding::Register30h, 8)
}

fn winbond_gv() -> Wiring {
    wiring(Layout::WinbondW25m02gv, Encoding::Generic, 1)
}

fn macronix() -> Wiring {
    wiring(Layout::Hidden, Encoding::Macronix, 4)
}

fn made(wiring: Wiring, oob_bytes: u32, driver: Driver) -> Result<Mtd, MediumError> {
    let geometry = Geometry { page_bytes: 2048, oob_bytes, pages_per_block: 4, blocks: 16 };
    let rules = Rules { partial_programs_max: 4, in_order: true };
    let chip = Chip::new(Sim::new(SimConfig::default()), geometry, wiring.timing(CELLS), rules).unwrap();
    SpiNand::of_chip(chip, wiring, driver, 0..16)
}

fn on(wiring: Wiring, oob_bytes: u32) -> Mtd {
    let driver = Driver { ecc: wiring.ecc(), ..Driver::default() };
    made(wiring, oob_bytes, driver).unwrap()
}

/// A Winbond W25N02KV, whose blocks the driver knows to be good, and whose ECC it has switched on.
fn ready() -> Mtd {
    let mtd = on(winbond_kv(), 128);
    (0..16).for_each(|block| assert!(!mtd.ask_bad(block * BLOCK)));
    mtd.read(0, &mut [0; 1]).unwrap();
    mtd
}

fn set_faults(mtd: &Mtd, faults: Faults) {
    mtd.nand().unwrap().with_chip(|chip| chip.set_faults(&faults)).unwrap();
}

// ---- time ---------------------------------------------------------------------------------------------------------------

/// The example of docs/spi-nand.md. GET FEATURE takes 2 + 0.3 us.
#[test]
fn operations_take_what_their_transfers_and_polls_take() {
    let mtd = ready();
    let (counts, took_ns) = cost(&mtd, || assert_eq!(mtd.read(0, &mut [0; 2048]), Ok(Corrected::Clean)));
    // PAGE READ 2 + 0.4, the wait for 25 us: 6 + 2.3 + 3 x (5 + 2.3), READ FROM CACHE 2 + 0.4 + 2048 x 0.025.
    assert_eq!(took_ns, 2_400 + 30_200 + 2_400 + 51_200);
    assert_eq!((counts.page_reads, counts.bus_out_bytes, counts.busy_ns), (1, 2048, 25_000 + 51_200));
    assert_eq!(counts.driver_ns, took_ns - counts.busy_ns);

    let (counts, took_ns) = cost(&mtd, || mtd.write(0, &pattern(1, PAGE)).unwrap());
    // WRITE ENABLE 2 + 0.1, PROGRAM LOAD 2 + 0.3 + 2176 x 0.025, PROGRAM EXECUTE 2 + 0.4, 75 + 2.3 + 10 x (15 + 2.3).
    assert_eq!(took_ns, 2_100 + 2_300 + 54_400 + 2_400 + 250_300);
    assert_eq!((counts.page_programs, counts.bus_in_bytes), (1, 2176));

    let (counts, took_ns) = cost(&mtd, || mtd.erase(0).unwrap());
    // WRITE ENABLE, BLOCK ERASE 2 + 0.4, 250 + 2.3 + 34 x (50 + 2.3).
    assert_eq!(took_ns, 2_100 + 2_400 + 2_030_500);
    assert_eq!(counts.erases, 1);
}

/// However little is asked for, the data area crosses the bus whole, and there is no page that is kept.
#[test]
fn a_read_of_a_part_takes_as_long_as_one_of_the_page_each_time() {
    let mtd = ready();
    mtd.write(0, &pattern(1, 2 * PAGE)).unwrap();
    for (at, bytes, pages) in [(0, 64, 1), (0, 64, 1), (2047, 1, 1), (2000, 100, 2)] {
        let mut data = vec![0; bytes];
        let (counts, took_ns) = cost(&mtd, || assert_eq!(mtd.read(at, &mut data), Ok(Corrected::Clean)));
        assert_eq!(data, pattern(1, 2 * PAGE)[at as usize..at as usize + bytes]);
        assert_eq!((counts.page_reads, counts.bus_out_bytes, took_ns), (pages, pages * 2048, pages * 86_200));
    }
    let mut free = [0; 56];
    let (counts, took_ns) = cost(&mtd, || mtd.read_oob_free(0, &mut free).unwrap());
    assert_eq!((counts.oob_reads, counts.bus_out_bytes, took_ns), (1, 128, 35_000 + 128 * 25));
    let mut data = vec![0; 2048];
    let (counts, took_ns) = cost(&mtd, || assert!(mtd.read_page_with_oob(0, &mut data, &mut free).is_ok()));
    assert_eq!((counts.page_reads, counts.bus_out_bytes, took_ns), (1, 2176, 35_000 + 2176 * 25));
}

#[test]
fn lines_and_kernels_change_what_an_operation_takes() {
    let took = |wiring: Wiring, write: bool| {
        let mtd = on(wiring, 128);
        (0..16).for_each(|block| assert!(!mtd.ask_bad(block * BLOCK)));
        mtd.read(0, &mut [0; 1]).unwrap();
        let operation = || if write { mtd.write(0, &[0; 2048]) } else { mtd.read(0, &mut [0; 2048]).map(|_| ()) };
        cost(&mtd, || operation().unwrap()).1
    };
    let usual = winbond_kv();
    for (data_lines, data_ns) in [(1, 204_800), (2, 102_400), (4, 51_200), (8, 25_600)] {
        let over = Wiring { read: ReadCommand::over(data_lines), program_lines: 1, ..usual.clone() };
        assert_eq!(took(over.clone(), false), 35_000 + data_ns, "{data_lines}");
        assert_eq!(took(over, true), 6_800 + 217_600 + 250_300, "{data_lines}");
    }
    // 1S-4S-4S: two bytes of address and two dummy bytes over four lines.
    let quad = ReadCommand { address_lines: 4, dummy_clocks: 4, ..ReadCommand::over(4) };
    assert_eq!(took(Wiring { read: quad, ..usual.clone() }, false), 2_400 + 30_200 + 2_200 + 51_200);
    // Before Linux 5.14 the status is read without a pause: 11 x 2.3 us.
    let polls = Wiring { bus: Bus { waiting: Waiting::Polls, ..BUS }, ..usual };
    assert_eq!(took(polls, false), 2_400 + 25_300 + 2_400 + 51_200);
    // A FIFO of 512 bytes, from which the CPU copies a byte in 10 ns: five pieces of page and out-of-band area, four of the page.
    let fifo = Wiring { bus: Bus { copy_ps_per_byte: 10_000, transfer_max_bytes: 512, ..BUS }, ..winbond_kv() };
    assert_eq!(took(fifo.clone(), false), 2_400 + 30_200 + 4 * 2_400 + 2048 * 35);
    assert_eq!(took(fifo, true), 2_100 + 5 * 2_300 + 2_400 + 2176 * 35 + 250_300);
}

/// Whole pages of one erase block after one PAGE READ, between SET FEATURE twice and with a GET FEATURE for the status.
#[test]
fn pages_of_a_block_are_read_in_one_command_where_chip_and_kernel_can() {
    let read = |wiring, at, bytes: usize| {
        let mtd = on(wiring, 64);
        let all = pattern(3, 2 * BLOCK);
        mtd.write(0, &all).unwrap();
        let mut data = vec![0; bytes];
        let (counts, took_ns) = cost(&mtd, || assert_eq!(mtd.read(at, &mut data), Ok(Corrected::Clean)));
        assert_eq!(data, all[at as usize..at as usize + bytes]);
        (counts.page_reads, counts.bus_out_bytes, took_ns)
    };
    let able = || Wiring { continuous_reads: true, ..macronix() };
    assert_eq!(read(able(), 0, 8192), (4, 8192, 3 * 2_300 + 35_000 + 4 * 51_200));
    assert_eq!(read(able(), 2000, 2200), (3, 6144, 3 * 2_300 + 35_000 + 3 * 51_200));
    // Not in one page, not over two blocks, not by another chip or kernel, not if the controller must cut it.
    assert_eq!(read(able(), 2048, 2048), (1, 2048, 86_200));
    assert_eq!(read(able(), 6144, 4096), (2, 4096, 2 * 86_200));
    assert_eq!(read(macronix(), 0, 8192), (4, 8192, 4 * 86_200));
    let cut = Wiring { bus: Bus { transfer_max_bytes: 4096, ..BUS }, ..able() };
    assert_eq!(read(cut, 0, 8192), (4, 8192, 4 * 86_200));
}

#[test]
fn another_die_must_be_chosen_first() {
    let mtd = on(Wiring { dies: 2, ..winbond_gv() }, 64);
    let read = |at| cost(&mtd, || assert!(mtd.read(at, &mut [0; 16]).is_ok())).1;
    // The probe ends at the last die, with its ECC off; that of the first is on, as after power on.
    assert_eq!(
        [read(8 * BLOCK), read(15 * BLOCK), read(0), read(0), read(8 * BLOCK)],
        [2_300 + 86_200, 86_200, 2_200 + 86_200, 86_200, 2_200 + 86_200]
    );
}

#[test]
fn the_drivers_own_time_and_power_come_on_top() {
    let wiring = wiring(Layout::Half, Encoding::Register30h, 8);
    let power = PowerMilliwatt { cpu: 100.0, memory: 10.0 };
    let read = OpCost { overhead_ns: 7_000, power };
    let mtd = made(wiring.clone(), 128, Driver { ecc: wiring.ecc(), read, ..Driver::default() }).unwrap();
    mtd.read(0, &mut [0; 1]).unwrap();
    let (_, took_ns) = cost(&mtd, || assert!(mtd.read(0, &mut [0; 2048]).is_ok()));
    assert_eq!(took_ns, 93_200);
    // Two reads; SET FEATURE before the first costs no energy.
    assert_eq!(mtd.sim().energy().cpu_uj.round(), (2.0 * 93.2 * 0.1f64).round());
}

// ---- bit flips ----------------------------------------------------------------------------------------------------------

/// The most that reads of a page with up to `flips` flips report: 0 if it is below three quarters of the strength.
fn reported(encoding: Encoding, strength_bits: u32, flips: u32) -> (u32, bool, OpCounts) {
    let mtd = on(wiring(Layout::Half, encoding, strength_bits), 128);
    let written = pattern(5, PAGE);
    mtd.write(0, &written).unwrap();
    set_faults(&mtd, Faults { bitflips: flips, seed: 7, ..Faults::default() });
    let before = mtd.sim().total();
    let (mut most, mut failed) = (0, false);
    for _ in 0..30_000 {
        let mut data = vec![0; 2048];
        match mtd.read(0, &mut data) {
            Ok(Corrected::BitFlips(bits)) => most = most.max(bits),
            Ok(Corrected::Clean) => {}
            Err(error) => {
                assert_eq!(error, MtdError::Uncorrectable);
                failed = true;
                continue;
            }
        }
        assert_eq!(data, written, "{encoding:?}");
    }
    (most, failed, mtd.sim().total() - before)
}

/// One flip is a reason to move data with a chip that only says that there was one.
#[test]
fn what_is_reported_depends_on_what_the_chip_tells() {
    for (encoding, strength_bits, flips, most, failed) in [
        (Encoding::Generic, 1, 1, 1, false),
        (Encoding::Generic, 1, 8, 1, true),
        (Encoding::Generic, 4, 1, 4, false),
        (Encoding::Macronix, 4, 1, 0, false),
        (Encoding::Macronix, 4, 4, 3, false),
        (Encoding::GigadeviceQ4a, 8, 1, 7, false),
        (Encoding::GigadeviceQ4ue, 8, 2, 0, false),
        (Encoding::GigadeviceQ4uf, 8, 3, 0, false),
        (Encoding::Micron, 8, 3, 0, false),
        (Encoding::Micron, 8, 7, 6, false),
        (Encoding::Register30h, 8, 3, 0, false),
        (Encoding::Xtx, 8, 3, 0, false),
    ] {
        let (bits, uncorrectable, _) = reported(encoding, strength_bits, flips);
        assert_eq!((bits, uncorrectable), (most, failed), "{encoding:?} with {flips} flips");
    }
}

/// Reading the register that tells more is a transfer of 2.3 us.
#[test]
fn a_further_register_costs_a_transfer() {
    let driver_ns = |encoding| reported(encoding, 4, 1).2.driver_ns;
    let more_ns = driver_ns(Encoding::Macronix) - driver_ns(Encoding::Generic);
    assert!(more_ns > 0 && more_ns.is_multiple_of(2_300), "{more_ns}");
}

#[test]
fn a_torn_page_cannot_be_corrected_nor_can_its_out_of_band_bytes_be_trusted() {
    let mtd = ready();
    mtd.cut_power_after(1, Torn::Partial { seed: 3 });
    assert_eq!(mtd.write(0, &pattern(1, PAGE)), Err(MtdError::PowerCut));
    assert_eq!(mtd.read(0, &mut [0; 1]), Err(MtdError::PowerCut));
    mtd.restart();
    assert_eq!(mtd.read(0, &mut [0; 2048]), Err(MtdError::Uncorrectable));
    // The chip corrects the whole page for whatever is read of it.
    assert_eq!(mtd.read_oob_free(0, &mut [0; 8]), Err(MtdError::Uncorrectable));
    assert_eq!(mtd.read_oob_free(PAGE, &mut [0; 8]), Ok(()));
}

#[test]
fn one_status_tells_of_all_pages_of_a_continuous_read() {
    let mtd = on(Wiring { continuous_reads: true, ..macronix() }, 64);
    mtd.write(0, &pattern(1, 4 * PAGE)).unwrap();
    set_faults(&mtd, Faults { gravepages: vec![Weak { number: 2, good_operations: 0 }], ..Faults::default() });
    assert_eq!(mtd.read(0, &mut [0; 2 * 2048]), Ok(Corrected::Clean));
    assert_eq!(mtd.read(0, &mut [0; 4 * 2048]), Err(MtdError::Uncorrectable));
}

// ---- bad blocks ---------------------------------------------------------------------------------------------------------

/// `nanddev_isbad`: the first question reads the mark with ECC off, later ones ask the table.
#[test]
fn a_block_is_asked_once() {
    let mtd = on(winbond_kv(), 128);
    set_faults(&mtd, Faults { badblocks: vec![3], ..Faults::default() });
    let asked = |block: u64| {
        let mut bad = false;
        let (counts, took_ns) = cost(&mtd, || bad = mtd.ask_bad(block * BLOCK));
        (bad, counts.oob_reads, took_ns)
    };
    // The probe has left ECC off.
    assert_eq!([asked(2), asked(3), asked(3)], [(false, 1, 38_200), (true, 1, 38_200), (true, 0, 0)]);
    mtd.read(0, &mut [0; 1]).unwrap();
    assert_eq!(asked(4), (false, 1, 2_300 + 38_200));
    assert!(mtd.is_bad(3 * BLOCK) && !mtd.is_bad(5 * BLOCK));
    assert_eq!(mtd.erase(3 * BLOCK), Err(MtdError::BadBlock));
    // An erase asks, too.
    let (counts, _) = cost(&mtd, || mtd.erase(6 * BLOCK).unwrap());
    assert_eq!((counts.oob_reads, counts.erases), (1, 1));
}

/// `nanddev_markbad`: no erase before the mark, two bytes of it, and the block is bad even if the mark could not be programmed.
#[test]
fn a_mark_is_programmed_into_a_block_as_it_is() {
    let mtd = ready();
    mtd.write(2 * BLOCK, &pattern(1, PAGE)).unwrap();
    let (counts, took_ns) = cost(&mtd, || mtd.mark_bad(2 * BLOCK).unwrap());
    // ECC goes off; the mark and a page of 0xFF go over the bus.
    assert_eq!((counts.oob_programs, counts.bus_in_bytes, counts.erases, took_ns), (1, 2176, 0, 2_300 + 311_500));
    let mark = mtd.nand().unwrap().with_chip(|chip| chip.peek_oob(8).unwrap()[..3].to_vec());
    assert_eq!(mark, [0, 0, 0xFF]);
    mtd.restart();
    assert!(mtd.ask_bad(2 * BLOCK) && !mtd.ask_bad(BLOCK));

    set_faults(&mtd, Faults { weakpages: vec![Weak { number: 20, good_operations: 0 }], ..Faults::default() });
    assert_eq!(mtd.mark_bad(5 * BLOCK), Ok(()));
    assert!(mtd.is_bad(5 * BLOCK));
}

/// The kernel looks at two bytes for the mark, and hands the second of them out as free with GigaDevice's layouts: what a file
/// system keeps there makes a bad block of it at the next start.
#[test]
fn gigadevices_first_free_byte_is_a_part_of_the_mark() {
    for (layout, bad) in [(Layout::GigadeviceQ4a, true), (Layout::WinbondW25m02gv, false)] {
        let mtd = on(wiring(layout, Encoding::Generic, 1), 64);
        mtd.write_oob_free(0, &[0x85, 0x19]).unwrap();
        mtd.restart();
        assert_eq!(mtd.ask_bad(0), bad, "{layout:?}");
    }
}

// ---- what it is not -----------------------------------------------------------------------------------------------------

#[test]
fn parts_of_pages_cannot_be_programmed() {
    let mtd = ready();
    assert_eq!(mtd.capabilities().partial_program_bytes, 2048);
    assert_eq!(mtd.write_partial(0, &[0; 512]), Err(MtdError::Unaligned));
    assert_eq!(mtd.write_partial(0, &[0; 2048]), Ok(()));
}

#[test]
fn what_does_not_suit_the_chip_is_refused() {
    let refused = |wiring: Wiring, oob_bytes| {
        let driver = Driver { ecc: wiring.ecc(), ..Driver::default() };
        made(wiring, oob_bytes, driver).err().unwrap().to_string()
    };
    assert!(refused(winbond_kv(), 64).contains("does not suit pages of 2048 + 64 bytes"));
    let too_strong = wiring(Layout::Half, Encoding::GigadeviceQ5, 8);
    assert_eq!(refused(too_strong, 128), "ecc_strength_bits = 8: the chip's ecc_status can tell of 1 to 4 bits");
    assert!(refused(Wiring { dies: 3, ..winbond_kv() }, 128).contains("16 blocks of the chip cannot be divided"));
    let text = made(winbond_kv(), 128, Driver::default()).err().unwrap().to_string();
    assert_eq!(text, "SPI NAND corrects its pages itself: hardware ECC cannot stand above it; leave `ecc` out");
}

#[test]
fn a_partition_beside_shares_the_chip_and_its_table() {
    let mtd = ready();
    let beside = mtd.beside(8..16, mtd.sim().clone()).unwrap().unwrap();
    assert!(mtd.beside(8..17, mtd.sim().clone()).unwrap().is_err());
    let (counts, took_ns) = cost(&mtd, || assert!(!beside.ask_bad(0)));
    assert_eq!((counts.oob_reads, took_ns), (0, 0));
    beside.write(0, &pattern(1, PAGE)).unwrap();
    let mut data = vec![0; 2048];
    let (_, took_ns) = cost(&mtd, || assert!(mtd.read(8 * BLOCK, &mut data).is_ok()));
    assert_eq!((took_ns, data), (86_200, pattern(1, PAGE)));
}
