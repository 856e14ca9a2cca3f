//! The toy in experiments, in images and on a mount: everything goes through its descriptor.

use ffslab_images::{read_trees, Given, Wanted};
use ffslab_inspect::{inspect, InspectOptions};
use ffslab_lab::session::Torn;
use ffslab_lab::{run_experiment, LabError, RunResult};
use ffslab_machine::file_systems::{image_formats, image_fs};
use ffslab_machine::register;
use ffslab_mount::{mount, MountSpec, Watch};
use ffslab_toy::TOY;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Files are made, overwritten and deleted until the halves have changed; then the power fails.
const EXPERIMENT: &str = r#"
title = "A log in halves"

[stack]
board = "zero-overhead"
fs = "toy"
partition_blocks = 16

[[setup]]
step = "mount"

[[setup]]
step = "create"
file = "target"
bytes = "200 KiB"

[[measure]]
step = "open"
file = "target"
flags = ["rdwr"]

[[measure]]
step = "requests"
file = "target"
op = "write"
pattern = "random"
request_B = "4 KiB"
count = 300

[[measure]]
step = "close"
file = "target"

[[measure]]
step = "crash"

[[measure]]
step = "mount"

[[measure]]
step = "create"
file = "more"
bytes = "5 KiB"

[[measure]]
step = "save_image"
file = "toy.bin"
oob = true
"#;

fn run(text: &str) -> Result<RunResult, LabError> {
    ffslab_toy::register();
    run_experiment(text, "toy.toml", Path::new("."), &|_| true)
}

/// A new folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ffslab-toy-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn an_experiment_runs_on_it() {
    let result = run(EXPERIMENT).unwrap();
    let counts = serde_json::to_value(result.summary.variants[0].totals).unwrap();
    let count = |name: &str| counts[name].as_u64().unwrap();
    // Each request programs three pages of 2 KiB: a record and 4 KiB of content. The rest wrote everything anew.
    assert!(count("page_programs") > 3 * 300 && count("erases") >= 8, "{counts}");
    assert_eq!(run(EXPERIMENT).unwrap().images, result.images, "the same run is the same image");
}

#[test]
fn an_axis_of_file_systems_has_it_among_the_others() {
    let text = EXPERIMENT.replace("fs = \"toy\"\n", "fs = \"toy\"\ncompression = \"none\"\n");
    let text = text.replace("partition_blocks = 16", "partition_blocks = 40");
    let result = run(&format!("{text}\n[axes]\nfs = [\"jffs2\", \"toy\"]\n")).unwrap();
    assert_eq!(result.summary.variants.len(), 2);
    let refused = run(&EXPERIMENT.replace("fs = \"toy\"", "fs = \"toy\"\nsummary = true")).unwrap_err().to_string();
    assert!(refused.contains("summary belongs to jffs2, not to toy"), "{refused}");
}

