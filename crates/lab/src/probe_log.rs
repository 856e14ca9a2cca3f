//! The logs that the probe kit would write if the simulated run were a real one, so that `ffslab trace` can compare the
//! two.
//!
//! Two of the kit's three logs are written, in version 1 of its format (docs/trace-report.md): `flashmon.log` with each
//! flash operation, and `vfsmon.log` with each measured call. No event is ever lost. Threads have no numbers in a
//! simulation and are identified by name; kernel threads have the names that the kernel gives them.

use crate::requests::{CallOp, RequestLog};
use ffslab_flash::Geometry;
use ffslab_mtd::{Mtd, NandPartition};
use ffslab_sim::{EventSink, Op, OpEvent, Sim, Task, CALLER};
use ffslab_system::System;
use std::cell::RefCell;
use std::fmt::Write;
use std::ops::Range;
use std::rc::Rc;

/// The flash operations and the beginnings of steps since the measurement started.
pub(crate) struct ProbeLog {
    geometry: Geometry,
    /// Erase blocks of the partition.
    blocks: Range<u32>,
    start_ns: u64,
    operations: Rc<RefCell<Vec<Operation>>>,
    markers: Vec<(u64, String)>,
}

#[derive(Clone, Copy)]
struct Operation {
    at_ns: u64,
    address: u32,
    op: Op,
    task: &'static Task,
}

/// The raw NAND of a system, whose operations are logged because of this key of the experiment.
///
/// Errors: the system has none.
pub(crate) fn has_nand<'a>(key: &str, system: &'a dyn System) -> Result<&'a NandPartition, String> {
    system.mtd().and_then(Mtd::nand).ok_or_else(|| {
        format!("{key}: shows the operations of raw NAND, remove it from experiments on {}", system.system_name())
    })
}

struct Sink(Rc<RefCell<Vec<Operation>>>);

impl EventSink for Sink {
    fn flash_op(&mut self, event: &OpEvent) {
        let &OpEvent { at_ns, address, op, task, .. } = event;
        self.0.borrow_mut().push(Operation { at_ns, address, op, task });
    }
}

impl ProbeLog {
    /// Starts to log.
    ///
    /// Errors: the system has no raw NAND.
    pub fn start(system: &dyn System) -> Result<ProbeLog, String> {
        let nand = has_nand("probe_logs", system)?;
        let sim = system.sim();
        let operations = Rc::default();
        sim.set_sink(Some(Box::new(Sink(Rc::clone(&operations)))));
        Ok(ProbeLog {
            geometry: nand.geometry(),
            blocks: nand.range(),
            start_ns: sim.now_ns(),
            operations,
            markers: Vec::new(),
        })
    }

    /// Writes a marker with this text at the present time. The measured steps become the phases of the log.
    pub fn mark(&mut self, sim: &Sim, text: String) {
        self.markers.push((sim.now_ns(), text));
    }

    /// Stops to log. Returns the names and texts of the log files.
    pub fn end(self, sim: &Sim, requests: &RequestLog) -> Vec<(String, String)> {
        sim.set_sink(None);
        let end_ns = sim.now_ns();
        let flash = self.flashmon(end_ns);
        let calls = self.vfsmon(requests, end_ns);
        vec![("flashmon.log".to_string(), flash), ("vfsmon.log".to_string(), calls)]
    }

    fn flashmon(&self, end_ns: u64) -> String {
        let operations = self.operations.borrow();
        let mut text = self.head("flashmon", "t_s;type;address;task;pid;bytes", "every operation of the chip");
        text.reserve(operations.len() * 40);
        let mut markers = self.markers.iter().peekable();
        for operation in operations.iter() {
            while let Some((at_ns, marker)) = markers.next_if(|(at_ns, _)| *at_ns <= operation.at_ns) {
                mark(&mut text, *at_ns, marker);
            }
            let (kind, bytes) = kind_and_bytes(operation.op, self.geometry);
            let (time, task) = (Seconds(operation.at_ns), operation.task.process);
            writeln!(text, "{time};{kind};{};{task};;{bytes}", operation.address).expect("text grows");
        }
        for (at_ns, marker) in markers {
            mark(&mut text, *at_ns, marker);
        }
        self.finish(text, operations.len(), end_ns)
    }

