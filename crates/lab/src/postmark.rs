//! Runs Postmark's operations on the simulated system calls. As with the real program, files hold random printable
//! characters.

use ffslab_fs::Errno;
use ffslab_system::{timed, Answer, OpenFlags, Refusal, System};
use ffslab_workload::postmark::{ConfiguredRun, Instants, Operation, Run, Totals, GENERATOR};
use ffslab_workload::Content;
use schemars::JsonSchema;
use serde::Serialize;

/// Shares of a file, in per cent. The time of the read() calls is taken when each of them has been read.
const READ_SHARES_PCT: [u64; 3] = [25, 50, 100];

/// What the read() calls of all files brought, and took, until each file had been read to a share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ReadShare {
    /// Share of the file. The read() call that reaches the share counts as a whole.
    pub share_pct: u64,
    #[serde(rename = "read_B")]
    pub read_bytes: u64,
    /// Time of the read() calls alone, without open and close.
    pub read_us: f64,
}

/// What a run did: the numbers of the program's report, and the report itself.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PostmarkReport {
    pub files_created: u64,
    pub files_read: u64,
    pub files_appended: u64,
    pub files_deleted: u64,
    pub files_deleted_in_transactions: u64,
    /// Bytes as the program counts them, in single precision. Data that an error kept from being written are counted
    /// too.
    #[serde(rename = "read_B")]
    pub read_bytes: f32,
    #[serde(rename = "written_B")]
    pub written_bytes: f32,
    pub creation_us: f64,
    pub transactions_us: f64,
    pub deletion_us: f64,
    /// The original program does not measure this. The read-ahead study added it.
    pub read_shares: [ReadShare; 3],
    /// Number of operations in which a system call failed; `first_error` is the first of their errors.
    pub failed_operations: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_error: Option<&'static str>,
    pub ran_out_of_files: bool,
    pub generator: &'static str,
    /// The report that the program prints; empty when it ran out of files.
    pub report: String,
    /// File to which the report is printed. `None`: it goes to the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_file: Option<String>,
}

/// An operation that was made, for a caller that keeps a log.
#[derive(Clone, Copy, Debug)]
pub struct Done<'a> {
    pub operation: &'a Operation,
    pub path: &'a str,
    /// Bytes that the calls of the operation moved.
    pub bytes: u64,
    /// Virtual time.
    pub start_ns: u64,
    pub latency_ns: u64,
}

/// Why a run ended early.
#[derive(Clone, Debug)]
pub enum PostmarkError {
    Failed(String),
    Interrupted,
}

/// Permissions of new files. The program uses fopen, which asks for 0666, and the usual umask of 022 leaves 0644.
const FILE_PERMISSIONS: u32 = 0o644;
const DIRECTORY_PERMISSIONS: u32 = 0o700;