#[test]
fn its_images_are_recognised_read_and_explained() {
    let result = run(EXPERIMENT).unwrap();
    let (folder, image) = (folder("images"), &result.images[0].1);
    let path = folder.join("toy.bin");
    std::fs::write(&path, image).unwrap();
    let trees = read_trees(&path, &Wanted::default(), &image_formats()).unwrap();
    let layout = trees[0].part.layout.clone().unwrap();
    assert_eq!((layout.fs.name(), layout.page_bytes, layout.oob_bytes), ("toy", 2048, 64));
    let tree = trees[0].tree.as_ref().unwrap();
    let files: Vec<(&[u8], usize)> = tree.entries.iter().map(|entry| (&entry.path[..], entry.data.len())).collect();
    assert_eq!(files, [(&b""[..], 0), (b"more", 5 << 10), (b"target", 200 << 10)]);
    let options = InspectOptions { board: "zero-overhead".to_string(), ..InspectOptions::default() };
    let found = inspect(&path, &options).unwrap().remove(0).found.unwrap();
    let records = found.superblock.iter().find(|(name, _)| name == "records").unwrap().1.as_u64().unwrap();
    assert!(records > 50, "{:?}", found.superblock);
    let mounted = found.mount.unwrap().counts.unwrap();
    assert!(mounted.page_reads > 0);
    let read = found.files.iter().find(|file| file.path == "target").unwrap().read.unwrap();
    // Content begins behind its record, in the middle of a page: 3 pages are read for 2 that it takes.
    assert!(read.reads >= read.least_reads && read.reads <= 2 * read.least_reads, "{read:?}");
    // Of an image that ends too early: what is there, or one line that says what is missing.
    for cut in [image.len() / 2, image.len() / 3 + 5_000, 5_000] {
        std::fs::write(&path, &image[..cut]).unwrap();
        match read_trees(&path, &Wanted::default(), &image_formats()) {
            Ok(trees) => assert!(!trees[0].tree.as_ref().unwrap().entries.is_empty()),
            Err(error) => assert!(error.to_string().contains("toy"), "{error}"),
        }
    }
    let wanted = Wanted { given: Given { fs: image_fs("jffs2"), ..Given::default() }, ..Wanted::default() };
    std::fs::write(&path, image).unwrap();
    let refused = read_trees(&path, &wanted, &image_formats()).unwrap_err().to_string();
    assert!(refused.contains("what is given, jffs2, contradicts what is found, toy"), "{refused}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_name_is_taken_once() {
    ffslab_toy::register();
    assert_eq!(register(&TOY).unwrap_err().to_string(), "there is a file system \"toy\" already");
    let unknown = run(&EXPERIMENT.replace("\"toy\"", "\"toi\"")).unwrap_err().to_string();
    assert!(unknown.contains("unknown fs `toi`: did you mean `toy`?"), "{unknown}");
}

/// Works on the mount as soon as it is there, then asks for its end.
struct Worker {
    ready: AtomicBool,
    done: AtomicBool,
}

impl Watch for Worker {
    fn ready(&self) {
        self.ready.store(true, Ordering::SeqCst);
    }

    fn say(&self, _text: &str) {}

    fn shall_end(&self) -> bool {
        self.done.load(Ordering::SeqCst)
    }
}

#[test]
fn programs_use_it_on_a_mount() {
    if std::fs::OpenOptions::new().read(true).write(true).open("/dev/fuse").is_err() {
        println!("/dev/fuse is missing: the kernel of this machine has no FUSE");
        return;
    }
    ffslab_toy::register();
    let folder = folder("mount");
    let mountpoint = folder.join("mnt");
    std::fs::create_dir_all(&mountpoint).unwrap();
    let spec = MountSpec {
        stack: "board = \"zero-overhead\"\nfs = \"toy\"\npartition_blocks = 40".parse().unwrap(),
        base_dir: folder.clone(),
        initial: "settled".to_string(),
        seed: 1,
        options: Vec::new(),
        owner: None,
        mountpoint: mountpoint.clone(),
        socket: folder.join("socket"),
        think: false,
        realtime: false,
        power_cut_after_operations: None,
        torn: Torn::Nothing,
        epoch_s: 1_000_000_000,
        save: Some(folder.join("saved.bin")),
        observed: None,
        records: false,
    };
    let worker = Worker { ready: AtomicBool::new(false), done: AtomicBool::new(false) };
    let content = vec![7; 100_000];
    std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            while !worker.ready.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(10));
            }
            let worked = std::fs::create_dir(mountpoint.join("d"))
                .and_then(|()| std::fs::write(mountpoint.join("d/f"), &content))
                .and_then(|()| std::fs::rename(mountpoint.join("d/f"), mountpoint.join("g")))
                .and_then(|()| std::fs::read(mountpoint.join("g")));
            worker.done.store(true, Ordering::SeqCst);
            worked.unwrap()
        });
        let mounted = mount(&spec, &worker);
        // If it never came to be, nobody waits for it.
        worker.ready.store(true, Ordering::SeqCst);
        mounted.unwrap();
        assert_eq!(work.join().unwrap(), content);
    });
    let trees = read_trees(&folder.join("saved.bin"), &Wanted::default(), &image_formats()).unwrap();
    let tree = trees[0].tree.as_ref().unwrap();
    assert!(tree.entries.iter().any(|entry| entry.path == b"g" && entry.data == content), "what was written is saved");
    std::fs::remove_dir_all(folder).unwrap();
}
