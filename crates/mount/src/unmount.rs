//! Unmounting the file system from the host's tree.

use nix::errno::Errno;
use nix::mount::{umount2, MntFlags};
use std::path::{Path, PathBuf};
use std::process::Command;
use thiserror::Error;

/// The set-user-ID helper that unmounts for those who are not root.
const HELPER: &str = "fusermount3";

/// The result of an attempt to unmount.
pub enum Step {
    /// It is unmounted.
    Done,
    /// Programs have files open. The file system is out of the tree, and ends when these files are closed.
    Busy,
    /// It was busy at the last attempt already.
    GivenUp,
    Failed {
        mountpoint: PathBuf,
        why: UnmountError,
    },
}

/// Why an attempt failed.
#[derive(Debug, Error)]
pub enum UnmountError {
    #[error("{}", .0.desc().to_lowercase())]
    Refused(Errno),
    /// What the helper says.
    #[error("{says}")]
    ByHelper { says: String },
    #[error("{HELPER}: {0} (Debian: apt install fuse3)")]
    NoHelper(std::io::Error),
}

/// Unmounts in steps: first normally, then lazily; the third time it gives up.
pub struct Unmount {
    mountpoint: PathBuf,
    was_busy: bool,
}

impl Unmount {
    pub fn new(mountpoint: &Path) -> Unmount {
        // The path is resolved before the mount, because afterwards the file system itself would have to answer.
        let mountpoint = mountpoint.canonicalize().unwrap_or_else(|_| mountpoint.to_path_buf());
        Unmount { mountpoint, was_busy: false }
    }

    pub fn once_more(&mut self) -> Step {
        if self.was_busy {
            return Step::GivenUp;
        }
        match self.take_out(false) {
            Ok(()) => Step::Done,
            Err(_) => {
                self.was_busy = true;
                match self.take_out(true) {
                    Ok(()) => Step::Busy,
                    Err(why) => Step::Failed { mountpoint: self.mountpoint.clone(), why },
                }
            }
        }
    }

    fn take_out(&self, lazily: bool) -> Result<(), UnmountError> {
        let flags = if lazily { MntFlags::MNT_DETACH } else { MntFlags::empty() };
        match umount2(&self.mountpoint, flags) {
            Ok(()) => Ok(()),
            Err(Errno::EPERM) => self.by_helper(lazily),
            Err(error) => Err(UnmountError::Refused(error)),
        }
    }

    fn by_helper(&self, lazily: bool) -> Result<(), UnmountError> {
        let mut command = Command::new(HELPER);
        command.arg("-u");
        if lazily {
            command.arg("-z");
        }
        match command.arg("--").arg(&self.mountpoint).output() {
            Ok(ran) if ran.status.success() => Ok(()),
            Ok(ran) => Err(UnmountError::ByHelper { says: String::from_utf8_lossy(&ran.stderr).trim().to_string() }),
            Err(error) => Err(UnmountError::NoHelper(error)),
        }
    }
}

/// The message for a mount that the kernel refused, with advice.
pub fn mount_error(mountpoint: &Path, error: &std::io::Error) -> String {
    let place = mountpoint.display();
    if !Path::new("/dev/fuse").exists() {
        return format!("{place}: cannot mount: there is no /dev/fuse: load the kernel's module, modprobe fuse");
    }
    if nix::unistd::geteuid().is_root() {
        return format!("{place}: cannot mount: {error}");
    }
    format!("{place}: cannot mount: {error}: without root it takes {HELPER} (Debian: apt install fuse3) and a folder of yours")
}
