/* libffslab: a simulated flash chip for C programs, in virtual time.
 *
 * A program opens a partition of a part on a board, drives it, says why (labels), which of its calls took how long (calls), and writes a
 * results folder that the command `ffslab` reads. docs/libffslab.md of ffslab explains it with an example.
 *
 * Functions that can fail return 0 or more when they did not, else one of the negative codes below; ffslab_last_error() then says
 * it in a line of text. Addresses are bytes from the start of the partition. A chip may go from thread to thread, but two calls
 * on one chip at a time are refused (FFSLAB_EBUSY). Nothing is written to standard output or standard error, unless `ffslab crashtest`
 * records the chip and the journal cannot be written: that ends the process with a line and exit code 74.
 */
#ifndef FFSLAB_H
#define FFSLAB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header. A library of another one has functions that differ: compare it with ffslab_abi_version(). */
#define FFSLAB_ABI_VERSION 1

enum ffslab_error {
    FFSLAB_OK = 0,
    FFSLAB_EINPUT = -1,        /* text, number or state that does not fit */
    FFSLAB_ERANGE = -2,        /* beyond the partition */
    FFSLAB_EALIGN = -3,        /* not at a unit or erase block */
    FFSLAB_EPROGRAM = -4,      /* the chip says that a program failed */
    FFSLAB_EERASE = -5,        /* the chip says that an erase failed */
    FFSLAB_EECC = -6,          /* more bits are wrong than ECC can correct; the buffer has been filled nevertheless */
    FFSLAB_EBAD = -7,          /* the erase block is bad */
    FFSLAB_ERULE = -8,         /* the page was programmed before, or pages out of order */
    FFSLAB_ENOTSUP = -9,       /* the medium cannot do that */
    FFSLAB_EPOWER = -10,       /* the power was cut: ffslab_restart() */
    FFSLAB_EBUSY = -11,        /* another call on the chip is running */
    FFSLAB_EINTERNAL = -12     /* a mistake in libffslab; the chip can only be closed */
};

typedef struct ffslab_chip ffslab_chip;
typedef struct ffslab_snapshot ffslab_snapshot;

struct ffslab_geometry {
    uint64_t size_B;
    uint32_t erase_block_B;
    uint32_t blocks;
    uint32_t program_B;         /* unit of a program: a page of NAND, 1 of NOR */
    uint32_t partial_program_B; /* smallest part of a unit that can be programmed alone */
    uint32_t program_buffer_B;  /* what is programmed most efficiently at once */
    uint32_t oob_free_B;        /* out-of-band bytes of a unit that neither ECC nor bad block marks use */
    uint32_t clears_bits_again; /* 1: bits that are still 1 can be programmed to 0 later */
    uint32_t has_bad_blocks;    /* 1: erase blocks can be bad */
};

struct ffslab_counters {
    uint64_t page_reads, partial_page_reads, oob_reads;
    uint64_t page_programs, reprograms, oob_programs;
    uint64_t erases;
    uint64_t bus_out_B, bus_in_B;
    uint64_t chip_ns, driver_ns, cpu_ns;
};

/* What a call of the program is, in results. */
enum ffslab_op {
    FFSLAB_READ, FFSLAB_WRITE, FFSLAB_APPEND, FFSLAB_CREATE, FFSLAB_STAT, FFSLAB_UNLINK, FFSLAB_OPEN, FFSLAB_CLOSE, FFSLAB_SYNC,
    FFSLAB_PROGRAM, FFSLAB_ERASE, FFSLAB_OTHER, FFSLAB_RENAME, FFSLAB_LINK, FFSLAB_TRUNCATE, FFSLAB_MKDIR, FFSLAB_RMDIR,
    FFSLAB_READDIR
};

/* What becomes of the operation at which the power goes away. */
enum ffslab_torn { FFSLAB_TORN_NOTHING, FFSLAB_TORN_PARTIAL, FFSLAB_TORN_COMPLETE };

uint32_t ffslab_abi_version(void);

/* Opens a chip from keys of [stack] as in experiments, one a line: board, part, partition_blocks, first_block, erase_block_KiB ...
 * NULL: see ffslab_last_error(NULL). */
ffslab_chip *ffslab_open(const char *stack_toml);
void ffslab_close(ffslab_chip *chip);
/* The last failure of this chip, or with NULL of ffslab_open() and of calls without a chip. It stays valid until the next failure. */
const char *ffslab_last_error(const ffslab_chip *chip);
const char *ffslab_error_name(int error);

int ffslab_geometry(ffslab_chip *chip, struct ffslab_geometry *into);

