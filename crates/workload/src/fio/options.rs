//! The options of job files: which are honoured, which change nothing here, which are refused. docs/fio.md prints the
//! same lists; a test compares them.
//!
//! Names, aliases and defaults are those of fio 3.33 (`options.c`).

use super::error::{NotHonoured, ValueError};
use super::job::{Access, AdviceHint, Engine, FileOrder, Job, OpenSync, Sequencer};
use super::random::Distribution;
use super::values::{bytes, fraction, number, per_direction, switch, time_us, RequestSizes};
use ffslab_text::words::nearest;

/// The result of applying an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Taken,
    /// The option is valid, but is not honoured here.
    NotHonoured(NotHonoured),
    /// The value is invalid.
    Wrong {
        option: String,
        why: ValueError,
    },
}

type Set = fn(&mut Job, &str) -> Result<(), ValueError>;

struct Honoured {
    name: &'static str,
    alias: &'static str,
    set: Set,
}

/// Values of an option that ask for something that is not done here. The text says why.
struct OnlySome {
    name: &'static str,
    values: &'static [&'static str],
    why: &'static str,
}

/// Sets an option of a job.
pub fn apply(job: &mut Job, key: &str, value: &str) -> Verdict {
    let shown = if value.is_empty() { key.to_string() } else { format!("{key}={value}") };
    if let Some(option) = HONOURED.iter().find(|option| option.name == key || (option.alias == key && !key.is_empty()))
    {
        return match (option.set)(job, value) {
            Ok(()) => Verdict::Taken,
            Err(ValueError::NotHere(why)) => Verdict::NotHonoured(NotHonoured::Value { option: shown, why }),
            Err(why) => Verdict::Wrong { option: shown, why },
        };
    }
    if let Some(option) = ONLY_SOME.iter().find(|option| option.name == key) {
        if option.values.contains(&value) {
            return Verdict::Taken;
        }
        return Verdict::NotHonoured(NotHonoured::Value { option: shown, why: option.why });
    }
    if WITHOUT_EFFECT.contains(&key) {
        // How deep a queue is changes nothing for engines that have one request at a time; it is a number nevertheless.
        if let (true, Err(why)) = (key.starts_with("iodepth"), number(value, 0, COUNT_MAX)) {
            return Verdict::Wrong { option: shown, why };
        }
        return Verdict::Taken;
    }
    if NOT_HONOURED.contains(&key) {
        return Verdict::NotHonoured(NotHonoured::Option { key: key.to_string() });
    }
    let names = HONOURED.iter().flat_map(|option| [option.name, option.alias]).filter(|name| !name.is_empty());
    Verdict::NotHonoured(NotHonoured::Unknown { key: key.to_string(), nearest: nearest(key, names) })
}

/// A value that fio knows and that is not honoured here.
fn not_here<T>(why: &'static str) -> Result<T, ValueError> {
    Err(ValueError::NotHere(why))
}

const SECOND_US: u64 = 1_000_000;
/// A larger number of requests, loops or files is a mistake.
const COUNT_MAX: u64 = 1 << 40;

macro_rules! honoured {
    ($($name:literal $(| $alias:literal)? => |$job:ident, $value:ident| $body:expr;)+) => {
        const HONOURED: &[Honoured] = &[$(Honoured {
            name: $name,
            alias: concat!($($alias)?),
            set: |$job: &mut Job, $value: &str| { $body; Ok(()) },
        }),+];
    };
}

