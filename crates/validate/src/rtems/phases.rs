//! What the measured program did, phase by phase, as steps of experiments.

use super::settings::{BlockSettings, Settings};
use crate::error::CaseError;
use ffslab_text::{Bytes, Micros};
use ffslab_workload::steps::{
    Close, ContentName, CreateMany, Failure, Format, Fsync, Mkdir, Mount, Open, OpenFlag, Pattern, ReadMany, Readdir,
    RequestCalls, RequestOp, Requests, Rmdir, Sleep, Step, Truncate, Umount, Unlink, UnlinkMany,
};

/// A phase, which was counted by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phase {
    /// As in the measured cases, but that [`ENTRIES`] stands for the number of entries that were read.
    pub name: String,
    pub steps: Vec<Step>,
    /// The calls of so many steps at the beginning were not counted, only what they caused.
    pub uncounted_steps: usize,
}

/// Where the name of a phase has the number of entries of the directory that it reads.
pub const ENTRIES: &str = "{entries}";

const FILE: &str = "f.dat";
const SECOND_FILE: &str = "g.dat";
const THIRD_FILE: &str = "h.dat";
const DIR: &str = "d";
const SHORT_NAME: &str = "file##.txt";
const LONG_NAME: &str = "a long file name number ##.text";
const SMALL_FILES: u64 = 20;
const SMALL_FILE_BYTES: Bytes = Bytes(100);
/// An idle system was looked at so often, in such steps.
const IDLE_STEPS: u64 = 12;
const IDLE_STEP_US: u64 = 250_000;

/// The phases of a run. `in_memory`: its file system has no medium, so it was neither formatted nor mounted by the program.
///
/// Errors: a program that is not known, content that it did not write.
pub fn phases(settings: &Settings, in_memory: bool) -> Result<Vec<Phase>, CaseError> {
    match settings {
        Settings::Block(settings) => {
            // One byte over and over, which changes no count: nothing here compresses.
            let mut program = Program::of(settings.io_bytes, settings.file_bytes, ContentName::Zero);
            program.on_blocks(settings, in_memory)?;
            Ok(program.phases)
        }
        Settings::Flash(settings) => {
            let content = content(&settings.data)?;
            let mut program = Program::of(settings.io_bytes, settings.file_bytes, content);
            program.on_flash();
            Ok(program.phases)
        }
    }
}

fn content(name: &str) -> Result<ContentName, CaseError> {
    match [ContentName::Random, ContentName::Text, ContentName::Zero].into_iter().find(|kind| kind.name() == name) {
        Some(kind) => Ok(kind),
        None => Err(CaseError::Data { name: name.to_string() }),
    }
}

/// The generator of the measured cases: 0..n in random order.
fn permutation(n: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..n).collect();
    let mut state = 12_345u32;
    for i in (1..order.len()).rev() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        order.swap(i, (state >> 8) as usize % (i + 1));
    }
    order
}

struct Program {
    phases: Vec<Phase>,
    io_bytes: u32,
    file_bytes: u64,
    content: ContentName,
}

impl Program {
    fn of(io_bytes: u32, file_bytes: u64, content: ContentName) -> Program {
        Program { phases: Vec::new(), io_bytes, file_bytes, content }
    }

    /// Requests that fill the file.
    fn requests_of_file(&self) -> u64 {
        self.file_bytes / u64::from(self.io_bytes)
    }

    fn phase(&mut self, name: &str, step: Step) {
        self.phases.push(Phase { name: name.to_string(), steps: vec![step], uncounted_steps: 0 });
    }

    fn open(&mut self, name: &str, file: &str, flags: &[OpenFlag]) {
        self.phase(name, open(file, flags));
    }

    fn close(&mut self, name: &str, file: &str) {
        self.phase(name, Step::Close(Close { file: file.to_string() }));
    }

    fn fsync(&mut self, name: &str) {
        self.phase(name, Step::Fsync(Fsync { file: FILE.to_string(), fails: None }));
    }

    fn unlink(&mut self, name: &str, file: &str) {
        self.phase(name, Step::Unlink(Unlink { file: file.to_string() }));
    }

