//! When old kernels write changed super blocks: the thread `sync_supers` of Linux 2.6.32 to 3.5.

const SECOND_NS: u64 = 1_000_000_000;

/// The next time after `now_ns`, counted from the start of the machine, at which `sync_supers` looks for super blocks
/// that have changed. `bdi_arm_supers_timer` of `mm/backing-dev.c` adds `interval_ms` (`dirty_writeback_interval`) and
/// rounds up to a whole second, and to the next one if the time is whole already (`round_jiffies_up`): 5 s become 6, as
/// flash logs of a board show.
pub fn super_sync_after_ns(now_ns: u64, interval_ms: u32) -> u64 {
    let period_ns = (u64::from(interval_ms) * 1_000_000 / SECOND_NS + 1) * SECOND_NS;
    (now_ns / period_ns + 1) * period_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_seconds_become_six() {
        assert_eq!(super_sync_after_ns(0, 5_000), 6 * SECOND_NS);
        assert_eq!(super_sync_after_ns(6 * SECOND_NS, 5_000), 12 * SECOND_NS);
        assert_eq!(super_sync_after_ns(13 * SECOND_NS - 1, 5_000), 18 * SECOND_NS);
    }
}
