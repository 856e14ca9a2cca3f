//! Flash that lies in memory.

use super::descriptor::{Descriptor, OnRtems};
use ffslab_mtd::ram;

pub static RAM_FLASH: Descriptor = Descriptor {
    name: "ram-flash",
    title: "flash in memory",
    about: "pages with out-of-band bytes that lie in memory; the CPU is charged for copying",
    of_parts: &[],
    keys: &["device_KiB"],
    on_linux: None,
    on_rtems: Some(OnRtems {
        make: |sizes, sim| ram::flash(sim, sizes.size_bytes),
        chip: |sizes| Some(ram::geometry(sizes.size_bytes)),
    }),
};
