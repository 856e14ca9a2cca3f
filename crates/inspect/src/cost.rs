//! What an image costs on a board: the cost of a mount, and of reading each file from its start to its end with cold
//! caches.

use crate::{is_readable, FileFacts, InspectOptions, MountFacts, ReadFacts};
use ffslab_block::DeviceProfile;
use ffslab_fs::causes;
use ffslab_images::rtems_volumes::{path_in_system, Mounted};
use ffslab_images::tree::{OnChip, TreeEntry, TreeError};
use ffslab_images::{Layout, Unrecognised};
use ffslab_jffs2::Endian;
use ffslab_lab::counts::CauseSummary;
use ffslab_lab::legend::Legend;
use ffslab_lab::{LabError, SystemError};
use ffslab_linux::{Calls, OpenFlags};
use ffslab_machine::file_systems;
use ffslab_machine::stack::{Stack, StackSpec};
use ffslab_machine::stack_keys::{EndianName, StackKeys};
use ffslab_machine::MachineError;
use ffslab_profiles::block_device;
use ffslab_rtems::libio;
use ffslab_sim::units::ns_to_us;
use ffslab_sim::{Causes, EventSink, Op, OpEvent};
use serde_json::json;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use thiserror::Error;

/// Limit for all files together, in addition to four times the size of the image. Without it, damaged sizes and large
/// holes would make the simulation take very long.
const READ_BYTES_MAX: u64 = 64 << 20;
/// Only so many files are read one by one. Each read begins with cold caches, which takes time.
const FILES_MAX: usize = 4096;
const REQUEST_BYTES: usize = 128 << 10;

