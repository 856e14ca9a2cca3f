//! Several mounts on one machine: partitions of its chip, or volumes of its UBI, with one CPU, one clock and one chip below
//! them.
//!
//! Programs see them as a kernel shows them: the file system of `[stack]` is the root, and paths below a mount's directory lead
//! to that mount. The directory need not exist in the root file system. Symbolic links do not lead from one mount to another.
//! Each mount has a page cache of its own, where a kernel has one for all.

mod built;
mod calls;
mod keys;
mod member;
mod overlay;
mod spec;
mod system;

pub use keys::MountKeys;
pub use spec::MountsSpec;

use crate::error::MachineError;
use crate::stack::Stack;
use ffslab_mtd::Mtd;
use ffslab_sim::{Mount, Sim};
use ffslab_system::Fd;
use member::{Done, Member};
use overlay::Laid;

/// A machine with several mounts. The first one is the root.
pub struct Mounts {
    sim: Sim,
    members: Vec<Member>,
    /// Overlays of them; in numbers of mounts they follow the members.
    overlays: Vec<Laid>,
    /// From the first erase block of all partitions to the last.
    whole: Mtd,
    /// The mount of each open file, and its descriptor there.
    files: Vec<Option<(usize, Fd)>>,
}

impl Mounts {
    /// Builds the machine, nothing mounted.
    ///
    /// Errors: partitions that are not on the chip or overlap, a medium that cannot be divided.
    pub fn new(spec: &MountsSpec) -> Result<Mounts, MachineError> {
        Mounts::around(Stack::new(&spec.root)?, spec)
    }

    /// The other mounts on the machine of `root`.
    fn around(root: Stack, spec: &MountsSpec) -> Result<Mounts, MachineError> {
        let sim = root.sim.clone();
        let mut partitions = vec![spec.root.partition.blocks()];
        let mut stacks = Vec::with_capacity(spec.others.len());
        for (number, other) in (1..).zip(&spec.others) {
            let placed =
                |error: MachineError| MachineError::Mount { at: other.keys.at.clone(), says: error.to_string() };
            stacks.push(Stack::beside(&root, &other.spec, Mount(number)).map_err(placed)?);
            if other.keys.volume_bytes.is_none() {
                partitions.push(other.spec.partition.blocks());
            }
        }
        let first = partitions.iter().map(|blocks| blocks.start).min().unwrap_or_default();
        let end = partitions.iter().map(|blocks| blocks.end).max().unwrap_or_default();
        let whole = root.part_of_medium(first..end, sim.clone())?;
        let mut members = vec![Member::new("", &[], root)];
        for (other, stack) in spec.others.iter().zip(stacks) {
            members.push(Member::new(other.keys.directory(), &other.keys.options, stack));
        }
        sim.mounts_run_by(members.iter().map(Member::gives_turn).collect());
        let overlays = spec.overlays.iter().map(|keys| Laid::of(keys, &members)).collect::<Result<_, _>>()?;
        Ok(Mounts { sim, members, overlays, whole, files: Vec::new() })
    }
}

impl Mounts {
    fn done_mut(&mut self, number: usize) -> &mut Done {
        match number.checked_sub(self.members.len()) {
            None => &mut self.members[number].done,
            Some(overlay) => &mut self.overlays[overlay].done,
        }
    }
}

#[cfg(test)]
#[path = "overlay/tests.rs"]
mod overlay_tests;
#[cfg(test)]
mod tests;
