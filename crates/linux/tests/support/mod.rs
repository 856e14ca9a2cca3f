//! A small file system in memory for the tests: it stores nothing on a flash, but writes down what it is asked.
#![allow(dead_code)]

pub mod delayed;

use ffslab_fs::{
    take_turns, DirEntry, Errno, FileKind, FileSystem, Host, Ino, InodeDirt, NewNode, Result, SetAttr, Stat, StatFs,
    TimeSpec, WritePlan, PAGE_BYTES,
};
use ffslab_linux::{Kernel, ReadAheadRules, Vfs, VfsConfig, VfsCosts, WriteBackKnobs, WriteBackRules};
use ffslab_sim::{Reason, Sim, SimConfig, Task};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What the file system was asked, and how it shall misbehave.
#[derive(Default)]
pub struct Log {
    pub page_reads: Vec<(u64, &'static Reason)>,
    pub lookups: Vec<String>,
    pub evicted: Vec<Ino>,
    /// Inodes in memory: looked up or made, not yet dropped or evicted.
    pub in_memory: Vec<Ino>,
    pub fsyncs: Vec<(Ino, bool)>,
    pub closes: Vec<Ino>,
    pub task_runs: Vec<u64>,
    /// Inodes whose capability was looked up.
    pub capabilities: Vec<Ino>,
    /// (cached, bytes) of each announced write.
    pub writes_begun: Vec<(bool, usize)>,
    pub read_first: bool,
    /// Bytes that can still be written.
    pub space_bytes: Option<usize>,
    /// Pages whose reading fails.
    pub bad_pages: Vec<u64>,
    /// Virtual time of a page read.
    pub page_read_ns: u64,
    /// Instead of `page_read_ns`: called with the page's index, returns the time.
    pub page_read_cost: Option<Box<dyn FnMut(u64) -> u64>>,
    /// Twenty pages from this one on are put into the cache while a write is under way.
    pub cache_during_write: Option<u64>,
    pub readdirs: u32,
    /// What was written back, in order.
    pub written: Vec<Written>,
    /// Dirty pages that were dropped.
    pub dropped: Vec<(Ino, u64)>,
    /// Virtual time of writing a page or an inode back.
    pub write_ns: u64,
    /// Pages whose writing fails, and what with.
    pub failing_pages: Vec<u64>,
    pub failure: Option<Errno>,
    /// Pages that are not written but marked dirty again.
    pub put_back_pages: Vec<u64>,
    /// When so many pages are dirty a write asks for write-back first.
    pub room_pages: Option<usize>,
    pub syncs: u32,
}

/// Something that was written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub task: &'static Task,
    pub ino: Ino,
    /// `None`: the inode itself.
    pub index: Option<u64>,
    pub at_ns: u64,
}

impl Log {
    pub fn pages(&self) -> Vec<u64> {
        self.page_reads.iter().map(|&(index, _)| index).collect()
    }

    /// Pages and inodes that were written since the last call, without times.
    pub fn take_written(&mut self) -> Vec<(Ino, Option<u64>)> {
        self.written.drain(..).map(|w| (w.ino, w.index)).collect()
    }
}

struct Node {
    stat: Stat,
    data: Vec<u8>,
    target: Vec<u8>,
    entries: BTreeMap<Vec<u8>, Ino>,
}

pub struct MemFs {
    sim: Sim,
    nodes: BTreeMap<Ino, Node>,
    next_ino: Ino,
    /// Writes are delayed: `nodes` holds what was written back.
    delays_writes: bool,
    pub log: Rc<RefCell<Log>>,
}

impl MemFs {
    /// One that delays writes.
    pub fn delaying(sim: &Sim) -> MemFs {
        MemFs { delays_writes: true, ..MemFs::new(sim) }
    }

    pub fn new(sim: &Sim) -> MemFs {
        let (nodes, log) = (BTreeMap::new(), Rc::default());
        let mut fs = MemFs { sim: sim.clone(), nodes, next_ino: 1, delays_writes: false, log };
        fs.make(&NewNode::of(FileKind::Directory), TimeSpec::default());
        fs.log.borrow_mut().read_first = true;
        fs
    }

