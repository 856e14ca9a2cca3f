//! The UBI volume that a stack mounts.

use ffslab_ubi::{Ubi, Volume};

/// Name of the UBI volume.
pub(crate) const VOLUME: &str = "v";

/// The volume to mount: the only one, whatever an image calls it, or the one named [`VOLUME`].
pub(crate) fn open_volume(ubi: &Ubi) -> Result<Volume, String> {
    let volumes = ubi.volumes();
    let id = match volumes.as_slice() {
        [] => return Err("UBI has no volume: a step ubi_make_volume makes one".to_string()),
        [only] => only.id,
        several => match several.iter().find(|volume| volume.name == VOLUME) {
            Some(named) => named.id,
            None => {
                let names: Vec<String> = several.iter().map(|volume| format!("\"{}\"", volume.name)).collect();
                let names = names.join(", ");
                return Err(format!("UBI has {} volumes, {names}: call the one to mount \"{VOLUME}\"", several.len()));
            }
        },
    };
    ubi.open(id).map_err(|error| error.to_string())
}
