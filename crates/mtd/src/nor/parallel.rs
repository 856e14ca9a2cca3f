//! A NOR chip in the processor's memory, as Linux 6.1 drives it in `drivers/mtd/chips/cfi_cmdset_0001.c` (Intel) and
//! `cfi_cmdset_0002.c` (AMD).
//!
//! What a transfer takes is the chip's: a read copies from memory (`map_copy_from`), a program fills the write buffer and sends
//! a few words around it (`do_write_buffer`), each of which takes a cycle of the bus. While a program goes on the driver looks
//! each microsecond. Of an erase it first sleeps half of what the chip says that erases take, then a tick at a time
//! (`inval_cache_and_wait_for_operation`, `do_erase_oneblock`, `cfi_udelay`). Both drivers suspend an erase for reads and
//! programs of other blocks (`get_chip`, `FL_ERASING`).

use ffslab_sim::Sim;

/// Whose command set the chip has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commands {
    Intel,
    Amd,
}

/// How the chip is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParallelNor {
    pub commands: Commands,
    /// A word that is sent to the chip or read from it.
    pub cycle_ns: u64,
    /// A program stays within such a unit: the write buffer, or a word (`mtd->writebufsize`).
    pub unit_bytes: u32,
    pub has_write_buffer: bool,
}

/// What the drivers wait between two looks at the status (`udelay`, `UDELAY`).
const LOOK_NS: u64 = 1_000;

impl ParallelNor {
    /// The words around the data of a program. Intel: the command, a status, the count, the confirmation; or the command. AMD:
    /// two to unlock, the command, the count, the confirmation; or three.
    pub(super) fn program_head_ns(&self) -> u64 {
        let cycles = match (self.commands, self.has_write_buffer) {
            (Commands::Intel, true) => 4,
            (Commands::Intel, false) => 1,
            (Commands::Amd, true) => 5,
            (Commands::Amd, false) => 3,
        };
        cycles * self.cycle_ns
    }

    /// Intel: the status is cleared, two words. AMD: six words.
    pub(super) fn erase_head_ns(&self) -> u64 {
        let cycles = match self.commands {
            Commands::Intel => 3,
            Commands::Amd => 6,
        };
        cycles * self.cycle_ns
    }

    /// Back to reading: one word. Before it, the status is looked at.
    pub(super) fn read_head_ns(&self) -> u64 {
        2 * self.cycle_ns
    }

    pub(super) fn wait_ns(&self, busy_ns: u64) -> u64 {
        busy_ns.div_ceil(LOOK_NS).max(1) * LOOK_NS
    }

    /// When the driver sees that an erase has ended that began at `began_ns` and takes `busy_ns`, as long as the chip's tables
    /// say. `msleep` sleeps a tick more than asked for.
    pub(super) fn sees_end_at_ns(&self, sim: &Sim, began_ns: u64, busy_ns: u64) -> u64 {
        let tick_ns = sim.tick_ns();
        let half_ns = busy_ns / 2;
        if half_ns < tick_ns {
            return began_ns + self.wait_ns(busy_ns);
        }
        let asleep = |at_ns: u64, sleep_ns: u64| {
            let ticks = sleep_ns.div_ceil(tick_ns) as u32 + 1;
            sim.timer_from(at_ns, ticks)
        };
        let mut at_ns = asleep(began_ns, half_ns);
        while at_ns < began_ns + busy_ns {
            at_ns = asleep(at_ns, tick_ns);
        }
        at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_sim::SimConfig;

    #[test]
    fn the_driver_sleeps_half_of_an_erase_and_then_ticks() {
        let sim = Sim::new(SimConfig { tick_rate_hz: 100, ..SimConfig::default() });
        let nor = ParallelNor { commands: Commands::Intel, cycle_ns: 100, unit_bytes: 32, has_write_buffer: true };
        let ms = |ms: u64| ms * 1_000_000;
        // 50 ticks and one more, then two at a time until 1 s is over; a timer of this kernel fires a tick late (`TimerWheel`).
        assert_eq!(nor.sees_end_at_ns(&sim, ms(3), ms(1_000)), ms(520 + 17 * 30));
        // Too short to sleep.
        assert_eq!(nor.sees_end_at_ns(&sim, 0, 1_500_100), 1_501_000);
        assert_eq!((nor.program_head_ns(), nor.erase_head_ns(), nor.wait_ns(128_001)), (400, 300, 129_000));
    }
}
