//! What is known of a file system before there is one: its descriptor, and the questions that systems ask it.

use super::on_bare::OnBare;
use super::on_rtems::OnRtems;
use crate::error::{MachineError, OtherKey};
use crate::mount_options::MountOptions;
use crate::policy_keys::Policies;
use crate::stack_keys::StackKeys;
use crate::ubi_volume::UbiVolumes;
use ffslab_fs::{DirectFileSystem, FileSystem};
use ffslab_images::recognise::arranged::Arranged;
use ffslab_images::{ImageFormat, ImageFs, Layout};
use ffslab_mtd::Mtd;
use ffslab_profiles::Profile;
use ffslab_system::SystemError;
use ffslab_ubi::{Ubi, UbiOptions};
use std::fmt::Debug;
use std::sync::Arc;

/// All that the laboratory knows of a file system.
pub struct Descriptor {
    /// As users write it: `fs = "jffs2"`.
    pub name: &'static str,
    /// As people write it: "JFFS2".
    pub title: &'static str,
    /// A sentence for help texts.
    pub about: &'static str,
    /// How it is mounted on a stack with Linux; `None`: it is not.
    pub mountable: Option<&'static dyn Mountable>,
    /// How RTEMS mounts it; `None`: RTEMS does not have it.
    pub on_rtems: Option<&'static dyn OnRtems>,
    /// How a bare program calls it by paths and handles; `None`: it does not. One with inodes is called as its [`Mountable`] says.
    pub on_bare: Option<&'static dyn OnBare>,
    /// How its images are read; `None`: they are not.
    pub image: Option<&'static dyn ImageFormat>,
    /// What is there after a power cut.
    pub promises: Promises,
}

/// What a file system promises of files after a power cut, compared with fsync(2): what was synced is there; a name that was replaced
/// stands for the old or the new file; of the rest each byte and each name may be there or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// It keeps that promise. Otherwise a cut may take anything, as where structures are changed in place without a journal.
    pub keeps_synced: bool,
    /// Zeros, and data that were cut off, may be replaced by older data.
    pub older_data_may_return: bool,
    /// A mount may be refused as long as nothing was ever synced: the file system was being made.
    pub may_refuse_unfinished: bool,
    /// A sentence for people: what to rely on, and what not.
    pub about: &'static str,
}

impl Promises {
    /// What fsync(2) says.
    pub const SYNCED: Promises = Promises {
        keeps_synced: true,
        older_data_may_return: false,
        may_refuse_unfinished: false,
        about: "what was synced is there; nothing else is promised",
    };
}

impl Descriptor {
    /// Whether programs write it on Linux.
    pub fn is_written_on_linux(&self) -> bool {
        self.mountable.is_some_and(|mountable| !mountable.is_only_read())
    }

    /// The file system as those know it who read images.
    pub fn image_fs(&self) -> ImageFs {
        ImageFs::new(self.name, self.title, self.image)
    }
}

ffslab_sim::known_by_name!(Descriptor);

