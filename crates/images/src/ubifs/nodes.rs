//! The files of a volume of UBIFS by its nodes alone, without a mount: the newest master node leads to the index, the index to all
//! nodes that are valid, and what was written after the last commit follows in its order. Neither UBI nor the journal's log, the LEB
//! properties or the superblock is needed. Where the index cannot be followed, all nodes that are there are taken in their order.

use super::fscrypt::{Context, MasterKeys, Opened};
use crate::tree::room::{Names, Room};
use crate::tree::{Content, Tree, TreeEntry, FILE_BYTES_MAX};
use ffslab_fs::{Errno, FileKind};
use ffslab_ubifs::probe::index::{self, Child};
use ffslab_ubifs::probe::records::{self, Expander, InodeRecord, Record, DATA_BLOCK_BYTES};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

const ROOT_INO: u32 = 1;
/// The attribute that says how an inode is encrypted (`fs/ubifs/ubifs.h`, `UBIFS_XATTR_NAME_ENCRYPTION_CONTEXT`).
const CONTEXT_NAME: &[u8] = b"c";
/// At most so many damaged nodes are told one by one.
const TOLD_MAX: usize = 8;

/// What each LEB that is there holds.
pub type Lebs<'i> = BTreeMap<u32, Cow<'i, [u8]>>;

/// A node: LEB, offset.
type Place = (u32, u32);

/// What nodes say of files.
#[derive(Default)]
struct Nodes {
    inodes: BTreeMap<u32, InodeRecord>,
    /// By inode and block.
    data: BTreeMap<(u32, u32), Place>,
    names: BTreeMap<u32, BTreeMap<Vec<u8>, (u32, FileKind)>>,
    /// How inodes are encrypted: by inode that of the attribute which says it, and what it says.
    context_inos: BTreeMap<u32, u32>,
    contexts: BTreeMap<u32, Context>,
    /// Places where the index has a node and there is none.
    damaged: Vec<Place>,
    /// Of them data: by inode and block.
    damaged_data: BTreeSet<(u32, u32)>,
    youngest: u64,
}

/// Reads the files of a volume.
pub fn read(lebs: &Lebs<'_>, content: Content, keys: &MasterKeys) -> Tree {
    let mut notes = Vec::new();
    let nodes = match by_index(lebs) {
        Ok(nodes) => nodes,
        Err(why) => {
            notes.push(format!(
                "{why}: files are read by all nodes that are there, so that deleted ones may be among them"
            ));
            let mut nodes = Nodes::default();
            nodes.replay(lebs, 0);
            nodes
        }
    };
    let told = nodes.damaged.iter().take(TOLD_MAX);
    notes.extend(told.map(|(leb, offset)| format!("LEB {leb}, offset {offset:#x}: a damaged node")));
    if nodes.damaged.len() > TOLD_MAX {
        notes.push(format!("{} more damaged nodes", nodes.damaged.len() - TOLD_MAX));
    }
    let bytes = lebs.values().map(|leb| leb.len() as u64).sum();
    let keys = keys.proven(nodes.encrypted_names());
    let mut walk =
        Walk { lebs, nodes: &nodes, room: Room::of(bytes), expander: Expander::default(), content, keys: &keys };
    Tree { entries: walk.entries(&mut notes), notes, ..Tree::default() }
}

fn node_at<'l>(lebs: &'l Lebs<'_>, (leb, offset): Place) -> Option<&'l [u8]> {
    let node = lebs.get(&leb)?.get(offset as usize..)?;
    ffslab_ubifs::probe::is_sound(node).then_some(node)
}