    /// So many requests one after the other.
    fn sequential(&mut self, name: &str, file: &str, op: RequestOp, count: u64) {
        let step = self.requests(file, op, Pattern::Sequential, Vec::new(), count);
        self.phase(name, step);
    }

    /// Requests in an order, `times` over.
    fn listed(&mut self, name: &str, file: &str, op: RequestOp, order: &[u64], times: u64) {
        let step = self.requests(file, op, Pattern::Listed, order.to_vec(), order.len() as u64 * times);
        self.phase(name, step);
    }

    fn requests(&self, file: &str, op: RequestOp, pattern: Pattern, order: Vec<u64>, count: u64) -> Step {
        Step::Requests(Requests {
            file: file.to_string(),
            op,
            pattern,
            order,
            calls: RequestCalls::AtPosition,
            request_bytes: Bytes(self.io_bytes.into()),
            count,
            range_bytes: Some(Bytes(self.file_bytes)),
            seed: 1,
            gap_us: Micros(0),
            content: self.content,
            content_file: None,
        })
    }

    fn create_many(&mut self, phase: &str, name: &str) {
        let step = Step::CreateMany(CreateMany {
            dir: DIR.to_string(),
            name: name.to_string(),
            count: Some(SMALL_FILES),
            bytes: SMALL_FILE_BYTES,
            request_bytes: None,
            fsync: false,
            content: self.content,
            content_file: None,
            until: None,
        });
        self.phase(phase, step);
    }

    fn unlink_many(&mut self, phase: &str, name: &str) {
        let (dir, name) = (DIR.to_string(), name.to_string());
        self.phase(phase, Step::UnlinkMany(UnlinkMany { dir, name, count: SMALL_FILES }));
    }

    fn mkdir(&mut self) {
        self.phase("mkdir", Step::Mkdir(Mkdir { dir: DIR.to_string() }));
    }

    // ---- block devices and memory ---------------------------------------------------------------------------------

    fn on_blocks(&mut self, settings: &BlockSettings, in_memory: bool) -> Result<(), CaseError> {
        if !in_memory {
            self.phase("format", Step::Format(Format {}));
            self.phase("mount", mount());
        }
        match settings.test.as_str() {
            "io" => {
                self.file_phases(settings);
                self.many_files();
            }
            "small" => self.file_phases(settings),
            "meta" => self.many_files(),
            "hold" => self.hold(),
            other => return Err(CaseError::Test { name: other.to_string() }),
        }
        if !in_memory {
            self.phase("unmount", Step::Umount(Umount {}));
        }
        Ok(())
    }

    fn file_phases(&mut self, settings: &BlockSettings) {
        let n = self.requests_of_file();
        // RFS of 2018 makes a file shorter when less than a block is written into its full last block, so the requests in
        // the last block are left out.
        let in_last_block = u64::from(settings.fs_block_bytes.div_ceil(self.io_bytes));
        let order = permutation(n);
        let reduced_order = permutation(n.saturating_sub(in_last_block).max(1));

        self.open("open_create", FILE, &CREATE);
        self.sequential("seq_write_append", FILE, RequestOp::Write, n);
        self.fsync("fsync_1");
        self.close("close_1", FILE);

        self.open("open_rdonly", FILE, &[OpenFlag::Rdonly]);
        self.sequential("seq_read", FILE, RequestOp::Read, n);
        self.listed("rand_read", FILE, RequestOp::Read, &order, 1);
        self.close("close_2", FILE);

        self.open("open_wronly", FILE, &[OpenFlag::Wronly]);
        self.sequential("seq_overwrite", FILE, RequestOp::Write, n);
        self.fsync("fsync_2");
        self.listed("rand_overwrite", FILE, RequestOp::Write, &reduced_order, 1);
        self.fsync("fsync_3");
        self.close("close_3", FILE);

        self.open("open_rdwr", FILE, &[OpenFlag::Rdwr]);
        self.listed("rand_mixed_50_50", FILE, RequestOp::Alternate, &reduced_order, 1);
        self.fsync("fsync_4");
        self.unlink("unlink_open", FILE);
        self.close("close_after_unlink", FILE);

        self.open("open_create_2", SECOND_FILE, &CREATE);
        if settings.test == "io" {
            let (file, bytes) = (SECOND_FILE.to_string(), Bytes(self.file_bytes));
            self.phase("ftruncate_extend", Step::Truncate(Truncate { file, bytes, by_descriptor: true, fails: None }));
            self.sequential("seq_write_after_truncate", SECOND_FILE, RequestOp::Write, n);
        }
        self.close("close_4", SECOND_FILE);
        self.unlink("unlink_closed", SECOND_FILE);

        if settings.fs == "rfs" && self.io_bytes < settings.fs_block_bytes {
            return;
        }
        self.open("open_create_3", THIRD_FILE, &CREATE);
        self.listed("rand_write_new_file", THIRD_FILE, RequestOp::Write, &order, 1);
        self.close("close_5", THIRD_FILE);
        self.unlink("unlink_3", THIRD_FILE);
    }