honoured! {
    "rw" | "readwrite" => |job, value| set_rw(job, value)?;
    "rw_sequencer" => |job, value| job.sequencer = match value {
        "sequential" => Sequencer::Sequential,
        "identical" => Sequencer::Identical,
        _ => return Err(ValueError::Words("sequential or identical")),
    };
    "bs" | "blocksize" => |job, value| job.sizes = per_direction(value, RequestSizes::of_bs)?;
    "bsrange" | "blocksize_range" => |job, value| job.sizes = per_direction(value, RequestSizes::of_range)?;
    "bssplit" => |job, value| job.sizes = per_direction(value, RequestSizes::of_split)?;
    "bs_unaligned" | "blocksize_unaligned" => |job, value| job.unaligned = switch(value)?;
    "bs_is_seq_rand" => |job, value| job.sizes_by_order = switch(value)?;
    "ba" | "blockalign" => |job, value| {
        let align = per_direction(value, bytes)?;
        if align.contains(&0) {
            return Err(ValueError::ZeroAlignment);
        }
        job.align_bytes = Some(align)
    };
    "size" => |job, value| job.size_bytes = bytes(value)?;
    "io_size" | "io_limit" => |job, value| job.io_size_bytes = bytes(value)?;
    "filesize" => |job, value| {
        let (low, high) = value.split_once(['-', ':']).unwrap_or((value, value));
        let (low, high) = (bytes(low.trim())?, bytes(high.trim())?);
        if low == 0 || low > high {
            return Err(ValueError::Words("a size, or a range such as 4k-64k with the smaller size, above 0, first"));
        }
        job.file_size_bytes = Some((low, high))
    };
    "offset" | "fileoffset" => |job, value| job.offset = bytes(value)?;
    "offset_increment" => |job, value| job.increment_bytes = bytes(value)?;
    "number_ios" => |job, value| job.requests_limit_n = number(value, 0, COUNT_MAX)?;
    "filename" => |job, value| job.files = file_names(value)?;
    "directory" => |job, value| {
        if value.contains(':') {
            return not_here("one directory can be given");
        }
        job.directory = Some(value.trim_matches('/').to_string())
    };
    "nrfiles" | "nr_files" => |job, value| job.files_n = number(value, 1, 100_000)?;
    "file_service_type" => |job, value| {
        let (order, requests) = value.split_once(':').unwrap_or((value, "1"));
        job.file_order = match order {
            "roundrobin" => FileOrder::RoundRobin,
            "sequential" => FileOrder::Sequential,
            "random" => FileOrder::Random,
            "zipf" | "pareto" | "normal" | "gauss" => return not_here("write roundrobin, sequential or random"),
            _ => return Err(ValueError::Words("roundrobin, sequential or random")),
        };
        job.file_requests = number(requests, 1, COUNT_MAX)?
    };
    "numjobs" => |job, value| job.processes_n = number(value, 1, COUNT_MAX)?;
    "loops" => |job, value| job.loops_n = number(value, 0, COUNT_MAX)?.max(1);
    "ioengine" => |job, value| job.engine = match value {
        "sync" => Engine::Sync,
        "psync" | "pvsync" | "pvsync2" => Engine::Psync,
        "vsync" => Engine::Vsync,
        _ => return not_here("write sync, psync, vsync or pvsync; without it psync is taken"),
    };
    "fsync" => |job, value| job.fsync_requests = number(value, 0, COUNT_MAX)?;
    "fdatasync" => |job, value| job.fdatasync_requests = number(value, 0, COUNT_MAX)?;
    "end_fsync" => |job, value| job.end_fsync |= switch(value)?;
    "fsync_on_close" => |job, value| job.end_fsync |= switch(value)?;
    "sync" => |job, value| job.open_sync = match value {
        "none" | "0" => OpenSync::No,
        "" | "sync" | "1" => OpenSync::Sync,
        "dsync" => OpenSync::DataSync,
        _ => return Err(ValueError::Words("none, sync or dsync")),
    };
    "overwrite" => |job, value| job.overwrite = switch(value)?;
    "create_fsync" => |job, value| job.create_fsync = switch(value)?;
    "invalidate" => |job, value| job.invalidate = switch(value)?;
    "fadvise_hint" => |job, value| job.advice = match value {
        "none" | "0" => AdviceHint::No,
        "1" => AdviceHint::ByAccess,
        "random" => AdviceHint::Random,
        "sequential" => AdviceHint::Sequential,
        _ => return Err(ValueError::Words("none, 1, random or sequential")),
    };
    "unlink" => |job, value| job.unlink = switch(value)?;
    "thinktime" => |job, value| job.think_us = time_us(value, 1)?;
    "thinktime_blocks" => |job, value| job.think_requests = number(value, 1, COUNT_MAX)?;
    "rwmixread" => |job, value| job.read_percent = number(value, 0, 100)? as u32;
    "rwmixwrite" => |job, value| job.read_percent = 100 - number(value, 0, 100)? as u32;
    "random_distribution" => |job, value| job.distribution = distribution(value)?;
    "percentage_random" => |job, value| job.random_percent = per_direction(value, |text| Ok(number(text, 0, 100)? as u32))?;
    "norandommap" => |job, value| job.random_map = !switch(value)?;
    "random_generator" => |job, value| job.wide_generator = match value {
        "tausworthe" => false,
        "tausworthe64" => true,
        "lfsr" => return not_here("write tausworthe or tausworthe64"),
        _ => return Err(ValueError::Words("tausworthe or tausworthe64")),
    };
    "randrepeat" => |job, value| job.repeat = switch(value)?;
    "allrandrepeat" => |job, value| job.repeat_all = switch(value)?;
    "randseed" => |job, value| job.seed = Some(number(value, 0, u64::MAX)?);
    "runtime" | "timeout" => |job, value| job.runtime_us = time_us(value, SECOND_US)?;
    "time_based" => |job, value| job.time_based = switch(value)?;
    "startdelay" => |job, value| job.start_delay_us = time_us(value, SECOND_US)?;
    "stonewall" | "wait_for_previous" => |job, value| job.stonewall = switch(value)?;
    "new_group" => |job, value| job.new_group = switch(value)?;
    "wait_for" => |job, value| job.wait_for = Some(value.to_string());
    "group_reporting" => |job, value| job.group_reporting = switch(value)?;
    "name" => |job, value| job.title = Some(value.to_string());
    "read_iolog" => |job, value| job.read_log = Some(value.to_string());
    "replay_no_stall" => |job, value| job.no_stall = switch(value)?;
    "write_iolog" => |job, value| job.write_log = Some(log_name(value)?);
}

