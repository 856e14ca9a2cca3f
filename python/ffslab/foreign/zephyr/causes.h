/* What the flash operations of Zephyr's stores of numbers (NVS, ZMS) are for. CALLS_WATCHED is the function that deletes a key: a deletion
 * is an entry without data. It stands behind the sources of the store. */
#ifndef FFSLAB_ZEPHYR_CAUSES_H
#define FFSLAB_ZEPHYR_CAUSES_H

enum cause { OTHER, MOUNT, SEARCH, SET, DELETION, GET, ITERATE, CLOSE, GC, ERASE, MARK, HEADER };

#define CALLS_REFINED(on, cause) ((on)->watched && (cause) == SET ? DELETION : (cause))
#include "flash.h"

static const struct ffslab_cause CAUSES[] = {
    [OTHER] = {"other", "nothing says why", KIND_READING, FOR_COST},
    [MOUNT] = {"mount scan", "the sector that is written is looked for at a mount, and its last entry", KIND_MOUNTING, FOR_COST},
    [SEARCH] = {"key search", "the allocation table is walked for what the key had, and that is compared", KIND_READING, FOR_COST},
    [SET] = {"set", "a value that the program sets is written, with its entry of the allocation table", KIND_WRITING, FOR_WRITTEN_DATA},
    [DELETION] = {"deletion", "an entry without data says that a key is gone", KIND_WRITING, FOR_COST},
    [GET] = {"get", "the allocation table is walked for a key, and its value is read", KIND_READING, FOR_READ_DATA},
    [ITERATE] = {"iterate", "the allocation table is walked for all keys, and their values are read", KIND_READING, FOR_READ_DATA},
    [CLOSE] = {"sector close", "the last entry of a full sector says where its table ends", KIND_MANAGING, FOR_COST},
    [GC] = {"gc move", "values of the oldest sector that still count are copied into the new one", KIND_COLLECTING, FOR_COST},
    [ERASE] = {"sector erase", "a sector is erased and read to see that it is", KIND_ERASING, FOR_COST},
    [MARK] = {"gc mark", "an entry in an empty sector says that nothing is left to be collected", KIND_MANAGING, FOR_COST},
    [HEADER] = {"sector header", "a sector that was erased gets an entry with its count of cycles", KIND_MANAGING, FOR_COST},
};
#endif
