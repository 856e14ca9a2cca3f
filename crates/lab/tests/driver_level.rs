//! Loops below every file system cost what the board's profile says of one operation, in time and on both rails.

use ffslab_lab::{run_experiment, LabError, RunResult};
use std::path::Path;

fn experiment(fs: &str, steps: &str) -> Result<RunResult, LabError> {
    let text =
        format!("title = \"loops\"\n[stack]\nboard = \"omap3evm\"\nfs = \"{fs}\"\npartition_blocks = 8\n{steps}");
    run_experiment(&text, "loops.toml", Path::new(""), &|_| true)
}

fn step(table: &str, op: &str, count: u64, first: u64) -> String {
    format!("[[{table}]]\nstep = \"mtd_loop\"\nop = \"{op}\"\ncount = {count}\nfirst = {first}\n")
}

fn refused(result: Result<RunResult, LabError>) -> String {
    result.map(drop).unwrap_err().to_string()
}

#[test]
fn an_operation_costs_the_published_total() {
    let steps =
        [("erase", 8), ("program", 512), ("read", 1000)].map(|(op, count)| step("measure", op, count, 0)).concat();
    let result = experiment("none", &steps).unwrap();
    let variant = &result.summary.variants[0];
    let published = [(536.4, 97.5, 8.5), (407.6, 74.6, 6.3), (185.065, 34.6, 2.2)];
    for ((step, (us, cpu_uj, memory_uj)), n) in variant.steps.iter().zip(published).zip([8.0, 512.0, 1000.0]) {
        assert!((step.elapsed_us - n * us).abs() < 1e-6, "{}: {}", step.step, step.elapsed_us);
        let above_idle = step.energy_uj.unwrap();
        assert!((above_idle.cpu - n * cpu_uj).abs() < 1e-6 * n, "{}: {}", step.step, above_idle.cpu);
        assert!((above_idle.memory - n * memory_uj).abs() < 1e-6 * n);
        let with_idle = step.energy_with_idle_uj.unwrap();
        assert!((with_idle.cpu - above_idle.cpu - 0.269 * n * us).abs() < 1e-6 * n);
        assert!((with_idle.memory - above_idle.memory - 0.1478 * n * us).abs() < 1e-6 * n);
    }
    let (sum, all) = (
        variant.steps.iter().map(|s| s.energy_with_idle_uj.unwrap().total).sum::<f64>(),
        variant.energy_with_idle_uj.unwrap(),
    );
    assert!((sum - all.total).abs() < 1e-6 * sum, "{sum} {}", all.total);
    assert_eq!((variant.totals.page_reads, variant.totals.page_programs, variant.totals.erases), (1000, 512, 8));
    assert_eq!(result.requests.op.iter().filter(|op| op.name() == "program").count(), 512);
}

#[test]
fn a_board_whose_idle_power_nobody_knows_has_no_energy_with_idle() {
    let text = "title = \"x\"\n[stack]\nboard = \"zero-overhead\"\nfs = \"none\"\npartition_blocks = 8\n".to_string();
    let result = run_experiment(&(text + &step("measure", "erase", 1, 0)), "x.toml", Path::new(""), &|_| true).unwrap();
    assert!(result.summary.variants[0].energy_with_idle_uj.is_none());
    assert!(serde_json::to_value(&result.summary).unwrap()["variants"][0]["energy_with_idle_uJ"].is_null());
}

#[test]
fn what_cannot_be_done_says_why() {
    let message = refused(experiment("none", &step("measure", "program", 513, 0)));
    assert!(message.contains("513 pages from page 0 on: the partition has 512 pages"), "{message}");
    let message = refused(experiment("none", &step("measure", "read", 1, 512)));
    assert!(message.contains("from page 512 on"), "{message}");
    let message = refused(experiment("none", &step("measure", "read", 0, 0)));
    assert!(message.contains("count is 0"), "{message}");
    let mount = "[[setup]]\nstep = \"mount\"\n".to_string();
    let message = refused(experiment("jffs2", &(mount.clone() + &step("measure", "read", 1, 0))));
    assert!(message.contains("a file system is mounted: umount it first"), "{message}");
    let message = refused(experiment("none", &(mount + &step("measure", "read", 1, 0))));
    assert!(message.contains("there is no file system to mount"), "{message}");
    let twice = step("setup", "program", 1, 0) + &step("measure", "program", 5, 0);
    assert!(experiment("none", &twice).is_ok(), "pages may be programmed again as often as the part allows");
}
