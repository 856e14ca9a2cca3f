//! The emulated ARM926 on which the cases of Linux 2.6.37 were measured: what its work costs.
//!
//! The machine takes the same time for each instruction, so a price is a number of instructions. They are taken from
//! latencies of cases: what a call takes beyond the time of the chip. Reading back two pages of an erased block takes 14.3 us
//! of CPU time (22.5 us with software ECC): the difference between reads during which the garbage collection thread
//! completes an erase with five and with six such steps to go. A page program takes 12.6 us: creations of small files that
//! fill a page against those that do not. With these prices the mean latencies of most families agree within 1 % in the
//! median.

use super::set_wall_clock;
use crate::case::Case;
use ffslab_lab::run::Pace;
use ffslab_machine::media::PartitionSpec;
use ffslab_machine::stack::StackSpec;
use ffslab_sim::{CopiedNode, NandWait, Work, WorkCost};
use ffslab_workload::steps::Pattern;
use ffslab_workload::Step;

/// How far into its second the wall clock was when a case began, on the machine on which an instruction takes 1 ns and on the one
/// where it takes 2 ns. It was not recorded. UBIFS keeps the times of its inodes by whole seconds (`s_time_gran`, `update_mctime` of
/// `fs/ubifs/file.c`), so a write behind the end of a second also makes the inode dirty, and how many pages a synchronous writer
/// programs tells where seconds end. Each of the values is inferred as one for all cases of its machine: page programs of
/// synchronous writes and of overwrites are most often those of the real kernel from 252 to 255 ms and from 300 to 320 ms, and off by
/// one to six elsewhere. It is not the place in the second at which the tick counter stood
/// ([`Prices::uptime_ns`]), which lags behind the clock.
const WALL_CLOCK_NS: u64 = 253_500_000;
const SLOWER_WALL_CLOCK_NS: u64 = 314_000_000;

/// What the kernel, the measuring program and the tree in memory that it was started from keep of `MemTotal`: neither free nor
/// clean pages of files, so that no part of it counts in the limits of dirty pages (`determine_dirtyable_memory` of
/// `mm/page-writeback.c`). Not recorded; inferred as one value from all cases of the wear paper with 56 MB of memory, where
/// writers wait at these limits.
const MEMORY_TAKEN_KIB: u64 = 5 * 1024;

/// nandsim lets the chip's time pass by `udelay`, whose loops are counted before by a calibration that is right to one part in 256
/// (`init/calibrate.c`, `lps_precision`). On the machine on which an instruction takes 2 ns, delays are shorter by so much than the
/// chip's time: a program takes 0.9 to 1.3 us less there than by the other prices.
const DELAYS_SHORT_PPM: u64 = 3_100;
const SLOWER_NS: u64 = 2;

/// Numbers of instructions that differ between file systems: what one of them does beside a call has no price of its own.
pub(super) struct Prices {
    /// How long the machine had been up when a case began, modulo 1 s (128 ticks): the one on which an instruction takes 1 ns, and the one
    /// where it takes 2 ns. The uptime was not recorded. Each value is inferred as one for all cases of its machine; the comments of the
    /// file systems say from what.
    uptime_ns: u64,
    slower_uptime_ns: u64,
    /// The driver, for a page that is read.
    driver_read: u64,
    /// The driver, for a page that is programmed.
    driver_program: u64,
    /// The driver, and what the file system does in the same go, for a block that is erased.
    driver_erase: u64,
    /// A driver that polls with `cond_resched()`, for a program or an erase: how much the wait exceeds the chip's time in the mean,
    /// with the threads that use the CPU meanwhile. With it the background threads get on as far as they did.
    poll: u64,
    /// See [`DELAYS_SHORT_PPM`].
    delays_short_ppm: u64,
    /// So much of each of the driver's parts takes as long on the slower machine.
    driver_same: u64,
    /// The driver, for the mark of a block that it reads in an erase without a table of bad blocks.
    bad_block_mark: u64,
    /// What an operation takes longer whose end the driver sleeps for.
    sleeping_wait: u64,
    /// A tick of the timer.
    tick: u64,
    /// What garbage collection takes for a chunk that it copies beside its read and its program, on the faster machine, in
    /// nanoseconds.
    copied_chunk_ns: u64,
    /// A header beside its chunk.
    header: u64,
    /// Entry and exit of a system call.
    call: u64,
    /// What write(2) takes beside that and its pages.
    write: u64,
    /// Taking a page out of the page cache, and what that takes more when its file is deleted.
    page_drop: u64,
    page_delete: u64,
    /// Each piece of work, and thousandths of an instruction for each of its bytes.
    work: &'static [(Work, u64, u64)],
}

