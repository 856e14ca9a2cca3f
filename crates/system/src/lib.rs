//! # system: the seam between workloads and operating systems
//!
//! **Role.** [`Calls`] is what a program may ask of a system, [`System`] what somebody who experiments may ask beside it:
//! mounts, power cuts, caches, what the medium holds, what was counted. The interpreter of steps, job files, Postmark,
//! replays and sessions work on these traits, so each of them runs on each system. [`Nodes`] is the same as [`Calls`] by inode and
//! name, for a kernel that walks paths itself; a system may have it or not.
//!
//! **Follows.** The calls are those of POSIX and of Linux's manual pages. A system that lacks one keeps the default, which
//! answers ENOSYS and says what is missing ([`Refusal::Lacks`]); no list of what a system cannot do stands anywhere else.
//!
//! **Leaves out.** Which systems and file systems there are, and how they are built.

mod calls;
mod error;
mod nodes;
mod passing;
mod refusal;
mod system;
mod types;

pub use calls::{ambassador_impl_Calls, timed, Calls};
pub use error::{OptionError, SystemError, UbiState};
pub use nodes::{Caller, NewTime, NodeChange, NodeEntry, NodeId, NodeName, Nodes, ROOT_NODE};
pub use refusal::{Answer, Refusal};
pub use system::{ambassador_impl_System, Levelling, MountDone, System};
pub use types::{Advice, Entry, FallocateFlag, Fd, ImageGiven, MapAccess, OpenFlags, Runs, Whence};
