//! Writes the files of an image into a folder.
//!
//! An image may come from anybody. So everything is written into a new folder that only its owner may enter, symbolic links come
//! last, and no path leads through one; names that lead elsewhere (`..`) were left out when the image was read. The folder gets its
//! name when it is complete. What this computer does not take is left out and said.

use crate::text::{device_numbers, path_text};
use ffslab_fs::FileKind;
use ffslab_images::{PartTree, TreeEntry};
use nix::fcntl::AT_FDCWD;
use nix::sys::stat::{makedev, mknod, utimensat, Mode, SFlag, UtimensatFlags};
use nix::sys::time::TimeSpec;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{lchown, symlink, DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A run of zeros of this size becomes a hole.
const PIECE_BYTES: usize = 64 << 10;

/// Writes the files of each partition, of several into a folder each, into a new or empty folder; complete or not at all.
/// Returns what was left out, a line each.
///
/// Errors: one line; the folder holds something already, or cannot be written.
pub fn extract(found: &[PartTree], folder: &Path) -> Result<Vec<String>, String> {
    let failed = |error: io::Error| format!("{}: cannot be written: {error}", folder.display());
    let taken = match fs::symlink_metadata(folder) {
        Ok(meta) if !meta.is_dir() => Some("is not a folder: name a new or empty one"),
        Ok(_) if fs::read_dir(folder).map_err(failed)?.next().is_some() => {
            Some("holds files already: name a new or empty folder")
        }
        _ => None,
    };
    if let Some(why) = taken {
        return Err(format!("{}: {why}", folder.display()));
    }
    let name = folder.file_name().ok_or_else(|| format!("{}: is no name of a folder", folder.display()))?;
    let mut fresh_name = name.to_os_string();
    fresh_name.push(format!(".new-{}", std::process::id()));
    let fresh = folder.with_file_name(fresh_name);
    private_folder(&fresh).map_err(failed)?;
    let written = written(found, &fresh).and_then(|writers| {
        fs::rename(&fresh, folder).map_err(|error| error.to_string())?;
        Ok(writers)
    });
    match written {
        Ok(mut writers) => {
            // A root may be closed to its owner from now on, which would not let it be renamed.
            writers.iter_mut().for_each(|writer| writer.finish(&fresh, folder));
            Ok(writers.into_iter().flat_map(|writer| writer.left_out).collect())
        }
        Err(why) => {
            // What remains could not be removed either.
            let _remains = fs::remove_dir_all(&fresh);
            Err(format!("{}: cannot be written: {why}", folder.display()))
        }
    }
}

fn written<'t>(found: &'t [PartTree], fresh: &Path) -> Result<Vec<Writer<'t>>, String> {
    let mut writers = Vec::new();
    for PartTree { part, tree } in found {
        let Some(tree) = tree else { continue };
        let mut root = fresh.to_path_buf();
        if found.len() > 1 {
            if matches!(part.name.as_str(), "" | "." | "..") || part.name.contains(['/', '\0']) {
                return Err(format!("the partition {:?} cannot be a folder: choose one with --partition", part.name));
            }
            root.push(&part.name);
            private_folder(&root).map_err(|error| error.to_string())?;
        }
        let mut writer =
            Writer { root, left_out: Vec::new(), is_root_user: nix::unistd::geteuid().is_root(), top: None };
        writer.write(&tree.entries).map_err(|error| error.to_string())?;
        writers.push(writer);
    }
    Ok(writers)
}

fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// What the system says against all files, not against one.
fn is_about_all(error: &io::Error) -> bool {
    use ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
        || error.raw_os_error() == Some(nix::libc::EIO)
}

struct Writer<'t> {
    root: PathBuf,
    left_out: Vec<String>,
    is_root_user: bool,
    /// The root of the image, whose attributes come last.
    top: Option<&'t TreeEntry>,
}

impl<'t> Writer<'t> {
    /// Writes everything but the attributes of the root.
    ///
    /// Errors: of the system, against all files.
    fn write(&mut self, entries: &'t [TreeEntry]) -> io::Result<()> {
        let mut made: Vec<&TreeEntry> = Vec::new();
        let mut first_names: HashMap<(u32, FileKind), PathBuf> = HashMap::new();
        // Directories come before what they hold, and what one holds stands behind it without a gap.
        let mut lost: Option<(Vec<u8>, usize)> = None;
        let is_link = |entry: &TreeEntry| entry.kind == FileKind::Symlink;
        let (links, others): (Vec<&TreeEntry>, Vec<&TreeEntry>) =
            entries.iter().filter(|entry| entry.error.is_none()).partition(|entry| is_link(entry));
        for entry in others.into_iter().chain(links) {
            if entry.path.is_empty() {
                self.top = Some(entry);
                continue;
            }
            if let Some((_, count)) = lost.as_mut().filter(|(above, _)| entry.path.starts_with(above)) {
                *count += 1;
                continue;
            }
            let path = self.place(entry);
            match self.make(entry, &path, &mut first_names) {
                Ok(()) => made.push(entry),
                Err(error) if is_about_all(&error) => return Err(error),
                Err(error) => {
                    self.say_lost(lost.take());
                    self.refused(entry, &error);
                    lost = (entry.kind == FileKind::Directory).then(|| ([&entry.path[..], b"/"].concat(), 0));
                }
            }
        }
        self.say_lost(lost.take());
        // What a directory holds comes first: it may be closed to its owner, and its time changes with each name.
        for entry in made.into_iter().rev() {
            self.set_attributes(entry, &self.place(entry));
        }
        Ok(())
    }