/// What has no price of its own because the other prices contain it.
const NOTHING: Prices = Prices {
    uptime_ns: 0,
    slower_uptime_ns: 0,
    driver_read: 0,
    driver_program: 0,
    driver_erase: 0,
    poll: 0,
    delays_short_ppm: 0,
    driver_same: 0,
    bad_block_mark: 0,
    sleeping_wait: 0,
    tick: 0,
    copied_chunk_ns: 0,
    header: 0,
    call: 0,
    write: 0,
    page_drop: 0,
    page_delete: 0,
    work: &[],
};

/// Prices of JFFS2, from latencies of reads and writes during which no background task ran: cached reads give call and copy,
/// 2 and 4 KiB at a time; a sequential against a random read (two against three pages of the chip for one node) the driver's
/// part of a page; single writes of 2, 4, 8 and 32 KiB the node; six against five steps of a check of an erased block, of two
/// pages each, the comparison. What dropping a page takes shows in when the garbage collection thread gets its turn after
/// `drop_caches`: 1,280 pages (family R1) took 1.3 to 6.8 ms, 8,192 pages (R2) 7.9 to 17.3 ms.
///
/// The uptimes: with them the garbage collection thread has erased as much when the setup ends, and stands where it stood in the
/// cases of the families R1 to R3 (in the middle of an erase, with 10 pages to go, 12 with software ECC). Part of the last tick
/// decides that, and 50 us more or less change it.
pub(super) const JFFS2: Prices = Prices {
    uptime_ns: 168_000_000,
    slower_uptime_ns: 171_562_500,
    driver_read: 4_050,
    driver_program: 12_600,
    driver_erase: 40_000,
    poll: 200,
    delays_short_ppm: DELAYS_SHORT_PPM,
    call: 673,
    page_drop: 1_300,
    work: &[
        (Work::PageFill, 1_900, 0),
        (Work::NodeWrite, 1_500, 4_500),
        (Work::NodeRead, 2_000, 4_500),
        (Work::PageRead, 180, 410),
        (Work::BlankCheck, 0, 1_510),
        (Work::GcPass, 4_000, 0),
        (Work::SoftwareEcc, 0, 2_000),
    ],
    ..NOTHING
};

/// The page cache and calls as with UBIFS: it is the same code. What a chunk takes beside that comes from the least and the usual
/// latencies of writes and reads of 2 KiB to 512 KiB, of new pages and of old ones, on both machines (they agree within 0.1 %); an erase
/// from writes of 256 and 512 KiB that overwrite a file, which erase a block for each 64 pages; the comparison from writes into
/// the first page of a block, which is read before and behind it.
///
/// The uptimes: the background thread looks whether to collect garbage each second, or each 13 ticks, counted from the mount, and
/// copies up to five chunks then. How many it copies beside a given workload tells, to 0.2 ms, where in its tick the machine was;
/// requests of 2, 8 and 32 KiB, of two seeds, with both kinds of ECC, agree in that.
pub(super) const YAFFS2: Prices = Prices {
    uptime_ns: 333_900_000,
    slower_uptime_ns: 33_900_000,
    driver_read: 4_720,
    driver_program: 11_440,
    driver_erase: 8_260,
    driver_same: 880,
    bad_block_mark: 2_700,
    sleeping_wait: 2_450,
    tick: 1_200,
    copied_chunk_ns: 1_200,
    header: 690,
    call: 644,
    write: 206,
    page_drop: 850,
    page_delete: 850,
    work: &[
        (Work::PageWrite, 1_123, 368),
        (Work::PageRead, 300, 373),
        (Work::PageFill, 1_350, 0),
        (Work::PageActivate, 118, 0),
        (Work::PageClear, 0, 335),
        (Work::BlankCheck, 0, 6_450),
        (Work::SoftwareEcc, 0, 1_950),
    ],
    ..NOTHING
};

