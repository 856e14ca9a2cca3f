//! Debian's kernel for amd64 on QEMU, with a chip that nandsim simulates: what its work costs, and how long its chip takes.
//!
//! nandsim (`drivers/mtd/nand/raw/nandsim.c`, `do_state_action`) waits for the bus as for a whole page whatever moves over it, in each
//! read and each program; and the driver reads a part of a page in two operations, the data and then their ECC bytes. The machine
//! takes the same time for each instruction, so a price is a number of instructions. They are the least intervals between two
//! operations of one task in the traces of reference runs, less the chip's time, in 250 instructions a us: 158 us from a read of a page of
//! 2048 B to the next one; 271, 274, 277 ... 287 us from a read of 256, 512, 768 ... 1792 B of it; 375 us from a program by UBI's thread;
//! 1012 us from an erase by JFFS2's thread. What file systems do beside that is priced as on the emulated ARM (`arm.rs`): it is the same
//! code in about as many instructions.

use super::arm::Prices;
use super::debian;
use crate::case::Case;
use ffslab_machine::stack::StackSpec;
use ffslab_mtd::PageMemory;
use ffslab_sim::units::us_to_ns;
use ffslab_sim::{CopiedNode, Work, WorkCost};

const DRIVER_READ: u64 = 2_400;
/// A chip with pages of at most so many bytes has a command for each half of a page: a read takes 56 us, 3.5 us more than by the other
/// prices, and a block is scanned by other ones.
const SMALL_PAGE_BYTES: u32 = 512;
const SMALL_PAGE_READ: u64 = 875;
const SMALL_PAGE_SCAN_BLOCK: u64 = 8_000;
/// Pages that one call of the driver programs follow each other after 258 us, and the first of them follows the one that the write buffer
/// had filled after 263 us: a page costs the file system nearly nothing beside the program, and a summary 16 us.
const SMALL_PAGE_FLUSH: u64 = 150;
const SMALL_PAGE_SUMMARY: u64 = 4_000;
/// The first read behind an erase follows 10 us sooner.
const SMALL_PAGE_DRIVER_ERASE: u64 = 500;
/// Making a file, beyond [`CREATE`].
const SMALL_PAGE_CREATE: u64 = 52_000;
/// With bits that flip, each read of a page that was programmed draws a random number (`ns_do_bit_flips`), 45 us.
/// That is as much as a block of ChaCha takes, which a generator without a seed computes each time (`drivers/char/random.c`).
const DRAW: u64 = 11_200;
/// What the second operation costs beside the chip's time.
const DRIVER_READ_PART: u64 = 1_050;
/// A program, and thousandths of an instruction for each byte that it puts into the page.
const DRIVER_PROGRAM: u64 = 4_750;
const PROGRAM_PER_BYTE: u64 = 3_990;
/// What UBI and UBIFS take beside a program of a page: 393 us from one to the next one of the same LEB.
const UBI_PROGRAM: u64 = 4_500;
/// A new slab for pages, so much longer takes each fifteenth program of a page in the steps `create`: 65 us with pages of 2048 B, which
/// are in slabs of 32 KiB, and 60 us with 512 B in 8 KiB.
const SLAB: u64 = 16_250;
const SMALL_SLAB: u64 = 15_000;
/// Slabs that are kept when a chip goes: five on the list of the node (`min_partial`), four on that of the CPU (`set_cpu_partial`: 24
/// objects of this size).
const SLABS_OF_CHIP_BEFORE: u32 = 9;
const FIRST_CHIP_UNTIL_US: f64 = 13e6;
/// An erase by a program takes 1063 us to the first read behind it, one of an empty block, by JFFS2's thread, 1012 us.
const PAGE_FREE: u64 = 210;
const DRIVER_ERASE: u64 = 3_000;
/// From the program before an erase to the erase, beyond what lies between two programs: 23 to 31 us in blocks of 16 KiB, 14 to 43 us in
/// blocks of 128 KiB.
const BEFORE_ERASE: u64 = 7_500;
/// `fsync` on a partition with no block to collect: a pass that ends at once, before the buffer is padded. From an append of 4 KiB to the
/// next one 1266 us pass, 863 us from a node of the step `create` to the next one.
const PASS_IN_VAIN: u64 = 1_250;
/// A fragment over which garbage collection walks.
const FRAGMENT: u64 = 27;
/// Thousandths of an instruction for each byte: of its ECC, one way.
const SOFTWARE_ECC_PER_BYTE: u64 = 2_580;

/// Work that costs something else than on the emulated ARM.
///
/// A node in the step `create` takes 3 us longer on average than at least, as each few nodes the allocators need more memory for
/// pages and what stands for nodes; so a node's price is the average.
const WORK: [(Work, u64, u64); 7] = [
    (Work::GcPass, 750, 0),
    (Work::NodeWrite, 4_140, 4_034),
    (Work::PageFill, 1_050, 0),
    (Work::ScanBlock, 11_800, 0),
    (Work::BufferFlush, 3_600, 0),
    (Work::BlankCheck, 1_050, 750),
    (Work::NodeRead, 1_200, 3_200),
];
/// A node that garbage collection moves as it is, read or written: it is checked, and whole pages of it are not copied.
const COPIED_NODE: (u64, u64) = (400, 1_350);
/// Making a file: 227 us from the step to the first program of a file on JFFS2, 165 us more than what is priced otherwise.
const CREATE: u64 = 41_000;
/// From the program before such a node to its read, beyond what lies between other nodes: 30 us.
const BEFORE_COPY: u64 = 7_500;
/// From the program before a summary to the first of the summary, beyond what lies between two pages: 33 us.
const SUMMARY: u64 = 8_300;