/// Runs one `run` command. With `drop_caches`, everything is synced and the caches are emptied once the files exist.
/// `each` is called for every operation; when it returns `false`, the run ends.
///
/// Errors: a location that cannot be made, a failed sync, or a power cut. The program ignores all other errors; they
/// are counted.
pub fn run(
    system: &mut dyn System,
    configured: &ConfiguredRun,
    drop_caches: bool,
    content: &mut Content,
    each: &mut dyn FnMut(Done<'_>) -> bool,
) -> Result<PostmarkReport, PostmarkError> {
    let settings = &configured.settings;
    for location in settings.locations.iter().filter(|location| !location.directory.is_empty()) {
        make_directories(system, &location.directory)
            .map_err(|error| PostmarkError::Failed(format!("set location {}: {error}", location.directory)))?;
    }
    let mut run = Run::new(settings.clone());
    let clock_ns = |system: &dyn System| system.now_ns();
    let second = |ns: u64| ns / 1_000_000_000;
    let (mut start_ns, mut marks_ns) = (clock_ns(system), [0; 3]);
    let mut begun = false;
    let (mut failed_operations, mut first_error) = (0, None);
    let mut read_shares = READ_SHARES_PCT.map(|share_pct| ReadShare { share_pct, ..ReadShare::default() });
    while let Some(operation) = run.next_operation() {
        let mark = match &operation {
            Operation::TransactionsBegin => Some(0),
            Operation::TransactionsEnd => Some(1),
            Operation::FilesDeleted => Some(2),
            _ => None,
        };
        if let Some(mark) = mark {
            if drop_caches && operation == Operation::TransactionsBegin {
                system
                    .sync()
                    .map_err(|error| PostmarkError::Failed(format!("sync before the transactions: {error}")))?;
                let dropped = system.drop_caches();
                dropped.map_err(|error| PostmarkError::Failed(format!("drop_caches: {error}")))?;
            }
            marks_ns[mark] = clock_ns(system);
            continue;
        }
        if !begun && matches!(operation, Operation::Create { .. }) {
            (start_ns, begun) = (clock_ns(system), true);
        }
        let operation_start_ns = clock_ns(system);
        let (result, latency_ns) =
            timed(system, |system| execute(system, &operation, settings.buffered, content, &mut read_shares));
        let (bytes, opened, error) = match result {
            Ok((bytes, error)) => (bytes, true, error),
            Err(error) => (0, false, Some(error)),
        };
        if error.is_some_and(|error| error == Errno::PowerCut) {
            return Err(PostmarkError::Failed(Errno::PowerCut.to_string()));
        }
        if let Some(error) = error {
            failed_operations += 1;
            first_error.get_or_insert(error.name());
        }
        run.done(opened);
        let path = path_of(&operation);
        if !each(Done { operation: &operation, path, bytes, start_ns: operation_start_ns, latency_ns }) {
            return Err(PostmarkError::Interrupted);
        }
    }
    let [begin_ns, end_ns, deleted_ns] = marks_ns;
    let instants = Instants {
        start_s: second(start_ns),
        transactions_start_s: second(begin_ns),
        transactions_end_s: second(end_ns),
        end_s: second(deleted_ns),
    };
    let totals: &Totals = &run.totals;
    let us = |from: u64, to: u64| (to - from) as f64 / 1e3;
    Ok(PostmarkReport {
        files_created: totals.files_created,
        files_read: totals.files_read,
        files_appended: totals.files_appended,
        files_deleted: totals.files_deleted,
        files_deleted_in_transactions: totals.files_deleted_in_transactions,
        read_bytes: totals.read_bytes,
        written_bytes: totals.written_bytes,
        creation_us: us(start_ns, begin_ns),
        transactions_us: us(begin_ns, end_ns),
        deletion_us: us(end_ns, deleted_ns),
        read_shares,
        failed_operations,
        first_error,
        ran_out_of_files: run.ran_out_of_files(),
        generator: GENERATOR,
        report: if run.ran_out_of_files() { String::new() } else { totals.text(settings, &instants) },
        report_file: configured.report_file.clone(),
    })
}

fn make_directories(system: &mut dyn System, directory: &str) -> Answer<()> {
    let ends = directory.match_indices('/').map(|(at, _)| at).chain(std::iter::once(directory.len()));
    for end in ends {
        match system.mkdir(&directory.as_bytes()[..end], 0o755) {
            Ok(()) => {}
            Err(error) if error == Errno::Exist => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn path_of(operation: &Operation) -> &str {
    match operation {
        Operation::MakeDirectory { path }
        | Operation::Create { path, .. }
        | Operation::Read { path, .. }
        | Operation::Append { path, .. }
        | Operation::Delete { path }
        | Operation::RemoveDirectory { path } => path,
        Operation::TransactionsBegin | Operation::TransactionsEnd | Operation::FilesDeleted => "",
    }
}

/// Makes the calls of an operation. Returns the bytes that were moved and the first error of a call on the open file.
///
/// Errors: the call that opens, deletes or makes something failed.
fn execute(
    system: &mut dyn System,
    operation: &Operation,
    buffered: bool,
    content: &mut Content,
    read_shares: &mut [ReadShare; 3],
) -> Answer<(u64, Option<Refusal>)> {
    let plain = |result: Answer<()>| result.map(|()| (0, None));
    match operation {
        Operation::MakeDirectory { path } => plain(system.mkdir(path.as_bytes(), DIRECTORY_PERMISSIONS)),
        Operation::RemoveDirectory { path } => plain(system.rmdir(path.as_bytes())),
        // remove(3) calls unlink first.
        Operation::Delete { path } => plain(system.unlink(path.as_bytes())),
        Operation::Create { path, writes_bytes } => {
            // As the flags of fopen "w" when the program buffers, and of open O_RDWR | O_CREAT otherwise.
            let flags = OpenFlags { read: !buffered, create: true, truncate: buffered, ..OpenFlags::WRITE };
            write(system, path, flags, writes_bytes, content)
        }
        Operation::Append { path, writes_bytes } => {
            // As the flags of fopen "a" when the program buffers, and of open O_RDWR | O_APPEND otherwise.
            let flags = OpenFlags { read: !buffered, create: buffered, append: true, ..OpenFlags::WRITE };
            write(system, path, flags, writes_bytes, content)
        }
        Operation::Read { path, reads_bytes } => {
            let fd = system.open(path.as_bytes(), OpenFlags::READ, 0)?;
            let mut buffer = vec![0; reads_bytes.iter().copied().max().unwrap_or(0) as usize];
            let (mut moved, mut first_error) = (0, None);
            let start_ns = system.now_ns();
            // The bytes read so far and the time so far, after each call.
            let mut marks = Vec::with_capacity(reads_bytes.len());
            for &count in reads_bytes {
                match system.read(fd, &mut buffer[..count as usize]) {
                    Ok(read) => moved += read as u64,
                    Err(error) => first_error = first_error.or(Some(error)),
                }
                marks.push((moved, system.now_ns() - start_ns));
            }
            for share in read_shares {
                let reached = marks.iter().find(|(bytes, _)| bytes * 100 >= moved * share.share_pct);
                let (bytes, ns) = reached.copied().unwrap_or_default();
                share.read_bytes += bytes;
                share.read_us += ns as f64 / 1e3;
            }
            let closed = system.close(fd);
            Ok((moved, first_error.or(closed.err())))
        }
        Operation::TransactionsBegin | Operation::TransactionsEnd | Operation::FilesDeleted => Ok((0, None)),
    }
}

fn write(
    system: &mut dyn System,
    path: &str,
    flags: OpenFlags,
    writes_bytes: &[u64],
    content: &mut Content,
) -> Answer<(u64, Option<Refusal>)> {
    let fd = system.open(path.as_bytes(), flags, FILE_PERMISSIONS)?;
    let (mut moved, mut first_error) = (0, None);
    for &count in writes_bytes {
        match system.write(fd, &content.take_printable(count as usize)) {
            Ok(written) => moved += written as u64,
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    let closed = system.close(fd);
    Ok((moved, first_error.or(closed.err())))
}
