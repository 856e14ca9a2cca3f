//! One job: its options, with fio's defaults for those that are not given.

use super::error::{JobError, JobFileError, LineError};
use super::job_file::{self, Section};
use super::options::{self, Verdict};
use super::random::Distribution;
use super::values::RequestSizes;

/// Index of reads in pairs of values per direction.
pub const READ: usize = 0;
/// Index of writes.
pub const WRITE: usize = 1;

/// What `rw` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub read: bool,
    pub write: bool,
    pub random: bool,
}

/// `ioengine`: the calls that move data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// lseek where needed, then read or write.
    Sync,
    /// pread, pwrite.
    Psync,
    /// lseek, then readv or writev of one request.
    Vsync,
}

/// `sync`: flags of open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenSync {
    No,
    Sync,
    DataSync,
}

/// `fadvise_hint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdviceHint {
    No,
    /// As `rw` says.
    ByAccess,
    Random,
    Sequential,
}

/// `file_service_type`: which file is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOrder {
    RoundRobin,
    /// One to its end, then the next.
    Sequential,
    Random,
}

/// `rw_sequencer`: where requests go between two random offsets of "randread:N".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequencer {
    Sequential,
    Identical,
}

/// A job, not yet multiplied by `numjobs`.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Name of the section; files are called after it.
    pub section: String,
    /// Line of the section.
    pub line: u64,
    /// The options of the section, in order.
    pub options: Vec<(String, String)>,
    /// `name`, in reports.
    pub title: Option<String>,
    pub access: Access,
    /// The N of "randread:N": a new random offset is drawn for every N requests.
    pub requests_per_offset: u64,
    /// The offset of "read:4k", which is added after each request.
    pub skip_offset: i64,
    pub sequencer: Sequencer,
    /// Request sizes of reads, then of writes.
    pub sizes: [RequestSizes; 2],
    pub unaligned: bool,
    /// `bs_is_seq_rand`: the sizes are those of sequential and random requests.
    pub sizes_by_order: bool,
    /// `ba`; `None`: the least request size.
    pub align_bytes: Option<[u64; 2]>,
    /// 0: not given.
    pub size_bytes: u64,
    /// 0: not given.
    pub io_size_bytes: u64,
    /// Smallest and largest; `None`: `size` shared by the files.
    pub file_size_bytes: Option<(u64, u64)>,
    pub offset: u64,
    pub increment_bytes: u64,
    /// 0: no limit.
    pub requests_limit_n: u64,
    pub files: Vec<String>,
    pub directory: Option<String>,
    pub files_n: u64,
    pub file_order: FileOrder,
    /// Requests in a row to one file.
    pub file_requests: u64,
    pub processes_n: u64,
    pub loops_n: u64,
    pub engine: Engine,
    /// fsync after so many writes; 0: never.
    pub fsync_requests: u64,
    pub fdatasync_requests: u64,
    pub end_fsync: bool,
    pub open_sync: OpenSync,
    pub overwrite: bool,
    pub create_fsync: bool,
    pub invalidate: bool,
    pub advice: AdviceHint,
    pub unlink: bool,
    pub think_us: u64,
    pub think_requests: u64,
    pub read_percent: u32,
    pub distribution: Distribution,
    pub random_percent: [u32; 2],
    pub random_map: bool,
    pub wide_generator: bool,
    pub repeat: bool,
    pub repeat_all: bool,
    pub seed: Option<u64>,
    /// 0: no limit.
    pub runtime_us: u64,
    pub time_based: bool,
    pub start_delay_us: u64,
    pub stonewall: bool,
    pub new_group: bool,
    pub wait_for: Option<String>,
    pub group_reporting: bool,
    pub read_log: Option<String>,
    pub no_stall: bool,
    pub write_log: Option<String>,
}

