//! For a system that stands before another one and changes some of its answers: what it passes on as it is.
//!
//! Whoever changes nothing derives that with `ambassador`, which passes on whole traits. These macros are for parts of one:
//! they make methods that go to `self.machine()` or `self.machine_mut()`. The names of types are those that the file imports.
//! That nothing is forgotten there is a check of the project (`tests/project/test_passing.py`).

/// Methods that ask by reference.
#[macro_export]
macro_rules! looks {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $value:ty;)+) => {
        $(fn $name(&self, $($argument: $type),*) -> $value {
            self.machine().$name($($argument),*)
        })+
    };
}

/// Methods that may change the machine.
#[macro_export]
macro_rules! asks {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $value:ty;)+) => {
        $(fn $name(&mut self, $($argument: $type),*) -> $value {
            self.machine_mut().$name($($argument),*)
        })+
    };
}

/// All of [`Calls`](crate::Calls) that takes no time, but for `now_ns`.
#[macro_export]
macro_rules! looks_of_calls {
    () => {
        $crate::looks! {
            fn system_name() -> &'static str;
            fn sim() -> &Sim;
            fn lacks(what: &'static str) -> Refusal;
            fn timer_slack_ns() -> u64;
            fn epoch_s() -> u64;
            fn is_unnamed(fd: Fd) -> bool;
            fn has_keys() -> bool;
        }
    };
}

/// All of [`System`](crate::System) that takes no time.
#[macro_export]
macro_rules! looks_of_system {
    () => {
        $crate::looks! {
            fn is_mounted() -> bool;
            fn is_powered() -> bool;
            fn modifying_operations() -> u64;
            fn counters() -> Vec<(&'static str, i64)>;
            fn blocks_to_format() -> u32;
            fn runs() -> Runs;
            fn file_bytes_max() -> u64;
            fn medium_bytes() -> u64;
            fn medium_bytes_at(path: &[u8]) -> u64;
            fn mounts_done() -> Vec<MountDone>;
            fn too_small() -> String;
            fn failure() -> Option<String>;
            fn mtd() -> Option<&Mtd>;
            fn erase_counts() -> Vec<u32>;
            fn formatting_erases() -> Vec<u32>;
            fn erases_left() -> Vec<u32>;
            fn levelling() -> Option<Levelling>;
            fn programmed_pages() -> Vec<u32>;
            fn block_space() -> Vec<BlockSpace>;
            fn image(oob: bool) -> Result<Vec<u8>, SystemError>;
            fn snapshot() -> Result<MediumImage, SystemError>;
        }
    };
}

/// Of [`System`](crate::System) what concerns the whole machine and no file.
#[macro_export]
macro_rules! asks_of_machine {
    () => {
        $crate::asks! {
            fn format() -> Result<(), SystemError>;
            fn crash() -> Result<(), SystemError>;
            fn cut_power_after(operations: u64, torn: Torn) -> Answer<()>;
            fn ubi_attach() -> Result<(), SystemError>;
            fn ubi_detach() -> Result<(), SystemError>;
            fn begin_stage(runs: Runs, fastmap: Option<bool>) -> Result<Option<&'static str>, SystemError>;
            fn ubi_read(volume: &str, bytes: Option<u64>) -> Result<u64, SystemError>;
            fn ubi_make_volume() -> Result<(), SystemError>;
            fn lies(time_s: f64, celsius: f64) -> Result<(), SystemError>;
            fn scrub() -> Result<(), SystemError>;
            fn unwritten() -> Unwritten;
            fn free_bytes() -> Option<u64>;
            fn wear_on(more_erases: &[u32]) -> Answer<()>;
            fn load(given: &ImageGiven, image: &[u8]) -> Result<(), SystemError>;
        }
    };
}
