//! CPU time: the code between a system call and a device, priced step by step.
//!
//! Follows the paths of RTEMS cf811a4eb2. A price is charged for each call, each lock, each call into the block cache,
//! each level of its tree, each block that a file system steps over, and each byte that is copied. Touching memory
//! costs what the CPU's caches make of it. The prices are those of a board (`profiles/boards`), one set for everything
//! that runs on it. Without a board nothing costs time, and only counts are of interest.
//!
//! Left out: instruction caches, the translation of addresses, interrupts, what the program computes by itself.

mod caches;
mod costs;

pub use costs::CpuCosts;

use caches::Caches;
use ffslab_sim::Sim;

/// An address in memory. Only the distance between two addresses matters, because it decides which lines displace each
/// other in the caches.
#[derive(Clone, Copy, Debug)]
pub struct Address(u64);

impl Address {
    const PROGRAM: u64 = 0x1000_0000;
    const DESCRIPTORS: u64 = 0x3000_0000;
    const BUFFERS: u64 = 0x4000_0000;
    const DISKS: u64 = 1 << 40;
    const HEAP: u64 = 1 << 48;
    const FLASH: u64 = 1 << 56;

    /// The address of a byte in the memory of the block cache.
    pub(crate) fn in_buffers(offset: u64) -> Address {
        Address(Address::BUFFERS + offset)
    }

    /// The address of a byte on a RAM disk.
    pub(crate) fn on_disk(disk: u16, offset: u64) -> Address {
        Address(Address::DISKS + (u64::from(disk) << 36) + offset)
    }

    /// The address of a byte of a memory file, which belongs to this node of IMFS.
    pub(crate) fn in_memfile(node: u32, offset: u64) -> Address {
        Address(Address::HEAP + (u64::from(node) << 34) + offset)
    }
}

/// Bytes of `rtems_bdbuf_buffer`, rounded to whole lines.
const DESCRIPTOR_BYTES: u64 = 64;

struct Priced {
    costs: CpuCosts,
    caches: Caches,
    /// Time below a nanosecond that has passed but is not on the clock yet, in picoseconds.
    rest_ps: u64,
    /// Number of bytes of the program's buffer that the current call has moved.
    program_offset: u64,
    /// Position in the memory that stands for flash, which counts as memory that no cache holds.
    flash_offset: u64,
}

/// The CPU of a board.
pub struct Cpu {
    sim: Sim,
    priced: Option<Box<Priced>>,
}

impl Cpu {
    /// A CPU on which nothing takes time.
    pub fn free(sim: Sim) -> Cpu {
        Cpu { sim, priced: None }
    }

    /// The CPU of a board.
    pub fn priced(sim: Sim, costs: CpuCosts) -> Cpu {
        let caches = Caches::new(&costs);
        Cpu { sim, priced: Some(Box::new(Priced { costs, caches, rest_ps: 0, program_offset: 0, flash_offset: 0 })) }
    }

    /// Whether anything costs time.
    #[inline]
    pub fn is_priced(&self) -> bool {
        self.priced.is_some()
    }

    /// Spends `count` times a price of the CPU's constants.
    #[inline]
    pub(crate) fn spend(&mut self, count: u64, price_ps: impl Fn(&CpuCosts) -> u64) {
        self.work(|priced| count * price_ps(&priced.costs));
    }

    #[inline]
    fn work(&mut self, of: impl FnOnce(&mut Priced) -> u64) {
        if let Some(priced) = &mut self.priced {
            let duration_ns = priced.whole_ns(of);
            self.sim.compute(duration_ns);
        }
    }

    /// Charges for a system call. The program's buffer is used from its start again.
    #[inline]
    pub(crate) fn call(&mut self) {
        self.work(|priced| {
            priced.program_offset = 0;
            priced.costs.call_ps
        });
    }

    /// Charges for the measuring program reading the clock.
    pub fn read_clock(&mut self) {
        if let Some(priced) = &mut self.priced {
            let duration_ns = priced.whole_ns(|priced| priced.costs.clock_read_ps);
            self.sim.program_computes(duration_ns);
        }
    }

    /// Charges for the program fio preparing a request and accounting for it.
    pub fn prepare_request(&mut self) {
        if let Some(priced) = &mut self.priced {
            let duration_ns = priced.whole_ns(|priced| priced.costs.fio_request_ps);
            self.sim.program_computes(duration_ns);
        }
    }

