/* What Rust calls of a translation layer in a library of its own (crates/foreign/src/c/sectors.rs): sectors that can be overwritten, on flash.
 *
 * Results below zero are error numbers of Linux. */
#ifndef FFSLAB_SECTORS_H
#define FFSLAB_SECTORS_H

#include "device.h"

/* Of this interface: a library of another one is not loaded. */
#define FFSLAB_SECTORS_ABI 1

struct ffslab_sectors;

#endif
