//! Debian's kernel for amd64 on QEMU, with memory in the place of NOR (`drivers/mtd/devices/mtdram.c`): what its work costs.
//!
//! As in `nandsim.rs` a price is a number of instructions, from the least intervals between two operations of one task in the traces of
//! reference runs, in 250 instructions a us: 7 us from a read of a header of 64 B to the next one; 9 us from a program of such a header
//! to the erase of the next block, by UBI's thread; 40 us from an erase of 64 KiB to the program of the header behind it, 73 us from one of
//! 128 KiB. So the memory is filled by eight bytes an instruction; it is copied alike. JFFS2's thread takes 240 and 469 us from an erase to the
//! clean marker: beside the erase it looks at all bytes of the block where they stand, by words of 64 bits.

use super::arm::Prices;
use super::debian;
use crate::case::Case;
use ffslab_flash::NorRead;
use ffslab_machine::stack::StackSpec;
use ffslab_sim::{Work, WorkCost};

const DRIVER_READ: u64 = 1_750;
const DRIVER_PROGRAM: u64 = 2_300;
const DRIVER_ERASE: u64 = 1_750;
/// Thousandths of an instruction for each byte that is copied or set.
const COPY_PER_BYTE: u64 = 125;
/// The same for each byte of an erased block that is looked at.
const BLANK_CHECK_PER_BYTE: u64 = 750;
/// JFFS2's work as on NAND (`nandsim.rs`), but that nodes are written without a write buffer: 1200 writes of 4 KiB take 156.4 ms, 6 us
/// each less than with one.
const WORK: [(Work, u64, u64); 3] =
    [(Work::NodeWrite, 1_500, 4_160), (Work::NodeRead, 1_200, 3_200), (Work::PageFill, 1_050, 0)];

/// Lets work and memory take as long on `stack` as on the machine of the case, if that was such a one.
pub(super) fn price(case: &Case, stack: &mut StackSpec, prices: &Prices) {
    let block_bytes = u64::from(stack.partition.geometry.block_bytes());
    let (Some(nor), Some(each_ns)) = (&mut stack.partition.nor, debian::instruction_ns(case)) else {
        return;
    };
    let ps_per_byte = COPY_PER_BYTE * each_ns;
    nor.cells.read = NorRead::Serial { ps_per_byte };
    nor.cells.load_ps_per_byte = ps_per_byte;
    nor.cells.erase_ns = block_bytes * ps_per_byte / 1_000;
    nor.driver.read.overhead_ns = DRIVER_READ * each_ns;
    nor.driver.program.overhead_ns = DRIVER_PROGRAM * each_ns;
    nor.driver.erase.overhead_ns = DRIVER_ERASE * each_ns;
    prices.of_calls(stack, each_ns);
    debian::price(case, stack, each_ns);
    if case.system.fs == "jffs2" {
        for (work, each, per_byte) in WORK {
            stack.cpu_costs.of[work as usize] = WorkCost { each_ns: each * each_ns, per_byte_ps: per_byte * each_ns };
        }
    }
    stack.cpu_costs.of[Work::BlankCheck as usize] =
        WorkCost { each_ns: 0, per_byte_ps: BLANK_CHECK_PER_BYTE * each_ns };
}
