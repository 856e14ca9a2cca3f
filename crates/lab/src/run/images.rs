//! The steps that move files and images between the simulation and the computer it runs on.

use super::execute::failed;
use super::facts::Facts;
use super::outcome::SavedImage;
use super::runner::{Runner, Stop};
use crate::requests::CallOp;
use ffslab_system::{ImageGiven, OpenFlags, Refusal, System};
use ffslab_workload::host_tree::HostNode;
use ffslab_workload::{steps, Step};
use std::collections::BTreeSet;

type Done = Result<Facts, Stop>;

/// Flags of a file that is copied: O_WRONLY, O_CREAT, O_EXCL.
const CREATE_NEW: OpenFlags = OpenFlags { create: true, exclusive: true, ..OpenFlags::WRITE };

/// Limit for all images that one run saves together. They wait in memory for the end of the run.
const SAVED_BYTES_MAX: u64 = 2 << 30;

impl Runner<'_> {
    /// What is on the chip at this instant, without what waits in memory.
    pub(super) fn save_image(&mut self, step: &steps::SaveImage) -> Done {
        let image = self.system.image(step.oob)?;
        self.images.push(SavedImage { file: step.file.clone(), image });
        Ok(Facts::default())
    }

    /// What a programmer does to a chip before it is soldered, or again.
    pub(super) fn load(&mut self, step: &steps::Load) -> Done {
        let Some(image) = self.traces.image_of(step) else {
            return failed(format!("the image {} has not been read", step.image));
        };
        let given = ImageGiven {
            name: step.image.clone(),
            oob: step.oob,
            autoplace: step.autoplace,
            mtdparts: step.mtdparts.clone(),
            partition: step.partition.clone(),
            offset_bytes: step.offset_bytes,
            size_bytes: step.size_bytes,
        };
        self.system.load(&given, &image)?;
        Ok(Facts::default())
    }

    /// `cp -R` into the mounted file system.
    pub(super) fn copy_in(&mut self, step: &steps::CopyIn) -> Done {
        let Some(tree) = self.traces.tree_of(step) else {
            return failed(format!("the folder {} has not been read", step.from));
        };
        let request_bytes = step.request_bytes.0;
        let (mut files, mut written_bytes) = (0, 0);
        for entry in &tree.entries {
            let mut path = step.dir.clone().into_bytes();
            path.push(b'/');
            path.extend_from_slice(&entry.path);
            let name = String::from_utf8_lossy(&path).into_owned();
            let named = |error: Refusal| format!("{name}: {error}");
            match &entry.node {
                HostNode::Directory => {
                    self.call(CallOp::Mkdir, &name, |system| system.mkdir(&path, entry.permissions)).map_err(named)?
                }
                HostNode::Symlink(target) => {
                    self.call(CallOp::Link, &name, |system| system.symlink(target, &path)).map_err(named)?
                }
                HostNode::File(data) => {
                    let opened = |system: &mut dyn System| system.open(&path, CREATE_NEW, entry.permissions);
                    let fd = self.call(CallOp::Open, &name, opened).map_err(named)?;
                    let mut at = 0;
                    while at < data.len() {
                        let piece = &data[at..data.len().min(at + request_bytes as usize)];
                        let row = (CallOp::Write, &name[..], at as u64);
                        match self.moving(row, |system| system.write(fd, piece), |&written| written as u64) {
                            Ok(written) => at += written,
                            Err(error) => {
                                let short = self.short_of(error, at as u64, data.len() as u64);
                                return failed(format!("{name}: {short}"));
                            }
                        }
                    }
                    self.close(fd, &name).map_err(named)?;
                    files += 1;
                    written_bytes += data.len() as u64;
                }
            }
            self.tick()?;
        }
        Ok(Facts::of_files(files, written_bytes))
    }
}

/// Checks that all images of `save_image` steps can be kept: two steps of a variant must not use the same name, and all
/// images together must fit in memory.
///
/// Errors: one line.
pub(crate) fn check_saves<'a>(
    steps: impl Iterator<Item = &'a Step>,
    partition_bytes: u64,
    variants: u64,
) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for step in steps {
        let Step::SaveImage(save) = step else { continue };
        if !names.insert(&save.file) {
            return Err(format!("two save_image steps have the file \"{}\": give each its own", save.file));
        }
    }
    let bytes = names.len() as u64 * partition_bytes * variants;
    if bytes > SAVED_BYTES_MAX {
        let (count, mib) = (names.len() as u64 * variants, bytes >> 20);
        let text =
            format!("save_image: {count} images would take {mib} MiB, {} MiB is the limit", SAVED_BYTES_MAX >> 20);
        return Err(text + ": save fewer, or vary fewer values");
    }
    Ok(())
}
