//! The file system: all inodes and names in memory, made anew from the log at a mount.

use crate::log::{Attributes, Log, Place, Record};
use ffslab_fs::{
    DirEntry, Errno, FileKind, FileSystem, Host, Ino, NewNode, Result, SetAttr, Stat, StatFs, TimeSpec, WritePlan,
    PAGE_BYTES,
};
use ffslab_mtd::Mtd;
use ffslab_sim::{Sim, Task};
use std::collections::{BTreeMap, BTreeSet};

const ROOT: Ino = 1;
/// Pages of content in a record of a half that is being filled: one header for all of them.
const PAGES_TOGETHER: usize = 8;
/// Inodes, and names, in such a record.
const ENTRIES_TOGETHER: usize = 32;
/// What an inode and its name take of the flash, about.
const NODE_BYTES: usize = 320;

#[derive(Clone, Debug, Default)]
struct Node {
    attributes: Attributes,
    links: u32,
    names: BTreeMap<Vec<u8>, Ino>,
    pages: BTreeMap<u64, Place>,
}

/// A mounted toy.
pub struct Toy {
    log: Log,
    sim: Sim,
    nodes: BTreeMap<Ino, Node>,
    next_ino: Ino,
    read_only: bool,
}

fn times_of(time: TimeSpec) -> (i64, u32) {
    (time.seconds, time.nanoseconds)
}

impl Toy {
    /// Mounts the partition; an erased one becomes an empty file system.
    ///
    /// # Errors
    /// One line; there is something else on the partition, or it cannot be read.
    pub fn mount(mtd: Mtd, read_only: bool) -> std::result::Result<Toy, String> {
        let sim = mtd.sim().clone();
        let mut toy = Toy { log: Log::new(mtd), sim, nodes: BTreeMap::new(), next_ino: ROOT + 1, read_only };
        let fault = |error: Errno| format!("the log cannot be read: {error}");
        let mut halves = Vec::new();
        let mut is_written = false;
        for half in 0..2 {
            let (records, is_used) = toy.log.replay(half).map_err(fault)?;
            is_written |= is_used;
            let complete = records.iter().filter(|(record, _)| record.completes).map(|(record, _)| record.generation);
            halves.extend(complete.max().map(|generation| (generation, half)));
        }
        match halves.iter().max() {
            Some(&(generation, half)) => {
                toy.log.generation = generation;
                for (record, place) in toy.log.replay(half).map_err(fault)?.0 {
                    toy.apply(&record, place);
                }
                toy.prune();
            }
            None if is_written => {
                return Err("there is no toy on the partition: erase it, and a mount makes one".into())
            }
            None => {
                let root = Attributes { mode: FileKind::Directory.mode_bits() | 0o755, ..Attributes::default() };
                toy.nodes.insert(ROOT, Node { attributes: root, links: 1, ..Node::default() });
                toy.compact().map_err(|error| format!("the log cannot be begun: {error}"))?;
            }
        }
        Ok(toy)
    }

    // ---- the log -----------------------------------------------------------------------------------------------

    /// Does to what is in memory what a record says. At a mount link counts come later.
    fn apply(&mut self, record: &Record, place: Place) {
        for (ino, attributes) in &record.nodes {
            self.next_ino = self.next_ino.max(ino.saturating_add(1));
            let node = self.nodes.entry(*ino).or_default();
            node.pages.split_off(&attributes.size_bytes.div_ceil(PAGE_BYTES as u64));
            node.attributes = attributes.clone();
        }
        for (dir, name, ino) in &record.names {
            let names = &mut self.nodes.entry(*dir).or_default().names;
            let before = if *ino == 0 { names.remove(name) } else { names.insert(name.clone(), *ino) };
            if let Some(node) = before.and_then(|before| self.nodes.get_mut(&before)) {
                node.links = node.links.saturating_sub(1);
            }
            if let Some(node) = self.nodes.get_mut(ino) {
                node.links += 1;
            }
        }
        for (number, (ino, page)) in record.pages.iter().enumerate() {
            let place = Place { offset: place.offset + number * PAGE_BYTES, ..place };
            self.nodes.entry(*ino).or_default().pages.insert(*page, place);
        }
    }

