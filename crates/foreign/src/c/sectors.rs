//! A translation layer in a library: sectors that can be overwritten (`python/ffslab/foreign/paths/sectors.h`).

use super::{functions, loaded, made, RawCause, RawDevice, RawSetting, Told};
use crate::device::Device;
use crate::guard::Guarded;
use crate::libraries::LoadError;
use ffslab_sim::Reason;
use std::path::Path;
use std::ptr::NonNull;

#[repr(C)]
struct RawSectors {
    _private: [u8; 0],
}

functions! {
    fn ffslab_sectors_abi() -> u32;
    fn ffslab_sectors_causes(*mut u32) -> *const RawCause;
    fn ffslab_sectors_new(*const RawDevice, *const RawSetting, u32) -> *mut RawSectors;
    fn ffslab_sectors_free(*mut RawSectors);
    fn ffslab_sectors_open(*mut RawSectors) -> i64;
    fn ffslab_sectors_count(*mut RawSectors) -> u32;
    fn ffslab_sectors_read(*mut RawSectors, u32, *mut u8) -> i64;
    fn ffslab_sectors_write(*mut RawSectors, u32, *const u8) -> i64;
    fn ffslab_sectors_trim(*mut RawSectors, u32) -> i64;
    fn ffslab_sectors_sync(*mut RawSectors) -> i64;
}

/// The code of a translation layer, as a library has it, and its causes.
pub(crate) struct Code {
    f: Guarded<Functions>,
    pub causes: Vec<&'static Reason>,
}

/// Of this interface (`FFSLAB_SECTORS_ABI`).
const ABI: u32 = 1;

/// The code of a library, which stays loaded.
///
/// Errors: it cannot be loaded, lacks a function, or was built for another ffslab.
pub(crate) fn load(file: &Path) -> Result<Code, LoadError> {
    // What makes it sound is that the user has built it with `ffslab foreign build`: it runs as code of the user does.
    unsafe {
        let told = |f: &Functions| Told { abi: f.ffslab_sectors_abi, causes: f.ffslab_sectors_causes };
        let (f, causes) = loaded(file, ABI, |library| Functions::of(library), told)?;
        Ok(Code { f: Guarded::of(f, file), causes })
    }
}

/// A translation layer on a device. Sectors have the size of what the device programs at once.
pub(crate) struct Sectors {
    code: &'static Code,
    raw: NonNull<RawSectors>,
    /// Where C points to, so it stays where it is until the end.
    device: NonNull<Device>,
    sector_bytes: usize,
}

impl Sectors {
    /// `None`: it has no memory, or cannot take such settings.
    pub fn new(code: &'static Code, settings: &[(&'static str, i64)], device: Device) -> Option<Sectors> {
        let sector_bytes = device.below().program_bytes() as usize;
        let call = code.f.call();
        let (raw, device) = unsafe {
            made(settings, device, |device, settings, count| (call.ffslab_sectors_new)(device, settings, count))
        }?;
        Some(Sectors { code, raw, device, sector_bytes })
    }

    pub fn device(&self) -> &Device {
        unsafe { self.device.as_ref() }
    }

    pub fn open(&mut self) -> i64 {
        unsafe { (self.code.f.call().ffslab_sectors_open)(self.raw.as_ptr()) }
    }

    pub fn count(&mut self) -> u32 {
        unsafe { (self.code.f.call().ffslab_sectors_count)(self.raw.as_ptr()) }
    }

    pub fn read(&mut self, sector: u32, into: &mut [u8]) -> i64 {
        assert_eq!(into.len(), self.sector_bytes, "C fills a sector");
        unsafe { (self.code.f.call().ffslab_sectors_read)(self.raw.as_ptr(), sector, into.as_mut_ptr()) }
    }

    pub fn write(&mut self, sector: u32, data: &[u8]) -> i64 {
        assert_eq!(data.len(), self.sector_bytes, "C takes a sector");
        unsafe { (self.code.f.call().ffslab_sectors_write)(self.raw.as_ptr(), sector, data.as_ptr()) }
    }

    pub fn trim(&mut self, sector: u32) -> i64 {
        unsafe { (self.code.f.call().ffslab_sectors_trim)(self.raw.as_ptr(), sector) }
    }

    pub fn sync(&mut self) -> i64 {
        unsafe { (self.code.f.call().ffslab_sectors_sync)(self.raw.as_ptr()) }
    }
}

impl Drop for Sectors {
    /// Nothing is written.
    fn drop(&mut self) {
        unsafe {
            (self.code.f.call().ffslab_sectors_free)(self.raw.as_ptr());
            drop(Box::from_raw(self.device.as_ptr()));
        }
    }
}
