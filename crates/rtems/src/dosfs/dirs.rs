//! Directories: looking for a name, making room for entries.
//!
//! Follows `msdos_misc.c`. A directory is read in pieces: the root of FAT12 and FAT16 as a whole, all others cluster by
//! cluster, each time from the start.

use super::files::{DirPos, Pos};
use super::names::{
    checksum, for_compare, long_chars, long_entry, long_for_save, make_alias, short_to_name, to_ascii, NameType,
    LONG_ENTRY_CHARS,
};
use super::Dosfs;
use crate::bdbuf::Bdbuf;
use ffslab_fs::Errno;

pub(super) const ENTRY_BYTES: u32 = 32;
pub(super) const DELETED: u8 = 0xe5;
pub(super) const REST_EMPTY: u8 = 0;
pub(super) const ATTR_VOLUME_ID: u8 = 0x08;
pub(super) const ATTR_DIRECTORY: u8 = 0x10;
pub(super) const ATTR_ARCHIVE: u8 = 0x20;
const ATTR_LONG: u8 = 0x0f;
const ATTR_LONG_MASK: u8 = 0x3f;
const LAST_LONG: u8 = 0x40;

pub(super) type Entry = [u8; ENTRY_BYTES as usize];

pub(super) fn is_long(entry: &[u8]) -> bool {
    entry[11] & ATTR_LONG_MASK == ATTR_LONG
}

/// A name that is being assembled from its long entries. On disk the entry with the last part of the name stands first.
#[derive(Clone, Default)]
pub(super) struct LongName {
    /// Position of its first entry: piece of the directory, and offset in the piece.
    pub start: Option<(u32, u32)>,
    left: u8,
    checksum: u8,
    /// The characters of the parts seen so far, in the order of the entries.
    parts: Vec<Vec<u16>>,
}

impl LongName {
    /// Takes a long entry. Returns whether the entry continues the ones before it.
    pub fn take(&mut self, entry: &[u8], piece: u32, offset: u32) -> bool {
        let is_first = self.start.is_none();
        if is_first {
            if entry[0] & LAST_LONG == 0 {
                return false;
            }
            *self = LongName {
                start: Some((piece, offset)),
                left: entry[0] & 0x3f,
                checksum: entry[13],
                parts: Vec::new(),
            };
        }
        if self.left != entry[0] & 0x3f || self.checksum != entry[13] || self.left == 0 {
            *self = LongName::default();
            return false;
        }
        self.left -= 1;
        self.parts.push(long_chars(entry, is_first));
        true
    }

    /// Whether all parts are there and belong to this short entry.
    pub fn fits(&self, short: &[u8]) -> bool {
        self.start.is_some() && self.left == 0 && self.checksum == checksum(short)
    }

    /// The part that was taken last, in lower case for comparison.
    fn last_part(&self) -> Option<Vec<u8>> {
        to_ascii(self.parts.last()?).map(|part| part.to_ascii_lowercase())
    }

    pub fn name(&self) -> Option<Vec<u8>> {
        let parts: Option<Vec<_>> = self.parts.iter().rev().map(|part| to_ascii(part)).collect();
        parts.map(|parts| parts.concat())
    }
}

/// Free entries in a row, for a name that is to be made.
#[derive(Clone, Copy, Default)]
struct Room {
    offset: u32,
    entries: u32,
    enough: bool,
}

impl Dosfs {
    /// How much of a directory is read at once.
    pub(super) fn piece_bytes(&self, directory: u32) -> Result<u32, Errno> {
        let file = self.file(directory)?;
        if file.is_root() && !self.volume.is_fat32() {
            Ok(file.size)
        } else {
            Ok(self.volume.boot.cluster_bytes())
        }
    }

    /// Reads a piece into the private buffer. `None` at the end.
    pub(super) fn read_piece(
        &mut self,
        cache: &mut Bdbuf,
        directory: u32,
        piece: u32,
        bytes: u32,
    ) -> Result<Option<Vec<u8>>, Errno> {
        let mut buffer = std::mem::take(&mut self.piece);
        buffer.resize(bytes as usize, 0);
        let Some(start) = piece.checked_mul(bytes) else { return Err(Errno::Io) };
        let read = self.with_file(directory, |volume, file| volume.read_file(cache, file, start, &mut buffer))?;
        match read {
            0 => {
                self.piece = buffer;
                Ok(None)
            }
            _ if read < bytes as usize => Err(Errno::Io),
            _ => Ok(Some(buffer)),
        }
    }

    /// `msdos_find_name_in_fat_file`: looks for a name. `Ok(None)`: it is not there.
    pub(super) fn find(
        &mut self,
        cache: &mut Bdbuf,
        directory: u32,
        name: &[u8],
        kind: NameType,
    ) -> Result<Option<(DirPos, Entry)>, Errno> {
        if kind == NameType::Long {
            long_for_save(name)?;
        }
        let wanted = for_compare(name, kind)?;
        let (found, _) = self.scan(cache, directory, &wanted, None)?;
        Ok(found)
    }

