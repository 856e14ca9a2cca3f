//! Forks this process, which Rust cannot know to be safe.

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{fork, getppid, ForkResult, Pid};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Forks this process. In the new one `work` runs, and it ends with that. It also ends when this one does.
///
/// Errors: the system has no more processes.
#[allow(unsafe_code)]
pub(super) fn forked(work: impl FnOnce()) -> nix::Result<Pid> {
    let parent = Pid::this();
    // SAFETY: in the new process only the thread of this call goes on. It is forked while no other thread holds a lock that it could wait
    // for ([`super::Quiet`]; the memory allocator of glibc takes care of its own), calls nothing of Python, and ends without any destructor
    // of what belongs to the old process.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            let ends_with_parent = set_pdeathsig(Signal::SIGKILL).is_ok() && getppid() == parent;
            let worked = ends_with_parent && catch_unwind(AssertUnwindSafe(work)).is_ok();
            // SAFETY: ends the process, without what Python and others have registered for its end.
            unsafe { nix::libc::_exit(i32::from(!worked)) }
        }
    }
}