/// A page is read in 5.4 us beyond the chip's time, as sequential reads show that miss the cache; what a node costs to read comes
/// from the latencies of reads (families R1 to R4), what it costs to write from those of fsync (family S). What a page of a write
/// takes comes from writes that stay in the page cache: 4 KiB that are cached take 2.92 us, 512 KiB 264.7, the same in new pages 4.04
/// and 431.9, 2 KiB 2.17 and 3.79. A program and an erase are what the step `fsync` takes after 20 MiB were written, with few and with
/// many erases in it. What a page takes that goes with its file
/// lets UBI's thread erase as much before the measured part begins as it did (`setup_erases_total`), with hardware and software ECC,
/// with and without a bad-block table, beside a small and a large static file, on both machines. A part of it is what UBIFS does to
/// delete a file, each key of which leaves the index and dirties a LEB (`ubifs_tnc_remove_range` of `fs/ubifs/tnc.c`): pages that
/// `drop_caches` drops take less, and with half of it later writes meet the thread where they met it (family X).
///
/// Clearing a new page before a part of it is written, and moving a page to the active ones, are what writes of 2 KiB take longer
/// than those of whole pages, and second ones longer than third ones.
///
/// The uptimes: UBI's thread has erased as much when the setup ends as it did, and has finished its last block on the slower machine.
/// All cases but those of memory limits, of sleeping waits and of large static files agree from 32.6 to 32.75 ms, and from 34.12
/// to 34.15 ms. What polling takes is inferred together with the first: from 245 to 265 both the erases of the setup and how long
/// writes wait for UBI's thread are right.
pub(super) const UBIFS: Prices = Prices {
    uptime_ns: 32_700_000,
    slower_uptime_ns: 34_140_000,
    driver_read: 5_420,
    driver_program: 12_200,
    driver_erase: 8_260,
    poll: 255,
    delays_short_ppm: DELAYS_SHORT_PPM,
    call: 644,
    write: 206,
    page_drop: 850,
    page_delete: 850,
    work: &[
        (Work::PageWrite, 563, 368),
        (Work::PageRead, 300, 373),
        (Work::PageFill, 1_300, 0),
        (Work::PageActivate, 118, 0),
        (Work::PageClear, 0, 122),
        (Work::NodeWrite, 4_000, 4_000),
        (Work::NodeRead, 1_750, 4_000),
        (Work::Crc, 0, 350),
        (Work::SoftwareEcc, 0, 1_950),
    ],
    ..NOTHING
};

/// How long an instruction takes on the case's machine. `None`: it is not this machine.
pub(super) fn instruction_ns(case: &Case) -> Option<u64> {
    case.system.tree.as_deref().and_then(instruction_ns_of)
}

/// From the description of a machine: "... 2 ns an instruction)".
fn instruction_ns_of(tree: &str) -> Option<u64> {
    let (before, _) = tree.split_once(" ns an instruction")?;
    before.rsplit(' ').next()?.parse().ok()
}

/// The uptime at which a case begins. `None`: it is not this machine.
pub(super) fn uptime_ns(case: &Case, prices: &Prices) -> Option<u64> {
    match instruction_ns(case)? {
        SLOWER_NS => Some(prices.slower_uptime_ns),
        _ => Some(prices.uptime_ns),
    }
}

/// Lets work take as long on `stack` as on the machine of the case, and gives it as much memory. Nothing happens if that was
/// user-mode Linux, whose time stands still while code runs.
pub(super) fn price(case: &Case, stack: &mut StackSpec, prices: &Prices) {
    let Some(each_ns) = instruction_ns(case) else { return };
    if let Some(kib) = case.system.mem_total_kib {
        stack.vfs.page_cache_bytes = kib.saturating_sub(MEMORY_TAKEN_KIB) << 10;
    }
    if case.system.wall_clock_us.is_none() {
        let wall_ns = if each_ns == SLOWER_NS { SLOWER_WALL_CLOCK_NS } else { WALL_CLOCK_NS };
        set_wall_clock(stack, wall_ns);
    }
    let poll = if case.system.cond_resched_after_program_and_erase { prices.poll } else { 0 };
    let short_ppm = if each_ns == SLOWER_NS { prices.delays_short_ppm } else { 0 };
    let PartitionSpec { driver, timing, geometry, .. } = &mut stack.partition;
    let page_ns = u64::from(geometry.page_bytes + geometry.oob_bytes) * timing.bus_ps_per_byte / 1_000;
    let beside = if stack.sim.nand_wait == NandWait::Sleep { prices.sleeping_wait } else { 0 };
    let overhead_ns = |instructions: u64, delay_ns: u64| {
        let computed_ns = (instructions + beside) * each_ns - prices.driver_same * (each_ns - 1);
        computed_ns.saturating_sub(delay_ns * short_ppm / 1_000_000)
    };
    let mark = if driver.has_bad_block_table { 0 } else { prices.bad_block_mark };
    driver.read.overhead_ns += overhead_ns(prices.driver_read, timing.read_ns + page_ns);
    driver.program.overhead_ns += overhead_ns(prices.driver_program + poll, timing.program_ns + page_ns);
    driver.erase.overhead_ns += overhead_ns(prices.driver_erase + poll + mark, timing.erase_ns);
    stack.vfs.costs.page_drop_ns += prices.page_drop * each_ns;
    stack.vfs.costs.page_delete_ns += prices.page_delete * each_ns;
    stack.sim.tick_cost_ns = prices.tick * each_ns;
    stack.sim.delays_are_loops = true;
    stack.cpu_costs.header_ns += prices.header * each_ns;
    if each_ns != SLOWER_NS && prices.copied_chunk_ns > 0 {
        stack.cpu_costs.copied_node = Some(CopiedNode { before_ns: prices.copied_chunk_ns, ..CopiedNode::default() });
    }
    prices.of_calls(stack, each_ns);
}

