//! Compiles the library that is preloaded into programs (`preload/sleeps.c`), which becomes a part of this crate.

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=preload/sleeps.c");
    let library = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where to build")).join("sleeps.so");
    let compiler = cc::Build::new().opt_level(2).pic(true).warnings(true).flag("-fvisibility=hidden").get_compiler();
    let mut command = compiler.to_command();
    let done =
        command.arg("-shared").arg("-o").arg(&library).arg("preload/sleeps.c").args(["-ldl", "-lpthread"]).status();
    assert!(done.is_ok_and(|status| status.success()), "preload/sleeps.c cannot be compiled: {command:?}");
}
