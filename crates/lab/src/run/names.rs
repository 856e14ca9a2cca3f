//! The steps that give and move names.

use super::execute::as_expected;
use super::{Facts, Runner, Stop};
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
        let result = self.stack.vfs.rename_with(step.file.as_bytes(), step.to.as_bytes(), flags);
        as_expected(result, step.fails).map(|_| Facts::default())
    }

    /// By its descriptor where the file is open without a name.
    pub(super) fn link(&mut self, step: &steps::Link) -> Done {
        let vfs = &mut self.stack.vfs;
        let result = match self.open.get(&step.file) {
            Some(&fd) if vfs.is_unnamed(fd) => vfs.link_descriptor(fd, step.to.as_bytes()),
            _ => vfs.link(step.file.as_bytes(), step.to.as_bytes()),
        };
        as_expected(result, step.fails).map(|_| Facts::default())
    }
}
