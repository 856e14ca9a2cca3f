//! The profiles that are part of the binary.

use crate::kernel::LINUX;
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Part,
    Board,
    Kernel,
    /// Times of code on a board with RTEMS.
    RtemsBoard,
    BlockDevice,
    /// A class of flash controllers with their driver (`classes`).
    Controller,
    /// A class of CPUs.
    Core,
}

impl Kind {
    pub const ALL: [Kind; 7] =
        [Kind::Part, Kind::Board, Kind::Kernel, Kind::RtemsBoard, Kind::BlockDevice, Kind::Controller, Kind::Core];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Part => "part",
            Kind::Board => "board",
            Kind::Kernel => "kernel",
            Kind::RtemsBoard => "board with RTEMS",
            Kind::BlockDevice => "block device",
            Kind::Controller => "controller",
            Kind::Core => "core",
        }
    }

    /// The folder of the built-in profiles of this kind; kernels stand in one file.
    pub fn folder(self) -> &'static str {
        match self {
            Kind::Part => "parts",
            Kind::Board | Kind::RtemsBoard => "boards",
            Kind::Kernel => "kernels",
            Kind::BlockDevice => "block-devices",
            Kind::Controller => "controllers",
            Kind::Core => "cores",
        }
    }
}

/// Those of the repository's folder `profiles/` with a file each (`build.rs`).
const FILES: &[(Kind, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/built_in.rs"));

/// The versions of Linux that are listed, with what a file of each would say.
static KERNELS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    LINUX.names().into_iter().filter_map(|name| LINUX.profile(&name).map(|text| (name, text))).collect()
});

/// All built-in profiles, each with its kind, name and text, in the order in which people read them.
pub(crate) static BUILT_IN: LazyLock<Vec<(Kind, &'static str, &'static str)>> = LazyLock::new(|| {
    let (before, behind): (Vec<_>, Vec<_>) =
        FILES.iter().partition(|(kind, ..)| matches!(kind, Kind::Board | Kind::Part));
    let kernels = KERNELS.iter().map(|(name, text)| (Kind::Kernel, name.as_str(), text.as_str()));
    before.into_iter().chain(kernels).chain(behind).collect()
});

/// Whether a profile is named by the path of its file, and not by the name of a built-in one.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

/// The names of the built-in profiles of a kind.
pub(crate) fn names(kind: Kind) -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().filter(move |(k, _, _)| *k == kind).map(|(_, name, _)| *name)
}

/// The kind of the built-in profile of this name; every version of Linux whose rules are known is one, listed or not.
pub(crate) fn kind_of_built_in(name: &str) -> Option<Kind> {
    let listed = BUILT_IN.iter().find(|(_, one, _)| *one == name).map(|(kind, ..)| *kind);
    listed.or_else(|| LINUX.series(name).map(|_| Kind::Kernel))
}
