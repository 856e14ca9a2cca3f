//! The description of a machine with several mounts.

use super::keys::{check_all, MountKeys};
use crate::error::MachineError;
use crate::stack::StackSpec;
use crate::stack_keys::StackKeys;
use crate::ubi_volume::UbiVolumes;
use ffslab_profiles::{OverlayfsRules, Profile};
use serde::Deserialize;
use std::path::Path;
use toml::{Table, Value};

/// All numbers that are needed to build a machine with several mounts.
#[derive(Clone, Debug)]
pub struct MountsSpec {
    pub root: StackSpec,
    pub others: Vec<OtherMount>,
    /// Those that are laid over others.
    pub overlays: Vec<MountKeys>,
}

/// A mount beside the root.
#[derive(Clone, Debug)]
pub struct OtherMount {
    pub keys: MountKeys,
    pub spec: StackSpec,
}

impl MountsSpec {
    /// What `[stack]` with its mounts describes, and the keys with the board's values filled in.
    ///
    /// Errors: as [`StackSpec::from_keys`]; mounts that contradict each other.
    pub fn from_keys(keys: &StackKeys, base_dir: &Path) -> Result<(MountsSpec, StackKeys), MachineError> {
        check_all(&keys.mount)?;
        let (mut root, mut filled) = StackSpec::from_keys(keys, base_dir)?;
        let mut others = Vec::with_capacity(keys.mount.len());
        let mut used = vec![root.partition.blocks()];
        let overlays: Vec<MountKeys> = keys.mount.iter().filter(|mount| mount.is_overlay()).cloned().collect();
        if let Some(overlay) = overlays.first() {
            check_kernel(&filled, base_dir).map_err(|says| MachineError::Mount { at: overlay.at.clone(), says })?;
        }
        for (mount, filled) in keys.mount.iter().zip(&mut filled.mount).filter(|(mount, _)| !mount.is_overlay()) {
            let at = &mount.at;
            let wrong = |says: String| MachineError::Mount { at: at.clone(), says };
            let end = used.last().map_or(0, |blocks| blocks.end);
            let own = on_machine(mount, keys, end)?;
            let (mut spec, own) = StackSpec::from_keys(&own, base_dir).map_err(|error| wrong(error.to_string()))?;
            let needs_ubi = |spec: &StackSpec| spec.fs.as_ref().is_some_and(|fs| fs.needs_ubi().is_some());
            match mount.volume_bytes {
                Some(bytes) => {
                    if !needs_ubi(&root) || !needs_ubi(&spec) {
                        let says =
                            "volume_B is the size of a UBI volume, and either its file system or that of [stack] does \
                                    not stand on UBI: give it a partition of its own (partition_blocks)";
                        return Err(wrong(says.to_string()));
                    }
                    if spec.image.is_some() {
                        let says = "image: the image of [stack] is that of the whole UBI: a volume takes none";
                        return Err(wrong(says.to_string()));
                    }
                    let name = mount.directory().replace('/', "-");
                    root.volumes.others_bytes.push((name.clone(), bytes));
                    spec.volumes = UbiVolumes { own: Some(name), others_bytes: Vec::new() };
                }
                None => {
                    let blocks = spec.partition.blocks();
                    if used.iter().any(|other| other.start < blocks.end && blocks.start < other.end) {
                        let (first, last) = (blocks.start, blocks.end - 1);
                        return Err(wrong(format!("erase blocks {first} to {last} overlap another partition")));
                    }
                    used.push(blocks);
                }
            }
            *filled = filled_in(mount, &own);
            others.push(OtherMount { keys: mount.clone(), spec });
        }
        Ok((MountsSpec { root, others, overlays }, filled))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &StackSpec> {
        std::iter::once(&self.root).chain(self.others.iter().map(|other| &other.spec))
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut StackSpec> {
        std::iter::once(&mut self.root).chain(self.others.iter_mut().map(|other| &mut other.spec))
    }
}

/// Errors: overlays of this kernel are not known.
fn check_kernel(keys: &StackKeys, base_dir: &Path) -> Result<(), String> {
    let board = Profile::load(&keys.board, keys.part.as_deref(), keys.kernel.as_deref(), base_dir)
        .map_err(|error| error.to_string())?;
    if board.flash_rules().overlayfs == OverlayfsRules::V6_1 {
        return Ok(());
    }
    let name = &board.kernel_name;
    Err(format!("overlayfs works as that of Linux 6.1 and 6.12, others take other steps, and [stack] has kernel {name}: say kernel = \"6.1\""))
}

/// The keys of a stack with this mount alone, on the machine of `stack`. A partition begins at `first_block` if the keys do
/// not say where.
///
/// Errors: unknown keys, values of another kind.
fn on_machine(mount: &MountKeys, stack: &StackKeys, first_block: u32) -> Result<StackKeys, MachineError> {
    let wrong = |error: &dyn std::fmt::Display| MachineError::Mount {
        at: mount.at.clone(),
        says: error.to_string().trim_end().replace('\n', " "),
    };
    let mut keys = Table::try_from(stack).map_err(|error| wrong(&error))?;
    keys.retain(|key, _| MountKeys::is_of_machine(key) && key != "mount");
    keys.insert("first_block".to_string(), Value::from(first_block));
    if mount.volume_bytes.is_some() {
        keys.insert("partition_blocks".to_string(), Value::from(stack.partition_blocks));
    }
    keys.extend(mount.own.clone());
    StackKeys::deserialize(keys).map_err(|error| wrong(&error.message()))
}

/// The same keys with what `keys` has filled in.
fn filled_in(mount: &MountKeys, keys: &StackKeys) -> MountKeys {
    let mut own = Table::try_from(keys).unwrap_or_else(|_| mount.own.clone());
    let of_partition = ["first_block", "partition_blocks"];
    own.retain(|key, _| {
        !MountKeys::is_of_machine(key) && (mount.volume_bytes.is_none() || !of_partition.contains(&key))
    });
    MountKeys { own, ..mount.clone() }
}