    /// With a file `name` of `bytes` bytes, each the low byte of its page's index plus one.
    pub fn with_file(sim: &Sim, name: &str, bytes: usize) -> MemFs {
        let mut fs = MemFs::new(sim);
        let ino = fs.make(&NewNode::of(FileKind::File), TimeSpec::default());
        let node = fs.nodes.get_mut(&ino).unwrap();
        node.data = vec![0; bytes];
        node.data.chunks_mut(PAGE_BYTES).enumerate().for_each(|(index, page)| page.fill((index + 1) as u8));
        fs.nodes.get_mut(&1).unwrap().entries.insert(name.as_bytes().to_vec(), ino);
        fs.log.borrow_mut().in_memory.clear();
        fs
    }

    fn make(&mut self, node: &NewNode, now: TimeSpec) -> Ino {
        let ino = self.next_ino;
        self.next_ino += 1;
        let stat = Stat {
            ino,
            kind: node.kind,
            permissions: node.permissions,
            links: 1,
            uid: node.uid,
            gid: node.gid,
            device: node.device,
            size_bytes: 0,
            blocks: 0,
            accessed: now,
            modified: now,
            changed: now,
        };
        let made = Node { stat, data: Vec::new(), target: node.target.to_vec(), entries: BTreeMap::new() };
        self.nodes.insert(ino, made);
        self.log.borrow_mut().in_memory.push(ino);
        ino
    }

    fn node(&mut self, ino: Ino) -> Result<&mut Node> {
        self.nodes.get_mut(&ino).ok_or(Errno::Io)
    }

    /// What a garbage collection does to the page cache.
    fn cache_pages(&self, host: &mut dyn Host, ino: Ino) {
        let Some(first) = self.log.borrow().cache_during_write else { return };
        let data = &self.nodes[&ino].data;
        for index in first..first + 20 {
            let start = (index as usize * PAGE_BYTES).min(data.len());
            let end = (start + PAGE_BYTES).min(data.len());
            let mut page = [0; PAGE_BYTES];
            page[..end - start].copy_from_slice(&data[start..end]);
            host.insert_page(ino, index, &page);
        }
    }

    fn note_written(&mut self, ino: Ino, index: Option<u64>) {
        let written = Written { task: self.sim.running(), ino, index, at_ns: self.sim.now_ns() };
        let mut log = self.log.borrow_mut();
        log.written.push(written);
        self.sim.compute(log.write_ns);
    }

    fn take(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        let ino = self.node(dir)?.entries.remove(name).ok_or(Errno::NoEnt)?;
        self.node(ino)?.stat.links -= 1;
        Ok(ino)
    }
}

