//! Cuts the power at every device write of a workload and prints what is left of its files.

#[path = "../tests/support/power_cuts.rs"]
mod power_cuts;
#[path = "../tests/support/system.rs"]
mod system;

use ffslab_rtems::Quirks;
use power_cuts::{cut, writes_count};
use std::process::{Command, Stdio};
use system::Fs;

/// Whether fsck.fat finds nothing to correct. `None`: it is not installed.
fn fsck(image: &std::path::Path) -> Option<bool> {
    let status = Command::new("fsck.fat").arg("-n").arg(image).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.ok().map(|status| status.success())
}

fn main() {
    println!("| file system | last call that returned | files | whole | short | other content | gone |");
    println!("|---|---|---:|---:|---:|---:|---:|");
    let image = std::env::temp_dir().join(format!("ffslab-power-cuts-{}", std::process::id()));
    let mut notes = Vec::new();
    for (name, fs) in [("DOSFS", Fs::Dosfs(0)), ("RFS, 1 KiB blocks", Fs::Rfs(1024))] {
        let quirks = Quirks::Rtems2018;
        let table = cut(fs, quirks, 1..=writes_count(fs, quirks), |_| {});
        for (promise, o) in &table.outcomes {
            let files = o.whole + o.short + o.other_content + o.gone;
            println!(
                "| {name} | {promise:?} | {files} | {} | {} | {} | {} |",
                o.whole, o.short, o.other_content, o.gone
            );
        }
        notes.push(format!("{name}: {} cuts, {} not mountable", table.cuts, table.not_mountable));
    }
    // Of the volumes of 2018 it minds the missing label in any case.
    let (fs, quirks) = (Fs::Dosfs(0), Quirks::Fixed);
    let (mut clean, mut judged) = (0, 0);
    cut(fs, quirks, 1..=writes_count(fs, quirks), |bytes| {
        let verdict = std::fs::write(&image, bytes).ok().and_then(|()| fsck(&image));
        judged += u32::from(verdict.is_some());
        clean += u32::from(verdict == Some(true));
    });
    if judged > 0 {
        notes.push(format!("fsck.fat, quirks fixed: {clean} of {judged} volumes without a complaint"));
    }
    let _ = std::fs::remove_file(&image);
    println!("\n{}", notes.join("\n"));
}