/// Options that change how fio works, but not what reaches the file system, so they are ignored here.
const WITHOUT_EFFECT: &[&str] = &[
    "description",
    "thread",
    "softrandommap",
    "create_serialize",
    "iodepth",
    "iodepth_batch",
    "iodepth_batch_submit",
    "iodepth_batch_complete",
    "iodepth_batch_complete_min",
    "iodepth_batch_complete_max",
    "iodepth_low",
    "mem",
    "iomem",
    "iomem_align",
    "mem_align",
    "lockmem",
    "nice",
    "prio",
    "prioclass",
    "cpumask",
    "cpus_allowed",
    "cpus_allowed_policy",
    "numa_cpu_nodes",
    "numa_mem_policy",
    "uid",
    "gid",
    "clocksource",
    "gtod_reduce",
    "gtod_cpu",
    "disable_lat",
    "disable_clat",
    "disable_slat",
    "disable_bw_measurement",
    "disable_bw",
    "clat_percentiles",
    "lat_percentiles",
    "slat_percentiles",
    "significant_figures",
    "unit_base",
    "disk_util",
    "stats",
    "bwavgtime",
    "iopsavgtime",
    "scramble_buffers",
    "refill_buffers",
    "rwmixcycle",
    "allow_mounted_write",
    "error_dump",
    "per_job_logs",
];

const NO_DIRECT_IO: &str = "JFFS2, YAFFS2 and UBIFS have no direct I/O: on a board fio ends with EINVAL";

