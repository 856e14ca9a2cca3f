//! File systems of sources that a user has: what their keys and settings have in common.

use super::on_bare::{demand, refuse_options, PathSettings};
use crate::error::MachineError;
use ffslab_bare::paths::Make;
use ffslab_foreign::Setup;
use ffslab_fs::PathFileSystem;
use ffslab_mtd::Mtd;
use ffslab_system::SystemError;
use std::sync::Arc;

const OPEN_FILES: u32 = 16;
const OPEN_FILES_MAX: u32 = 1024;

/// Files that can be open at once, which `key` says. A value that is absent is filled in.
///
/// Errors: none, or more than the glue code has room for.
pub(super) fn open_files(given: &mut Option<u32>, key: &'static str) -> Result<u32, MachineError> {
    let files = *given.get_or_insert(OPEN_FILES);
    demand((1..=OPEN_FILES_MAX).contains(&files), key, files, || format!("1 to {OPEN_FILES_MAX}"))?;
    Ok(files)
}

/// With `no_read_only`, why there are no read-only mounts of it.
pub(super) fn settings(setup: Setup, no_read_only: &'static str) -> Arc<dyn PathSettings> {
    Arc::new(Loaded { setup, no_read_only })
}

#[derive(Debug)]
struct Loaded {
    setup: Setup,
    no_read_only: &'static str,
}

impl Make for Loaded {
    fn mount(&self, medium: &Mtd, options: &[String]) -> Result<Box<dyn PathFileSystem>, SystemError> {
        refuse_options(self.setup.fs, options, self.no_read_only)?;
        Ok(Box::new(self.setup.mount(medium).map_err(SystemError::unusable)?))
    }

    fn format(&self, medium: &Mtd) -> Result<(), SystemError> {
        self.setup.format(medium).map_err(SystemError::unusable)
    }
}
