//! Random calls on each file system and on a model in memory: same results, same content, also after a remount.

use crate::system;

use ffslab_fs::Errno;
use ffslab_rtems::libio::{OpenFlags, Whence};
use ffslab_rtems::Quirks;
use proptest::prelude::*;
use std::collections::BTreeMap;
use system::{Fs, System};

/// One call. Files are numbered, and so are the two directories in which they are.
#[derive(Clone, Debug)]
enum Call {
    Write { file: u8, offset: u32, bytes: u16, seed: u8 },
    Append { file: u8, bytes: u16, seed: u8 },
    Truncate { file: u8, bytes: u32 },
    Read { file: u8, offset: u32, bytes: u16 },
    Unlink { file: u8 },
    Rename { from: u8, to: u8 },
    Sync { file: u8 },
    Remount,
}

const FILES: u8 = 14;
/// A file stays below this.
const BYTES_MAX: u32 = 40_000;

fn path(file: u8) -> String {
    let folder = ["/mnt", "/mnt/sub", "/mnt/sub/deeper folder"][usize::from(file) % 3];
    match file % 2 {
        0 => format!("{folder}/f{file:02}.dat"),
        _ => format!("{folder}/A rather long name, number {file:02}.of many"),
    }
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let file = 0..FILES;
    let call = prop_oneof![
        4 => (file.clone(), 0..BYTES_MAX, 1..5000u16, any::<u8>())
            .prop_map(|(file, offset, bytes, seed)| Call::Write { file, offset, bytes, seed }),
        4 => (file.clone(), 1..3000u16, any::<u8>()).prop_map(|(file, bytes, seed)| Call::Append { file, bytes, seed }),
        2 => (file.clone(), 0..BYTES_MAX).prop_map(|(file, bytes)| Call::Truncate { file, bytes }),
        3 => (file.clone(), 0..BYTES_MAX, 1..5000u16)
            .prop_map(|(file, offset, bytes)| Call::Read { file, offset, bytes }),
        2 => file.clone().prop_map(|file| Call::Unlink { file }),
        2 => (file.clone(), file.clone()).prop_map(|(from, to)| Call::Rename { from, to }),
        1 => file.prop_map(|file| Call::Sync { file }),
        1 => Just(Call::Remount),
    ];
    prop::collection::vec(call, 1..60)
}

