//! A stopwatch for benchmarks: the time for which the calling thread had a CPU.
//!
//! A simulation runs in one thread and waits for nothing, so on a machine with nothing else to do this is the time on the
//! wall. On a busy one it is what the wall clock would have shown without the others, except that they share caches
//! and memory.

use rustix::time::{clock_gettime, ClockId};
use std::time::Duration;

/// Measures from when it was started.
pub struct Stopwatch(Duration);

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch(cpu_time())
    }

    pub fn seconds(&self) -> f64 {
        (cpu_time() - self.0).as_secs_f64()
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_does_not_count_and_computing_does() {
        let watch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(300));
        assert!(watch.seconds() < 0.2, "{}", watch.seconds());
        let mut state = 1u64;
        while watch.seconds() == 0.0 {
            state = std::hint::black_box(state.wrapping_mul(3));
        }
    }
}