/* Reads any bytes. More than 0: ECC corrected so many bits, and the block should be written anew. */
int ffslab_read(ffslab_chip *chip, uint64_t at, void *into, size_t bytes);
/* Programs whole units, or a part of one. */
int ffslab_program(ffslab_chip *chip, uint64_t at, const void *data, size_t bytes);
/* Erases the block that begins there. */
int ffslab_erase(ffslab_chip *chip, uint64_t at);
/* One unit and its free out-of-band bytes, from the first on. */
int ffslab_read_oob(ffslab_chip *chip, uint64_t at, void *into, size_t bytes, void *oob, size_t oob_bytes);
int ffslab_program_oob(ffslab_chip *chip, uint64_t at, const void *data, size_t bytes, const void *oob, size_t oob_bytes);
/* 1 if the block that holds the byte is bad, 0 if not. */
int ffslab_is_bad(ffslab_chip *chip, uint64_t at);
int ffslab_mark_bad(ffslab_chip *chip, uint64_t at);
int ffslab_sync(ffslab_chip *chip);

/* Virtual time since the chip was opened. */
uint64_t ffslab_now_ns(ffslab_chip *chip);
/* The program computes (the CPU is busy), or waits, for so long. */
int ffslab_think_ns(ffslab_chip *chip, uint64_t duration_ns);
int ffslab_sleep_ns(ffslab_chip *chip, uint64_t duration_ns);

/* The power goes away at this program or erase from now on (1: the next one, 0: at once); `seed` decides how a partial one is torn. */
int ffslab_cut_power_after(ffslab_chip *chip, uint64_t operations, enum ffslab_torn torn, uint64_t seed);
int ffslab_is_powered(ffslab_chip *chip);
/* Power is there again. Labels and a call that are open are closed. */
int ffslab_restart(ffslab_chip *chip);
/* Programs and erases so far, which ffslab_cut_power_after() counts. */
uint64_t ffslab_operations(ffslab_chip *chip);

/* A copy of the chip's contents and wear. Time and counters are not part of it. */
ffslab_snapshot *ffslab_snapshot_take(ffslab_chip *chip);
int ffslab_snapshot_restore(ffslab_chip *chip, const ffslab_snapshot *snapshot);
void ffslab_snapshot_free(ffslab_snapshot *snapshot);
/* Writes the partition's bytes to a file, each page followed by its out-of-band area if `oob`. */
int ffslab_save_image(ffslab_chip *chip, const char *file, int oob);

/* Since the chip was opened; with a label those of the label alone. */
int ffslab_counters(ffslab_chip *chip, struct ffslab_counters *into);
int ffslab_counters_of(ffslab_chip *chip, const char *label, struct ffslab_counters *into);
/* Erases of each block, of the first `blocks` ones. */
int ffslab_erase_counts(ffslab_chip *chip, uint32_t *into, size_t blocks);

/* What follows happens for this reason ("allocation scan"), until ffslab_because_end(). Labels nest; the innermost one counts. */
int ffslab_because(ffslab_chip *chip, const char *reason);
int ffslab_because_end(ffslab_chip *chip);
/* Causes by call site, for code without labels: from now on an operation outside of labels has its cause by the functions of the program that are
 * under way, as the symbols of the backtrace name them. Compile with -g so that inlined ones are seen, and with
 * -fno-optimize-sibling-calls so that those are whose last act is the call; do not strip.
 * `rules`: NULL, or lines "FUNCTION = CAUSE". The first line that fits one of the functions says the cause; "lfs_dir_*" fits all that begin so. Where none
 * fits, the cause is the name of the innermost function, but for those of lines without a cause ("lfs_bd_* ="); without symbols "other". */
int ffslab_callers(ffslab_chip *chip, const char *rules);

/* A measured step of the results begins. The first one begins the measurement; what was before it was setup. */
int ffslab_step(ffslab_chip *chip, const char *title);
/* A call of the program begins and ends: a row of the results with all flash operations in between. An operation outside of calls is a
 * row of its own. `name`: the file or key that it is about. */
int ffslab_call(ffslab_chip *chip, enum ffslab_op op, const char *name, uint64_t offset);
int ffslab_call_end(ffslab_chip *chip, uint64_t bytes);
int ffslab_title(ffslab_chip *chip, const char *title);
/* Writes what was measured to a new or empty folder, or over earlier results. */
int ffslab_results(ffslab_chip *chip, const char *folder);

#if defined(__GNUC__)
static inline void ffslab_scope_end_(ffslab_chip **chip) { if (*chip) ffslab_because_end(*chip); }
#define FFSLAB_JOIN2_(a, b) a##b
#define FFSLAB_JOIN_(a, b) FFSLAB_JOIN2_(a, b)
/* As ffslab_because(), until the end of the block in which it stands. */
#define FFSLAB_BECAUSE(chip, reason) \
    __attribute__((cleanup(ffslab_scope_end_), unused)) ffslab_chip *FFSLAB_JOIN_(ffslab_scope_, __LINE__) = \
        ffslab_because((chip), (reason)) == FFSLAB_OK ? (chip) : NULL
#endif

#ifdef __cplusplus
}
#endif

#endif