/// Why the cost of a mount, or of reading some of the files, is not known. One line.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CostError {
    /// No chip or device takes the image.
    #[error(transparent)]
    Image(#[from] TreeError),
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The machine does not mount it.
    #[error(transparent)]
    System(#[from] SystemError),
    #[error("no kernel mounts {title}; an experiment with system = \"bare\" and the step load does")]
    OnlyBare { title: &'static str },
    #[error("{title} is read here, and no machine mounts it")]
    OnlyRead { title: &'static str },
    #[error("what {title} costs hangs on what it stands on: an experiment with fs = \"{name}\" says it")]
    OnlyInExperiments { title: &'static str, name: &'static str },
    /// It stands on no flash.
    #[error("{0}")]
    NoFlash(Unrecognised),
    #[error("only the first {most} files are read")]
    ManyFiles { most: usize },
    #[error("/{from} and what follows is too much to read")]
    MuchToRead { from: String },
}

/// The machine on which an image is mounted and read.
pub enum Machine {
    Board {
        spec: Box<StackSpec>,
        name: String,
    },
    Device(DeviceProfile),
    /// No kernel mounts it as it is.
    Nobody {
        why: CostError,
    },
}

impl Machine {
    /// The machine for an image of this layout.
    ///
    /// Errors: a profile does not exist.
    pub fn of(layout: &Layout, options: &InspectOptions) -> Result<Machine, LabError> {
        let title = layout.fs.title();
        match file_systems::find(layout.fs.name()) {
            Some(fs) if !fs.is_written_on_linux() && fs.on_bare.is_none() && fs.on_rtems.is_none() => {
                let why = match fs.mountable {
                    Some(_) => CostError::OnlyInExperiments { title, name: fs.name },
                    None => CostError::OnlyRead { title },
                };
                return Ok(Machine::Nobody { why });
            }
            _ if layout.fs.format().is_volume() => {
                return Ok(Machine::Device(block_device(&options.device, Path::new(""))?));
            }
            Some(fs) if fs.mountable.is_none() => {
                return Ok(Machine::Nobody { why: CostError::OnlyBare { title } });
            }
            _ => {}
        }
        if let Err(why) = layout.clone().whole() {
            return Ok(Machine::Nobody { why: CostError::NoFlash(why) });
        }
        let keys = json!({"board": options.board, "fs": layout.fs.name(), "partition_blocks": layout.blocks.max(1)});
        let keys: StackKeys = serde_json::from_value(keys).map_err(|error| LabError::Input(error.to_string()))?;
        let keys = StackKeys {
            part: options.part.clone(),
            kernel: options.kernel.clone(),
            endian: if layout.endian == Some(Endian::Big) { EndianName::Big } else { EndianName::Little },
            inband_tags: layout.yaffs2.is_some_and(|found| found.is_inband()),
            ..keys
        };
        let (mut spec, keys) = StackSpec::from_keys(&keys, Path::new(""))?;
        spec.fs = spec.fs.map(|settings| settings.adapted_to(layout).unwrap_or(settings));
        // Each file is read once, so that a small page cache is enough.
        spec.vfs.page_cache_bytes = spec.vfs.page_cache_bytes.min(4 << 20);
        let name =
            format!("{}, {}, Linux {}", keys.board, keys.part.unwrap_or_default(), keys.kernel.unwrap_or_default());
        Ok(Machine::Board { spec: Box::new(spec), name })
    }

    /// Mounts a copy of the image read-write, as a device does when it is switched on, and takes the cost.
    ///
    /// Errors: why it cannot be mounted.
    pub fn mount(&self, image: &[u8], layout: &Layout) -> Result<MountFacts, CostError> {
        match self {
            Machine::Board { spec, name } => {
                let mut stack = stack_with(spec, image, layout)?;
                let before_ns = stack.sim.now_ns();
                stack.mount(&[])?;
                let causes = stack.sim.causes().since(&Causes::default());
                let by_cause: Vec<_> = causes.iter().map(CauseSummary::of).collect();
                Ok(MountFacts {
                    machine: name.clone(),
                    time_us: ns_to_us(stack.sim.now_ns() - before_ns),
                    counts: Some(stack.sim.total().into()),
                    causes: Legend::of(&by_cause),
                    by_cause,
                    device_reads: None,
                    device_read_bytes: None,
                })
            }
            Machine::Device(profile) => {
                let mounted = layout.fs.format().on_device(image, layout, profile.clone())?;
                let (cache, counts) = (mounted.libio.cache(), mounted.libio.cache().counts());
                Ok(MountFacts {
                    machine: profile.title.clone(),
                    time_us: ns_to_us(cache.sim().now_ns()),
                    counts: None,
                    by_cause: Vec::new(),
                    causes: Legend::default(),
                    device_reads: Some(counts.read_buffers_count),
                    device_read_bytes: Some(counts.read_bytes),
                })
            }
            Machine::Nobody { why } => Err(why.clone()),
        }
    }

    /// Reads all files that can be read, and writes the cost of each into its element of `facts`. `facts` and `entries`
    /// have the same order.
    ///
    /// Errors: why none or not all of the files were read.
    pub fn read_files(
        &self,
        image: &[u8],
        layout: &Layout,
        entries: &[TreeEntry],
        facts: &mut [FileFacts],
    ) -> Result<(), CostError> {
        let mut left_bytes = READ_BYTES_MAX + 4 * image.len() as u64;
        let files = entries.iter().zip(facts).filter(|(entry, _)| is_readable(entry));
        let mut reader = match self {
            Machine::Board { spec, .. } => Reader::on_board(spec, image, layout)?,
            Machine::Device(profile) => {
                Reader::OnDevice { mounted: Box::new(layout.fs.format().on_device(image, layout, profile.clone())?) }
            }
            Machine::Nobody { why } => return Err(why.clone()),
        };
        for (number, (entry, facts)) in files.enumerate() {
            if number == FILES_MAX {
                return Err(CostError::ManyFiles { most: FILES_MAX });
            }
            if entry.size_bytes > left_bytes {
                return Err(CostError::MuchToRead { from: facts.path.clone() });
            }
            left_bytes -= entry.size_bytes;
            // Files that cannot be read have no costs; their errors are reported elsewhere.
            facts.read = reader.read(&entry.path, entry.size_bytes);
        }
        Ok(())
    }
}

/// A stack whose chip holds a copy of the image. Nothing is mounted.
fn stack_with(spec: &StackSpec, image: &[u8], layout: &Layout) -> Result<Stack, CostError> {
    let mut spec = spec.clone();
    let OnChip { geometry, mut pages, bytes, oob } = layout.fs.format().on_chip(image, layout)?;
    spec.partition.geometry = geometry;
    spec.partition.first_block = 0;
    spec.partition.partition_blocks = geometry.blocks;
    let mut stack = Stack::new(&spec)?;
    stack.put(Path::new("its pages"), &mut pages, bytes, oob)?;
    Ok(stack)
}

/// Counts the reads of a file: the last page that was read, the number of reads, and how many of them did not continue
/// where the one before had ended.
#[derive(Clone, Copy, Default)]
struct Trail {
    last: Option<u32>,
    pieces: u64,
    reads: u64,
}

impl Trail {
    fn step(&mut self, first: u32, last: u32) {
        let goes_on = self.last.is_some_and(|before| first == before || first == before.wrapping_add(1));
        self.pieces += u64::from(!goes_on);
        self.reads += 1;
        self.last = Some(last);
    }
}

/// Passes each page read of the program to a [`Trail`].
struct Follower(Rc<Cell<Trail>>);

impl EventSink for Follower {
    fn flash_op(&mut self, event: &OpEvent) {
        let is_data = [&causes::READ, &causes::READ_AHEAD].contains(&event.reason) && event.task == &causes::CALLER;
        if is_data && matches!(event.op, Op::PageRead | Op::PartialPageRead) {
            let mut trail = self.0.get();
            trail.step(event.address, event.address);
            self.0.set(trail);
        }
    }
}

enum Reader {
    OnBoard { stack: Box<Stack>, trail: Rc<Cell<Trail>> },
    OnDevice { mounted: Box<Mounted> },
}

impl Reader {
    fn on_board(spec: &StackSpec, image: &[u8], layout: &Layout) -> Result<Reader, CostError> {
        let mut stack = stack_with(spec, image, layout)?;
        // A read-only mount has no background work that would disturb the counts.
        stack.mount(&["ro".to_string()])?;
        let trail = Rc::new(Cell::new(Trail::default()));
        stack.sim.set_sink(Some(Box::new(Follower(trail.clone()))));
        Ok(Reader::OnBoard { stack: Box::new(stack), trail })
    }

    /// Reads a file with cold caches and returns the cost. `None`: the file cannot be read to its end.
    fn read(&mut self, path: &[u8], size_bytes: u64) -> Option<ReadFacts> {
        match self {
            Reader::OnBoard { stack, trail } => {
                stack.vfs.drop_caches().ok()?;
                let fd = stack.vfs.open(&[b"/", path].concat(), OpenFlags::READ, 0).ok()?;
                trail.set(Trail::default());
                let before_ns = stack.sim.now_ns();
                let read = (0..size_bytes)
                    .step_by(REQUEST_BYTES)
                    .try_for_each(|at| stack.vfs.pread_discard(fd, at, REQUEST_BYTES).map(drop));
                let time_us = ns_to_us(stack.sim.now_ns() - before_ns);
                let closed = stack.vfs.close(fd);
                read.and(closed).ok()?;
                let least_reads = size_bytes.div_ceil(u64::from(stack.page_bytes()));
                let Trail { pieces, reads, .. } = trail.get();
                Some(ReadFacts { pieces, reads, least_reads, time_us })
            }
            Reader::OnDevice { mounted } => {
                let (disk, first_data_block) = (mounted.disk, mounted.first_data_block);
                let libio = &mut mounted.libio;
                libio.cache_mut().purge_dev(disk);
                let fd = libio.open(&path_in_system(path), libio::OpenFlags::READ, 0).ok()?;
                libio.cache_mut().set_tracing(true);
                let before_ns = libio.cache().sim().now_ns();
                let mut piece = vec![0; 4096];
                let read = loop {
                    match libio.read(fd, &mut piece) {
                        Ok(0) => break Ok(()),
                        Ok(_) => {}
                        Err(error) => break Err(error),
                    }
                };
                let time_us = ns_to_us(libio.cache().sim().now_ns() - before_ns);
                let closed = libio.close(fd);
                let trace = libio.cache_mut().take_trace();
                libio.cache_mut().set_tracing(false);
                read.and(closed).ok()?;
                let mut trail = Trail::default();
                let mut buffer_bytes = 512;
                for event in trace.iter().filter(|event| event.op == "DEV_READ") {
                    buffer_bytes = event.bytes.max(512);
                    // Blocks before the first data block are those of the FAT. They count as reads but not as pieces of
                    // the file.
                    if event.block < first_data_block {
                        trail.reads += 1;
                    } else {
                        trail.step(event.block, event.block + event.bytes / 512 - 1);
                    }
                }
                let Trail { pieces, reads, .. } = trail;
                Some(ReadFacts { pieces, reads, least_reads: size_bytes.div_ceil(u64::from(buffer_bytes)), time_us })
            }
        }
    }
}
