//! What a board is used for, and the layers of its profile that hold only then: on one machine, a file system, a kernel or a size of
//! pages can cost another thing than the next one.

use crate::kernel::Yaffs2Version;
use schemars::JsonSchema;
use serde::Deserialize;

/// For what a board is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Circumstances<'a> {
    /// The file system; `None`: the partition is not mounted.
    pub fs: Option<&'a str>,
    /// "nand", "nor" and so on.
    pub medium: &'a str,
    /// The name of the kernel's profile.
    pub kernel: &'a str,
    pub page_bytes: u32,
    pub yaffs2_version: Yaffs2Version,
    /// The engine of error correction and how many bits of a step it corrects.
    pub ecc: &'a str,
    pub ecc_strength_bits: u32,
}

/// `when` of a layer: it holds if all that it says is so.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct When {
    /// Whether a file system is mounted.
    mounted: Option<bool>,
    /// One of these file systems is.
    fs: Option<Vec<String>>,
    /// What holds the partition: "nand", "nor".
    medium: Option<String>,
    /// Name of the kernel's profile.
    kernel: Option<String>,
    /// One of these ages of YAFFS2's sources.
    yaffs2_version: Option<Vec<Yaffs2Version>>,
    /// Bytes of a page at most.
    #[serde(rename = "page_max_B")]
    page_max_bytes: Option<u32>,
    /// Who corrects bit errors.
    ecc: Option<String>,
    /// How many bits of a step it corrects, at least and at most.
    ecc_strength_bits: Option<[u32; 2]>,
}

impl When {
    pub fn holds(&self, of: &Circumstances<'_>) -> bool {
        let is = |says: &Option<String>, what: &str| says.as_deref().is_none_or(|says| says == what);
        self.mounted.is_none_or(|mounted| mounted == of.fs.is_some())
            && self.fs.as_ref().is_none_or(|names| names.iter().any(|name| Some(name.as_str()) == of.fs))
            && is(&self.medium, of.medium)
            && is(&self.kernel, of.kernel)
            && self.yaffs2_version.as_ref().is_none_or(|versions| versions.contains(&of.yaffs2_version))
            && self.page_max_bytes.is_none_or(|bytes| of.page_bytes <= bytes)
            && is(&self.ecc, of.ecc)
            && self.ecc_strength_bits.is_none_or(|[least, most]| (least..=most).contains(&of.ecc_strength_bits))
    }
}