    fn many_files(&mut self) {
        self.mkdir();
        self.create_many("create_20_short_names_100B", SHORT_NAME);
        self.create_many("create_20_long_names_100B", LONG_NAME);
        self.phase(&format!("readdir_{ENTRIES}_entries"), Step::Readdir(Readdir { dir: DIR.to_string() }));
        let (dir, name, count) = (DIR.to_string(), SHORT_NAME.to_string(), SMALL_FILES);
        let bytes = SMALL_FILE_BYTES;
        self.phase("open_read_close_20", Step::ReadMany(ReadMany { dir, name, count, bytes, request_bytes: None }));
        self.unlink_many("unlink_20_short", SHORT_NAME);
        self.unlink_many("unlink_20_long", LONG_NAME);
        self.phase("rmdir", Step::Rmdir(Rmdir { dir: DIR.to_string(), fails: None }));
    }

    fn hold(&mut self) {
        self.open("open_create", FILE, &CREATE);
        self.sequential("write_4", FILE, RequestOp::Write, 4);
        for step in 1..=IDLE_STEPS {
            let idle = Step::Sleep(Sleep { time_us: Micros(IDLE_STEP_US) });
            self.phases.push(Phase {
                name: format!("idle_to_{}_us", step * IDLE_STEP_US),
                steps: vec![idle],
                uncounted_steps: 1,
            });
            if step == IDLE_STEPS / 2 {
                self.close("close", FILE);
            }
        }
    }

    // ---- flash ------------------------------------------------------------------------------------------------------

    fn on_flash(&mut self) {
        let n = self.requests_of_file();
        let random = permutation(n);
        self.phase("mount_erased", mount());
        self.open("open_create", FILE, &CREATE);
        self.sequential("seq_write_append", FILE, RequestOp::Write, n);
        // The default handler of RTEMS fails so, and JFFS2 has no other.
        self.phase("fsync", Step::Fsync(Fsync { file: FILE.to_string(), fails: Some(Failure::Inval) }));
        self.close("close", FILE);

        self.open("open_rdonly", FILE, &[OpenFlag::Rdonly]);
        self.sequential("seq_read", FILE, RequestOp::Read, n);
        self.listed("rand_read", FILE, RequestOp::Read, &random, 1);
        let steps = vec![Step::Close(Close { file: FILE.to_string() }), open(FILE, &[OpenFlag::Rdwr])];
        self.phases.push(Phase { name: "reopen".to_string(), steps, uncounted_steps: 1 });
        self.sequential("seq_overwrite", FILE, RequestOp::Write, n);
        self.listed("rand_overwrite", FILE, RequestOp::Write, &random, 1);
        self.listed("rand_overwrite_x6_gc", FILE, RequestOp::Write, &random, 6);
        self.close("close", FILE);
        self.phase("unmount", Step::Umount(Umount {}));
        self.phase("remount", mount());
        self.unlink("unlink", FILE);

        self.mkdir();
        self.create_many("create_20_100B", SHORT_NAME);
        self.unlink_many("unlink_20", SHORT_NAME);
    }
}

/// `O_RDWR | O_CREAT`.
const CREATE: [OpenFlag; 2] = [OpenFlag::Rdwr, OpenFlag::Create];

fn open(file: &str, flags: &[OpenFlag]) -> Step {
    Step::Open(Open { file: file.to_string(), flags: flags.to_vec(), fails: None })
}

pub fn mount() -> Step {
    Step::Mount(Mount { options: Vec::new() })
}