impl FileSystem for MemFs {
    fn name(&self) -> &'static str {
        "memfs"
    }
    fn sim(&self) -> &Sim {
        &self.sim
    }
    fn root(&self) -> Ino {
        1
    }
    fn name_bytes_max(&self) -> usize {
        254
    }
    fn file_bytes_max(&self) -> u64 {
        1 << 31
    }

    fn lookup(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        self.log.borrow_mut().lookups.push(String::from_utf8_lossy(name).into_owned());
        let ino = *self.node(dir)?.entries.get(name).ok_or(Errno::NoEnt)?;
        self.log.borrow_mut().in_memory.push(ino);
        Ok(ino)
    }

    fn create(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8], node: &NewNode) -> Result<Ino> {
        let ino = self.make(node, host.now());
        self.node(dir)?.entries.insert(name.to_vec(), ino);
        Ok(ino)
    }

    fn link(&mut self, _host: &mut dyn Host, ino: Ino, dir: Ino, name: &[u8]) -> Result<()> {
        self.node(ino)?.stat.links += 1;
        self.node(dir)?.entries.insert(name.to_vec(), ino);
        Ok(())
    }

    fn unlink(&mut self, _host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()> {
        self.take(dir, name).map(|_| ())
    }

    fn rmdir(&mut self, _host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()> {
        let ino = *self.node(dir)?.entries.get(name).ok_or(Errno::NoEnt)?;
        if !self.node(ino)?.entries.is_empty() {
            return Err(Errno::NotEmpty);
        }
        self.take(dir, name).map(|_| ())
    }

    fn rename(&mut self, _host: &mut dyn Host, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<()> {
        if let Some(&target) = self.node(to)?.entries.get(new_name) {
            if !self.node(target)?.entries.is_empty() {
                return Err(Errno::NotEmpty);
            }
            self.take(to, new_name)?;
        }
        let ino = self.node(from)?.entries.remove(name).ok_or(Errno::NoEnt)?;
        self.node(to)?.entries.insert(new_name.to_vec(), ino);
        Ok(())
    }

    fn readdir(&mut self, dir: Ino, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()> {
        self.log.borrow_mut().readdirs += 1;
        for (name, &ino) in &self.nodes.get(&dir).ok_or(Errno::Io)?.entries {
            emit(DirEntry { ino, name, kind: self.nodes[&ino].stat.kind });
        }
        Ok(())
    }

    fn readlink(&mut self, ino: Ino) -> Result<Vec<u8>> {
        Ok(self.node(ino)?.target.clone())
    }

    fn getattr(&mut self, ino: Ino) -> Result<Stat> {
        let node = self.node(ino)?;
        Ok(Stat { size_bytes: node.data.len() as u64, ..node.stat })
    }

    fn setattr(&mut self, _host: &mut dyn Host, ino: Ino, change: &SetAttr) -> Result<()> {
        let node = self.node(ino)?;
        if let Some(size_bytes) = change.size_bytes {
            node.data.resize(size_bytes as usize, 0);
        }
        node.stat.permissions = change.permissions.unwrap_or(node.stat.permissions);
        node.stat.uid = change.uid.unwrap_or(node.stat.uid);
        node.stat.gid = change.gid.unwrap_or(node.stat.gid);
        node.stat.accessed = change.accessed.unwrap_or(node.stat.accessed);
        node.stat.modified = change.modified.unwrap_or(node.stat.modified);
        Ok(())
    }

    fn read_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<()> {
        let reason = self.sim.reason();
        let mut log = self.log.borrow_mut();
        log.page_reads.push((index, reason));
        let duration_ns = match &mut log.page_read_cost {
            Some(cost) => cost(index),
            None => log.page_read_ns,
        };
        self.sim.advance(duration_ns);
        if log.bad_pages.contains(&index) {
            return Err(Errno::Io);
        }
        let data = &self.nodes[&ino].data;
        let start = (index as usize * PAGE_BYTES).min(data.len());
        let end = (start + PAGE_BYTES).min(data.len());
        page.fill(0);
        page[..end - start].copy_from_slice(&data[start..end]);
        Ok(())
    }

    fn look_up_capability(&mut self, ino: Ino) -> Result<()> {
        self.log.borrow_mut().capabilities.push(ino);
        Ok(())
    }

    fn write_begin(&mut self, host: &mut dyn Host, ino: Ino, at: u64, bytes: usize, cached: bool) -> Result<WritePlan> {
        let room = self.log.borrow().room_pages;
        let dirty = |host: &dyn Host| (0..1000).filter(|&index| host.is_page_dirty(ino, index)).count();
        if room.is_some_and(|room| dirty(host) >= room) {
            host.write_back(self, 16)?;
        }
        let node = self.node(ino)?;
        if node.data.len() < at as usize {
            node.data.resize(at as usize, 0);
        }
        self.cache_pages(host, ino);
        let mut log = self.log.borrow_mut();
        log.writes_begun.push((cached, bytes));
        Ok(if cached || !log.read_first { WritePlan::Ready } else { WritePlan::ReadFirst })
    }

    fn write_end(&mut self, host: &mut dyn Host, ino: Ino, at: u64, bytes: usize) -> Result<usize> {
        let index = at / PAGE_BYTES as u64;
        let log = self.log.clone();
        self.cache_pages(host, ino);
        let mut log = log.borrow_mut();
        let bytes = match &mut log.space_bytes {
            Some(0) => return Err(Errno::NoSpc),
            Some(left) => {
                let accepted = bytes.min(*left);
                *left -= accepted;
                accepted
            }
            None => bytes,
        };
        let start = at as usize % PAGE_BYTES;
        let page = host.page(ino, index).expect("the page that is written is in the cache");
        let data = page[start..start + bytes].to_vec();
        let delays = self.delays_writes;
        let node = self.node(ino)?;
        let end = at as usize + bytes;
        let grows = node.data.len() < end;
        if grows {
            node.data.resize(end, 0);
        }
        if delays {
            host.dirty_page(ino, index);
            if grows {
                host.dirty_inode(ino, InodeDirt::Data);
            }
            return Ok(bytes);
        }
        node.data[at as usize..end].copy_from_slice(&data);
        Ok(bytes)
    }

    fn delays_writes(&self) -> bool {
        self.delays_writes
    }

    fn write_page(&mut self, host: &mut dyn Host, ino: Ino, index: u64) -> Result<()> {
        self.note_written(ino, Some(index));
        let (fails, is_put_back) = {
            let log = self.log.borrow();
            (log.failing_pages.contains(&index), log.put_back_pages.contains(&index))
        };
        if is_put_back {
            host.dirty_page(ino, index);
            return Ok(());
        }
        if fails {
            return Err(self.log.borrow().failure.unwrap_or(Errno::Io));
        }
        let page = host.page(ino, index).expect("a page that is written is in the cache").to_vec();
        let data = &mut self.node(ino)?.data;
        let start = (index as usize * PAGE_BYTES).min(data.len());
        let end = (start + PAGE_BYTES).min(data.len());
        data[start..end].copy_from_slice(&page[..end - start]);
        Ok(())
    }

    fn write_inode(&mut self, _host: &mut dyn Host, ino: Ino) -> Result<()> {
        self.note_written(ino, None);
        Ok(())
    }

    fn drop_dirty_page(&mut self, ino: Ino, index: u64) {
        self.log.borrow_mut().dropped.push((ino, index));
    }

    fn resched(&mut self, host: &mut dyn Host) {
        take_turns(self, host);
    }

    fn fsync(&mut self, _host: &mut dyn Host, ino: Ino, data_only: bool) -> Result<()> {
        self.log.borrow_mut().fsyncs.push((ino, data_only));
        Ok(())
    }

    fn close(&mut self, _host: &mut dyn Host, ino: Ino) -> Result<()> {
        self.log.borrow_mut().closes.push(ino);
        Ok(())
    }

    fn sync(&mut self, _host: &mut dyn Host) -> Result<()> {
        self.log.borrow_mut().syncs += 1;
        Ok(())
    }

    fn statfs(&mut self) -> StatFs {
        StatFs { block_bytes: 4096, blocks: 100, blocks_free: 50, files: 0, files_free: 0 }
    }

    fn evict(&mut self, _host: &mut dyn Host, ino: Ino) -> Result<()> {
        let node = self.nodes.remove(&ino).expect("evicted once");
        assert_eq!(node.stat.links, 0, "inode {ino} still has a name");
        if ino + 1 == self.next_ino {
            // Numbers are used again.
            self.next_ino = ino;
        }
        let mut log = self.log.borrow_mut();
        log.evicted.push(ino);
        log.in_memory.retain(|&i| i != ino);
        Ok(())
    }

    fn drop_inodes(&mut self, in_use: &dyn Fn(Ino) -> bool) {
        self.log.borrow_mut().in_memory.retain(|&ino| in_use(ino));
    }

    fn run_task(&mut self, host: &mut dyn Host, task: &'static Task) {
        let now = host.now();
        self.log.borrow_mut().task_runs.push(now.seconds as u64 * 1_000_000_000 + u64::from(now.nanoseconds));
        self.sim.advance(1_000_000);
        self.sim.block(task);
    }

    fn unmount(&mut self, _host: &mut dyn Host) -> Result<()> {
        Ok(())
    }
}

pub fn kernel(read_ahead: ReadAheadRules) -> Kernel {
    let write_back = match read_ahead {
        ReadAheadRules::V2_6 => WriteBackRules::V2_6,
        _ => WriteBackRules::V6_1,
    };
    Kernel { read_ahead, write_back, ..Kernel::default() }
}

pub fn config(rules: ReadAheadRules, read_ahead_bytes: u32) -> VfsConfig {
    VfsConfig {
        kernel: kernel(rules),
        read_ahead_bytes,
        page_cache_bytes: 64 << 20,
        write_back: WriteBackKnobs::default(),
        policies: Default::default(),
        costs: VfsCosts { clock_read_ns: 256, ..VfsCosts::default() },
        epoch_s: 1_000_000_000,
        epoch_ns: 0,
        others_unused_count: None,
        smp: false,
    }
}

/// A system with `fs` mounted, and the file system's log.
pub fn mounted(config: VfsConfig, make: impl FnOnce(&Sim) -> MemFs) -> (Vfs, Rc<RefCell<Log>>) {
    mounted_on(SimConfig::default(), config, make)
}

/// The same on a certain machine.
pub fn mounted_on(machine: SimConfig, config: VfsConfig, make: impl FnOnce(&Sim) -> MemFs) -> (Vfs, Rc<RefCell<Log>>) {
    let sim = Sim::new(machine);
    let fs = make(&sim);
    let log = fs.log.clone();
    let mut vfs = Vfs::new(sim, config);
    vfs.mount(Box::new(fs)).unwrap();
    (vfs, log)
}

/// An empty file system on Linux 6.1 without read-ahead.
pub fn empty() -> (Vfs, Rc<RefCell<Log>>) {
    mounted(config(ReadAheadRules::V6_1, 0), MemFs::new)
}
