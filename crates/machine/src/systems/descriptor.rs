//! What is known of a system before there is a machine with it.

use crate::error::MachineError;
use crate::spec::MachineSpec;
use std::path::Path;

/// What the laboratory knows of a system without a machine.
pub struct Descriptor {
    /// As users write it: `system = "linux"`.
    pub name: &'static str,
    /// As people write it: "Linux".
    pub title: &'static str,
    /// Who it is, for help texts.
    pub about: &'static str,
    /// The file systems that it mounts, by the names that it has for them.
    pub file_systems: fn() -> Vec<&'static str>,
    /// Keys and tables of `[stack]` that the file system of a name has and not all of them have.
    pub own_keys: fn(&str) -> Vec<&'static str>,
}

ffslab_sim::known_by_name!(Descriptor);

/// The keys of a `[stack]` table with one system.
pub trait SystemKeys {
    fn system(&self) -> &'static Descriptor;

    /// The name of the file system.
    fn fs(&self) -> &str;

    /// The name of the board.
    fn board(&self) -> &str;

    /// The name of the kernel; after [`SystemKeys::machine`] has filled in what is absent. `None`: the system has no Linux.
    fn kernel(&self) -> Option<&str> {
        None
    }

    /// Whether a file system compresses what programs write; after [`SystemKeys::machine`] has filled in what is absent.
    fn compresses(&self) -> bool {
        false
    }

    /// Names of profiles in the keys, which may be paths.
    fn profiles_mut(&mut self) -> Vec<&mut String>;

    /// The paths of images in the keys.
    fn images_mut(&mut self) -> Vec<&mut String>;

    /// Another machine of the same kind: the seeds of what chance decides in it are higher by `shift`, and it has been up for
    /// `uptime_us` longer. Nothing happens where chance decides nothing.
    fn draw_anew(&mut self, _shift: u64, _uptime_us: u64) {}

    /// The machine that they describe. Values that are absent are filled in.
    ///
    /// Errors: one line that says what is wrong with a key, a profile or an image.
    fn machine(&mut self, base_dir: &Path) -> Result<MachineSpec, MachineError>;
}
