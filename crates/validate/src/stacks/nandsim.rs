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
use crate::case::Case;
use ffslab_machine::stack::StackSpec;
use ffslab_sim::units::us_to_ns;
use ffslab_sim::{Work, WorkCost};

const DRIVER_READ: u64 = 2_400;
/// What the second operation costs beside the chip's time.
const DRIVER_READ_PART: u64 = 1_050;
const DRIVER_PROGRAM: u64 = 13_000;
const DRIVER_ERASE: u64 = 3_000;
/// From the steps of the traces: `drop_caches` without pages takes 8.6 ms, with 256 pages 10.6 ms, with 512 12.5 ms; to unmount 512 pages
/// takes 4.0 ms, none 0.2 ms.
const PAGE_DROP: u64 = 1_900;
const DROP_CACHES: u64 = 2_150_000;
/// Thousandths of an instruction for each byte: of its ECC, one way.
const SOFTWARE_ECC_PER_BYTE: u64 = 2_580;

/// Pages that leave the page cache, and what `drop_caches` takes beside them.
pub(super) fn price_dropped(stack: &mut StackSpec, each_ns: u64) {
    stack.vfs.costs.page_drop_ns = PAGE_DROP * each_ns;
    stack.vfs.costs.drop_caches_ns = DROP_CACHES * each_ns;
}

/// How long an instruction takes on the machine that `tree` describes: "Debian's for amd64, on QEMU with 250 instructions a us".
pub(super) fn instruction_ns(tree: &str) -> Option<u64> {
    let (before, _) = tree.strip_prefix("Debian's for amd64, on QEMU with ")?.split_once(" instructions a us")?;
    1_000_u64.checked_div(before.parse().ok()?)
}

/// Lets work and chip take as long on `stack` as on the machine of the case, if that was such a one.
pub(super) fn price(case: &Case, stack: &mut StackSpec, prices: &Prices) {
    let Some(each_ns) = case.system.tree.as_deref().and_then(instruction_ns) else { return };
    if stack.partition.nor.is_some() {
        return;
    }
    let transfer_ns = us_to_ns(case.flash.bus_ns_per_byte.unwrap_or(0.0) * f64::from(case.flash.page_bytes) / 1_000.0);
    let timing = &mut stack.partition.timing;
    timing.bus_ps_per_byte = 0;
    let driver = &mut stack.partition.driver;
    driver.read.overhead_ns += transfer_ns + DRIVER_READ * each_ns;
    driver.read_part_ns = timing.read_ns + transfer_ns + DRIVER_READ_PART * each_ns;
    driver.program.overhead_ns += transfer_ns + DRIVER_PROGRAM * each_ns;
    driver.erase.overhead_ns += DRIVER_ERASE * each_ns;
    prices.of_calls(stack, each_ns);
    price_dropped(stack, each_ns);
    stack.cpu_costs.of[Work::SoftwareEcc as usize] =
        WorkCost { each_ns: 0, per_byte_ps: SOFTWARE_ECC_PER_BYTE * each_ns };
}

#[cfg(test)]
mod tests {
    use super::instruction_ns;

    #[test]
    fn the_speed_of_the_machine_stands_in_the_tree() {
        assert_eq!(instruction_ns("Debian's for amd64, on QEMU with 250 instructions a us; built with X"), Some(4));
        assert_eq!(instruction_ns("Debian's for armhf, on QEMU with 250 instructions a us"), None);
        assert_eq!(instruction_ns("user-mode Linux"), None);
    }
}