const ONLY_SOME: &[OnlySome] = &[
    OnlySome { name: "direct", values: &["0"], why: NO_DIRECT_IO },
    OnlySome { name: "buffered", values: &["", "1"], why: NO_DIRECT_IO },
    OnlySome { name: "atomic", values: &["0"], why: "it needs direct I/O" },
    OnlySome { name: "fallocate", values: &["none", "native"], why: "these file systems cannot preallocate" },
    OnlySome { name: "verify", values: &["0", "none"], why: "the conformance kit checks contents, not jobs" },
    OnlySome { name: "do_verify", values: &["", "0", "1"], why: "write 0 or 1" },
    OnlySome { name: "kb_base", values: &["1024"], why: "suffixes are powers of 1024" },
    OnlySome { name: "unified_rw_reporting", values: &["none", "0"], why: "reads and writes are reported apart" },
    OnlySome { name: "zonemode", values: &["none"], why: "these file systems have no zones" },
    OnlySome { name: "io_submit_mode", values: &["inline"], why: "a process issues its own requests" },
    OnlySome { name: "file_append", values: &["0"], why: "jobs start at `offset`" },
    OnlySome { name: "create_on_open", values: &["0"], why: "files are laid out before the jobs" },
    OnlySome { name: "create_only", values: &["0"], why: "leave the job out" },
    OnlySome { name: "allow_file_create", values: &["", "1"], why: "files are laid out before the jobs" },
    OnlySome {
        name: "unique_filename",
        values: &["", "1"],
        why: "each process has its own files unless `filename` is given",
    },
    OnlySome {
        name: "filename_format",
        values: &["$jobname.$jobnum.$filenum"],
        why: "files are called JOB.PROCESS.NUMBER",
    },
    OnlySome { name: "thinktime_blocks_type", values: &["complete", "issue"], why: "write complete or issue" },
    OnlySome { name: "thinktime_spin", values: &["0"], why: "think time is slept" },
    OnlySome { name: "continue_on_error", values: &["none", "0"], why: "a job ends at its first error" },
    OnlySome { name: "replay_time_scale", values: &["100"], why: "think time is replayed as it is" },
    OnlySome { name: "replay_scale", values: &["1"], why: "offsets are replayed as they are" },
    OnlySome { name: "buffer_compress_percentage", values: &["0"], why: "what is written does not compress" },
    OnlySome { name: "dedupe_percentage", values: &["0"], why: "no two pieces that are written are equal" },
];

/// The further options of fio 3.33.
const NOT_HONOURED: &[&str] = &[
    "lockfile",
    "opendir",
    "serialize_overlap",
    "fill_device",
    "fill_fs",
    "offset_align",
    "openfiles",
    "write_barrier",
    "sync_file_range",
    "verify_only",
    "ramp_time",
    "verify_offset",
    "verify_pattern",
    "verify_fatal",
    "verify_dump",
    "verify_async",
    "verify_backlog",
    "verify_backlog_batch",
    "verify_async_cpus",
    "experimental_verify",
    "verify_state_load",
    "verify_state_save",
    "verify_interval",
    "trim_percentage",
    "trim_verify_zero",
    "trim_backlog",
    "trim_backlog_batch",
    "read_iolog_chunked",
    "replay_redirect",
    "replay_align",
    "replay_skip",
    "merge_blktrace_file",
    "merge_blktrace_scalars",
    "merge_blktrace_iters",
    "exec_prerun",
    "exec_postrun",
    "ioscheduler",
    "zonesize",
    "zonecapacity",
    "zonerange",
    "zoneskip",
    "read_beyond_wp",
    "max_open_zones",
    "job_max_open_zones",
    "ignore_zone_limits",
    "zone_reset_threshold",
    "zone_reset_frequency",
    "thinktime_iotime",
    "rate",
    "rate_min",
    "ratemin",
    "rate_iops",
    "rate_iops_min",
    "rate_process",
    "rate_cycle",
    "ratecycle",
    "rate_ignore_thinktime",
    "max_latency",
    "latency_target",
    "latency_window",
    "latency_percentile",
    "latency_run",
    "write_hint",
    "pre_read",
    "gpu_dev_id",
    "unlink_each_loop",
    "exitall",
    "exit_what",
    "exitall_on_error",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "log_entries",
    "log_avg_msec",
    "log_hist_msec",
    "log_hist_coarseness",
    "log_max_value",
    "log_offset",
    "log_prio",
    "log_compression",
    "log_compression_cpus",
    "log_store_compressed",
    "block_error_percentiles",
    "zero_buffers",
    "buffer_pattern",
    "buffer_compress_chunk",
    "dedupe_global",
    "dedupe_mode",
    "dedupe_working_set_percentage",
    "percentile_list",
    "ignore_error",
    "profile",
    "cgroup",
    "cgroup_nodelete",
    "cgroup_weight",
    "flow_id",
    "flow",
    "flow_watermark",
    "flow_sleep",
    "steadystate",
    "ss",
    "steadystate_duration",
    "ss_dur",
    "steadystate_ramp_time",
    "ss_ramp",
    "hugepage-size",
    "percentage_sequential",
];

