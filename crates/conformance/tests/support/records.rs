//! Records of the log: changes as bytes.

use ffslab_conformance::nodes::{Change, Content};
use ffslab_fs::{FileKind, TimeSpec};

pub fn encode(change: &Change, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let word = |out: &mut Vec<u8>, value: u32| out.extend_from_slice(&value.to_le_bytes());
    match change {
        Change::New { id, content, permissions } => {
            out.push(1);
            word(out, *id);
            word(out, *permissions | content.kind().mode_bits());
            match content {
                Content::File(bytes) | Content::Symlink(bytes) => out.extend_from_slice(bytes),
                Content::Directory(_) => {}
                Content::Special(_, device) => word(out, *device),
            }
        }
        Change::Name { dir, name, to } => {
            out.push(2);
            word(out, *dir);
            word(out, to.unwrap_or(0));
            out.extend_from_slice(name);
        }
        Change::Data { id, at, data } => {
            out.push(3);
            word(out, *id);
            word(out, *at as u32);
            out.extend_from_slice(data);
        }
        Change::Size { id, size_bytes } => {
            out.push(4);
            word(out, *id);
            word(out, *size_bytes as u32);
        }
        Change::Owner { id, uid, gid } => {
            out.push(5);
            word(out, *id);
            word(out, *uid);
            word(out, *gid);
        }
        Change::Permissions { id, permissions } => {
            out.push(6);
            word(out, *id);
            word(out, *permissions);
        }
        Change::Modified { id, time } => {
            out.push(7);
            word(out, *id);
            word(out, time.map_or(u32::MAX, |time| time.seconds as u32));
        }
        Change::Xattr { id, name, value } => {
            out.push(9);
            word(out, *id);
            word(out, name.len() as u32);
            out.extend_from_slice(name);
            out.push(u8::from(value.is_some()));
            out.extend_from_slice(value.as_deref().unwrap_or(b""));
        }
        Change::Gone { id } => {
            out.push(8);
            word(out, *id);
        }
    }
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// `None`: no record.
pub fn decode(record: &[u8]) -> Option<Change> {
    let word = |at: usize| Some(u32::from_le_bytes(record.get(at..at + 4)?.try_into().ok()?));
    let id = word(1)?;
    Some(match record.first()? {
        1 => {
            let mode = word(5)?;
            let content = match FileKind::from_mode(mode)? {
                FileKind::File => Content::File(record[9..].to_vec()),
                FileKind::Symlink => Content::Symlink(record[9..].to_vec()),
                FileKind::Directory => Content::Directory(Default::default()),
                kind => Content::Special(kind, word(9)?),
            };
            Change::New { id, content, permissions: mode & 0o7777 }
        }
        2 => Change::Name { dir: id, name: record.get(9..)?.to_vec(), to: Some(word(5)?).filter(|&to| to != 0) },
        3 => Change::Data { id, at: u64::from(word(5)?).min(16 << 20), data: record.get(9..)?.to_vec() },
        4 => Change::Size { id, size_bytes: u64::from(word(5)?).min(16 << 20) },
        5 => Change::Owner { id, uid: word(5)?, gid: word(9)? },
        6 => Change::Permissions { id, permissions: word(5)? },
        7 => {
            let seconds = word(5)?;
            let time = (seconds != u32::MAX).then_some(TimeSpec { seconds: i64::from(seconds), nanoseconds: 0 });
            Change::Modified { id, time }
        }
        8 => Change::Gone { id },
        9 => {
            let end = 9usize.checked_add(word(5)? as usize)?;
            let name = record.get(9..end)?.to_vec();
            let (&exists, value) = record.get(end..)?.split_first()?;
            Change::Xattr { id, name, value: (exists != 0).then(|| value.to_vec()) }
        }
        _ => return None,
    })
}
