//! What a library answers: numbers of Linux, and what its device said meanwhile.

use crate::device::Device;
use ffslab_fs::Errno;
use ffslab_mtd::MtdError;
use thiserror::Error;

/// Why there is no mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MountError {
    #[error("{fs} takes no such settings, or has no memory")]
    Settings { fs: &'static str },
    #[error("the partition holds no {fs} that could be mounted")]
    NoFileSystem { fs: &'static str },
    #[error("{0}")]
    Medium(MtdError),
    /// What stands between it and the flash cannot.
    #[error("{0}")]
    Translation(String),
    #[error("{fs} does not come to an end: the program would hang")]
    Endless { fs: &'static str },
    #[error("{fs} answers error {code} of Linux")]
    Other { fs: &'static str, code: i64 },
}

/// `ENODATA`: there is no file system on the medium.
const NO_FILE_SYSTEM: i64 = -61;
/// `EDEADLK`: all sectors of a store of Zephyr are closed, which none leaves behind.
const NO_STORE: i64 = -35;
/// `ENOTSUP` and `ENOMSG`: what ZMS and FCB find is none of theirs.
const NOT_THEIRS: [i64; 2] = [-95, -42];
/// `ETIME`: the code would not have come to an end.
const ENDLESS: i64 = -62;

/// What a format or mount says.
pub(crate) fn answer(fs: &'static str, device: &Device, code: i64) -> Result<(), MountError> {
    match (code, device.take_failure()) {
        (0.., _) => Ok(()),
        (_, Some(failure)) => Err(MountError::Medium(failure)),
        (NO_FILE_SYSTEM | NO_STORE, None) => Err(MountError::NoFileSystem { fs }),
        (code, None) if NOT_THEIRS.contains(&code) => Err(MountError::NoFileSystem { fs }),
        (ENDLESS, None) => Err(MountError::Endless { fs }),
        (code, None) => Err(MountError::Other { fs, code }),
    }
}

/// What a call of a mounted file system or store gave back.
pub(crate) fn done(device: &Device, code: i64) -> Result<u64, Errno> {
    let failure = device.take_failure();
    match code {
        0.. => Ok(code as u64),
        _ if failure == Some(MtdError::PowerCut) => Err(Errno::PowerCut),
        _ => Err(errno(code)),
    }
}

/// The error of a number of Linux. Others are errors of the medium to a program.
fn errno(code: i64) -> Errno {
    match code {
        -2 => Errno::NoEnt,
        -7 => Errno::TooBig,
        -9 => Errno::BadF,
        -12 => Errno::NoMem,
        -13 => Errno::Acces,
        -16 => Errno::Busy,
        -17 => Errno::Exist,
        -20 => Errno::NotDir,
        -21 => Errno::IsDir,
        -22 => Errno::Inval,
        -23 => Errno::NFile,
        -27 => Errno::FBig,
        -28 => Errno::NoSpc,
        -36 => Errno::NameTooLong,
        -38 => Errno::NoSys,
        -39 => Errno::NotEmpty,
        NO_FILE_SYSTEM => Errno::NoData,
        _ => Errno::Io,
    }
}
