//! DOSFS as a file system of [`crate::libio`].
//!
//! Follows `msdos_eval.c`, `msdos_file.c`, `msdos_dir.c`, `msdos_statvfs.c`. Each location is one more user of its file, and
//! whenever one goes the window is released.

use super::dirs::{is_long, LongName, ATTR_VOLUME_ID, DELETED, ENTRY_BYTES, REST_EMPTY};
use super::files::{DirPos, Pos};
use super::names::short_to_name;
use super::nodes::New;
use super::volume::{FREE, UNDEFINED};
use super::{Dosfs, ROOT};
use crate::bdbuf::Bdbuf;
use crate::libio::{DirEntry, FileSystem, Kind, Node, OpenFile, Stat, StatVfs, Step, S_IFDIR, S_IFMT, S_IFREG};
use ffslab_fs::Errno;

const NAME_MAX: u32 = 255;

impl Dosfs {
    /// Reads the entry with this number in a directory. As in the original, the directory is read from its start each
    /// time.
    fn entry_number(&mut self, cache: &mut Bdbuf, directory: u32, number: u64) -> Result<Option<DirEntry>, Errno> {
        let bytes = self.piece_bytes(directory)?;
        let mut skip = number;
        let mut long = LongName::default();
        for piece in 0.. {
            // A directory without an end mark ends with its last cluster; in 2018 that is EIO.
            let Some(buffer) = self.read_piece(cache, directory, piece, bytes)? else { return Ok(None) };
            let mut found = None;
            let mut rest_empty = false;
            for offset in (0..bytes).step_by(ENTRY_BYTES as usize) {
                let entry = &buffer[offset as usize..(offset + ENTRY_BYTES) as usize];
                if entry[0] == REST_EMPTY {
                    rest_empty = true;
                    break;
                }
                if entry[0] == DELETED || (entry[11] & ATTR_VOLUME_ID != 0 && !is_long(entry)) {
                    continue;
                }
                if is_long(entry) {
                    long.take(entry, piece, offset);
                    continue;
                }
                if skip > 0 {
                    skip -= 1;
                    long = LongName::default();
                    continue;
                }
                let by_long = long.name().filter(|_| long.fits(entry));
                found = Some((offset, by_long.unwrap_or_else(|| short_to_name(entry))));
                break;
            }
            self.piece = buffer;
            if let Some((offset, name)) = found {
                let cluster =
                    self.with_file(directory, |volume, file| volume.cluster_at(cache, file, piece * bytes))?;
                let file = self.file_open(DirPos { short: Pos { cluster, offset }, long: Pos::NONE });
                let ino = self.file(file)?.ino;
                self.file_close(cache, file)?;
                return Ok(Some(DirEntry { ino, name }));
            }
            if rest_empty {
                return Ok(None);
            }
        }
        Ok(None)
    }
}

impl FileSystem for Dosfs {
    fn root(&self) -> Node {
        Node { id: ROOT, extra_id: 0, kind: Kind::Directory }
    }

    fn clone_node(&mut self, node: Node) {
        let _ = self.with_file(node.id, |_, file| {
            file.links += 1;
            Ok(())
        });
    }

    fn free_node(&mut self, cache: &mut Bdbuf, node: Node) {
        // RTEMS ignores errors when a location is freed.
        let _ = self.file_close(cache, node.id);
    }

    fn look_up(&mut self, cache: &mut Bdbuf, at: &mut Node, name: &[u8], _follow: bool) -> Result<Step, Errno> {
        if name == b"." {
            return Ok(Step::Found);
        }
        let Some(file) = self.open_name(cache, at.id, name)? else { return Ok(Step::NoEntry) };
        let kind = if self.file(file)?.is_directory { Kind::Directory } else { Kind::File };
        *at = Node { id: file, extra_id: 0, kind };
        Ok(Step::Found)
    }

    fn stat(&mut self, _cache: &mut Bdbuf, node: Node) -> Result<Stat, Errno> {
        let file = self.file(node.id)?;
        let boot = &self.volume.boot;
        let kind = if file.is_directory { S_IFDIR } else { S_IFREG };
        let used = if file.is_directory {
            file.size
        } else {
            file.size.checked_next_multiple_of(boot.cluster_bytes()).unwrap_or(u32::MAX)
        };
        Ok(Stat {
            ino: file.ino,
            mode: kind | 0o777,
            links: 0,
            uid: 0,
            gid: 0,
            size_bytes: u64::from(file.size),
            blocks: u64::from(used / 512),
            block_bytes: if file.is_directory { boot.sector_bytes } else { boot.cluster_bytes() },
            atime_s: file.mtime_s,
            mtime_s: file.mtime_s,
            ctime_s: file.ctime_s,
        })
    }

