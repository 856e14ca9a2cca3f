//! A stopwatch for benchmarks that measures for how long the calling thread had a CPU.
//!
//! A simulation runs in one thread and waits for nothing, so on an idle machine this is the elapsed time. On a busy
//! machine it is what the elapsed time would be without the other programs, except that they share caches and memory.

use rustix::time::{clock_gettime, ClockId};
use std::time::Duration;

/// A stopwatch, with the thread's CPU time at its start.
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
