//! The steps about symbolic links, permissions, owners, times and sizes.

use super::execute::{expected, plain};
use super::facts::Facts;
use super::runner::{Runner, Stop};
use ffslab_fs::TimeSpec;
use ffslab_workload::steps::{permission_bits, Step};

impl Runner<'_> {
    pub(super) fn attributes(&mut self, step: &Step) -> Result<Facts, Stop> {
        let time = |seconds: Option<u32>| seconds.map(|s| TimeSpec { seconds: i64::from(s), nanoseconds: 0 });
        if let Step::Ftruncate(step) = step {
            let fd = self.fd(&step.file)?;
            return expected(self.system.ftruncate(fd, step.bytes.0), step.fails);
        }
        let system = &mut *self.system;
        match step {
            Step::Symlink(step) => expected(system.symlink(step.target.as_bytes(), step.file.as_bytes()), step.fails),
            Step::Readlink(step) => expected(system.readlink(step.file.as_bytes()), step.fails),
            Step::Chmod(step) => {
                let bits = permission_bits(&step.permissions).unwrap_or_default();
                expected(system.chmod(step.file.as_bytes(), bits), step.fails)
            }
            Step::Chown(step) => expected(system.chown(step.file.as_bytes(), step.uid, step.gid), step.fails),
            Step::Utimens(step) => {
                let (accessed, modified) = (time(step.accessed_s), time(step.modified_s));
                expected(system.utimens(step.file.as_bytes(), accessed, modified), step.fails)
            }
            _ => plain(system.statfs().map(drop)),
        }
    }
}