/// What the measuring program computes, in instructions. Inferred from durations that the cases of all file systems tell: those of
/// steps beyond the sum of their calls, and those between the end of a step and the reading of the counters (`after_step`).
struct Program {
    each_ns: u64,
}

/// A request at the place after the last one: reading the clock twice, keeping the difference (0.52 us; 1.04 us where an instruction
/// takes 2 ns).
const NEXT_SEQUENTIAL: u64 = 520;
/// A random place: a 64-bit number, divided by software (1.06 and 2.12 us).
const NEXT_RANDOM: u64 = 1_060;
const NEXT_APPEND: u64 = 310;
/// The name of the next file is printed.
const NEXT_FILE: u64 = 1_990;
/// A sleep beside the time slept and the timer's slack: setting the timer, its interrupt, the way out of the idle loop.
const SLEEP: u64 = 3_070;
/// Statistics of latencies, which are sorted: so much in any case, for each of n calls, and for each of n x log2(n) comparisons (34 us
/// for 1 call, 0.84 ms for 512, 23 ms for 10,240).
const EVALUATION: u64 = 31_000;
const EVALUATION_PER_CALL: u64 = 120;
const EVALUATION_PER_COMPARISON: u64 = 160;

impl Pace for Program {
    fn after_call_ns(&self, step: &Step) -> u64 {
        let instructions = match step {
            Step::Requests(requests) => {
                let next = if requests.pattern == Pattern::Sequential { NEXT_SEQUENTIAL } else { NEXT_RANDOM };
                next + if requests.gap_us.0 > 0 { SLEEP } else { 0 }
            }
            Step::Append(_) => NEXT_APPEND,
            Step::CreateMany(_) => NEXT_FILE,
            _ => 0,
        };
        instructions * self.each_ns
    }

    fn evaluation_ns(&self, calls: u64) -> u64 {
        if calls == 0 {
            return 0;
        }
        let comparisons = (calls as f64 * (calls as f64).log2()) as u64;
        (EVALUATION + EVALUATION_PER_CALL * calls + EVALUATION_PER_COMPARISON * comparisons) * self.each_ns
    }
}

/// `None`: the case was not measured on this machine.
pub(super) fn pace(case: &Case) -> Option<Box<dyn Pace>> {
    let each_ns = instruction_ns(case)?;
    Some(Box::new(Program { each_ns }))
}

impl Prices {
    /// The prices of calls and of what file systems do, without those of the driver.
    pub(super) fn of_calls(&self, stack: &mut StackSpec, each_ns: u64) {
        stack.vfs.costs.call_ns += self.call * each_ns;
        stack.vfs.costs.write_ns += self.write * each_ns;
        for &(work, each, per_byte) in self.work {
            stack.cpu_costs.of[work as usize] = WorkCost { each_ns: each * each_ns, per_byte_ps: per_byte * each_ns };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::instruction_ns_of;

    #[test]
    fn the_speed_of_the_machine_stands_in_the_tree() {
        let tree = "TI PSP 04.02.00.07, built for ARM926 (versatilepb, QEMU TCG, icount shift=1: 2 ns an instruction)";
        assert_eq!(instruction_ns_of(tree), Some(2));
        assert_eq!(instruction_ns_of("user-mode Linux"), None);
    }
}
