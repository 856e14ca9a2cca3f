//! Results are the same bytes on every computer and with any number of workers: hashes of a fixed set are kept in
//! `same_hashes.txt`. Who means to move a result writes them anew: `cargo run -p ffslab-crashtest --example same_hashes`.

#[path = "../examples/same_hashes.rs"]
mod same_hashes;

#[test]
fn a_fixed_set_of_runs_gives_the_kept_hashes_with_one_worker_and_with_three() {
    let kept: Vec<&str> = include_str!("same_hashes.txt").lines().collect();
    for jobs in [1, 3] {
        assert_eq!(same_hashes::lines(jobs).unwrap_or_else(|says| panic!("{says}")), kept);
    }
}
