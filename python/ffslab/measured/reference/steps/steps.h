/* What the parts of the program share: the keys of the step that runs, clock, random numbers, results. */
#ifndef STEPS_H
#define STEPS_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

#define ROOT "/mnt"
/* A request has at most so many bytes. */
enum { PATH_BYTES = 512, SCRATCH_BYTES = 16 << 20 };
/* File systems at most, the root among them. */
enum { PLACES_MAX = 9 };

struct step { const char *name; void (*run)(void); };

/* Each ends with a name that is NULL. */
extern const struct step SYSTEM_STEPS[]; /* system.c: caches, time, programs */
extern const struct step MOUNT_STEPS[];  /* mounts.c: mounts, UBI, read-ahead */
extern const struct step FILE_STEPS[];   /* files.c: files and their data */
extern const struct step MAP_STEPS[];    /* map.c: mapped files */
extern const struct step MANY_STEPS[];   /* many.c: many small files */
extern const struct step NAME_STEPS[];   /* names.c: names, directories, attributes */
extern const struct step RAW_STEPS[];    /* raw.c: the partition itself */

/* ---- main.c -------------------------------------------------------------------------------------------------- */

extern char *scratch; /* SCRATCH_BYTES, for what is read */
extern int mounted;

/* Ends the run; the message is the last line of the results. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Ends the run when a call failed. */
void must(int result);
/* A fact about the step, "NAME=VALUE" in its line. */
void result(const char *name, uint64_t value);
void result_text(const char *name, const char *value);
void result_bytes(const char *name, const char *bytes, size_t count);

/* Values of the step's keys. `otherwise` NULL: the key must be there. */
const char *text(const char *name, const char *otherwise);
uint64_t number(const char *name, const char *otherwise);
/* Whether a list of words with commas holds a word. */
int has(const char *list, const char *word);

/* Puts bytes in place of %XX. */
char *decoded(char *value);

/* A line of the trace that is no step: events between "pause" and "resume" are not the file system's. */
void mark(const char *words);
uint64_t now_ns(void);
void sleep_us(uint64_t us);
/* Keeps the latency of a call that began then. */
void call_took(uint64_t from_ns);
uint64_t next_random(uint64_t *state);

/* ---- content.c ----------------------------------------------------------------------------------------------- */

/* Reads the bytes of which content of a kind is taken: the keys are kind, path, stride_B, modulo_B, and
   goes_on=1 if each piece begins where the last one of this kind ended. */
void step_content(void);
/* What was read for another process. */
void forget_content(void);
/* The next so many bytes of the step's content: the same that the simulator writes. */
const char *piece(uint64_t bytes);

/* ---- files.c ------------------------------------------------------------------------------------------------- */

struct open_file { char name[PATH_BYTES]; int fd, unnamed; };

/* The path of the name that a key holds. */
const char *path_in(const char *key);
/* The open file of a name, or NULL; open_file fails then. */
struct open_file *find_open(const char *name);
struct open_file *open_file(const char *name);
void close_all(void);
/* posix_fadvise(2), with a word for the advice; it returns the error. */
int advise_file(int fd, off_t at, off_t bytes, const char *word);
/* Whether a call that returned -1 failed as the step says (`fails`); anything else ends the run. */
int fails_as_told(int result, const char *what);
/* The place of access `i` in the pattern of the step, in accesses; the first one reads `order`. */
uint64_t slot_of(uint64_t i, uint64_t slots, uint64_t *state);
/* Writes all of it; short writes go on where they stopped. Returns what was written: less after ENOSPC. */
uint64_t write_all(int fd, uint64_t bytes, uint64_t at);

/* ---- names.c ------------------------------------------------------------------------------------------------- */

unsigned rename_flags(const char *words);
int xattr_flag(const char *word);

/* ---- mounts.c ------------------------------------------------------------------------------------------------ */

/* The file system of `[stack]`, the number of its partition's device, and of its volume. */
void root_is(const char *fs, int mtd, int volume);
/* A path in the file system of a name; the last two are kept. */
const char *path_of(const char *name);
/* The mount point of the file system that a name is in. */
const char *root_of(const char *name);
/* The character device of a partition: 0 is the root's; NULL behind the last one. The path is kept until the next call. */
const char *mtd_device(int number);
void umount_all(void);
/* All that are attached. */
void detach_ubi(void);

/* ---- system.c ------------------------------------------------------------------------------------------------ */

/* 1: pages, 2: names and inodes, 3: both. */
void drop_caches(const char *what);
/* What cannot be opened is left alone. */
void write_file(const char *path, const char *value);

/* ---- calls.c ------------------------------------------------------------------------------------------------- */

/* Makes the calls that the step's key `calls` names. */
void run_calls(void);

/* ---- programs.c ---------------------------------------------------------------------------------------------- */

/* Makes a program that is to run beside the measured steps. */
void step_program(void);
int has_programs(void);
/* Starts them: called before the first measured step. */
void start_programs(void);
/* Waits until all have ended that are not in the background. */
void join_programs(void);
/* Ends the others. */
void end_programs(void);

/* ---- main.c again -------------------------------------------------------------------------------------------- */

/* Of a process that is a program: its results go to this file, and nobody is told of its steps. */
void be_program(const char *out_path);
/* Runs a step of a file: "PHASE INDEX NAME key=value ...". */
void one_line(char *line);

#endif