    /// Gives the root its attributes, when `fresh` is called `folder`.
    fn finish(&mut self, fresh: &Path, folder: &Path) {
        let place = self.root.strip_prefix(fresh).map_or_else(|_| folder.to_path_buf(), |below| folder.join(below));
        if let Some(top) = self.top {
            self.set_attributes(top, &place);
        }
    }

    fn place(&self, entry: &TreeEntry) -> PathBuf {
        self.root.join(OsStr::from_bytes(&entry.path))
    }

    fn say_lost(&mut self, lost: Option<(Vec<u8>, usize)>) {
        if let (Some((_, count @ 1..)), Some(line)) = (lost, self.left_out.last_mut()) {
            line.push_str(&format!(", and the {count} entries in it"));
        }
    }

    fn refused(&mut self, entry: &TreeEntry, error: &io::Error) {
        let is_device = matches!(entry.kind, FileKind::CharDevice | FileKind::BlockDevice);
        let why = match error.kind() {
            ErrorKind::PermissionDenied if is_device && !self.is_root_user => {
                "only root can make device files".to_string()
            }
            ErrorKind::AlreadyExists => "this computer takes its name for one that is there already".to_string(),
            _ => error.to_string(),
        };
        self.left_out.push(format!("{}: {} left out: {why}", path_text(&entry.path), entry.kind.name()));
    }

    fn make(
        &self,
        entry: &TreeEntry,
        path: &Path,
        first_names: &mut HashMap<(u32, FileKind), PathBuf>,
    ) -> io::Result<()> {
        if entry.kind == FileKind::Directory {
            return private_folder(path);
        }
        let key = (entry.ino, entry.kind);
        // Where there are no more hard links each name gets a copy.
        if first_names.get(&key).is_some_and(|first| fs::hard_link(first, path).is_ok()) {
            return Ok(());
        }
        match entry.kind {
            FileKind::File => {
                let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
                write_sparse(&file, &entry.data)?;
            }
            FileKind::Symlink => symlink(OsStr::from_bytes(&entry.data), path)?,
            _ => {
                let (major, minor) = device_numbers(entry.device);
                let kind = SFlag::from_bits_truncate(entry.kind.mode_bits() as nix::libc::mode_t);
                mknod(path, kind, Mode::from_bits_truncate(0o600), makedev(major.into(), minor.into()))?;
            }
        }
        first_names.entry(key).or_insert_with(|| path.to_path_buf());
        Ok(())
    }

    fn set_attributes(&mut self, entry: &TreeEntry, path: &Path) {
        if let Err(error) = self.attributes_set(entry, path) {
            let name = path_text(&entry.path);
            self.left_out.push(format!("{name}: owner, permissions or time are not kept: {error}"));
        }
    }

    fn attributes_set(&self, entry: &TreeEntry, path: &Path) -> io::Result<()> {
        if self.is_root_user {
            lchown(path, Some(entry.uid), Some(entry.gid))?;
        }
        if entry.kind != FileKind::Symlink {
            let kept = if self.is_root_user { 0o7777 } else { 0o777 };
            fs::set_permissions(path, Permissions::from_mode(entry.permissions & kept))?;
        }
        // On boards of 32 bits it may not fit.
        #[allow(clippy::useless_conversion)]
        let seconds = entry.modified_s.try_into().map_err(|_| io::Error::other("this computer has no such time"))?;
        let time = TimeSpec::new(seconds, 0);
        Ok(utimensat(AT_FDCWD, path, &time, &time, UtimensatFlags::NoFollowSymlink)?)
    }
}

/// Writes the content; runs of zeros become holes.
fn write_sparse(mut file: &File, data: &[u8]) -> io::Result<()> {
    for (number, piece) in data.chunks(PIECE_BYTES).enumerate() {
        if piece.len() == PIECE_BYTES && piece.iter().all(|byte| *byte == 0) {
            continue;
        }
        file.write_all_at(piece, (number * PIECE_BYTES) as u64)?;
    }
    file.set_len(data.len() as u64)?;
    file.flush()
}
