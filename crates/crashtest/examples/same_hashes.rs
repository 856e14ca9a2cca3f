//! Hashes of what a fixed set of runs gives, which must not depend on build, computer or number of workers: a line each.
//!
//! `make same-bytes` compares them with those in `tests/same_hashes.txt`: of a build for debugging, a release, and one for arm64.

use ffslab_crashtest::{Asked, Point, Taken, Watched};
use ffslab_flash::Torn;
use ffslab_lab::{run_experiment_with, Given, RunResult};
use ffslab_workload::Step;
use serde::Deserialize;
use std::path::Path;

/// Machines, by what they are called in the answer: `[stack]` of an experiment. Each medium, each system, each own file system, and
/// one of foreign code.
const STACKS: [(&str, &str); 7] = [
    ("jffs2", "board = \"omap3evm\"\nfs = \"jffs2\"\npartition_blocks = 32"),
    ("yaffs2", "board = \"omap3evm\"\nfs = \"yaffs2\"\npartition_blocks = 32"),
    ("ubifs", "board = \"omap3evm\"\nfs = \"ubifs\"\npartition_blocks = 40\nmax_beb_per1024 = 1"),
    ("jffs2 on NOR", "board = \"omap3evm\"\nfs = \"jffs2\"\npart = \"js28f256p30\"\npartition_blocks = 20"),
    (
        "littlefs",
        "system = \"bare\"\nfs = \"littlefs\"\nboard = \"licheepi-nano\"\npart = \"w25q128jv\"\npartition_blocks = 64",
    ),
    ("RTEMS", "system = \"rtems\"\nfs = \"rfs\"\nquirks = \"fixed\""),
    (
        "bit flips",
        "board = \"omap3evm\"\nfs = \"ubifs\"\npartition_blocks = 40\nmax_beb_per1024 = 1\nfaults = { bitflips = 1 }",
    ),
];

const STEPS: &str = r#"
[[setup]]
step = "mount"
[[measure]]
step = "create"
file = "a"
bytes = 150_000
request_B = 4096
[[measure]]
step = "open"
file = "a"
flags = ["rdwr"]
[[measure]]
step = "requests"
file = "a"
op = "write"
pattern = "random"
request_B = 3000
range_B = 131_072
count = 80
[[measure]]
step = "fsync"
file = "a"
[[measure]]
step = "requests"
file = "a"
op = "read"
pattern = "random"
request_B = 1000
range_B = 131_072
count = 50
[[measure]]
step = "close"
file = "a"
[axes]
"requests.request_B" = [512, 3000]
"#;

/// What is cut: the torn and the unstable in the middle of it, and a recovery that is cut again.
const CUT: &str = r#"
steps = [
    { step = "create", file = "a", bytes = 6000, request_B = 2000 },
    { step = "sync" },
    { step = "rename", file = "a", to = "c" },
    { step = "create", file = "b", bytes = 3000 },
    { step = "unlink", file = "c" },
]
"#;

#[derive(Deserialize)]
struct Cut {
    steps: Vec<Step>,
}

/// FNV-1a: short, and the same everywhere.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

/// All figures, and each call with its time.
fn of_run(stack: &str, jobs: usize) -> Result<u64, String> {
    let text = format!("title = \"same\"\n[stack]\n{stack}\n{STEPS}");
    let given = Given { jobs, ..Given::default() };
    let result = run_experiment_with(&text.as_str().into(), "same", Path::new("."), given, &|_| true)
        .map_err(|error| error.to_string())?;
    let RunResult { summary, requests, blocks, .. } = result;
    let variants = serde_json::to_string(&summary.variants).map_err(|error| error.to_string())?;
    Ok(hash(format!("{variants}\n{requests:?}\n{blocks:?}").as_bytes()))
}

/// Everything that is found in power cuts.
fn of_cuts(stack: &str, jobs: usize) -> Result<u64, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let Cut { steps } = toml::from_str(CUT).map_err(|error| text(&error))?;
    let mut watched = Watched::new(toml::from_str(stack).map_err(|error| text(&error))?, 1, Path::new("."))
        .map_err(|error| text(&error))?;
    watched.session.system_mut().mount(&[]).map_err(|error| text(&error))?;
    watched.begin(Vec::new()).map_err(|error| text(&error))?;
    watched.session.system_mut().mount(&[]).map_err(|error| text(&error))?;
    steps.iter().try_for_each(|step| watched.session.run_step(step).map(drop)).map_err(|error| text(&error))?;
    let recording = watched.end().map_err(|error| text(&error))?;
    let each = |operation_number| {
        let seed = operation_number;
        [Torn::Nothing, Torn::Partial { seed }, Torn::Unstable { seed }]
            .map(|torn| Point { operation_number, taken: Taken::Operation(torn) })
    };
    let points = (1..=recording.operations()).step_by(3).flat_map(each).collect();
    let asked = Asked { points, recovery_cuts: 1, depth: 1, second_mount: true, jobs };
    let judged = recording.judge(&asked, None, &|_| true).map_err(|_| "stopped".to_string())?;
    Ok(hash(serde_json::to_string(&judged).map_err(|error| text(&error))?.as_bytes()))
}

/// A line for each run of the set. Errors: what a run said.
pub fn lines(jobs: usize) -> Result<Vec<String>, String> {
    let runs = STACKS.iter().map(|(name, stack)| {
        Ok(format!("{:016x}  {name}", of_run(stack, jobs).map_err(|says| format!("{name}: {says}"))?))
    });
    let cuts = STACKS[..4].iter().map(|(name, stack)| {
        Ok(format!(
            "{:016x}  {name}, power cuts",
            of_cuts(stack, jobs).map_err(|says| format!("{name}, power cuts: {says}"))?
        ))
    });
    runs.chain(cuts).collect()
}

#[allow(dead_code, reason = "the test beside it has the lines alone")]
fn main() {
    match lines(1) {
        Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
        Err(says) => {
            eprintln!("{says}");
            std::process::exit(1);
        }
    }
}