/// Trims have no meaning on these file systems, so their percentages and sizes are ignored.
impl Default for Job {
    fn default() -> Job {
        Job {
            section: String::new(),
            line: 0,
            options: Vec::new(),
            title: None,
            access: Access { read: true, write: false, random: false },
            requests_per_offset: 1,
            skip_offset: 0,
            sequencer: Sequencer::Sequential,
            sizes: [RequestSizes::fixed(4096), RequestSizes::fixed(4096)],
            unaligned: false,
            sizes_by_order: false,
            align_bytes: None,
            size_bytes: 0,
            io_size_bytes: 0,
            file_size_bytes: None,
            offset: 0,
            increment_bytes: 0,
            requests_limit_n: 0,
            files: Vec::new(),
            directory: None,
            files_n: 1,
            file_order: FileOrder::RoundRobin,
            file_requests: 1,
            processes_n: 1,
            loops_n: 1,
            engine: Engine::Psync,
            fsync_requests: 0,
            fdatasync_requests: 0,
            end_fsync: false,
            open_sync: OpenSync::No,
            overwrite: false,
            create_fsync: true,
            invalidate: true,
            advice: AdviceHint::ByAccess,
            unlink: false,
            think_us: 0,
            think_requests: 1,
            read_percent: 50,
            distribution: Distribution::Uniform,
            random_percent: [100, 100],
            random_map: true,
            wide_generator: false,
            repeat: true,
            repeat_all: false,
            seed: None,
            runtime_us: 0,
            time_based: false,
            start_delay_us: 0,
            stonewall: false,
            new_group: false,
            wait_for: None,
            group_reporting: false,
            read_log: None,
            no_stall: false,
            write_log: None,
        }
    }
}

/// A job file that has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    pub jobs: Vec<Job>,
    /// With `lenient`: the options that were left out, with their places.
    pub warnings: Vec<String>,
}

/// A job with more processes than this is a mistake in `numjobs`.
const PROCESSES_MAX: u64 = 1024;
/// A job with more files than this is a mistake in `nrfiles`.
const FILES_MAX: u64 = 100_000;

/// Reads a job file. `name` names it in messages; `include` starts beside it. With `lenient`, options that cannot be
/// honoured become warnings.
///
/// Errors: `file:line: what is wrong`, the option by its name.
pub fn parse(text: &str, name: &str, lenient: bool) -> Result<JobFile, JobFileError> {
    let sections = job_file::sections(text, name)?;
    let mut warnings = Vec::new();
    let mut jobs = Vec::with_capacity(sections.len());
    for section in sections {
        let job = read_job(&section, lenient, &mut warnings)?;
        job.check().map_err(|why| job.refused(name, why))?;
        jobs.push(job);
    }
    for (i, job) in jobs.iter().enumerate() {
        let known = |name: &String| jobs[..i].iter().any(|before| before.report_name() == name);
        if let Some(wanted) = job.wait_for.as_ref().filter(|wanted| !known(wanted)) {
            return Err(job.refused(name, JobError::WaitsForNone { wanted: wanted.clone() }));
        }
    }
    if jobs.iter().map(|job| job.processes_n).sum::<u64>() > PROCESSES_MAX {
        return Err(JobFileError::ManyProcesses { file: name.to_string(), most: PROCESSES_MAX });
    }
    if jobs.iter().map(|job| job.processes_n * job.files_n).sum::<u64>() > FILES_MAX {
        return Err(JobFileError::ManyFiles { file: name.to_string(), most: FILES_MAX });
    }
    Ok(JobFile { jobs, warnings })
}