    /// Keeps what can be reached from the root, each directory by one name: records may be missing from a damaged log.
    fn prune(&mut self) {
        let mut found = BTreeMap::from([(ROOT, 1)]);
        let mut pending = vec![ROOT];
        let root = self.nodes.entry(ROOT).or_default();
        root.attributes.mode = FileKind::Directory.mode_bits() | root.attributes.mode & 0o7777;
        while let Some(dir) = pending.pop() {
            let Some(mut names) = self.nodes.get_mut(&dir).map(|node| std::mem::take(&mut node.names)) else {
                continue;
            };
            names.retain(|_, ino| match self.kind(*ino) {
                Err(_) => false,
                Ok(FileKind::Directory) if found.contains_key(ino) => false,
                Ok(kind) => {
                    *found.entry(*ino).or_insert(0) += 1;
                    pending.extend((kind == FileKind::Directory).then_some(*ino));
                    true
                }
            });
            self.nodes.entry(dir).or_default().names = names;
        }
        self.nodes.retain(|ino, node| {
            node.links = found.get(ino).copied().unwrap_or(0);
            node.links > 0
        });
    }

    /// Pages of the flash that everything takes once it is written anew.
    fn pages_needed(&self) -> usize {
        let (mut bytes, mut content) = (0, 0);
        for node in self.nodes.values() {
            bytes += NODE_BYTES + 4 * node.attributes.target.len();
            bytes += node.names.keys().map(|name| 24 + 4 * name.len()).sum::<usize>();
            content += node.pages.len();
        }
        bytes += content * PAGE_BYTES;
        bytes.div_ceil(self.log.page_bytes()) + content.div_ceil(PAGES_TOGETHER) + self.nodes.len() / ENTRIES_TOGETHER
    }

    /// Pages of the flash that may be needed: the rest is for deletions, and for pages whose program fails.
    fn pages_allowed(&self) -> usize {
        let all = self.log.pages(0).min(self.log.pages(1));
        all - (all / 16).max(24).min(all)
    }

    /// Writes everything into the other half.
    fn compact(&mut self) -> Result<()> {
        self.log.change_halves()?;
        let nodes: Vec<(Ino, Attributes)> =
            self.nodes.iter().map(|(&ino, node)| (ino, node.attributes.clone())).collect();
        let of_node = |(&dir, node): (&Ino, &Node)| -> Vec<(Ino, Vec<u8>, Ino)> {
            node.names.iter().map(|(name, &ino)| (dir, name.clone(), ino)).collect()
        };
        let names: Vec<(Ino, Vec<u8>, Ino)> = self.nodes.iter().flat_map(of_node).collect();
        for nodes in nodes.chunks(ENTRIES_TOGETHER) {
            self.log.append(Record { nodes: nodes.to_vec(), ..Record::default() }, &[])?;
        }
        for names in names.chunks(ENTRIES_TOGETHER) {
            self.log.append(Record { names: names.to_vec(), ..Record::default() }, &[])?;
        }
        let pages =
            |(&ino, node): (&Ino, &Node)| -> Vec<(Ino, u64)> { node.pages.keys().map(|&page| (ino, page)).collect() };
        let pages: Vec<(Ino, u64)> = self.nodes.iter().flat_map(pages).collect();
        let mut moved = Vec::new();
        for pages in pages.chunks(PAGES_TOGETHER) {
            let mut content = vec![0; pages.len() * PAGE_BYTES];
            for ((ino, page), into) in pages.iter().zip(content.chunks_mut(PAGE_BYTES)) {
                self.log.read(self.nodes[ino].pages[page], into)?;
            }
            let record = Record { pages: pages.to_vec(), ..Record::default() };
            moved.push((record.clone(), self.log.append(record, &content)?));
        }
        self.log.append(Record { completes: true, ..Record::default() }, &[])?;
        // Only now: until here the other half counts.
        moved.iter().for_each(|(record, place)| self.apply(record, *place));
        Ok(())
    }

    /// Writes a change, and then does it in memory. `grows`: it is refused when space is short.
    fn change(&mut self, record: Record, content: &[u8], grows: bool) -> Result<()> {
        let text_bytes = serde_json::to_vec(&record).map_or(0, |text| text.len());
        let pages = (64 + text_bytes + content.len()).div_ceil(self.log.page_bytes());
        if grows && self.pages_needed() + pages > self.pages_allowed() {
            return Err(Errno::NoSpc);
        }
        if self.log.pages_left() < pages {
            self.compact()?;
        }
        let place = match self.log.append(record.clone(), content) {
            // Pages failed that it had counted on.
            Err(Errno::NoSpc) => {
                self.compact()?;
                self.log.append(record.clone(), content)?
            }
            place => place?,
        };
        self.apply(&record, place);
        Ok(())
    }

