//! The power is cut during programs and erases; nothing that was flushed is lost. A sample; all of it: example `power_cut_soak`.

use crate::support;

use ffslab_flash::{Faults, Weak};

#[test]
fn nothing_flushed_is_lost_whatever_the_settings() {
    let mut cuts = 0;
    for (setup, seed) in support::setups().iter().zip(1..) {
        cuts += support::cut_everywhere(setup, &Faults::default(), seed, 300, 30, 3);
    }
    assert!(cuts > 500, "only {cuts} cuts");
}

#[test]
fn nor_while_blocks_fail() {
    let weakpages = [20, 41, 77, 110].map(|number| Weak { number, good_operations: 4 });
    let weakblocks = [3, 9].map(|number| Weak { number, good_operations: 5 });
    let faults = Faults {
        badblocks: vec![6],
        weakpages: weakpages.to_vec(),
        weakblocks: weakblocks.to_vec(),
        ..Faults::default()
    };
    for (setup, seed) in support::setups().iter().zip(100..) {
        support::cut_everywhere(setup, &faults, seed, 300, 30, 9);
    }
}

/// A cut can leave a block that ends early. If each left another one, a device at a bad contact would have none left to write to.
#[test]
fn a_power_that_fails_again_and_again_uses_no_blocks_up() {
    for (setup, seed) in support::setups().iter().zip(200..) {
        support::cut_again_and_again(setup, seed, 150);
    }
}