fn read_job(section: &Section, lenient: bool, warnings: &mut Vec<String>) -> Result<Job, JobFileError> {
    let mut job = Job { section: section.name.clone(), line: section.line, ..Job::default() };
    for line in &section.options {
        let verdict = options::apply(&mut job, &line.key, &line.value);
        let wrong = |why| Err(JobFileError::Line { file: line.file.clone(), line: line.line, why });
        match verdict {
            Verdict::Taken => job.options.push((line.key.clone(), line.value.clone())),
            Verdict::Wrong { option, why } => return wrong(LineError::Value { option, why }),
            Verdict::NotHonoured(what) if lenient => {
                // An option of [global] comes up once for each job.
                let warning = format!("{}:{}: left out: {what}", line.file, line.line);
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
            Verdict::NotHonoured(what) => return wrong(LineError::NotHonoured(what)),
        }
    }
    Ok(job)
}

impl Job {
    /// The name in reports.
    pub fn report_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.section)
    }

    /// The smallest request of either direction.
    pub fn least_request_bytes(&self) -> u64 {
        self.sizes[READ].least_bytes.min(self.sizes[WRITE].least_bytes)
    }

    /// The largest request of either direction.
    pub fn most_request_bytes(&self) -> u64 {
        self.sizes[READ].most_bytes.max(self.sizes[WRITE].most_bytes)
    }

    /// The unit of which the offsets of random requests are multiples.
    pub fn offset_unit_bytes(&self, direction: usize) -> u64 {
        match self.align_bytes {
            Some(align) if self.access.random => align[direction],
            _ => self.sizes[direction].least_bytes,
        }
    }

    /// Whether each block is visited once before any twice.
    pub fn uses_random_map(&self) -> bool {
        let aligned = self.align_bytes.is_none_or(|align| {
            !self.access.random || [READ, WRITE].iter().all(|&d| align[d] == self.sizes[d].least_bytes)
        });
        self.access.random && self.random_map && self.distribution == Distribution::Uniform && aligned
    }

    /// What is wrong with it, with its place in the file.
    fn refused(&self, file: &str, why: JobError) -> JobFileError {
        JobFileError::Job { file: file.to_string(), line: self.line, job: self.section.clone(), why }
    }

    fn check(&self) -> Result<(), JobError> {
        if self.time_based && self.runtime_us == 0 {
            return Err(JobError::NoRuntime);
        }
        if self.read_log.is_some() {
            return match self.write_log {
                Some(_) => Err(JobError::BothLogs),
                None => Ok(()),
            };
        }
        if self.size_bytes > 0 && self.size_bytes < self.least_request_bytes() {
            let (size_bytes, request_bytes) = (self.size_bytes, self.least_request_bytes());
            return Err(JobError::LessThanBlock { size_bytes, request_bytes });
        }
        if !self.files.is_empty() && self.files_n > 1 && self.files_n != self.files.len() as u64 {
            return Err(JobError::Names { files: self.files_n, names: self.files.len() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Result<Job, JobFileError> {
        parse(text, "x.fio", false).map(|file| file.jobs[0].clone())
    }

    #[test]
    fn a_job_has_the_defaults_of_fio() {
        let job = first("[a]\nsize=1m\n").unwrap();
        let options = vec![("size".to_string(), "1m".to_string())];
        assert_eq!(job, Job { section: "a".to_string(), line: 1, options, size_bytes: 1 << 20, ..Job::default() });
    }

    #[test]
    fn an_option_that_is_unknown_is_named_with_its_place() {
        let error = first("[a]\nsize=1m\nnumbjobs=3\n").unwrap_err().to_string();
        assert!(error.starts_with("x.fio:3: unknown option `numbjobs`: did you mean `numjobs`?"), "{error}");
    }

    #[test]
    fn a_lenient_reading_warns_of_what_it_leaves_out() {
        let text = "[global]\ndirect=1\n[a]\nsize=1m\n[b]\nsize=1m\nno_such=1\n";
        let file = parse(text, "x.fio", true).unwrap();
        assert_eq!(file.jobs.len(), 2);
        assert_eq!(file.warnings.len(), 2, "{:?}", file.warnings);
        assert!(file.warnings[0].starts_with("x.fio:2: left out: direct=1 "), "{:?}", file.warnings);
        // Invalid values are errors even then.
        assert!(parse("[a]\nbs=four\n", "x.fio", true).unwrap_err().to_string().contains("bs=four"));
    }

    #[test]
    fn jobs_that_could_not_run_are_refused() {
        assert!(first("[a]\nsize=1k\nbs=4k\n").unwrap_err().to_string().contains("less than the block size"));
        assert!(first("[a]\nsize=1m\ntime_based\n").unwrap_err().to_string().contains("needs a runtime"));
        assert!(first("[a]\nsize=1m\nwait_for=b\n").unwrap_err().to_string().contains("no job before it"));
        assert!(first("[a]\nsize=1g\nnumjobs=500\nnrfiles=500\n").unwrap_err().to_string().contains("100000 files"));
        assert!(first("[a]\nsize=1m\nnumjobs=5000\n").unwrap_err().to_string().contains("1024 processes"));
        assert!(first("[a]\nfilename=a:b\nnrfiles=3\nsize=1m\n").unwrap_err().to_string().contains("2 names"));
    }
}