    /// `msdos_find_file_in_directory`: looks for a name. With a number of entries it also looks for so many free
    /// entries in a row.
    fn scan(
        &mut self,
        cache: &mut Bdbuf,
        directory: u32,
        wanted: &[u8],
        entries: Option<u32>,
    ) -> Result<(Option<(DirPos, Entry)>, Room), Errno> {
        let bytes = self.piece_bytes(directory)?;
        let mut room = Room::default();
        let mut long = LongName::default();
        // Length of the beginning of the wanted name that is not matched yet: long entries match it from its end.
        let mut left: Option<usize> = None;
        for piece in 0.. {
            let Some(buffer) = self.read_piece(cache, directory, piece, bytes)? else { break };
            let mut found = None;
            let mut rest_empty = false;
            for offset in (0..bytes).step_by(ENTRY_BYTES as usize) {
                let entry = &buffer[offset as usize..(offset + ENTRY_BYTES) as usize];
                rest_empty = entry[0] == REST_EMPTY;
                if room.entries == 0 {
                    room.offset = piece * bytes + offset;
                }
                if rest_empty {
                    if entries.is_some() && !room.enough {
                        room.entries += (bytes - offset) / ENTRY_BYTES;
                    }
                    break;
                }
                if entry[0] == DELETED {
                    if let Some(entries) = entries {
                        room.entries += 1;
                        room.enough |= room.entries == entries;
                    }
                    (long, left) = (LongName::default(), None);
                    continue;
                }
                if entries.is_some() && !room.enough {
                    room = Room::default();
                }
                if is_long(entry) {
                    let before = if long.start.is_none() { Some(wanted.len()) } else { left };
                    left = match (long.take(entry, piece, offset), before) {
                        (true, Some(before)) => match_tail(&long, wanted, before),
                        _ => None,
                    };
                    if left.is_none() {
                        long = LongName::default();
                    }
                    continue;
                }
                let by_long_name = left == Some(0) && long.fits(entry);
                let by_short_name = left.is_none() && entry[11] & ATTR_VOLUME_ID == 0 && short_to_name(entry) == wanted;
                if by_long_name || by_short_name {
                    let mut copy = [0; ENTRY_BYTES as usize];
                    copy.copy_from_slice(entry);
                    found = Some((offset, copy));
                    break;
                }
                (long, left) = (LongName::default(), None);
            }
            self.piece = buffer;
            if let Some((offset, entry)) = found {
                let cluster = |fs: &mut Self, cache: &mut Bdbuf, piece: u32| {
                    fs.with_file(directory, |volume, file| volume.cluster_at(cache, file, piece * bytes))
                };
                let short = Pos { cluster: cluster(self, cache, piece)?, offset };
                let long = match long.start {
                    Some((piece, offset)) => Pos { cluster: cluster(self, cache, piece)?, offset },
                    None => Pos::NONE,
                };
                return Ok((Some((DirPos { short, long }, entry)), room));
            }
            if rest_empty {
                break;
            }
        }
        Ok((None, room))
    }

    /// Looks for room and writes a new name's entries (`msdos_get_name_node` with create, `msdos_add_file`). `short` is the
    /// short entry; its name is replaced when the name is long.
    pub(super) fn add(
        &mut self,
        cache: &mut Bdbuf,
        directory: u32,
        name: &[u8],
        kind: NameType,
        short: &mut Entry,
    ) -> Result<DirPos, Errno> {
        let long = match kind {
            NameType::Long => long_for_save(name)?,
            _ => Vec::new(),
        };
        let long_entries = long.len().div_ceil(LONG_ENTRY_CHARS) as u32;
        let wanted = for_compare(name, kind)?;
        let (found, room) = self.scan(cache, directory, &wanted, Some(long_entries + 1))?;
        if found.is_some() {
            return Err(Errno::Exist);
        }
        let mut offset = room.offset;
        if room.entries < long_entries + 1 {
            let cluster_bytes = self.volume.boot.cluster_bytes();
            self.with_file(directory, |volume, file| {
                offset = file.size - room.entries * ENTRY_BYTES;
                let bytes = file.size.checked_add(cluster_bytes).filter(|&bytes| bytes <= file.size_limit);
                volume.extend_file(cache, file, true, bytes.ok_or(Errno::NoSpc)?)
            })?;
        }
        let mut dir_pos = DirPos { short: Pos::NONE, long: Pos::NONE };
        let sum = if long_entries > 0 {
            make_alias(&mut short[..11], offset / ENTRY_BYTES + long_entries + 1);
            dir_pos.long = self.pos_of(cache, directory, offset)?;
            checksum(short)
        } else {
            0
        };
        dir_pos.short = self.pos_of(cache, directory, offset + long_entries * ENTRY_BYTES)?;
        let mut entries = Vec::with_capacity(((long_entries + 1) * ENTRY_BYTES) as usize);
        for number in (1..=long_entries).rev() {
            entries.extend(long_entry(&long, number as usize, number == long_entries, sum));
        }
        entries.extend(&*short);
        let written = self.with_file(directory, |volume, file| volume.write_file(cache, file, offset, &entries))?;
        if written == entries.len() {
            Ok(dir_pos)
        } else {
            Err(Errno::Io)
        }
    }