    fn vfsmon(&self, requests: &RequestLog, end_ns: u64) -> String {
        let columns = "t_s;duration_us;function;task;pid;inode;offset_B;bytes;result";
        let mut text = self.head("vfsmon", columns, "the measured calls; inode: the number of a file's name");
        let caller = CALLER.process;
        for i in 0..requests.len() {
            let (start, latency_ns) = (Seconds(self.start_ns + requests.start_ns[i]), requests.latency_ns[i]);
            let (function, file) = (function_name(requests.op[i]), requests.file[i]);
            let (offset, bytes) = (requests.offset_bytes[i], requests.bytes[i]);
            let (us, ns) = (latency_ns / 1_000, latency_ns % 1_000);
            writeln!(text, "{start};{us}.{ns:03};{function};{caller};;{file};{offset};{bytes};{bytes}")
                .expect("text grows");
        }
        for (at_ns, marker) in &self.markers {
            mark(&mut text, *at_ns, marker);
        }
        self.finish(text, requests.len(), end_ns)
    }

    fn head(&self, kind: &str, columns: &str, functions: &str) -> String {
        let Geometry { page_bytes, oob_bytes, pages_per_block, blocks } = self.geometry;
        let block_bytes = u64::from(page_bytes) * u64::from(pages_per_block);
        let [offset, size] =
            [self.blocks.start, self.blocks.end - self.blocks.start].map(|blocks| u64::from(blocks) * block_bytes);
        let lines = [
            format!("# ffslab-probe 1 {kind}"),
            format!("# kernel: ffslab {}", env!("CARGO_PKG_VERSION")),
            "# machine: simulated".to_string(),
            "# clock: virtual".to_string(),
            format!("# started_s: {}", Seconds(self.start_ns)),
            format!(
                "# chip: page_B={page_bytes} oob_B={oob_bytes} block_B={block_bytes} size_B={}",
                block_bytes * u64::from(blocks)
            ),
            format!("# partition: mtd0 offset_B={offset} size_B={size} name=measured"),
            "# scope: chip".to_string(),
            "# buffer_KiB: -".to_string(),
            format!("# functions: {functions}"),
            format!("# columns: {columns}"),
        ];
        lines.join("\n") + "\n"
    }

    fn finish(&self, mut text: String, rows: usize, end_ns: u64) -> String {
        let events = rows + self.markers.len();
        writeln!(text, "# end: t_s={} events={events} lost=0 overhead_ns_per_event=0", Seconds(end_ns))
            .expect("text grows");
        text
    }
}

fn mark(text: &mut String, at_ns: u64, marker: &str) {
    writeln!(text, "{};M;;{marker}", Seconds(at_ns)).expect("text grows");
}

/// Nanoseconds as seconds with nine decimals.
struct Seconds(u64);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// The kit's letter for the operation, and the number of bytes that it moved, which is empty for the read of a part of
/// a page because it is not known.
fn kind_and_bytes(op: Op, geometry: Geometry) -> (char, String) {
    let (kind, bytes) = match op {
        Op::PageRead => ('R', geometry.page_bytes),
        Op::PartialPageRead => return ('R', String::new()),
        Op::PageProgram | Op::Reprogram => ('W', geometry.page_bytes),
        Op::OobRead => ('r', geometry.oob_bytes),
        Op::OobProgram => ('w', geometry.oob_bytes),
        Op::Erase => ('E', geometry.page_bytes * geometry.pages_per_block),
    };
    (kind, bytes.to_string())
}

/// The kernel's function for a read or write. Other measured calls keep their names.
fn function_name(op: CallOp) -> &'static str {
    match op {
        CallOp::Read => "vfs_read",
        CallOp::Write => "vfs_write",
        other => other.name(),
    }
}
