//! Block devices, which stand beside flash: their drivers take requests of many blocks, and a cache stands above them
//! (`ffslab_rtems::device`, `ffslab_rtems::bdbuf`). Which there are, profiles say.

use super::descriptor::Descriptor;

pub static BLOCK_DEVICE: Descriptor = Descriptor {
    name: "block-device",
    title: "a block device",
    about: "a memory disk, card or stick of a profile, below the block cache",
    of_parts: &[],
    keys: &["device", "device_KiB", "media_block_B", "image"],
    on_linux: None,
    on_rtems: None,
};
