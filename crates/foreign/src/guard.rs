//! Who watches calls of foreign code: one that does not come to an end would hang the program for ever.
//!
//! Nothing can stop code that runs in this process, so the process ends, with a line that names the library. A thread looks
//! once a second at the calls that are under way. What counts is CPU time, so that neither a busy machine nor one that sleeps
//! ends a call that is right; and only the CPU time since the library last did something: an operation of its flash, a call
//! that begins or ends. A call that goes on and on with its flash has done enough after `OPERATIONS_MAX`.

use std::cell::RefCell;
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Sets how much CPU time a call may take without doing anything, in seconds.
pub const LIMIT_VARIABLE: &str = "FFSLAB_FOREIGN_CPU_S";
/// The same where nothing is said. What the largest chips need for all of their blocks in memory is far below.
const LIMIT_S: u64 = 60;
/// More operations of its flash in one call are no progress: chips have fewer bytes.
const OPERATIONS_MAX: u64 = 1 << 32;
const LOOK: Duration = Duration::from_secs(1);
/// Of a process that was given a library which hangs: its input is bad.
const EXIT_BAD_INPUT: i32 = 2;

/// The functions of a library, which are called through [`Guarded::call`] alone.
pub struct Guarded<F> {
    functions: F,
    /// How messages call it.
    library: &'static str,
}

impl<F> Guarded<F> {
    pub const fn new(functions: F, library: &'static str) -> Guarded<F> {
        Guarded { functions, library }
    }

    /// The functions of the library in a file.
    pub fn of(functions: F, file: &Path) -> Guarded<F> {
        Guarded::new(functions, file.display().to_string().leak())
    }

    /// The functions for one call, which is under way until this is dropped.
    pub fn call(&self) -> Call<'_, F> {
        // A thread that ends is not watched any more.
        let _ = BESIDE.try_with(|beside| beside.begin(self.library));
        Call(&self.functions)
    }
}

/// A call that is under way.
pub struct Call<'f, F>(&'f F);

impl<F> Deref for Call<'_, F> {
    type Target = F;

    fn deref(&self) -> &F {
        self.0
    }
}

impl<F> Drop for Call<'_, F> {
    fn drop(&mut self) {
        let _ = BESIDE.try_with(Beside::end);
    }
}

/// The library does something with its flash.
pub fn progress() {
    let _ = BESIDE.try_with(|beside| {
        if beside.thread.operations.fetch_add(1, Relaxed) < OPERATIONS_MAX {
            beside.thread.changes.fetch_add(1, Relaxed);
        }
    });
}

/// What the watcher knows of a thread.
struct Thread {
    clock: Clock,
    /// How often something was done.
    changes: AtomicU64,
    /// Operations since the outermost call began.
    operations: AtomicU64,
    /// Of the innermost call that is under way; `None`: none is.
    library: Mutex<Option<&'static str>>,
}

/// The same thread from within. Nothing of a simulation is in it, which may go on in another thread after a call. Libraries stand on one another, so that calls lie in calls.
struct Beside {
    thread: Arc<Thread>,
    outer: RefCell<Vec<&'static str>>,
}

thread_local! {
    static BESIDE: Beside = Beside::new();
}

static THREADS: Mutex<Vec<Weak<Thread>>> = Mutex::new(Vec::new());

impl Beside {
    fn new() -> Beside {
        static WATCHER: Once = Once::new();
        let thread = Arc::new(Thread {
            clock: Clock::of_this_thread(),
            changes: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            library: Mutex::new(None),
        });
        THREADS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&thread));
        // A process that can have no more threads has no watcher.
        WATCHER.call_once(|| drop(std::thread::Builder::new().name("foreign calls".to_string()).spawn(watch)));
        Beside { thread, outer: RefCell::default() }
    }

    fn begin(&self, library: &'static str) {
        let mut outer = self.outer.borrow_mut();
        if outer.is_empty() {
            self.thread.operations.store(0, Relaxed);
        }
        outer.push(library);
        self.thread.now_in(Some(library));
    }

    fn end(&self) {
        let mut outer = self.outer.borrow_mut();
        outer.pop();
        self.thread.now_in(outer.last().copied());
    }
}

impl Thread {
    fn now_in(&self, library: Option<&'static str>) {
        *self.library.lock().unwrap_or_else(PoisonError::into_inner) = library;
        self.changes.fetch_add(1, Relaxed);
    }
}

/// What was seen of a thread: how much was done by then, and its CPU time when that was seen first.
struct Seen {
    thread: Weak<Thread>,
    changes: u64,
    since: Duration,
}

