//! Files of a tar image in ROM, without copying them.
//!
//! Follows `imfs_load_tar.c`: ustar headers of 512 B, names of up to 99 characters, directories, files, symbolic links; the
//! first bad header ends it.

use super::{Content, Imfs, ROOT};
use crate::bdbuf::Bdbuf;
use crate::libio::{S_IFDIR, S_IFLNK, S_IFREG};
use ffslab_fs::Errno;
use std::rc::Rc;

const RECORD_BYTES: usize = 512;
const NAME_BYTES: usize = 99;

fn octal(field: &[u8]) -> u64 {
    let digits = field.iter().skip_while(|&&c| c == b' ').take_while(|c| (b'0'..=b'7').contains(*c));
    digits.fold(0, |value, &digit| value * 8 + u64::from(digit - b'0'))
}

/// The sum of all bytes of a header, with blanks in place of the sum field itself.
fn checksum(header: &[u8]) -> u64 {
    header.iter().enumerate().map(|(at, &byte)| if (148..156).contains(&at) { 32 } else { u64::from(byte) }).sum()
}

fn text(field: &[u8]) -> &[u8] {
    &field[..field.iter().position(|&c| c == 0).unwrap_or(field.len())]
}

impl Imfs {
    /// Hangs the content of a tar image below the root. Stops at the first header that is not good; fails when a name
    /// cannot be made.
    pub fn load_tar(&mut self, cache: &Bdbuf, image: Rc<[u8]>) -> Result<(), Errno> {
        let now_s = cache.now_s();
        let mut offset = 0;
        while let Some(header) = image.get(offset..offset + RECORD_BYTES) {
            offset += RECORD_BYTES;
            if &header[257..262] != b"ustar" || checksum(header) != octal(&header[148..156]) {
                break;
            }
            let path = text(&header[..NAME_BYTES]);
            let mode = octal(&header[100..108]) as u32 & 0o777;
            let bytes = octal(&header[124..136]) as usize;
            match header[156] {
                b'5' => {
                    let (parent, name) = self.tar_parent(path)?;
                    match self.find(parent, name) {
                        _ if name.is_empty() => {}
                        Some(there) if self.is_directory(there) => {}
                        Some(_) => return Err(Errno::Exist),
                        None => {
                            let content = Content::Directory { entries: Vec::new(), mounted: None };
                            self.create(now_s, parent, name, S_IFDIR | 0o755, content)?;
                        }
                    }
                }
                b'0' => {
                    // A file that the end of the image cuts off is not loaded.
                    let Some(end) = offset.checked_add(bytes).filter(|&end| end <= image.len()) else { break };
                    let (parent, name) = self.tar_parent(path)?;
                    // A name that exists already is not replaced.
                    if self.find(parent, name).is_none() {
                        let content = Content::Linear { image: image.clone(), start: offset, bytes };
                        self.create(now_s, parent, name, S_IFREG | mode, content)?;
                    }
                    offset = end.next_multiple_of(RECORD_BYTES);
                }
                b'2' => {
                    let (parent, name) = self.tar_parent(path)?;
                    if self.find(parent, name).is_some() {
                        return Err(Errno::Exist);
                    }
                    let target = text(&header[157..257]).to_vec();
                    self.create(now_s, parent, name, S_IFLNK | 0o777, Content::Link(target))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The directory of a path in the image, and the last name of the path.
    fn tar_parent<'a>(&self, path: &'a [u8]) -> Result<(u32, &'a [u8]), Errno> {
        let mut names = path.split(|&c| c == b'/').filter(|name| !name.is_empty() && *name != b".");
        let mut parent = ROOT;
        let mut last = names.next().unwrap_or(b"");
        for name in names {
            parent = self.find(parent, last).filter(|&node| self.is_directory(node)).ok_or(Errno::NoEnt)?;
            last = name;
        }
        Ok((parent, last))
    }
}
