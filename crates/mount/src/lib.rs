//! # mount: a simulated file system that real programs use
//!
//! **Role.** A FUSE file system over the simulated stack: the system calls of real programs, made in virtual time. See
//! this crate's README for how a request flows.
//!
//! **Follows.** `include/uapi/linux/fuse.h` and `fs/fuse/` of Linux 6.1 to 6.18, as far as which request belongs to
//! which system call.
//!
//! **Leaves out.** See the README.

mod calls;
mod control;
mod convert;
mod fuse;
mod ioctl;
mod owner;
mod paths;
mod simulation;
mod unmount;
mod walk;
mod world;

use crate::fuse::Bridge;
use crate::simulation::Simulation;
use crate::unmount::{mount_error, Unmount};
use ffslab_crashtest::Recording;
use ffslab_lab::data::Table;
use ffslab_lab::{Described, LabError, Observed, SessionResult};
use ffslab_machine::mount_options::MountOptions;
use ffslab_machine::StackTable;
pub use ffslab_system::Caller;
use ffslab_system::SystemError;
use fuser::{Config, MountOption, SessionACL};
use std::path::PathBuf;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::Arc;
use std::time::Duration;

pub use ffslab_lab::session::Torn;

/// The library (ELF, for the host) to preload into programs whose sleeps shall pass on the board alone. It finds the mount by
/// `FFSLAB_MOUNT_SOCKET`, the path of [`MountSpec::socket`].
pub const SLEEPS_LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sleeps.so"));

/// What a mount answers, as JSON Schema.
pub const SCHEMAS: &[Described] = &[Described::written::<control::MountStat>("mount", "what a mount has done so far")];

/// How often [`mount`] asks whether it should end.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// What to mount, and how time passes.
#[derive(Clone, Debug)]
pub struct MountSpec {
    /// The `[stack]` table of an experiment.
    pub stack: Table,
    /// Paths in it start here.
    pub base_dir: PathBuf,
    /// What an erased partition is at the begin: "settled" or "fresh".
    pub initial: String,
    /// Seed of what the simulation draws.
    pub seed: u64,
    /// Options of mount(8) and of the simulated file system, as "ro,noexec".
    pub options: Vec<String>,
    /// The new owner of the root of the file system; `None`: it stays as it is.
    pub owner: Option<Caller>,
    pub mountpoint: PathBuf,
    /// The socket on which the mount listens for questions.
    pub socket: PathBuf,
    /// Virtual time also passes while the program does not call.
    pub think: bool,
    /// The program waits as long as it would on the board.
    pub realtime: bool,
    /// The number of the program or erase, counted from the end of the mount, during which the power is cut.
    pub power_cut_after_operations: Option<u64>,
    pub torn: Torn,
    /// Time of day at virtual time 0, in seconds since 1970.
    pub epoch_s: u64,
    /// File to which the content of the chip is written at the end, with OOB areas.
    pub save: Option<PathBuf>,
    /// What is written down from the mount to its end.
    pub observed: Option<Observed>,
    /// Everything that power cuts of the workload need is kept, from the mount to its end.
    pub records: bool,
}

/// The result of a mount after its end.
pub struct Mounted {
    pub result: SessionResult,
    /// `None`: it was not asked for.
    pub recording: Option<Recording>,
    /// The stack's keys with the board's values filled in.
    pub keys: StackTable,
}

/// How [`mount`] informs its caller, and asks whether to end.
pub trait Watch {
    /// Programs can use the mount from now on.
    fn ready(&self);
    /// Something that a person should read, one line.
    fn say(&self, text: &str);
    /// Whether the mount should end. When it returns `true` a second time the mount ends even if programs still use it.
    fn shall_end(&self) -> bool;
}