    /// `msdos_get_pos`.
    fn pos_of(&mut self, cache: &mut Bdbuf, directory: u32, offset: u32) -> Result<Pos, Errno> {
        let bytes = self.piece_bytes(directory)?;
        let cluster = self.with_file(directory, |volume, file| volume.cluster_at(cache, file, offset))?;
        Ok(Pos { cluster, offset: offset % bytes })
    }

    /// `msdos_set_first_char4file_name`: the first byte of all entries of a name; 0xe5 erases it.
    pub(super) fn set_first_byte(&mut self, cache: &mut Bdbuf, dir_pos: DirPos, byte: u8) -> Result<(), Errno> {
        let volume = &mut self.volume;
        let end = dir_pos.short;
        let fixed_root = !volume.is_fat32() && end.cluster == 0;
        let block_bytes = if fixed_root { volume.root_bytes() } else { volume.boot.cluster_bytes() };
        let mut at = if dir_pos.long == Pos::NONE { end } else { dir_pos.long };
        loop {
            let (sector, offset) = volume.place_of(at);
            volume.write_bytes(cache, sector, offset, &[byte])?;
            if at == end {
                return Ok(());
            }
            at.offset += ENTRY_BYTES;
            if at.offset >= block_bytes {
                if fixed_root {
                    return Ok(());
                }
                at = Pos { cluster: volume.next_of(cache, at.cluster)?, offset: 0 };
            }
        }
    }

    /// `msdos_dir_is_empty`: sector by sector.
    pub(super) fn is_empty(&mut self, cache: &mut Bdbuf, directory: u32) -> Result<bool, Errno> {
        let bytes = self.volume.boot.sector_bytes;
        for piece in 0.. {
            let Some(buffer) = self.read_piece(cache, directory, piece, bytes)? else { break };
            let mut answer = None;
            for entry in buffer.chunks_exact(ENTRY_BYTES as usize) {
                let dots = &entry[..11] == b".          " || &entry[..11] == b"..         ";
                if entry[0] == DELETED || is_long(entry) || dots {
                    continue;
                }
                answer = Some(entry[0] == REST_EMPTY);
                break;
            }
            self.piece = buffer;
            if let Some(answer) = answer {
                return Ok(answer);
            }
        }
        Ok(true)
    }

    /// `msdos_find_node_by_cluster_num_in_fat_file`: the entry that names a cluster.
    pub(super) fn find_cluster(
        &mut self,
        cache: &mut Bdbuf,
        directory: u32,
        wanted: u32,
    ) -> Result<Option<(DirPos, Entry)>, Errno> {
        let bytes = self.piece_bytes(directory)?;
        for piece in 0.. {
            let Some(buffer) = self.read_piece(cache, directory, piece, bytes)? else { break };
            let mut found = None;
            let mut rest_empty = false;
            for offset in (0..bytes).step_by(ENTRY_BYTES as usize) {
                let entry = &buffer[offset as usize..(offset + ENTRY_BYTES) as usize];
                rest_empty = entry[0] == REST_EMPTY;
                if rest_empty {
                    break;
                }
                if entry[0] != DELETED && super::files::first_cluster(entry) == wanted {
                    let mut copy = [0; ENTRY_BYTES as usize];
                    copy.copy_from_slice(entry);
                    found = Some((offset, copy));
                    break;
                }
            }
            self.piece = buffer;
            if let Some((offset, entry)) = found {
                let cluster =
                    self.with_file(directory, |volume, file| volume.cluster_at(cache, file, piece * bytes))?;
                return Ok(Some((DirPos { short: Pos { cluster, offset }, long: Pos::NONE }, entry)));
            }
            if rest_empty {
                break;
            }
        }
        Ok(None)
    }
}

/// `msdos_compare_entry_against_filename`: matches the last part of a long name with the end of the first `left` bytes
/// of the wanted name. Returns how many bytes remain to be matched.
fn match_tail(long: &LongName, wanted: &[u8], left: usize) -> Option<usize> {
    let part = long.last_part()?;
    let rest = wanted[..left].strip_suffix(part.as_slice())?;
    Some(rest.len())
}