/// What the index leads to, and what was written after it.
///
/// Errors: why the index cannot be followed.
fn by_index(lebs: &Lebs<'_>) -> Result<Nodes, &'static str> {
    let master = [1, 2].iter().filter_map(|leb| lebs.get(leb)).filter_map(|leb| index::last_master(leb));
    let master = master.max_by_key(|master| master.commit_number).ok_or("there is no master node that is whole")?;
    let mut nodes = Nodes::default();
    let mut pending = vec![((master.root_leb_number, master.root_offset), u16::MAX)];
    while let Some((place, below)) = pending.pop() {
        let children = node_at(lebs, place).and_then(index::children).ok_or("a node of the index is damaged")?;
        if children.level >= below {
            return Err("the index contradicts itself");
        }
        for Child { leb_number: leb, offset, ino, block } in children.of {
            match children.level {
                0 => nodes.take(lebs, (leb, offset), (ino, block)),
                level => pending.push(((leb, offset), level)),
            }
        }
    }
    let committed = lebs.get(&master.log_leb_number).and_then(|leb| index::commit_start(leb)).unwrap_or(nodes.youngest);
    nodes.replay(lebs, committed);
    Ok(nodes)
}

impl Nodes {
    /// Takes a node of the index. `block`: it holds this block of the inode's file.
    fn take(&mut self, lebs: &Lebs<'_>, place: Place, (ino, block): (u32, Option<u32>)) {
        match node_at(lebs, place) {
            Some(node) => self.apply(node, place),
            None => {
                self.damaged.push(place);
                self.damaged_data.extend(block.map(|block| (ino, block)));
            }
        }
    }

    /// What happened after the node with this sequence number.
    fn replay(&mut self, lebs: &Lebs<'_>, after: u64) {
        let mut later: BTreeMap<u64, Place> = BTreeMap::new();
        for (&leb, bytes) in lebs {
            ffslab_ubifs::probe::walk(bytes, &mut |offset, _, damage| {
                let sequence = records::sequence_number(&bytes[offset as usize..]);
                if damage.is_none() && sequence > after {
                    later.insert(sequence, (leb, offset));
                }
            });
        }
        for place in later.into_values() {
            if let Some(node) = node_at(lebs, place) {
                self.apply(node, place);
            }
        }
    }

    fn apply(&mut self, node: &[u8], place: Place) {
        self.youngest = self.youngest.max(records::sequence_number(node));
        match records::record(node) {
            Record::Inode(inode) if inode.links == 0 => {
                self.inodes.remove(&inode.ino);
                self.cut(inode.ino, 0);
            }
            Record::Inode(inode) => {
                self.inodes.insert(inode.ino, inode);
            }
            Record::Data { ino, block, .. } => {
                self.damaged_data.remove(&(ino, block));
                self.data.insert((ino, block), place);
            }
            Record::Entry { parent, ino: 0, name, .. } => {
                self.names.entry(parent).or_default().remove(&name);
            }
            Record::Entry { parent, ino, kind, name } => {
                self.names.entry(parent).or_default().insert(name, (ino, kind));
            }
            Record::Truncation { ino, new_bytes } => {
                self.cut(ino, new_bytes.div_ceil(u64::from(DATA_BLOCK_BYTES)).min(u64::from(u32::MAX)) as u32);
            }
            Record::Attribute { host, ino, name } if name == CONTEXT_NAME => {
                self.context_inos.insert(host, ino);
            }
            Record::AttributeValue { ino, value } => {
                self.contexts.extend(Context::of(&value).map(|context| (ino, context)));
            }
            Record::Attribute { .. } | Record::Other => {}
        }
    }

    /// How an inode is encrypted.
    fn context_of(&self, ino: u32) -> Option<&Context> {
        self.contexts.get(self.context_inos.get(&ino)?)
    }

    /// The names in encrypted directories.
    fn encrypted_names(&self) -> impl Iterator<Item = (&Context, &[u8])> {
        self.names.iter().flat_map(|(&dir, names)| {
            let context =
                self.context_of(dir).filter(|_| self.inodes.get(&dir).is_some_and(|inode| inode.is_encrypted));
            names.keys().filter_map(move |name| Some((context?, name.as_slice())))
        })
    }

    /// Forgets the blocks of a file from this one on.
    fn cut(&mut self, ino: u32, from: u32) {
        let gone: Vec<(u32, u32)> = self.data.range((ino, from)..=(ino, u32::MAX)).map(|(&key, _)| key).collect();
        gone.iter().for_each(|key| {
            self.data.remove(key);
        });
    }
}

/// The way through all directories.
struct Walk<'n> {
    lebs: &'n Lebs<'n>,
    nodes: &'n Nodes,
    room: Room,
    expander: Expander,
    content: Content,
    keys: &'n MasterKeys,
}