/// Mounts, and serves requests until some program unmounts the file system. Returns what happened.
///
/// # Errors
/// What is wrong with the stack, or why it cannot be mounted in the simulation or on the host. Nothing is mounted then.
pub fn mount(spec: &MountSpec, watch: &dyn Watch) -> Result<Mounted, LabError> {
    let simulation = Arc::new(Simulation::begin(spec)?);
    let served =
        kernel_options(spec, simulation.has_users()).and_then(|options| serve(spec, options, watch, &simulation));
    let result = simulation.end(spec);
    served.and(result)
}

/// The mount options for the kernel on which the programs run. `sync` is not passed on, because the simulated kernel
/// does the waiting.
///
/// Errors: an option that only root may use.
fn kernel_options(spec: &MountSpec, has_users: bool) -> Result<Vec<MountOption>, LabError> {
    let asked = MountOptions::of(&spec.options).map_err(SystemError::from)?;
    let mut options = vec![
        MountOption::FSName("ffslab".to_string()),
        MountOption::Subtype("ffslab".to_string()),
        MountOption::NoAtime,
    ];
    options.extend(has_users.then_some(MountOption::DefaultPermissions));
    // The library forbids device files and set-user-ID bits unless these options say otherwise.
    let both = [
        (asked.suid, "suid", MountOption::Suid, MountOption::NoSuid),
        (asked.dev, "dev", MountOption::Dev, MountOption::NoDev),
        (asked.exec, "exec", MountOption::Exec, MountOption::NoExec),
    ];
    for (wanted, name, yes, no) in both {
        if wanted == Some(true) && name != "exec" && !nix::unistd::geteuid().is_root() {
            let text = format!("mount option \"{name}\": only root may mount with it: leave it out");
            return Err(LabError::Input(text));
        }
        options.extend(wanted.map(|wanted| if wanted { yes } else { no }));
    }
    options.extend(asked.read_only.then_some(MountOption::RO));
    Ok(options)
}

/// Serves requests from the real mount until its end.
fn serve(
    spec: &MountSpec,
    options: Vec<MountOption>,
    watch: &dyn Watch,
    simulation: &Arc<Simulation>,
) -> Result<(), LabError> {
    let mut unmount = Unmount::new(&spec.mountpoint);
    let control = control::Listener::new(&spec.socket, simulation.clone())?;
    let mut config = Config::default();
    let as_root = nix::unistd::geteuid().is_root();
    config.acl = if as_root { SessionACL::All } else { SessionACL::Owner };
    let read_only = options.contains(&MountOption::RO);
    config.mount_options = options;
    let bridge = Bridge::new(simulation.clone());
    let session = fuser::Session::new(bridge, &spec.mountpoint, &config)
        .map_err(|error| LabError::Input(mount_error(&spec.mountpoint, &error)))?;
    let (done, ended) = channel();
    let loop_thread = std::thread::spawn(move || {
        let result = session.run();
        // The receiver is gone when the mount was given up.
        let _gone = done.send(());
        result
    });
    let root = simulation.root().filter(|_| !read_only && simulation.has_users());
    if let Some(remark) = root.as_ref().and_then(owner::remark) {
        watch.say(&remark);
    }
    watch.ready();
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(ASK_EVERY) {
        simulation.remarks().iter().for_each(|remark| watch.say(remark));
        if watch.shall_end() || simulation.has_failed() {
            match unmount.once_more() {
                unmount::Step::Done => {}
                unmount::Step::Busy => watch.say(
                    "programs still use the mount: it is out of the tree and ends when they do; once more to end it now",
                ),
                // The thread waits for requests that will not come; it ends with the program.
                unmount::Step::GivenUp => {
                    drop(control);
                    return Ok(());
                }
                unmount::Step::Failed { mountpoint, why } => {
                    watch.say(&format!("{}: cannot unmount: {why}", mountpoint.display()));
                }
            }
        }
    }
    drop(control);
    match loop_thread.join() {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(LabError::Input(format!("{}: {error}", spec.mountpoint.display()))),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