/// What a stack with Linux asks about a file system before there is one.
pub trait Mountable: Sync {
    /// Keys of `[stack]` that say something about this file system and not about all of them. A key may have several
    /// owners; for the file systems that do not own it, it is refused.
    fn own_keys(&self) -> &'static [&'static str] {
        &[]
    }

    /// Steps of experiments that are about what it stands on. In an experiment that compares file systems they are left out for
    /// those that do not own them.
    fn own_steps(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether policies choose its next free block, and when and from where data move to level wear.
    fn takes_wear_policies(&self) -> bool {
        false
    }

    /// Whether its garbage collection takes the victims that a policy chooses ([`Ground::policies`]).
    fn takes_victim_policy(&self) -> bool {
        false
    }

    /// Whether an image is put on the partition from its first byte on, whatever else is found in it.
    ///
    /// Errors: one that does not begin as it must.
    fn takes_whole(&self, _keys: &StackKeys, _image: &[u8]) -> Result<bool, MachineError> {
        Ok(false)
    }

    /// Whether nothing ever writes it: what it holds comes from an image.
    fn is_only_read(&self) -> bool {
        false
    }

    /// Whether its settings have an interface for programs without an operating system ([`Settings::direct`]).
    fn is_called_directly(&self) -> bool {
        false
    }

    /// Read-ahead of its mounts where the keys do not say it; `None`: that of the board.
    fn read_ahead_kib(&self) -> Option<u32> {
        None
    }

    /// What the keys and the board make of its settings. Values that the board fills in are put into the keys.
    ///
    /// Errors: values that the file system does not have.
    fn settings(&self, keys: &mut StackKeys, board: &Profile) -> Result<Arc<dyn Settings>, MachineError>;

    /// Why it does not take raw NAND whose cells hold several bits, below the kernel of `board`; `None`: it does.
    fn mlc_refusal(&self, _keys: &StackKeys, _board: &Profile) -> Option<&'static str> {
        None
    }
}

/// The settings of a file system in a stack, from which it is mounted as often as one likes.
pub trait Settings: Debug + Send + Sync {
    fn fs(&self) -> &'static Descriptor;

    /// Mounts the partition. What every mount has (remount, `sync`) was done before; of the options `read_only` and
    /// `others` count.
    ///
    /// Errors: options that the file system does not have, what it says of the medium.
    fn mount(&self, ground: &Ground<'_>, options: &MountOptions) -> Result<Box<dyn FileSystem>, SystemError>;

    /// How a program calls it without an operating system between; `None`: it has no such interface.
    fn direct(&self) -> Option<&dyn Direct> {
        None
    }

    /// What it needs if it works on UBI; `None`: it works on the partition itself.
    fn needs_ubi(&self) -> Option<NeedsUbi> {
        None
    }

    /// Whether an image that is put on the partition can be mounted so.
    ///
    /// Errors: the key that would have to be set.
    fn check_image(&self, _found: &Arranged) -> Result<(), OtherKey> {
        Ok(())
    }

    /// Whether [`Settings::on_flash`] is asked.
    fn puts_images_elsewhere(&self) -> bool {
        false
    }

    /// As [`Mountable::takes_whole`], in a line.
    ///
    /// Errors: an image that does not begin as it must.
    fn takes_whole(&self, _image: &[u8]) -> Result<bool, String> {
        Ok(false)
    }

    /// What is put on the partition for an image, where that is not the image itself; `None`: it is.
    ///
    /// Errors: why it cannot be put there, in a line.
    fn on_flash(&self, _image: &[u8], _medium: &Mtd, _volumes: &UbiVolumes) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }

    /// The settings that mount a copy of an image, where what is found in it asks for others.
    fn adapted_to(&self, _layout: &Layout) -> Option<Arc<dyn Settings>> {
        None
    }
}

/// A file system that programs call without an operating system between.
pub trait Direct {
    /// As [`Settings::mount`], for such a program.
    ///
    /// Errors: options that the file system does not have, what it says of the medium.
    fn mount_direct(
        &self,
        ground: &Ground<'_>,
        options: &MountOptions,
    ) -> Result<Box<dyn DirectFileSystem>, SystemError>;
}

/// What a file system stands on.
pub struct Ground<'a> {
    pub mtd: &'a Mtd,
    /// Attached to the partition, if the file system needs it.
    pub ubi: Option<&'a Ubi>,
    /// The volume that is meant; `None`: the only one, or the one that is called as ours are.
    pub volume: Option<&'a str>,
    /// The time of day at virtual time 0, in seconds since 1970.
    pub epoch_s: u64,
    /// Who decides in its place, if [`Mountable::takes_victim_policy`].
    pub policies: &'a Policies,
}

/// UBI for a file system.
#[derive(Clone, Debug)]
pub struct NeedsUbi {
    pub options: UbiOptions,
    /// LEBs of the smallest volume that it mounts.
    pub lebs_min: u32,
}
