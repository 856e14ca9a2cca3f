//! A volume that an RTEMS system has mounted, and how its files are read through the system's calls.

use crate::tree::room::{Names, Room};
use crate::tree::{Content, FileError, TreeEntry, FILE_BYTES_MAX};
use ffslab_fs::FileKind;
use ffslab_rtems::bdbuf::DiskId;
use ffslab_rtems::libio::{Libio, OpenFlags};

/// The original reads a directory from its start for each entry.
const NAMES_MAX: usize = 16_384;
pub const MOUNT_POINT: &[u8] = b"/mnt";

/// An RTEMS system with the volume mounted.
pub struct Mounted {
    pub libio: Libio,
    pub disk: DiskId,
    /// Of FAT, in blocks of 512 B: what stands before is no data of files. 0: there is nothing such.
    pub first_data_block: u32,
}

/// Path in the system of a path below the root.
pub fn path_in_system(path: &[u8]) -> Vec<u8> {
    let mut full = MOUNT_POINT.to_vec();
    if !path.is_empty() {
        full.push(b'/');
        full.extend_from_slice(path);
    }
    full
}

impl Mounted {
    pub(super) fn entry(&mut self, path: Vec<u8>, volume_bytes: u64, content: Content, room: &mut Room) -> TreeEntry {
        let full = path_in_system(&path);
        let stat = match self.libio.lstat(&full) {
            Ok(stat) => stat,
            Err(error) => {
                let mut entry = TreeEntry::new(path, 0, FileKind::File);
                entry.error = Some(error.to_string());
                return entry;
            }
        };
        let kind = FileKind::from_mode(stat.mode).unwrap_or(FileKind::File);
        let mut entry = TreeEntry::new(path, stat.ino, kind);
        entry.permissions = stat.mode & 0o7777;
        (entry.uid, entry.gid) = (u32::from(stat.uid), u32::from(stat.gid));
        // FAT knows no links and no link count.
        entry.links = stat.links.max(1);
        entry.size_bytes = stat.size_bytes;
        entry.modified_s = i64::from(stat.mtime_s);
        let data = match kind {
            // Neither file system has holes.
            FileKind::File if stat.size_bytes > volume_bytes.min(FILE_BYTES_MAX) => {
                Err(FileError::LargerThanVolume { size_bytes: stat.size_bytes, volume_bytes })
            }
            FileKind::File => {
                let taken = room.take_content(stat.size_bytes, content);
                taken.and_then(|()| self.content(&full, stat.size_bytes, content))
            }
            FileKind::Symlink => self.libio.readlink(&full).map_err(FileError::from),
            _ => Ok(Vec::new()),
        };
        match data {
            Ok(data) => entry.data = data,
            Err(error) => entry.error = Some(error.to_string()),
        }
        entry
    }

    fn content(&mut self, path: &[u8], size_bytes: u64, content: Content) -> Result<Vec<u8>, FileError> {
        let fd = self.libio.open(path, OpenFlags::READ, 0)?;
        let mut piece = vec![0; 32 << 10];
        let (mut data, mut at) = (Vec::new(), 0);
        let read = loop {
            match self.libio.read(fd, &mut piece) {
                Ok(0) if at < size_bytes => break Err(FileError::Short { offset: at }),
                Ok(0) => break Ok(()),
                Ok(count) => {
                    if content == Content::Keep {
                        data.extend_from_slice(&piece[..count]);
                    }
                    at += count as u64;
                }
                Err(errno) => break Err(FileError::Failed { errno, offset: Some(at), damage: None }),
            }
        };
        let closed = self.libio.close(fd).map_err(FileError::from);
        read.and(closed).map(|()| data)
    }

    /// Appends the names of a directory, last name first, because the caller takes from the end; what was left out.
    pub(super) fn list(
        &mut self,
        path: &[u8],
        depth: usize,
        pending: &mut Vec<(Vec<u8>, usize)>,
        room: &mut Room,
    ) -> Vec<String> {
        let fd = match self.libio.open(&path_in_system(path), OpenFlags::READ, 0) {
            Ok(fd) => fd,
            Err(error) => return vec![error.to_string()],
        };
        let first = pending.len();
        let mut names = Names::new(room, path);
        let mut names_count = 0;
        let listed = loop {
            match self.libio.read_dir(fd) {
                Ok(None) => break Ok(()),
                Ok(Some(entry)) if entry.name == b"." || entry.name == b".." => {}
                Ok(Some(_)) if names_count == NAMES_MAX => {
                    break Err(format!("it holds more than {NAMES_MAX} names: the others are left out"));
                }
                Ok(Some(entry)) => {
                    names_count += 1;
                    pending.extend(names.follow(&entry.name).map(|full| (full, depth)));
                }
                Err(error) => break Err(format!("{error}: other names may be missing")),
            }
        };
        let closed = self.libio.close(fd).map_err(|error| error.to_string());
        pending[first..].sort_by(|a, b| b.cmp(a));
        let mut missing = names.left_out();
        missing.extend(listed.and(closed).err());
        missing
    }
}
