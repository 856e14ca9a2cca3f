//! The UBI volume that a stack mounts.

use ffslab_system::{SystemError, UbiState};
use ffslab_ubi::{Ubi, Volume};

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
