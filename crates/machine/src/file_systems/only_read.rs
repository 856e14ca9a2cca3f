//! What is only read, from images: nothing that is simulated runs on it.

use super::descriptor::{Descriptor, Promises};
use ffslab_images::ImageFormat;

const fn only_read(
    name: &'static str,
    title: &'static str,
    about: &'static str,
    image: &'static dyn ImageFormat,
) -> Descriptor {
    Descriptor {
        name,
        title,
        about,
        mountable: None,
        on_rtems: None,
        on_bare: None,
        image: Some(image),
        promises: Promises::SYNCED,
    }
}

pub static SQUASHFS: Descriptor = only_read(
    "squashfs",
    "squashfs",
    "the compressed file system that is never written: images are read, nothing runs on it",
    &ffslab_images::squashfs::InImages,
);

pub static ESP_NVS: Descriptor = only_read(
    "esp-nvs",
    "ESP-IDF's NVS",
    "the store of keys and values of ESP32s: images are read, nothing runs on it",
    &ffslab_images::esp_nvs::InImages,
);
