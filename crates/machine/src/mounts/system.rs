//! What may be asked of a machine with several mounts beside its calls.

use super::Mounts;
use crate::stack::Stack;
use ffslab_fs::{BlockSpace, Unwritten};
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_system::{Answer, Calls, ImageGiven, MountDone, Runs, System, SystemError};
use ffslab_text::words::size_text;

/// Erases of each block of a partition, apart from those of formatting.
fn worn(mount: &Stack) -> Vec<u32> {
    mount.erase_counts().iter().zip(mount.formatting_erases()).map(|(all, formatting)| all - formatting).collect()
}

impl System for Mounts {
    /// Mounts the root with these options, then the others with their own, as `/etc/fstab` lists them. A remount is that of the
    /// root, and a boot loader mounts nothing else.
    fn mount(&mut self, options: &[String]) -> Result<(), SystemError> {
        self.root().mount(options)?;
        if self.runs() != Runs::Linux || options.iter().any(|option| option == "remount") {
            return Ok(());
        }
        for number in 1..self.members.len() {
            let ubi = self.root().ubi().cloned();
            let mut mount = self.member(number);
            mount.share_ubi(ubi);
            let at = String::from_utf8_lossy(&self.members[number].directory).into_owned();
            let named = |error: SystemError| SystemError::unusable(format!("mount at \"/{at}\": {error}"));
            mount.mount(&self.members[number].options).map_err(named)?;
        }
        self.overlays.iter().try_for_each(super::overlay::Laid::mount)
    }

    /// The root last. Those that an earlier attempt has unmounted stay so.
    fn umount(&mut self) -> Answer<()> {
        self.overlays.iter().rev().try_for_each(super::overlay::Laid::umount)?;
        let others = (1..self.members.len()).rev();
        others
            .filter(|&number| self.member(number).is_mounted())
            .try_for_each(|number| self.member(number).umount())?;
        self.root().umount()
    }

    fn is_mounted(&self) -> bool {
        self.root().is_mounted()
    }

    fn crash(&mut self) -> Result<(), SystemError> {
        self.files.clear();
        self.overlays.iter().for_each(|laid| laid.overlay.borrow_mut().crash());
        (0..self.members.len()).rev().for_each(|number| self.member(number).crash());
        Ok(())
    }

    fn ubi_attach(&mut self) -> Result<(), SystemError> {
        self.root().ubi_attach()
    }

