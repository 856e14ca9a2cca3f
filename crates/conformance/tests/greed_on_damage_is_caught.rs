//! Memory is measured for the whole process, so this check has a process of its own.

mod support;

use ffslab_conformance::hostile;
use std::sync::Arc;
use support::{Defect, LogSubject};

#[test]
fn an_allocation_as_large_as_the_damage_says_is_caught() {
    if ffslab_conformance::memory::peak().is_none() {
        println!("skipped: this system does not tell how much memory a process uses");
        return;
    }
    let options = hostile::Options { images: 40, ..hostile::Options::default() };
    if let Err(failure) = hostile::check(Arc::new(LogSubject(Defect::None)), &options) {
        panic!("{failure}");
    }
    match hostile::check(Arc::new(LogSubject(Defect::HugeAllocationOnDamage)), &options) {
        Ok(report) => panic!("not caught: {report:?}"),
        Err(failure) => assert!(failure.to_string().contains("the process grew"), "{failure}"),
    }
}