fn is_bch(case: &Case) -> bool {
    case.system.ecc.is_some_and(|ecc| ecc.engine().name == "bch")
}

/// Thousandths of an instruction for each byte of its ECC. BCH of 1, 4 and 8 bits lets a program of 2048 B take 60, 79 and 118 us longer
/// than Hamming, in the steps `create` of cases that have the one or the other.
fn ecc_per_byte(case: &Case) -> u64 {
    let of_bch = match case.system.ecc_strength_bits {
        Some(..=1) => 7_370,
        Some(..=4) | None => 9_640,
        Some(_) => 14_420,
    };
    SOFTWARE_ECC_PER_BYTE + if is_bch(case) { of_bch } else { 0 }
}

/// What software BCH costs a read of a page without flipped bits beyond its ECC, which Hamming's code compares in nearly no time: with 1, 4
/// and 8 bits, reads that follow each other are 1.0, 3.1 and 3.6 us further apart.
fn decoding(case: &Case) -> u64 {
    match (is_bch(case), case.system.ecc_strength_bits) {
        (false, _) => 0,
        (true, Some(..=1)) => 250,
        (true, Some(..=4) | None) => 775,
        (true, Some(_)) => 900,
    }
}

/// Whether no chip was simulated on the machine before. The first variant of an experiment begins 12.80 s after the boot, each further one
/// later.
pub(super) fn is_first_chip(case: &Case) -> bool {
    case.system.uptime_us.is_none_or(|uptime_us| uptime_us < FIRST_CHIP_UNTIL_US)
}

/// How many pages with their OOB areas are in a slab (`calculate_order` of `mm/slub.c`, on one CPU): 15 of 528 B in 8 KiB, 15 of 2112 B in
/// 32 KiB, which is the most; 7 of 4 KiB and more.
fn pages_per_slab(page_bytes: u32) -> u32 {
    if page_bytes <= 2_048 {
        15
    } else {
        7
    }
}

/// Lets work and chip take as long on `stack` as on the machine of the case, if that was such a one.
pub(super) fn price(case: &Case, stack: &mut StackSpec, prices: &Prices) {
    let Some(each_ns) = debian::instruction_ns(case) else { return };
    if stack.partition.nor.is_some() {
        return;
    }
    let transfer_ns = us_to_ns(case.flash.bus_ns_per_byte.unwrap_or(0.0) * f64::from(case.flash.page_bytes) / 1_000.0);
    let timing = &mut stack.partition.timing;
    timing.bus_ps_per_byte = 0;
    let driver = &mut stack.partition.driver;
    timing.read_ns += transfer_ns;
    timing.program_ns += transfer_ns;
    driver.read.overhead_ns += DRIVER_READ * each_ns;
    driver.read_part_wait_ns = timing.read_ns;
    driver.read_part_ns = DRIVER_READ_PART * each_ns;
    let of_ubi = if case.system.fs == "ubifs" { UBI_PROGRAM } else { 0 };
    driver.program.overhead_ns += (DRIVER_PROGRAM + of_ubi) * each_ns;
    driver.program_data_ns = u64::from(case.flash.page_bytes) * PROGRAM_PER_BYTE * each_ns / 1_000;
    let has_small_pages = case.flash.page_bytes <= SMALL_PAGE_BYTES;
    driver.erase.overhead_ns += (if has_small_pages { SMALL_PAGE_DRIVER_ERASE } else { DRIVER_ERASE }) * each_ns;
    let slab = if has_small_pages { SMALL_SLAB } else { SLAB };
    driver.page_memory = Some(PageMemory {
        pages_per_slab: pages_per_slab(case.flash.page_bytes),
        slab_ns: slab * each_ns,
        free_ns: PAGE_FREE * each_ns,
        draw_ns: if case.flash.faults.bitflips > 0 { DRAW * each_ns } else { 0 },
        slabs_at_hand: if is_first_chip(case) { 0 } else { SLABS_OF_CHIP_BEFORE },
    });
    if has_small_pages {
        driver.read.overhead_ns += SMALL_PAGE_READ * each_ns;
    }
    driver.read.overhead_ns += decoding(case) * each_ns;
    prices.of_calls(stack, each_ns);
    debian::price(case, stack, each_ns);
    stack.vfs.costs.create_ns = (CREATE + if has_small_pages { SMALL_PAGE_CREATE } else { 0 }) * each_ns;
    let cost = |each, per_byte| WorkCost { each_ns: each * each_ns, per_byte_ps: per_byte * each_ns };
    stack.cpu_costs.copied_node =
        Some(CopiedNode { before_ns: BEFORE_COPY * each_ns, each_way: cost(COPIED_NODE.0, COPIED_NODE.1) });
    stack.cpu_costs.summary_ns = SUMMARY * each_ns;
    stack.cpu_costs.fragment_ns = FRAGMENT * each_ns;
    stack.cpu_costs.pass_in_vain_ns = Some(PASS_IN_VAIN * each_ns);
    stack.cpu_costs.before_erase_ns = BEFORE_ERASE * each_ns;
    for (work, each, per_byte) in WORK {
        stack.cpu_costs.of[work as usize] = cost(each, per_byte);
    }
    if has_small_pages {
        stack.cpu_costs.of[Work::ScanBlock as usize] = cost(SMALL_PAGE_SCAN_BLOCK, 0);
        stack.cpu_costs.of[Work::BufferFlush as usize] = cost(SMALL_PAGE_FLUSH, 0);
        stack.cpu_costs.summary_ns = SMALL_PAGE_SUMMARY * each_ns;
    }
    stack.cpu_costs.of[Work::SoftwareEcc as usize] = cost(0, ecc_per_byte(case));
}
