use super::*;
use crate::fio::job::parse;

/// The actions of the first process of a job, with every transfer done in full and every file absent at first.
fn actions(text: &str) -> Vec<Action> {
    let job = parse(text, "x.fio", false).unwrap().jobs.remove(0);
    let mut process = Process::new(job, 0, 1, None);
    let absent = vec![None; process.file_names.len()];
    process.set_up(&absent).unwrap();
    let (mut done, mut elapsed_ns) = (Vec::new(), 0);
    while let Some(action) = process.next_action(elapsed_ns) {
        match action {
            Action::Transfer { write, bytes, .. } => process.transferred(write, bytes),
            Action::Sync { .. } => process.synced(),
            Action::Think { ns } => elapsed_ns += ns,
            _ => {}
        }
        elapsed_ns += 1_000_000;
        done.push(action);
        assert!(done.len() < 100_000, "it does not end");
    }
    done
}

fn offsets(text: &str) -> Vec<u64> {
    let transfers = actions(text).into_iter().filter_map(|action| match action {
        Action::Transfer { offset, .. } => Some(offset),
        _ => None,
    });
    transfers.collect()
}

#[test]
fn a_sequential_job_goes_through_its_file_once() {
    assert_eq!(offsets("[a]\nrw=write\nbs=4k\nsize=16k\n"), [0, 4096, 8192, 12288]);
    assert_eq!(offsets("[a]\nrw=write\nbs=4k\nsize=8k\nloops=2\n"), [0, 4096, 0, 4096]);
    assert_eq!(offsets("[a]\nrw=read:4k\nbs=4k\nsize=16k\nio_size=8k\n"), [0, 8192]);
}

#[test]
fn a_random_job_visits_each_block_once() {
    let mut visited = offsets("[a]\nrw=randwrite\nbs=4k\nsize=1m\n");
    // The first offsets that fio 3.33 itself draws for a file of 16 blocks.
    assert_eq!(offsets("[a]\nrw=randwrite\nbs=4k\nsize=64k\n")[..5], [0, 45056, 53248, 28672, 24576]);
    visited.sort_unstable();
    assert_eq!(visited, (0..256).map(|i| i * 4096).collect::<Vec<_>>());
}

#[test]
fn syncs_come_after_so_many_writes_and_before_the_next() {
    let done = actions("[a]\nrw=write\nbs=4k\nsize=16k\nfsync=2\nend_fsync=1\ninvalidate=0\nfadvise_hint=0\n");
    let kinds: String = done
        .iter()
        .map(|action| match action {
            Action::Transfer { .. } => 'w',
            Action::Sync { .. } => 's',
            Action::Open { .. } => 'o',
            Action::Close { .. } => 'c',
            _ => '?',
        })
        .collect();
    assert_eq!(kinds, "owwswwsc");
}

#[test]
fn time_ends_a_job() {
    // A call takes 1 ms here; opening takes three.
    let count =
        offsets("[a]\nrw=randread\nbs=4k\nsize=16k\nruntime=1\ntime_based\ninvalidate=0\nfadvise_hint=0\n").len();
    assert_eq!(count, 999);
    let thinking = offsets("[a]\nrw=write\nbs=4k\nsize=1m\nthinktime=99ms\nthinktime_blocks=2\nruntime=1\n").len();
    assert!((18..=20).contains(&thinking), "{thinking}");
}

#[test]
fn the_processes_of_a_job_differ() {
    let job = parse("[a]\nrw=randwrite\nbs=4k\nsize=1m\nnumjobs=2\n", "x", false).unwrap().jobs.remove(0);
    let first_offsets = |subjob, thread| {
        let mut process = Process::new(job.clone(), subjob, thread, None);
        process.set_up(&[None]).unwrap();
        let mut found = Vec::new();
        while let Some(action) = process.next_action(0) {
            if let Action::Transfer { offset, write, bytes, .. } = action {
                process.transferred(write, bytes);
                found.push(offset);
            }
        }
        (process.file_names[0].clone(), found)
    };
    let (first, second) = (first_offsets(0, 1), first_offsets(1, 2));
    assert_eq!((first.0.as_str(), second.0.as_str()), ("a.0.0", "a.1.0"));
    assert_ne!(first.1, second.1);
}

#[test]
fn a_job_without_a_size_is_refused() {
    let job = parse("[a]\nrw=read\n", "x", false).unwrap().jobs.remove(0);
    assert!(Process::new(job, 0, 1, None).set_up(&[None]).unwrap_err().to_string().contains("size is missing"));
    let job = parse("[a]\nrw=randread\nbs=1\nsize=2g\n", "x", false).unwrap().jobs.remove(0);
    assert!(Process::new(job, 0, 1, None).set_up(&[None]).unwrap_err().to_string().contains("random map"));
}
