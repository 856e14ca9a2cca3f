//! # bindgen: stands in for the real crate of this name
//!
//! **Role.** The registry crate `littlefs2-sys` carries the C sources of littlefs, and translates their header with bindgen, which
//! needs libclang. `ffslab-littlefs` compiles the sources itself, with a C interface of its own, and needs no translation. So this
//! crate takes bindgen's place (`[patch.crates-io]` of the workspace): the "bindings" that it writes say where the sources lie. No
//! machine needs libclang then, and fifteen crates less are compiled.
//!
//! **Follows.** The part of bindgen's interface that the build script of `littlefs2-sys` 0.4.0 calls.
//!
//! **Leaves out.** Everything else. Another crate of the workspace that needs the real bindgen of this version would find this one:
//! it ends with a message that says so.

use std::io;
use std::path::{Path, PathBuf};

/// Takes what is said of a header, and forgets it.
#[derive(Debug, Default)]
pub struct Builder(());

/// What is said of the sources.
#[derive(Debug)]
pub struct Bindings {
    sources: PathBuf,
}

impl Builder {
    pub fn header<T: Into<String>>(self, _header: T) -> Builder {
        self
    }

    pub fn clang_arg<T: Into<String>>(self, _argument: T) -> Builder {
        self
    }

    pub fn derive_default(self, _do_so: bool) -> Builder {
        self
    }

    pub fn use_core(self) -> Builder {
        self
    }

    pub fn allowlist_item<T: AsRef<str>>(self, _pattern: T) -> Builder {
        self
    }

    /// Looks for the sources beside the build script that calls.
    ///
    /// # Errors
    /// It is the build script of another crate.
    pub fn generate(self) -> io::Result<Bindings> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
        let sources = package.join("littlefs");
        if sources.join("lfs.c").is_file() {
            Ok(Bindings { sources })
        } else {
            Err(io::Error::other(format!(
                "{}: this is not the real bindgen, only what stands in for it in the build of littlefs2-sys (crates/bindgen)",
                package.display()
            )))
        }
    }
}

impl Bindings {
    /// # Errors
    /// The file cannot be written.
    pub fn write_to_file<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        let text = format!(
            "/// Where the C sources of littlefs lie on this machine.\npub const SOURCES: &str = {:?};\n",
            self.sources.display().to_string()
        );
        std::fs::write(path, text)
    }
}
