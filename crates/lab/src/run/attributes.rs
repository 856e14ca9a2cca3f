//! The steps about symbolic links, permissions, owners, times, sizes and names of extended attributes.

use super::execute::{absolute, expected, plain};
use super::facts::Facts;
use super::runner::{Runner, Stop};
use crate::requests::CallOp;
use ffslab_fs::TimeSpec;
use ffslab_system::System;
use ffslab_workload::steps::{permission_bits, Failure, Step};

impl Runner<'_> {
    /// ftruncate(2).
    pub(super) fn cut_open(&mut self, file: &str, bytes: u64, fails: Option<Failure>) -> Result<Facts, Stop> {
        let fd = self.fd(file)?;
        expected(self.call(CallOp::Truncate, file, |system| system.ftruncate(fd, bytes)), fails)
    }

    pub(super) fn attributes(&mut self, step: &Step) -> Result<Facts, Stop> {
        let time = |seconds: Option<u32>| seconds.map(|s| TimeSpec { seconds: i64::from(s), nanoseconds: 0 });
        match step {
            Step::Ftruncate(step) => self.cut_open(&step.file, step.bytes.0, step.fails),
            Step::Fallocate(step) => {
                let (fd, at, bytes) = (self.fd(&step.file)?, step.offset.0, step.bytes.0);
                let done = self.call(CallOp::Other, &step.file, |system| system.fallocate(fd, &step.flags, at, bytes));
                expected(done, step.fails)
            }
            Step::Symlink(step) => {
                let (target, file) = (step.target.as_bytes(), step.file.as_bytes());
                expected(self.call(CallOp::Link, &step.file, |system| system.symlink(target, file)), step.fails)
            }
            Step::Readlink(step) => {
                let read = self.call(CallOp::Other, &step.file, |system| system.readlink(step.file.as_bytes()));
                expected(read, step.fails)
            }
            Step::Chmod(step) => {
                let bits = permission_bits(&step.permissions).unwrap_or_default();
                let changed = self.call(CallOp::Other, &step.file, |system| system.chmod(step.file.as_bytes(), bits));
                expected(changed, step.fails)
            }
            Step::Chown(step) => {
                let change = |system: &mut dyn System| system.chown(step.file.as_bytes(), step.uid, step.gid);
                expected(self.call(CallOp::Other, &step.file, change), step.fails)
            }
            Step::Utimens(step) => {
                let (accessed, modified) = (time(step.accessed_s), time(step.modified_s));
                let change = |system: &mut dyn System| system.utimens(step.file.as_bytes(), accessed, modified);
                expected(self.call(CallOp::Other, &step.file, change), step.fails)
            }
            Step::ListXattr(step) => {
                let path = absolute(&step.file);
                plain(self.call(CallOp::Other, &step.file, |system| system.listxattr(&path)).map(drop))
            }
            Step::RemoveXattr(step) => {
                let path = absolute(&step.file);
                let removed =
                    self.call(CallOp::Other, &step.file, |system| system.removexattr(&path, step.name.as_bytes()));
                expected(removed, step.fails)
            }
            _ => plain(self.call(CallOp::Other, "", |system| system.statfs()).map(drop)),
        }
    }
}
