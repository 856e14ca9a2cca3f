//! The steps that give and move names.

use super::execute::as_expected;
use super::facts::Facts;
use super::runner::{Runner, Stop};
use ffslab_fs::RenameFlags;
use ffslab_workload::steps::{self, RenameFlag};

type Done = Result<Facts, Stop>;

impl Runner<'_> {
    pub(super) fn rename(&mut self, step: &steps::Rename) -> Done {
        let has = |flag| step.flags.contains(&flag);
        let flags = RenameFlags {
            no_replace: has(RenameFlag::NoReplace),
            exchange: has(RenameFlag::Exchange),
            whiteout: has(RenameFlag::Whiteout),
        };
        let (from, to) = (step.file.as_bytes(), step.to.as_bytes());
        let result = match flags {
            RenameFlags::NONE => self.system.rename(from, to),
            _ => self.system.rename_with(from, to, flags),
        };
        as_expected(result, step.fails).map(|_| Facts::default())
    }

    /// By its descriptor where the file is open without a name.
    pub(super) fn link(&mut self, step: &steps::Link) -> Done {
        let system = &mut *self.system;
        let result = match self.open.get(&step.file) {
            Some(open) if system.is_unnamed(open.fd) => system.link_descriptor(open.fd, step.to.as_bytes()),
            _ => system.link(step.file.as_bytes(), step.to.as_bytes()),
        };
        as_expected(result, step.fails).map(|_| Facts::default())
    }
}