impl Walk<'_> {
    fn entries(&mut self, notes: &mut Vec<String>) -> Vec<TreeEntry> {
        let mut entries = Vec::new();
        let mut pending = vec![(Vec::new(), ROOT_INO, FileKind::Directory)];
        let mut seen = BTreeSet::new();
        while let Some((path, ino, kind)) = pending.pop() {
            let mut entry = self.entry(path, ino, kind);
            if entry.kind == FileKind::Directory {
                if seen.insert(ino) {
                    let left_out = self.list(&entry, &mut pending);
                    entry.missing.extend(left_out);
                } else {
                    entry.error = Some("this directory has another name already".to_string());
                }
            }
            seen.insert(ino);
            entries.push(entry);
        }
        let nameless = self.nodes.inodes.keys().filter(|ino| !seen.contains(ino)).count();
        if nameless > 0 {
            notes.push(format!(
                "{nameless} inodes have no name that leads to them: inspect --recover looks for their files"
            ));
        }
        entries
    }

    fn list(&mut self, dir: &TreeEntry, pending: &mut Vec<(Vec<u8>, u32, FileKind)>) -> Vec<String> {
        let Some(held) = self.nodes.names.get(&dir.ino) else { return Vec::new() };
        let opened = self.opened(dir.ino, true);
        let mut names = Names::new(&mut self.room, &dir.path);
        for (name, &(ino, kind)) in held.iter().rev() {
            let shown: Cow<'_, [u8]> = match &opened {
                Ok(None) => name.into(),
                Ok(Some(opened)) => opened.name(name).map_or_else(|| hexadecimal(name).into(), Cow::Owned),
                Err(_) => hexadecimal(name).into(),
            };
            if let Some(path) = names.follow(&shown) {
                pending.push((path, ino, kind));
            }
        }
        names.left_out()
    }

    fn entry(&mut self, path: Vec<u8>, ino: u32, kind: FileKind) -> TreeEntry {
        let mut entry = TreeEntry::new(path, ino, kind);
        let Some(inode) = self.nodes.inodes.get(&ino) else { return self.without_inode(entry) };
        entry.kind = inode.kind;
        (entry.permissions, entry.uid, entry.gid, entry.links) = (inode.permissions, inode.uid, inode.gid, inode.links);
        (entry.size_bytes, entry.modified_s) = (inode.size_bytes, inode.modified_s);
        match inode.kind {
            FileKind::File => match self.content_of(ino, inode.size_bytes) {
                Ok(data) => entry.data = data,
                Err(why) => entry.error = Some(why),
            },
            FileKind::Symlink => match self.target_of(ino, &inode.data) {
                Ok(target) => (entry.size_bytes, entry.data) = (target.len() as u64, target),
                Err(why) => entry.error = Some(why),
            },
            FileKind::CharDevice | FileKind::BlockDevice => {
                entry.device = inode.data.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            }
            _ => {}
        }
        entry
    }

    /// What opens names or content of an inode; nothing, if it is not encrypted.
    ///
    /// Errors: why nothing does.
    fn opened(&self, ino: u32, of_names: bool) -> Result<Option<Opened>, String> {
        if !self.nodes.inodes.get(&ino).is_some_and(|inode| inode.is_encrypted) {
            return Ok(None);
        }
        let context = self.nodes.context_of(ino);
        let context = context.ok_or("it is encrypted, and what says how is missing or not known: it is left out")?;
        self.keys.open(context, of_names).map(Some).map_err(|why| format!("{why}: it is left out"))
    }

    fn target_of(&self, ino: u32, held: &[u8]) -> Result<Vec<u8>, String> {
        let Some(opened) = self.opened(ino, true)? else { return Ok(held.to_vec()) };
        // Before the target stands its length (`fs/crypto/fscrypt_private.h`, `struct fscrypt_symlink_data`).
        let target = held.split_first_chunk().and_then(|(bytes, rest)| rest.get(..u16::from_le_bytes(*bytes).into()));
        target.and_then(|target| opened.name(target)).ok_or_else(|| "a target that the key does not open".to_string())
    }

    /// A directory, or a file with data, is of use without its inode, too.
    fn without_inode(&mut self, mut entry: TreeEntry) -> TreeEntry {
        entry.links = 1;
        entry.permissions = if entry.kind == FileKind::Directory { 0o755 } else { 0o644 };
        let ino = entry.ino;
        let last = self.nodes.data.range((ino, 0)..=(ino, u32::MAX)).next_back();
        let record = last.and_then(|(_, &place)| node_at(self.lebs, place)).map(records::record);
        let data = match (entry.kind, record) {
            (FileKind::Directory, _) => Ok(Vec::new()),
            (FileKind::File, Some(Record::Data { block, bytes, .. })) => {
                entry.size_bytes = u64::from(block) * u64::from(DATA_BLOCK_BYTES) + u64::from(bytes);
                self.content_of(ino, entry.size_bytes)
            }
            _ => Err(format!("{}: its inode {ino} is missing", Errno::Io)),
        };
        match data {
            Ok(data) => {
                entry.data = data;
                entry.missing.push(format!("its inode {ino} is missing: size and attributes are guessed"));
            }
            Err(why) => entry.error = Some(why),
        }
        entry
    }

    fn content_of(&mut self, ino: u32, size_bytes: u64) -> Result<Vec<u8>, String> {
        if size_bytes > FILE_BYTES_MAX {
            return Err(format!("a file of {} MiB: {} MiB is the limit here", size_bytes >> 20, FILE_BYTES_MAX >> 20));
        }
        let opened = self.opened(ino, false)?;
        self.room.take_content(size_bytes, self.content).map_err(|error| error.to_string())?;
        let block_bytes = DATA_BLOCK_BYTES as usize;
        let blocks = size_bytes.div_ceil(u64::from(DATA_BLOCK_BYTES)) as u32;
        let mut data = vec![0; if self.content == Content::Keep { size_bytes as usize } else { 0 }];
        if let Some((_, block)) = self.nodes.damaged_data.range((ino, 0)..(ino, blocks)).next() {
            return Err(format!("{} at offset {}: a damaged data node", Errno::Io, *block as usize * block_bytes));
        }
        for (&(_, block), &place) in self.nodes.data.range((ino, 0)..(ino, blocks)) {
            let at = block as usize * block_bytes;
            let held = node_at(self.lebs, place).and_then(|node| match &opened {
                Some(opened) => self.expander.opened_data_of(node, |block, bytes| opened.block(block, bytes)),
                None => self.expander.data_of(node),
            });
            let held = held.ok_or_else(|| {
                format!(
                    "{} at offset {at}: data that do not expand (LEB {}, offset {:#x})",
                    Errno::Io,
                    place.0,
                    place.1
                )
            })?;
            if self.content == Content::Keep {
                let end = (at + held.len()).min(data.len());
                data[at..end].copy_from_slice(&held[..end - at]);
            }
        }
        Ok(data)
    }
}

fn hexadecimal(name: &[u8]) -> Vec<u8> {
    name.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes()
}

/// What Linux says of a volume whose UBIFS was made for other sizes than those of the flash it is on, with the option of mkfs.ubifs.
/// `None`: the sizes are right.
pub fn misfit(superblock: &ffslab_ubifs::probe::Superblock, leb_bytes: u32, min_io_bytes: u32) -> Option<String> {
    let wrong = [
        ("LEBs of", superblock.leb_bytes, leb_bytes, "-e"),
        ("writes of at least", superblock.min_io_bytes, min_io_bytes, "-m"),
    ];
    let said = wrong.into_iter().filter(|(_, made, right, _)| made != right).map(|(what, made, right, option)| {
        format!("its UBIFS was made for {what} {made} B, here they have {right} B (mkfs.ubifs {option} {right})")
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| format!("{}: Linux does not mount it", said.join("; ")))
}

/// The LEBs that a volume without UBI holds, or one whose UBI has others.
pub fn cut(image: &[u8], leb_bytes: u32) -> Lebs<'_> {
    (0..).zip(image.chunks(leb_bytes as usize).map(Cow::Borrowed)).collect()
}
