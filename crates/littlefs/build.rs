//! Compiles littlefs, whose C sources the registry crate `littlefs2-sys` carries, together with
//! functions of our own ([`OURS`]).
//!
//! Its functions say when they begin and end (`-finstrument-functions`), so that the causes of flash operations are known without a
//! change of its sources. Small functions, which would only take time, are left out where the compiler can do so.

use std::path::Path;

/// With the package, where `ffslab foreign build` finds it for other versions of littlefs.
const OURS: &str = "../../python/ffslab/foreign/littlefs";
/// What it has in common with other file systems in C.
const PATHS: &str = "../../python/ffslab/foreign/paths";

/// Functions that touch no flash or are many: parts of their names.
const QUIET: &str = "lfs_tag_,lfs_pair_,lfs_gstate_,lfs_cache_,lfs_ctz_index,lfs_alloc_lookahead,lfs_alloc_ckpoint,lfs_bd_,\
                     lfs_dir_traverse,lfs_dir_commit_,lfs_dir_commitattr,lfs_dir_commitprog,lfs_dir_get,lfs_dir_fetch,lfs_mlist_,\
                     lfs_fs_disk_version,lfs_fs_parent_match,lfs_dir_find_match,fromle32,tole32,fs_size_count";

fn main() {
    let sources = Path::new(littlefs2_sys::SOURCES);
    let mut build = cc::Build::new();
    build
        .file(format!("{OURS}/littlefs.c"))
        .include(sources)
        .include(PATHS)
        .std("c11")
        .define("LFS_MULTIVERSION", None)
        .define("LFS_NO_DEBUG", None)
        .define("LFS_NO_WARN", None)
        .define("LFS_NO_ERROR", None)
        .flag("-finstrument-functions")
        .flag_if_supported("-finstrument-functions-exclude-file-list=lfs_util")
        .flag_if_supported(format!("-finstrument-functions-exclude-function-list={QUIET}"))
        // Of the sources that are not ours.
        .flag_if_supported("-Wno-unused-function")
        .opt_level(2);
    println!("cargo::rerun-if-changed={OURS}");
    println!("cargo::rerun-if-changed={PATHS}");
    build.compile("ffslab_littlefs");
}