    /// Charges for two context switches: a task waits, another one runs, and the first one goes on later.
    pub(crate) fn switch_away_and_back(&mut self) {
        self.spend(2, |costs| costs.context_switch_ps);
    }

    // ---- the block cache ---------------------------------------------------------------------------------------------

    /// Charges for a call into the block cache: its lock and its own work.
    #[inline]
    pub(crate) fn bdbuf_call(&mut self) {
        self.spend(1, |costs| costs.lock_ps + costs.bdbuf_call_ps);
    }

    /// Charges for looking a block up: the descriptors from the root of the tree down to that of `slot` are touched.
    /// Instead of the real tree, whose shape is not simulated, a balanced tree of all `slots` in order is used.
    pub(crate) fn look_up(&mut self, slot: u32, slots: u32, blocks_known: u32) {
        self.work(|priced| {
            let levels = blocks_known.max(1).ilog2() + 1;
            let (mut low, mut high) = (0, slots.max(slot + 1));
            let mut sum_ps = 0;
            for _ in 0..levels {
                let middle = (low + high) / 2;
                sum_ps += priced.costs.tree_level_ps + priced.descriptor_ps(middle);
                match middle.cmp(&slot) {
                    std::cmp::Ordering::Less => low = middle + 1,
                    std::cmp::Ordering::Greater => high = middle,
                    std::cmp::Ordering::Equal => break,
                }
            }
            sum_ps + priced.descriptor_ps(slot)
        });
    }

    /// Charges for recycling a buffer for another block, which leaves the tree and enters it again.
    pub(crate) fn recycle(&mut self, slot: u32, blocks_known: u32) {
        self.work(|priced| {
            let levels = u64::from(blocks_known.max(1).ilog2() + 1);
            2 * levels * priced.costs.tree_level_ps + priced.costs.bdbuf_call_ps + priced.descriptor_ps(slot)
        });
    }

    // ---- bytes -------------------------------------------------------------------------------------------------------

    /// Charges for copying from memory to the program's buffer.
    pub(crate) fn copy_out(&mut self, from: Address, bytes: usize) {
        self.work(|priced| {
            let to = priced.program_moves(bytes);
            priced.copy_ps(from, to, bytes as u64)
        });
    }

    /// Charges for copying from the program's buffer to memory.
    pub(crate) fn copy_in(&mut self, to: Address, bytes: usize) {
        self.work(|priced| {
            let from = priced.program_moves(bytes);
            priced.copy_ps(from, to, bytes as u64)
        });
    }

    /// Charges for clearing memory.
    pub(crate) fn clear(&mut self, at: Address, bytes: usize) {
        self.work(|priced| {
            let stores_ps = priced.caches.store_ps(&priced.costs, at.0, bytes as u64);
            stores_ps + bytes as u64 * priced.costs.copy_ps_per_byte / 2
        });
    }

    /// The time that a driver takes which copies with the CPU; 0 on a free CPU. The caller advances the clock.
    pub(crate) fn driver_copy_ns(&mut self, from: Address, to: Address, bytes: u64) -> u64 {
        self.priced.as_mut().map_or(0, |priced| priced.whole_ns(|priced| priced.copy_ps(from, to, bytes)))
    }

    /// Charges for copying from flash in memory, which no cache holds, to the program.
    pub(crate) fn copy_from_flash(&mut self, bytes: u64) {
        self.work(|priced| {
            let from = priced.flash_moves(bytes);
            let to = priced.program_moves(bytes as usize);
            priced.copy_ps(from, to, bytes)
        });
    }

    /// Charges for erasing flash in memory.
    pub(crate) fn clear_flash(&mut self, bytes: u64) {
        if self.is_priced() && bytes > 0 {
            let at = self.priced.as_mut().map_or(Address(0), |priced| priced.flash_moves(bytes));
            self.clear(at, bytes as usize);
        }
    }

    /// Charges for copying from the program to flash in memory.
    pub(crate) fn copy_to_flash(&mut self, bytes: u64) {
        self.work(|priced| {
            let to = priced.flash_moves(bytes);
            let from = priced.program_moves(bytes as usize);
            priced.copy_ps(from, to, bytes)
        });
    }
}

