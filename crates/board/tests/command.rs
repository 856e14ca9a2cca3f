//! The program itself; what it says of images is compared with the verbs in `tests/measured/test_board.py`.

use std::process::Command;

#[test]
fn it_says_who_it_is() {
    let board = env!("CARGO_BIN_EXE_ffslab-board");
    let said = Command::new(board).arg("--version").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), concat!("ffslab-board ", env!("CARGO_PKG_VERSION"), "\n"));
    let help = Command::new(board).arg("--help").output().unwrap();
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).starts_with("Usage: ffslab-board inspect"));
}