    fn begin_stage(&mut self, runs: Runs, fastmap: Option<bool>) -> Result<Option<&'static str>, SystemError> {
        self.root().begin_stage(runs, fastmap)
    }

    fn runs(&self) -> Runs {
        self.root().runs()
    }

    fn ubi_read(&mut self, volume: &str, bytes: Option<u64>) -> Result<u64, SystemError> {
        self.root().ubi_read(volume, bytes)
    }

    fn ubi_detach(&mut self) -> Result<(), SystemError> {
        for number in 1..self.members.len() {
            self.member(number).give_ubi_back()?;
        }
        self.root().ubi_detach()
    }

    fn ubi_make_volume(&mut self) -> Result<(), SystemError> {
        self.root().ubi_make_volume()
    }

    fn wear_on(&mut self, more_erases: &[u32]) -> Answer<()> {
        let counts = (0..self.members.len()).any(|number| self.member(number).ubi().is_some());
        let done = !counts && self.whole.wear_on(more_erases).is_ok();
        done.then_some(()).ok_or_else(|| self.root().lacks("UBI on several mounts whose wear could leap"))
    }

    fn set_read_ahead_bytes(&mut self, bytes: u32) -> Answer<()> {
        (0..self.members.len()).try_for_each(|number| self.member(number).set_read_ahead_bytes(bytes))
    }

    fn sync_directories(&mut self) -> Answer<()> {
        (0..self.members.len()).try_for_each(|number| self.member(number).sync_directories())
    }

    fn unwritten(&mut self) -> Unwritten {
        let left = (0..self.members.len()).map(|number| self.member(number).unwritten());
        left.fold(Unwritten::default(), |sum, one| Unwritten {
            pages: sum.pages + one.pages,
            inodes: sum.inodes + one.inodes,
            buffered_bytes: sum.buffered_bytes + one.buffered_bytes,
        })
    }

    /// A UBI that several share counts once for each of them.
    fn blocks_to_format(&self) -> u32 {
        (0..self.members.len()).map(|number| self.member(number).blocks_to_format()).sum()
    }

    /// Of what programs see as the root; those of all mounts are in [`System::mounts_done`].
    fn free_bytes(&mut self) -> Option<u64> {
        self.member(self.with_room_at(b"/")).free_bytes()
    }

    fn file_bytes_max(&self) -> u64 {
        (0..self.members.len()).map(|number| self.member(number).file_bytes_max()).min().unwrap_or(0)
    }

    fn medium_bytes(&self) -> u64 {
        self.whole.size_bytes()
    }

    fn medium_bytes_at(&self, path: &[u8]) -> u64 {
        let mount = self.member(self.with_room_at(path));
        mount.volume_bytes().unwrap_or_else(|| mount.medium_bytes())
    }

    fn too_small(&self) -> String {
        let size = |number: usize| {
            let (mount, directory) = (self.member(number), &self.members[number].directory);
            let bytes = mount.volume_bytes().unwrap_or_else(|| mount.medium_bytes());
            format!("/{} {}", String::from_utf8_lossy(directory), size_text(bytes))
        };
        let sizes: Vec<String> = (0..self.members.len()).map(size).collect();
        format!(
            "the mounts are {} with their file systems' own needs; enlarge the full one or write less",
            sizes.join(", ")
        )
    }

    fn mtd(&self) -> Option<&Mtd> {
        Some(&self.whole)
    }

    /// Of all partitions, in the order of their erase blocks; empty as soon as one mount does not tell.
    fn block_space(&self) -> Vec<BlockSpace> {
        let mut partitions: Vec<usize> =
            (0..self.members.len()).filter(|&number| self.member(number).volume_bytes().is_none()).collect();
        partitions.sort_by_key(|&number| self.member(number).blocks().start);
        let mut all = Vec::with_capacity(self.whole.blocks() as usize);
        for number in partitions {
            let space = self.member(number).block_space();
            if space.is_empty() {
                return Vec::new();
            }
            all.extend(space);
        }
        // Blocks between two partitions belong to nobody.
        if all.len() == self.whole.blocks() as usize {
            all
        } else {
            Vec::new()
        }
    }

    fn mounts_done(&self) -> Vec<MountDone> {
        let done = |number: usize| {
            let (member, mut mount) = (&self.members[number], self.member(number));
            let is_volume = mount.volume_bytes().is_some();
            MountDone {
                at: format!("/{}", String::from_utf8_lossy(&member.directory)),
                fs: mount.fs_name(),
                bytes: mount.volume_bytes().unwrap_or_else(|| mount.medium_bytes()),
                is_shared: mount.shares_ubi(),
                blocks: (!is_volume).then(|| mount.blocks()),
                read_bytes: member.done.read_bytes,
                written_bytes: member.done.written_bytes,
                page_programs: if is_volume {
                    None
                } else {
                    mount.mtd().and_then(Mtd::nand).map(|nand| nand.page_programs())
                },
                erases: if is_volume { Vec::new() } else { worn(&mount) },
                free_bytes: mount.free_bytes(),
            }
        };
        let mut all: Vec<MountDone> = (0..self.members.len()).map(done).collect();
        all.extend(self.overlays.iter().map(|laid| laid.told(&all[laid.upper])).collect::<Vec<_>>());
        all
    }

    fn image(&self, oob: bool) -> Result<Vec<u8>, SystemError> {
        Ok(self.whole.image(oob)?)
    }

    fn load(&mut self, _given: &ImageGiven, _image: &[u8]) -> Result<(), SystemError> {
        let says = "the step load is for one mount: give a mount the key image instead".to_string();
        Err(SystemError::Image { says })
    }

    fn snapshot(&self) -> Result<MediumImage, SystemError> {
        Ok(self.whole.snapshot())
    }
}