fn set_rw(job: &mut Job, value: &str) -> Result<(), ValueError> {
    let (kind, postfix) = value.split_once(':').map_or((value, None), |(kind, postfix)| (kind, Some(postfix.trim())));
    let (read, write, random) = match kind.trim() {
        "read" => (true, false, false),
        "write" => (false, true, false),
        "rw" | "readwrite" => (true, true, false),
        "randread" => (true, false, true),
        "randwrite" => (false, true, true),
        "randrw" => (true, true, true),
        "trim" | "randtrim" | "trimwrite" | "randtrimwrite" => {
            return not_here("these file systems have no trim of a file")
        }
        _ => return Err(ValueError::Words("read, write, rw, randread, randwrite or randrw")),
    };
    job.access = Access { read, write, random };
    (job.requests_per_offset, job.skip_offset) = (1, 0);
    let Some(postfix) = postfix else { return Ok(()) };
    if random {
        job.requests_per_offset = number(postfix, 1, COUNT_MAX)?;
    } else {
        let size = bytes(postfix.trim_start_matches('-'))?;
        let size = i64::try_from(size).map_err(|_| ValueError::LargeSkip { text: postfix.to_string() })?;
        job.skip_offset = if postfix.starts_with('-') { -size } else { size };
    }
    Ok(())
}

/// "a:b" stands for two files. Names begin at the root of the file system.
fn file_names(value: &str) -> Result<Vec<String>, ValueError> {
    if value.starts_with("/dev/") {
        return not_here("a job works on files of the mounted file system, not on a device");
    }
    let names: Vec<String> = value.split(':').map(|name| name.trim_matches('/').to_string()).collect();
    if names.iter().any(|name| name.is_empty() || name == "-") {
        Err(ValueError::Words("a file name, or several with \":\" between them"))
    } else if names.iter().any(|name| name.split('/').any(|part| part == "..")) {
        not_here("its files are below the root of the mounted file system: leave \"..\" out")
    } else {
        Ok(names)
    }
}

/// The name of a log file without its folders, because all logs are written to one folder of the results.
fn log_name(value: &str) -> Result<String, ValueError> {
    match value.rsplit('/').next().filter(|name| !name.is_empty() && !name.starts_with('.')) {
        Some(name) => Ok(name.to_string()),
        None => Err(ValueError::Words("a file name")),
    }
}

/// fio's default parameters (`options.c`, FIO_DEF_ZIPF, FIO_DEF_PARETO).
pub const ZIPF_THETA: f64 = 1.1;
const PARETO_H: f64 = 0.2;

fn distribution(value: &str) -> Result<Distribution, ValueError> {
    let mut parts = value.split(':').map(str::trim);
    let kind = parts.next().unwrap_or("");
    let parameter = parts.next().map(fraction).transpose()?;
    let center = parts.next().map(fraction).transpose()?;
    if center.is_some_and(|center| !(0.0..=1.0).contains(&center)) {
        return Err(ValueError::Parameter { name: "the centre", be: "lie between 0 and 1" });
    }
    match kind {
        "random" => Ok(Distribution::Uniform),
        "zipf" => match parameter.unwrap_or(ZIPF_THETA) {
            theta if theta <= 0.0 || theta == 1.0 => {
                Err(ValueError::Parameter { name: "theta", be: "be above 0 and not 1" })
            }
            theta => Ok(Distribution::Zipf { theta, center }),
        },
        "pareto" => match parameter.unwrap_or(PARETO_H) {
            h if h <= 0.0 || h >= 1.0 => Err(ValueError::Parameter { name: "h", be: "lie between 0 and 1" }),
            h => Ok(Distribution::Pareto { h, center }),
        },
        "normal" => match parameter.unwrap_or(0.0) {
            deviation if !(0.0..100.0).contains(&deviation) => {
                Err(ValueError::Parameter { name: "the deviation", be: "be 0 to 100 %" })
            }
            deviation_percent => Ok(Distribution::Normal { deviation_percent, center }),
        },
        "zoned" | "zoned_abs" => not_here("write random, zipf, pareto or normal"),
        _ => Err(ValueError::Words("random, zipf:THETA, pareto:H or normal:DEVIATION")),
    }
}

#[cfg(test)]
mod tests;
