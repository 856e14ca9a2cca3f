//! What a machine with RTEMS is built of.

use crate::device_keys::DISK_KIB;
use crate::error::MachineError;
use crate::file_systems::on_rtems::{Given, OnRtems, RtemsFs};
use crate::file_systems::{find_on_rtems, on_rtems, owners_on_rtems};
use crate::flash_device::FlashDevice;
use crate::rtems_keys::{RtemsKeys, OWNED_KEYS};
use ffslab_profiles::rtems_board;
use ffslab_rtems::bdbuf::BdbufConfig;
use ffslab_rtems::cpu::CpuCosts;
use ffslab_text::words::nearest;
use std::path::Path;

/// The name of the board on which code takes no time.
const NO_BOARD: &str = "none";

/// Everything that building needs.
#[derive(Clone, Debug)]
pub struct RtemsSpec {
    pub cpu: Option<CpuCosts>,
    pub bdbuf: BdbufConfig,
    pub fs: RtemsFs,
}

impl RtemsSpec {
    /// Fills in what is absent; gives what is to be built and the keys with all values.
    ///
    /// Errors: unknown profiles and file systems, keys that the file system does not have, sizes that do not fit.
    pub fn from_keys(keys: &RtemsKeys, base_dir: &Path) -> Result<(RtemsSpec, RtemsKeys), MachineError> {
        let mut keys = keys.clone();
        let on = file_system(&keys)?;
        let cpu = match keys.board.as_str() {
            NO_BOARD => None,
            name => Some(rtems_board(name, base_dir)?),
        };
        let bdbuf = keys.bdbuf();
        let fs = on.settings(&mut keys, &Given { base_dir, bdbuf: &bdbuf })?;
        Ok((RtemsSpec { cpu, bdbuf, fs }, keys))
    }

    /// The flash of its block device, if a translation layer stands above it.
    pub fn flash_device(&self) -> Option<&FlashDevice> {
        self.fs.disk().and_then(|disk| disk.device.flash.as_deref())
    }

    /// Size of the medium; memory files may take what IMFS has.
    pub fn medium_bytes(&self) -> u64 {
        match &self.fs {
            RtemsFs::Memory(_) => u64::from(DISK_KIB) << 10,
            RtemsFs::Disk(disk, _) => u64::from(disk.media_block_bytes) * u64::from(disk.media_blocks),
            RtemsFs::Flash(flash, _) => flash.sizes.size_bytes,
        }
    }
}

/// The file system. A key that it would not look at is a mistake.
fn file_system(keys: &RtemsKeys) -> Result<&'static dyn OnRtems, MachineError> {
    let fs = keys.fs.as_str();
    let Some(on) = find_on_rtems(fs) else {
        let known = on_rtems();
        let hint = nearest(fs, known.iter().copied());
        let hint = hint.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
        return Err(MachineError::word("fs", fs, format!("{hint}RTEMS has {}", known.join(", "))));
    };
    let mut foreign = OWNED_KEYS.iter().filter(|(key, _)| !on.own_keys().contains(key));
    match foreign.find(|(_, is_given)| is_given(keys)) {
        Some((key, _)) => Err(MachineError::Foreign { key, owners: owners_on_rtems(key), fs: fs.to_string() }),
        None => Ok(on),
    }
}
