//! The steps that give and move names.

use super::execute::expected;
use super::facts::Facts;
use super::runner::{Runner, Stop};
use crate::requests::CallOp;
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
        let result = self.call(CallOp::Rename, &step.file, |system| match flags {
            RenameFlags::NONE => system.rename(from, to),
            _ => system.rename_with(from, to, flags),
        });
        expected(result, step.fails)
    }

    /// By its descriptor where the file is open without a name.
    pub(super) fn link(&mut self, step: &steps::Link) -> Done {
        let open = self.open.get(&step.file).map(|open| open.fd);
        let result = self.call(CallOp::Link, &step.file, |system| match open {
            Some(fd) if system.is_unnamed(fd) => system.link_descriptor(fd, step.to.as_bytes()),
            _ => system.link(step.file.as_bytes(), step.to.as_bytes()),
        });
        expected(result, step.fails)
    }
}
