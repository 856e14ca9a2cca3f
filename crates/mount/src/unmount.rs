//! Taking the file system out of the tree again.

use nix::errno::Errno;
use nix::mount::{umount2, MntFlags};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The set-user-ID helper that unmounts for those who are not root.
const HELPER: &str = "fusermount3";

/// What became of a wish to end.
pub enum Step {
    /// It is unmounted.
    Done,
    /// Programs have files open. It is out of the tree and goes when they have closed them.
    Busy,
    /// It was busy before already.
    GivenUp,
    Failed(String),
}

/// Unmounts in steps: gently, lazily, not at all.
pub struct Unmount {
    mountpoint: PathBuf,
    was_busy: bool,
}

impl Unmount {
    pub fn new(mountpoint: &Path) -> Unmount {
        // Resolved before it is mounted: afterwards the file system would be asked.
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
                    Err(text) => Step::Failed(format!("{}: cannot unmount: {text}", self.mountpoint.display())),
                }
            }
        }
    }

    fn take_out(&self, lazily: bool) -> Result<(), String> {
        let flags = if lazily { MntFlags::MNT_DETACH } else { MntFlags::empty() };
        match umount2(&self.mountpoint, flags) {
            Ok(()) => Ok(()),
            Err(Errno::EPERM) => self.by_helper(lazily),
            Err(error) => Err(error.desc().to_lowercase()),
        }
    }

    fn by_helper(&self, lazily: bool) -> Result<(), String> {
        let mut command = Command::new(HELPER);
        command.arg("-u");
        if lazily {
            command.arg("-z");
        }
        match command.arg("--").arg(&self.mountpoint).output() {
            Ok(ran) if ran.status.success() => Ok(()),
            Ok(ran) => Err(String::from_utf8_lossy(&ran.stderr).trim().to_string()),
            Err(error) => Err(format!("{HELPER}: {error} (Debian: apt install fuse3)")),
        }
    }
}

/// Why the kernel did not mount, with what would help.
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
