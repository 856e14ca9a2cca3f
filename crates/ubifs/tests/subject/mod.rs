//! UBIFS on UBI as the conformance kit sees it; each test crate uses part of it.
#![allow(dead_code)]

pub mod structures;

use ffslab_conformance::{Features, Subject};
use ffslab_flash::Geometry;
use ffslab_fs::FileSystem;
use ffslab_mtd::Mtd;
use ffslab_policy::{VictimSpec, Victims};
use ffslab_ubi::{BadReserve, Ubi, UbiOptions, VolumeKind, VolumeRequest, VolumeSize};
use ffslab_ubifs::{victim_table, Options, Ubifs};

/// UBIFS with some options on a UBI volume that takes the whole chip.
pub struct UbifsSubject {
    /// The victim policy.
    pub policy: &'static str,
    pub options: Options,
    pub geometry: Geometry,
    pub bad_reserve: BadReserve,
}

/// Linux's default.
pub const BAD_RESERVE: BadReserve = BadReserve::Per1024OfChip(20);

/// Attaches a partition and opens its volume, which is made if it does not exist.
pub fn attach(mtd: Mtd, bad_reserve: BadReserve) -> Result<(Ubi, ffslab_ubi::Volume), String> {
    attach_with(mtd, &UbiOptions { bad_reserve, ..UbiOptions::default() })
}

fn attach_with(mtd: Mtd, options: &UbiOptions) -> Result<(Ubi, ffslab_ubi::Volume), String> {
    let ubi = Ubi::attach(mtd, options).map_err(|error| error.to_string())?;
    let open = || -> Result<ffslab_ubi::Volume, String> {
        if ubi.volumes().is_empty() {
            let request = VolumeRequest::new("v", VolumeKind::Dynamic, VolumeSize::AllAvailable);
            ubi.make_volume(&request).map_err(|error| error.to_string())?;
        }
        ubi.open_by_name("v").map_err(|error| error.to_string())
    };
    match open() {
        Ok(volume) => Ok((ubi, volume)),
        Err(text) => {
            ubi.detach();
            Err(text)
        }
    }
}

impl UbifsSubject {
    fn mount_on(&self, mtd: Mtd, ubi: &UbiOptions) -> Result<Box<dyn FileSystem>, String> {
        let (ubi, volume) = attach_with(mtd, ubi)?;
        let victims = VictimSpec::parse(self.policy).map_err(|error| error.to_string())?;
        let victims = Victims::of(&victims, 1, victim_table(volume.leb_bytes()));
        match Ubifs::mount(&ubi, volume, self.options, 1_300_000_000) {
            Ok(mut fs) => {
                fs.detach_at_end();
                if let Some(victims) = victims {
                    fs.collects_by(victims);
                }
                Ok(Box::new(fs))
            }
            Err(error) => {
                ubi.detach();
                Err(error.to_string())
            }
        }
    }
}

/// The same on a UBI with fastmap.
pub struct WithFastmap(pub UbifsSubject);

impl Subject for WithFastmap {
    fn name(&self) -> &str {
        "ubifs with fastmap"
    }

    fn geometry(&self) -> Geometry {
        self.0.geometry()
    }

    fn may_refuse_unfinished_format(&self) -> bool {
        true
    }

    fn features(&self) -> Features {
        self.0.features()
    }

    fn mount(&self, mtd: Mtd) -> Result<Box<dyn FileSystem>, String> {
        let (fastmap, fm_autoconvert) = (true, true);
        let bad_reserve = self.0.bad_reserve;
        self.0.mount_on(mtd, &UbiOptions { bad_reserve, fastmap, fm_autoconvert, ..UbiOptions::default() })
    }
}

impl Subject for UbifsSubject {
    fn name(&self) -> &str {
        "ubifs"
    }

    fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// UBI's volume table and UBIFS's own areas are written one after the other by the first attach and mount. What is
    /// left after a cut is neither empty nor complete, and Linux refuses it too.
    fn may_refuse_unfinished_format(&self) -> bool {
        true
    }

    fn features(&self) -> Features {
        Features { xattrs: true, rename_flags: true, unnamed_files: true }
    }

    fn mount(&self, mtd: Mtd) -> Result<Box<dyn FileSystem>, String> {
        self.mount_on(mtd, &UbiOptions { bad_reserve: self.bad_reserve, ..UbiOptions::default() })
    }

    fn reseal(&self, image: &mut [u8]) {
        let mut data = structures::data_areas(image, self.geometry);
        for structure in structures::structures(&data, self.geometry) {
            structures::seal(&mut data, &structure);
        }
        structures::put_data_areas(image, self.geometry, &data);
    }
}
