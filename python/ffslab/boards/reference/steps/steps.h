/* What the parts of the program share: the keys of the step that runs, clock, random numbers, results. */
#ifndef STEPS_H
#define STEPS_H

#include <stdint.h>

#define ROOT "/mnt"
enum { PATH_BYTES = 512, CONTENT_BYTES = 8 << 20 };

struct step { const char *name; void (*run)(void); };

/* Each ends with a name that is NULL. */
extern const struct step SYSTEM_STEPS[]; /* system.c: mounts, UBI, caches, time */
extern const struct step FILE_STEPS[];   /* files.c: names and data */

/* ---- main.c -------------------------------------------------------------------------------------------------- */

extern char *content; /* of files: any bytes, since nothing depends on them without a compressor */
extern int mounted;

/* Ends the run; the message is the last line of the results. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Ends the run when a call failed. */
void must(int result);
/* A fact about the step, "NAME=VALUE" in its line. */
void result(const char *name, uint64_t value);
void result_text(const char *name, const char *value);

/* Values of the step's keys. `otherwise` NULL: the key must be there. */
const char *text(const char *name, const char *otherwise);
uint64_t number(const char *name, const char *otherwise);
/* Whether a list of words with commas holds a word. */
int has(const char *list, const char *word);

uint64_t now_ns(void);
void sleep_us(uint64_t us);
/* Keeps the latency of a call that began then. */
void call_took(uint64_t from_ns);
uint64_t next_random(uint64_t *state);

#endif