fn content(bytes: u16, seed: u8) -> Vec<u8> {
    (0..bytes).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

type Model = BTreeMap<String, Vec<u8>>;

fn apply(system: &mut System, model: &mut Model, call: &Call) {
    match *call {
        Call::Write { file, offset, bytes, seed } => {
            let (path, data) = (path(file), content(bytes, seed));
            let fd = system.libio.open(path.as_bytes(), OpenFlags::CREATE, 0o644).unwrap();
            system.libio.lseek(fd, i64::from(offset), Whence::Set).unwrap();
            assert_eq!(system.libio.write(fd, &data), Ok(data.len()));
            system.libio.close(fd).unwrap();
            let expected = model.entry(path).or_default();
            let end = offset as usize + data.len();
            expected.resize(expected.len().max(end), 0);
            expected[offset as usize..end].copy_from_slice(&data);
        }
        Call::Append { file, bytes, seed } => {
            let (path, data) = (path(file), content(bytes, seed));
            let expected = model.entry(path.clone()).or_default();
            if expected.len() + data.len() > BYTES_MAX as usize * 2 {
                expected.truncate(0);
                system.write_file(&path, &[]).unwrap();
            }
            let flags = OpenFlags { append: true, ..OpenFlags::CREATE };
            let fd = system.libio.open(path.as_bytes(), flags, 0o644).unwrap();
            assert_eq!(system.libio.write(fd, &data), Ok(data.len()));
            system.libio.close(fd).unwrap();
            expected.extend(data);
        }
        Call::Truncate { file, bytes } => {
            let path = path(file);
            let opened = system.libio.open(path.as_bytes(), OpenFlags::WRITE, 0);
            match model.get_mut(&path) {
                None => assert_eq!(opened, Err(Errno::NoEnt)),
                Some(expected) => {
                    let fd = opened.unwrap();
                    system.libio.ftruncate(fd, u64::from(bytes)).unwrap();
                    assert_eq!(system.libio.fstat(fd).unwrap().size_bytes, u64::from(bytes));
                    system.libio.close(fd).unwrap();
                    expected.resize(bytes as usize, 0);
                }
            }
        }
        Call::Read { file, offset, bytes } => {
            let path = path(file);
            let opened = system.libio.open(path.as_bytes(), OpenFlags::READ, 0);
            match model.get(&path) {
                None => assert_eq!(opened, Err(Errno::NoEnt)),
                Some(expected) => {
                    let fd = opened.unwrap();
                    let mut buffer = vec![0; usize::from(bytes)];
                    let count = system.libio.pread(fd, &mut buffer, u64::from(offset)).unwrap();
                    let start = (offset as usize).min(expected.len());
                    let end = (start + usize::from(bytes)).min(expected.len());
                    assert_eq!(count, end - start);
                    assert!(buffer[..count] == expected[start..end], "other content in {path}");
                    system.libio.close(fd).unwrap();
                }
            }
        }
        Call::Unlink { file } => {
            let path = path(file);
            let expected = model.remove(&path).map(|_| ()).ok_or(Errno::NoEnt);
            assert_eq!(system.libio.unlink(path.as_bytes()), expected);
        }
        Call::Rename { from, to } => {
            let (from, to) = (path(from), path(to));
            let expected = match (model.contains_key(&from), model.contains_key(&to)) {
                (false, _) => Err(Errno::NoEnt),
                (_, true) => Err(Errno::Exist),
                _ => Ok(()),
            };
            if system.fs == Fs::MiniImfs {
                let expected = expected.and(Err(Errno::NotSup));
                assert_eq!(system.libio.rename(from.as_bytes(), to.as_bytes()), expected);
                return;
            }
            assert_eq!(system.libio.rename(from.as_bytes(), to.as_bytes()), expected);
            if expected.is_ok() {
                let content = model.remove(&from).unwrap();
                model.insert(to, content);
            }
        }
        Call::Sync { file } => {
            if let Ok(fd) = system.libio.open(path(file).as_bytes(), OpenFlags::WRITE, 0) {
                system.libio.fsync(fd).unwrap();
                system.libio.close(fd).unwrap();
            }
        }
        Call::Remount => system.remount(),
    }
}

fn check(fs: Fs, calls: &[Call]) {
    let mut system = System::new(fs, Quirks::Fixed, 4 << 20);
    system.libio.mkdir(b"/mnt/sub", 0o755).unwrap();
    system.libio.mkdir(b"/mnt/sub/deeper folder", 0o755).unwrap();
    let mut model = Model::new();
    for call in calls {
        apply(&mut system, &mut model, call);
    }
    system.remount();
    for file in 0..FILES {
        let path = path(file);
        let expected = model.get(&path).cloned().ok_or(Errno::NoEnt);
        let found = system.read_file(&path);
        assert_eq!(found.as_ref().map(Vec::len), expected.as_ref().map(Vec::len), "{path}");
        if let (Ok(found), Ok(expected)) = (&found, &expected) {
            let differs = found.iter().zip(expected).position(|(a, b)| a != b);
            assert_eq!(differs, None, "first difference in {path}");
        }
        if let Ok(expected) = expected {
            assert_eq!(system.libio.stat(path.as_bytes()).unwrap().size_bytes, expected.len() as u64);
        }
    }
    for folder in ["/mnt", "/mnt/sub", "/mnt/sub/deeper folder"] {
        let within = |path: &str| path.rsplit_once('/').filter(|(parent, _)| *parent == folder).map(|(_, n)| n.into());
        let mut expected: Vec<String> = model.keys().filter_map(|path| within(path)).collect();
        expected.extend(within("/mnt/sub").filter(|_| folder == "/mnt"));
        expected.extend(within("/mnt/sub/deeper folder").filter(|_| folder == "/mnt/sub"));
        expected.sort();
        assert_eq!(system.list(folder).unwrap(), expected, "{folder}");
    }
}

proptest! {
    #[test]
    fn imfs(calls in calls()) {
        check(Fs::Imfs, &calls);
    }

    #[test]
    fn mini_imfs(calls in calls()) {
        check(Fs::MiniImfs, &calls);
    }

    #[test]
    fn rfs_512(calls in calls()) {
        check(Fs::Rfs(512), &calls);
    }

    #[test]
    fn rfs_1536(calls in calls()) {
        check(Fs::Rfs(1536), &calls);
    }

    #[test]
    fn rfs_4096(calls in calls()) {
        check(Fs::Rfs(4096), &calls);
    }

    #[test]
    fn dosfs_fat12(calls in calls()) {
        check(Fs::Dosfs(0), &calls);
    }

    #[test]
    fn dosfs_fat16(calls in calls()) {
        check(Fs::Dosfs(1), &calls);
    }
}