    fn mknod(&mut self, cache: &mut Bdbuf, parent: Node, name: &[u8], mode: u32) -> Result<(), Errno> {
        match mode & S_IFMT {
            S_IFDIR => self.make(cache, parent.id, name, New::Directory),
            S_IFREG => self.make(cache, parent.id, name, New::File),
            _ => Err(Errno::Inval),
        }
    }

    fn rmnod(&mut self, cache: &mut Bdbuf, _parent: Node, node: Node) -> Result<(), Errno> {
        self.remove(cache, node.id)
    }

    fn rename(
        &mut self,
        cache: &mut Bdbuf,
        _old_parent: Node,
        old: Node,
        new_parent: Node,
        name: &[u8],
    ) -> Result<(), Errno> {
        self.make(cache, new_parent.id, name, New::Renamed(old.id))
    }

    fn utime(&mut self, _cache: &mut Bdbuf, node: Node, atime_s: u32, mtime_s: u32) -> Result<(), Errno> {
        if atime_s != mtime_s {
            return Err(Errno::NotSup);
        }
        self.with_file(node.id, |_, file| {
            file.set_mtime(mtime_s);
            Ok(())
        })
    }

    /// Walks the whole FAT when the free count is not known.
    fn statvfs(&mut self, cache: &mut Bdbuf) -> Result<StatVfs, Errno> {
        let volume = &mut self.volume;
        let clusters = volume.clusters;
        let mut free = volume.free_clusters;
        if free == UNDEFINED {
            free = 0;
            for cluster in 2..clusters + 2 {
                free += u32::from(volume.next_of(cache, cluster)? == FREE);
            }
        }
        Ok(StatVfs {
            block_bytes: 512,
            fragment_bytes: volume.boot.cluster_bytes(),
            blocks: u64::from(clusters),
            free_blocks: u64::from(free),
            files: 0,
            free_files: 0,
            name_max_bytes: NAME_MAX,
        })
    }

    fn shut_down(&mut self, cache: &mut Bdbuf) -> Result<(), Errno> {
        let closed = self.file_close(cache, ROOT);
        let synced = self.volume.sync(cache);
        closed.and(synced)
    }

    fn read(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, into: &mut [u8]) -> Result<usize, Errno> {
        if file.node.kind == Kind::Directory {
            return Err(Errno::IsDir);
        }
        let Ok(start) = u32::try_from(file.offset) else { return Ok(0) };
        let count = self.with_file(file.node.id, |volume, open| volume.read_file(cache, open, start, into))?;
        file.offset += count as u64;
        Ok(count)
    }

    fn write(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, data: &[u8]) -> Result<usize, Errno> {
        if file.node.kind == Kind::Directory {
            return Err(Errno::NotSup);
        }
        let now_s = cache.now_s();
        let append = file.append;
        let mut offset = file.offset;
        let count = self.with_file(file.node.id, |volume, open| {
            if append {
                offset = u64::from(open.size);
            }
            let start = u32::try_from(offset).map_err(|_| Errno::FBig)?;
            let count = volume.write_file(cache, open, start, data)?;
            let end = start + count as u32;
            if end > open.size {
                open.set_size(end);
            }
            if count > 0 {
                open.set_times(now_s);
            }
            Ok(count)
        })?;
        file.offset = offset + count as u64;
        Ok(count)
    }

    fn truncate(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, bytes: u64) -> Result<(), Errno> {
        if file.node.kind == Kind::Directory {
            return Err(Errno::IsDir);
        }
        let bytes = u32::try_from(bytes).map_err(|_| Errno::FBig)?;
        let now_s = cache.now_s();
        self.with_file(file.node.id, |volume, open| {
            let before = open.size;
            if bytes < before {
                volume.truncate_file(cache, open, bytes)?;
            } else if volume.extend_file(cache, open, true, bytes)? != bytes {
                volume.truncate_file(cache, open, before)?;
                if volume.fixed {
                    open.set_size(before);
                }
                return Err(Errno::NoSpc);
            }
            open.set_size(bytes);
            open.set_times(now_s);
            Ok(())
        })
    }

    fn fsync(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<(), Errno> {
        self.with_file(file.node.id, |volume, open| {
            if file.node.kind == Kind::File && !crate::faults::FSYNC_LEAVES_ENTRY.is_seeded() {
                volume.update_entry(cache, open)?;
            }
            volume.sync(cache)
        })
    }

    fn read_dir(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<Option<DirEntry>, Errno> {
        let entry = self.entry_number(cache, file.node.id, file.offset)?;
        file.offset += u64::from(entry.is_some());
        Ok(entry)
    }
}