impl Seen {
    /// The library that has used up its time.
    fn look(&mut self, limit: Duration) -> Option<&'static str> {
        let thread = self.thread.upgrade()?;
        let now = thread.clock.now();
        let changes = thread.changes.load(Relaxed);
        if changes != self.changes {
            (self.changes, self.since) = (changes, now);
            return None;
        }
        let library = *thread.library.lock().unwrap_or_else(PoisonError::into_inner);
        library.filter(|_| now.saturating_sub(self.since) > limit)
    }
}

/// How much CPU time, in seconds, a call may take without doing anything.
///
/// Errors: the environment says it, and not as a number.
pub(crate) fn limit() -> Result<u64, String> {
    let Some(said) = std::env::var_os(LIMIT_VARIABLE) else { return Ok(LIMIT_S) };
    let value = said.to_string_lossy();
    value.parse().map_err(|_| format!("{LIMIT_VARIABLE}={value}: must be a whole number of seconds"))
}

/// Looks at all threads again and again.
fn watch() {
    let limit_s = limit().unwrap_or(LIMIT_S);
    let mut all: Vec<Seen> = Vec::new();
    loop {
        std::thread::sleep(LOOK);
        let fresh = std::mem::take(&mut *THREADS.lock().unwrap_or_else(PoisonError::into_inner));
        all.extend(fresh.into_iter().map(|thread| Seen { thread, changes: u64::MAX, since: Duration::ZERO }));
        all.retain(|seen| seen.thread.strong_count() > 0);
        if let Some(library) = all.iter_mut().find_map(|seen| seen.look(Duration::from_secs(limit_s))) {
            eprintln!(
                "ffslab: {library}: a call of this library does not come to an end: it has used {limit_s} s of CPU time and done \
                 nothing with its flash; the program would hang ({LIMIT_VARIABLE} allows more seconds)"
            );
            std::process::exit(EXIT_BAD_INPUT);
        }
    }
}

/// The CPU time of a thread, as others may ask for it. Where the system has no /proc it is the time of the wall.
enum Clock {
    Cpu { stat: String },
    Wall { since: Instant },
}

/// Of the times in /proc (`USER_HZ`).
const TICK: Duration = Duration::from_millis(10);

impl Clock {
    fn of_this_thread() -> Clock {
        let wall = Clock::Wall { since: Instant::now() };
        let Ok(thread) = std::fs::read_link("/proc/thread-self") else { return wall };
        let cpu = Clock::Cpu { stat: format!("/proc/{}/stat", thread.display()) };
        if cpu.read().is_some() {
            cpu
        } else {
            wall
        }
    }

    /// utime and stime are the 12th and 13th word behind the name, which stands in brackets (proc_pid_stat(5)).
    fn read(&self) -> Option<Duration> {
        match self {
            Clock::Wall { since } => Some(since.elapsed()),
            Clock::Cpu { stat } => {
                let text = std::fs::read_to_string(stat).ok()?;
                let ticks = text.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
                let ticks: u32 = ticks.map(|word| word.parse::<u32>().unwrap_or(0)).sum();
                Some(TICK * ticks)
            }
        }
    }

    fn now(&self) -> Duration {
        self.read().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burn(clock: &Clock, time: Duration) {
        let since = clock.now();
        while clock.now() - since < time {}
    }

    #[test]
    fn only_a_call_that_does_nothing_uses_up_its_time() {
        let limit = Duration::from_millis(40);
        let library = Guarded::new((), "outer.so");
        let inner = Guarded::new((), "inner.so");
        let (thread, clock) = BESIDE.with(|beside| (Arc::downgrade(&beside.thread), Clock::of_this_thread()));
        let mut seen = Seen { thread, changes: u64::MAX, since: Duration::ZERO };
        let mut look_after = |time: Duration| {
            seen.look(limit);
            burn(&clock, time);
            seen.look(limit)
        };
        let long = Duration::from_millis(80);
        assert_eq!(look_after(long), None, "nobody is in a call");
        let call = library.call();
        assert_eq!(look_after(Duration::ZERO), None);
        assert_eq!(look_after(long), Some("outer.so"));
        progress();
        assert_eq!(look_after(Duration::ZERO), None, "it has done something");
        let nested = inner.call();
        assert_eq!(look_after(long), Some("inner.so"));
        drop(nested);
        assert_eq!(look_after(long), Some("outer.so"));
        BESIDE.with(|beside| beside.thread.operations.store(OPERATIONS_MAX, Relaxed));
        progress();
        assert_eq!(look_after(Duration::ZERO), Some("outer.so"), "more operations are no progress");
        drop(call);
        assert_eq!(look_after(long), None);
    }
}