    // ---- inodes ------------------------------------------------------------------------------------------------

    fn node(&self, ino: Ino) -> Result<&Node> {
        self.nodes.get(&ino).ok_or(Errno::NoEnt)
    }

    fn kind(&self, ino: Ino) -> Result<FileKind> {
        FileKind::from_mode(self.node(ino)?.attributes.mode).ok_or(Errno::Io)
    }

    /// The attributes of an inode that changes now; `is_content`: what it holds changes, too.
    fn touched(&self, host: &dyn Host, ino: Ino, is_content: bool) -> Result<(Ino, Attributes)> {
        let mut attributes = self.node(ino)?.attributes.clone();
        attributes.times_s_ns[2] = times_of(host.now());
        if is_content {
            attributes.times_s_ns[1] = attributes.times_s_ns[2];
        }
        Ok((ino, attributes))
    }

    /// A page of a file; a hole is zero.
    fn page(&self, ino: Ino, index: u64, page: &mut [u8]) -> Result<()> {
        match self.node(ino)?.pages.get(&index) {
            Some(place) => self.log.read(*place, page),
            None => {
                page.fill(0);
                Ok(())
            }
        }
    }

    fn take_name(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()> {
        let ino = self.lookup(dir, name)?;
        let nodes = vec![self.touched(host, dir, true)?, self.touched(host, ino, false)?];
        let record = Record { nodes, names: vec![(dir, name.to_vec(), 0)], ..Record::default() };
        self.change(record, &[], false)
    }
}

impl FileSystem for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn sim(&self) -> &Sim {
        &self.sim
    }

    fn root(&self) -> Ino {
        ROOT
    }

    fn name_bytes_max(&self) -> usize {
        255
    }

    fn file_bytes_max(&self) -> u64 {
        1 << 32
    }

    fn lookup(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        self.node(dir)?.names.get(name).copied().ok_or(Errno::NoEnt)
    }

