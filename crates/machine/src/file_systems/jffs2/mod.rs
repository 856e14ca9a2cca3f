//! JFFS2.

mod on_rtems;

use crate::error::MachineError;
use crate::file_systems::descriptor::{Descriptor, Ground, Mountable, Refusal, Settings};
use crate::mount_options::{no_options, MountOptions};
use crate::stack_keys::{CompressionName, EndianName, StackKeys};
use ffslab_fs::FileSystem;
use ffslab_images::recognise::arranged::Arranged;
use ffslab_jffs2::{Compression, Endian, Jffs2, Options};
use ffslab_linux::{Kernel, WriteBackRules};
use ffslab_profiles::Profile;
use std::sync::Arc;

pub static JFFS2: Descriptor = Descriptor {
    name: "jffs2",
    title: "JFFS2",
    about: "a log of compressed nodes on the partition itself; a mount reads all of it",
    mountable: Some(&OnLinux),
    on_rtems: Some(&on_rtems::RtemsPort),
    image: Some(&ffslab_images::jffs2::InImages),
};

struct OnLinux;

impl Mountable for OnLinux {
    fn own_keys(&self) -> &'static [&'static str] {
        &["compression", "summary", "endian"]
    }

    fn settings(&self, keys: &mut StackKeys, board: &Profile) -> Result<Arc<dyn Settings>, MachineError> {
        Ok(Arc::new(Jffs2Settings(Options {
            compression: compression(keys.compression).map_err(MachineError::Key)?,
            summary: keys.summary,
            endian: match keys.endian {
                EndianName::Little => Endian::Little,
                EndianName::Big => Endian::Big,
            },
            ..as_kernel(&board.kernel())
        })))
    }
}

/// Settings of JFFS2 for a stack.
#[derive(Debug)]
pub struct Jffs2Settings(pub Options);

impl Settings for Jffs2Settings {
    fn fs(&self) -> &'static Descriptor {
        &JFFS2
    }

    fn mount(&self, ground: &Ground<'_>, options: &MountOptions) -> Result<Box<dyn FileSystem>, Refusal> {
        no_options(JFFS2.name, &options.others)?;
        let settings = Options { read_only: options.read_only, ..self.0 };
        Ok(Box::new(Jffs2::mount(ground.mtd.clone(), settings).map_err(|error| error.to_string())?))
    }

    fn check_image(&self, found: &Arranged) -> Result<(), String> {
        match found.layout.as_ref().and_then(|layout| layout.endian) {
            Some(endian) if endian != self.0.endian => {
                let order = if endian == Endian::Big { "big" } else { "little" };
                Err(format!("its nodes are {order}-endian: set endian = \"{order}\" in [stack]"))
            }
            _ => Ok(()),
        }
    }
}

/// The rules of the JFFS2 that is part of a kernel.
pub fn as_kernel(kernel: &Kernel) -> Options {
    match kernel.write_back {
        WriteBackRules::V2_6 => Options::linux_2_6_37(),
        WriteBackRules::V6_1 => Options::default(),
    }
}

/// JFFS2's name for a compressor.
///
/// Errors: one that it does not have.
pub fn compression(name: CompressionName) -> Result<Compression, String> {
    Ok(match name {
        CompressionName::None => Compression::None,
        CompressionName::Zlib => Compression::Zlib,
        CompressionName::Rtime => Compression::Rtime,
        CompressionName::Lzo => Compression::Lzo,
        CompressionName::Priority => Compression::Priority,
        CompressionName::Size => Compression::Size,
        CompressionName::Zstd => return Err("compression = \"zstd\": jffs2 does not have it".to_string()),
    })
}