impl Priced {
    /// Adds the cost to the time that has passed. Returns the whole nanoseconds; the rest is kept.
    #[inline]
    fn whole_ns(&mut self, of: impl FnOnce(&mut Priced) -> u64) -> u64 {
        let passed_ps = of(self) + self.rest_ps;
        self.rest_ps = passed_ps % 1000;
        passed_ps / 1000
    }

    fn copy_ps(&mut self, from: Address, to: Address, bytes: u64) -> u64 {
        let costs = &self.costs;
        let loads_ps = self.caches.load_ps(costs, from.0, bytes);
        let stores_ps = self.caches.store_ps(costs, to.0, bytes);
        bytes * costs.copy_ps_per_byte + loads_ps + stores_ps
    }

    /// The address of the next bytes of the program's buffer, which a call moves from front to back.
    fn program_moves(&mut self, bytes: usize) -> Address {
        let at = Address(Address::PROGRAM + self.program_offset);
        self.program_offset += bytes as u64;
        at
    }

    fn flash_moves(&mut self, bytes: u64) -> Address {
        let at = Address(Address::FLASH + self.flash_offset);
        self.flash_offset += bytes;
        at
    }

    fn descriptor_ps(&mut self, slot: u32) -> u64 {
        let address = Address::DESCRIPTORS + u64::from(slot) * DESCRIPTOR_BYTES;
        self.caches.load_ps(&self.costs, address, DESCRIPTOR_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_sim::SimConfig;

    fn priced() -> (Sim, Cpu) {
        let sim = Sim::new(SimConfig::default());
        let cpu = Cpu::priced(sim.clone(), CpuCosts::of_tests());
        (sim, cpu)
    }

    /// Each line is loaded, moved and stored. Who asks for the time of a driver moves the clock itself.
    #[test]
    fn a_copy_of_memory_costs_its_bytes_and_its_lines() {
        let (sim, mut cpu) = priced();
        let lines: u64 = (16 << 20) / 64;
        let duration_ns = cpu.driver_copy_ns(Address::on_disk(0, 0), Address::on_disk(1, 0), lines * 64);
        assert_eq!(duration_ns, lines * (16 + 267 + 67));
        assert_eq!(sim.now_ns(), 0);
    }

    #[test]
    fn parts_of_nanoseconds_are_not_lost() {
        let (sim, mut cpu) = priced();
        (0..1000).for_each(|_| cpu.spend(1, |_| 300));
        assert_eq!(sim.now_ns(), 300);
    }

    #[test]
    fn the_programs_buffer_is_moved_front_to_back_and_again_from_the_front() {
        let (sim, mut cpu) = priced();
        let once = |cpu: &mut Cpu| {
            let before_ns = sim.now_ns();
            cpu.call();
            (0..4).for_each(|i| cpu.copy_in(Address::in_buffers(i * 512), 512));
            sim.now_ns() - before_ns
        };
        let (cold_ns, warm_ns) = (once(&mut cpu), once(&mut cpu));
        // The first pass loads 2 KiB from memory; after it, the lines that were stored are in L2.
        assert!(cold_ns - warm_ns >= 32 * (267 + 67), "{cold_ns} {warm_ns}");
        assert_eq!(warm_ns, once(&mut cpu));
    }

    #[test]
    fn a_larger_cache_is_searched_longer() {
        let (sim, mut cpu) = priced();
        let mut look_up = |slots: u32| {
            (0..2 * slots).for_each(|i| cpu.look_up(i % slots, slots, slots));
            let before_ns = sim.now_ns();
            (0..slots).for_each(|slot| cpu.look_up(slot, slots, slots));
            (sim.now_ns() - before_ns) / u64::from(slots)
        };
        let (small_ns, large_ns) = (look_up(20), look_up(8192));
        assert!(large_ns > 2 * small_ns, "{small_ns} {large_ns}");
    }

    #[test]
    fn nothing_takes_time_on_a_free_cpu() {
        let sim = Sim::new(SimConfig::default());
        let mut cpu = Cpu::free(sim.clone());
        cpu.call();
        cpu.bdbuf_call();
        cpu.copy_in(Address::in_buffers(0), 4096);
        assert_eq!((sim.now_ns(), cpu.is_priced()), (0, false));
    }
}