    fn create(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8], node: &NewNode) -> Result<Ino> {
        let (ino, now) = (self.next_ino, times_of(host.now()));
        let attributes = Attributes {
            mode: node.kind.mode_bits() | node.permissions,
            uid: node.uid,
            gid: node.gid,
            device: node.device,
            size_bytes: node.target.len() as u64,
            times_s_ns: [now; 3],
            target: node.target.to_vec(),
        };
        let nodes = vec![self.touched(host, dir, true)?, (ino, attributes)];
        let record = Record { nodes, names: vec![(dir, name.to_vec(), ino)], ..Record::default() };
        self.change(record, &[], true).map(|()| ino)
    }

    fn link(&mut self, host: &mut dyn Host, ino: Ino, dir: Ino, name: &[u8]) -> Result<()> {
        let nodes = vec![self.touched(host, dir, true)?, self.touched(host, ino, false)?];
        self.change(Record { nodes, names: vec![(dir, name.to_vec(), ino)], ..Record::default() }, &[], true)
    }

    fn unlink(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()> {
        self.take_name(host, dir, name)
    }

    fn rmdir(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()> {
        let ino = self.lookup(dir, name)?;
        if !self.node(ino)?.names.is_empty() {
            return Err(Errno::NotEmpty);
        }
        self.take_name(host, dir, name)
    }

    fn rename(&mut self, host: &mut dyn Host, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<()> {
        let ino = self.lookup(from, name)?;
        if let Ok(replaced) = self.lookup(to, new_name) {
            if !self.node(replaced)?.names.is_empty() {
                return Err(Errno::NotEmpty);
            }
        }
        let inos = BTreeSet::from([from, to, ino]);
        let nodes =
            inos.into_iter().map(|changed| self.touched(host, changed, changed != ino)).collect::<Result<_>>()?;
        let names = vec![(from, name.to_vec(), 0), (to, new_name.to_vec(), ino)];
        self.change(Record { nodes, names, ..Record::default() }, &[], true)
    }

    fn readdir(&mut self, dir: Ino, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()> {
        for (name, &ino) in &self.node(dir)?.names {
            emit(DirEntry { ino, name, kind: self.kind(ino)? });
        }
        Ok(())
    }

    fn readlink(&mut self, ino: Ino) -> Result<Vec<u8>> {
        Ok(self.node(ino)?.attributes.target.clone())
    }

    fn getattr(&mut self, ino: Ino) -> Result<Stat> {
        let node = self.node(ino)?;
        let attributes = &node.attributes;
        let time = |index: usize| {
            let (seconds, nanoseconds) = attributes.times_s_ns[index];
            TimeSpec { seconds, nanoseconds }
        };
        Ok(Stat {
            ino,
            kind: self.kind(ino)?,
            permissions: attributes.mode & 0o7777,
            links: node.links,
            uid: attributes.uid,
            gid: attributes.gid,
            device: attributes.device,
            size_bytes: attributes.size_bytes,
            blocks: node.pages.len() as u64 * 8,
            accessed: time(0),
            modified: time(1),
            changed: time(2),
        })
    }

    fn setattr(&mut self, host: &mut dyn Host, ino: Ino, change: &SetAttr) -> Result<()> {
        let is_size = change.size_bytes.is_some_and(|bytes| bytes != self.nodes[&ino].attributes.size_bytes);
        let (_, mut attributes) = self.touched(host, ino, is_size)?;
        attributes.mode = attributes.mode & !0o7777 | change.permissions.unwrap_or(attributes.mode & 0o7777);
        attributes.uid = change.uid.unwrap_or(attributes.uid);
        attributes.gid = change.gid.unwrap_or(attributes.gid);
        attributes.times_s_ns[0] = change.accessed.map_or(attributes.times_s_ns[0], times_of);
        attributes.times_s_ns[1] = change.modified.map_or(attributes.times_s_ns[1], times_of);
        let (size, before) = (change.size_bytes.unwrap_or(attributes.size_bytes), attributes.size_bytes);
        attributes.size_bytes = size;
        // The page that is cut through must be zero behind the end, should the file grow again.
        let (index, kept) = (size / PAGE_BYTES as u64, (size % PAGE_BYTES as u64) as usize);
        let mut record = Record { nodes: vec![(ino, attributes)], ..Record::default() };
        let mut page = Vec::new();
        if size < before && kept > 0 && self.node(ino)?.pages.contains_key(&index) {
            page.resize(PAGE_BYTES, 0);
            self.page(ino, index, &mut page)?;
            page[kept..].fill(0);
            record.pages.push((ino, index));
        }
        self.change(record, &page, false)
    }

    fn read_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<()> {
        self.page(ino, index, page)
    }

    fn write_begin(&mut self, _: &mut dyn Host, _: Ino, _: u64, bytes: usize, cached: bool) -> Result<WritePlan> {
        Ok(if cached || bytes == PAGE_BYTES { WritePlan::Ready } else { WritePlan::ReadFirst })
    }

    fn write_end(&mut self, host: &mut dyn Host, ino: Ino, at: u64, bytes: usize) -> Result<usize> {
        let index = at / PAGE_BYTES as u64;
        let (_, mut attributes) = self.touched(host, ino, true)?;
        attributes.size_bytes = attributes.size_bytes.max(at + bytes as u64);
        let mut page = host.page(ino, index).ok_or(Errno::Io)?.to_vec();
        page[(attributes.size_bytes - index * PAGE_BYTES as u64).min(PAGE_BYTES as u64) as usize..].fill(0);
        let grows = !self.node(ino)?.pages.contains_key(&index);
        let record = Record { nodes: vec![(ino, attributes)], pages: vec![(ino, index)], ..Record::default() };
        self.change(record, &page, grows).map(|()| bytes)
    }

    /// Every change is safe when its call returns.
    fn fsync(&mut self, _: &mut dyn Host, _: Ino, _: bool) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self, _: &mut dyn Host) -> Result<()> {
        Ok(())
    }

    fn statfs(&mut self) -> StatFs {
        let to_blocks = |pages: usize| (pages * self.log.page_bytes() / PAGE_BYTES) as u64;
        let free = self.pages_allowed().saturating_sub(self.pages_needed());
        StatFs {
            block_bytes: PAGE_BYTES as u32,
            blocks: to_blocks(self.pages_allowed()),
            blocks_free: to_blocks(free),
            files: 0,
            files_free: 0,
        }
    }

    fn evict(&mut self, _: &mut dyn Host, ino: Ino) -> Result<()> {
        self.nodes.remove(&ino);
        Ok(())
    }

    fn drop_inodes(&mut self, _: &dyn Fn(Ino) -> bool) {}

    fn run_task(&mut self, _: &mut dyn Host, task: &'static Task) {
        self.sim.block(task);
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn remount(&mut self, _: &mut dyn Host, read_only: bool) -> Result<()> {
        self.read_only = read_only;
        Ok(())
    }

    fn unmount(&mut self, _: &mut dyn Host) -> Result<()> {
        Ok(())
    }
}
