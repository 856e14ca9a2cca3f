//! The UBI volume that a stack mounts, and whose the others are.

use ffslab_system::{SystemError, UbiState};
use ffslab_ubi::{Ubi, Volume};

/// Whose the volumes of the UBI on a partition are, where several mounts share it.
#[derive(Clone, Debug, Default)]
pub struct UbiVolumes {
    /// The one that this stack mounts, on the UBI of another stack. `None`: its UBI is its own, and it mounts the only volume, or
    /// the one that is called as ours are.
    pub own: Option<String>,
    /// Those of other stacks on the UBI of this one, and their sizes.
    pub others_bytes: Vec<(String, u64)>,
}

/// Name of the UBI volume.
pub(crate) const VOLUME: &str = "v";

/// The volume to mount: the one of this name; without a name the only one, whatever an image calls it, or the one named
/// [`VOLUME`].
pub(crate) fn open_volume(ubi: &Ubi, name: Option<&str>) -> Result<Volume, SystemError> {
    if let Some(name) = name {
        return ubi.open_by_name(name).map_err(SystemError::unusable);
    }
    let volumes = ubi.volumes();
    let id = match volumes.as_slice() {
        [] => return Err(UbiState::NoVolume.into()),
        [only] => only.id,
        several => match several.iter().find(|volume| volume.name == VOLUME) {
            Some(named) => named.id,
            None => {
                let names = several.iter().map(|volume| volume.name.clone()).collect();
                return Err(UbiState::Several { names, wanted: VOLUME }.into());
            }
        },
    };
    ubi.open(id).map_err(SystemError::unusable)
}
