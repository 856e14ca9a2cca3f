/* Runs the steps of an experiment on the file system of a real kernel; the steps and their meaning are those of measured
 * cases. One process runs all steps. Compiled statically, so that it runs in any guest.
 *
 *   steps FILE OUT MARKER > PROGRESS
 *
 * FILE: a step a line, "PHASE INDEX NAME key=value ...", with %XX for a byte that a value cannot hold there. OUT gets a line for each step and the
 * latencies in nanoseconds; MARKER (a trace_marker of the kernel) a line "PHASE INDEX NAME" at the start of each step and
 * "end" after the last one, among the events of the trace; PROGRESS the same lines
 * after the word "at", for people. Memory for latencies is
 * taken before the first step. Exit status 1: a step failed otherwise than it was told to; the last line of OUT says which.
 *
 * This file reads the steps and writes the results; content.c has the bytes that they write; the other files are the steps.
 */
#define _GNU_SOURCE
#include "steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

enum { KEYS_MAX = 32, LATENCIES_MAX = 4 << 20 };

char *scratch;
int mounted;
static FILE *out;
static int marker;
static uint32_t *latency_ns;
static size_t latencies;
/* Whether this process is a program beside the measured steps, of which no latencies are kept. */
static int is_program;
static char step_name[128];

/* ---- results ------------------------------------------------------------------------------------------------------- */

void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(out, "\nfailed %s: ", step_name);
    vfprintf(out, format, args);
    fprintf(out, "\n");
    fclose(out);
    /* Not exit(3): a program beside the measured steps shares the place in files that they read. */
    _exit(1);
}

void be_program(const char *out_path)
{
    is_program = 1;
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    marker = nowhere;
    close_all();
    forget_content();
    out = fopen(out_path, "w");
    if (!out)
        _exit(1);
}

void must(int result)
{
    if (result < 0)
        fail("%s", strerror(errno));
}

void result(const char *name, uint64_t value)
{
    fprintf(out, " %s=%llu", name, (unsigned long long)value);
}

void result_text(const char *name, const char *value)
{
    fprintf(out, " %s=%s", name, value);
}

void result_bytes(const char *name, const char *bytes, size_t count)
{
    fprintf(out, " %s=", name);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%02x", (unsigned char)bytes[i]);
}

void mark(const char *words)
{
    dprintf(marker, "%s\n", words);
}

/* ---- keys of a step ------------------------------------------------------------------------------------------------ */

static struct { const char *name, *value; } keys[KEYS_MAX];
static int key_count;

const char *text(const char *name, const char *otherwise)
{
    for (int i = 0; i < key_count; i++)
        if (strcmp(keys[i].name, name) == 0)
            return keys[i].value;
    if (!otherwise)
        fail("key %s is missing", name);
    return otherwise;
}

uint64_t number(const char *name, const char *otherwise)
{
    return strtoull(text(name, otherwise), NULL, 10);
}

int has(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == 0))
            return 1;
    return 0;
}

/* ---- clock, random numbers ----------------------------------------------------------------------------------------- */

uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sleep_us(uint64_t us)
{
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    if (us)
        while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
            ;
}

void call_took(uint64_t from_ns)
{
    uint64_t took_ns = now_ns() - from_ns;
    if (is_program)
        return;
    if (latencies == LATENCIES_MAX)
        fail("more than %d calls", LATENCIES_MAX);
    latency_ns[latencies++] = took_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)took_ns;
}

/* splitmix64, as measured cases say. */
uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

char *decoded(char *value)
{
    char *to = value;
    for (const char *from = value; *from; from++) {
        unsigned byte;
        if (*from == '%' && sscanf(from + 1, "%2x", &byte) == 1) {
            *to++ = (char)byte;
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = 0;
    return value;
}

/* ---- all steps ----------------------------------------------------------------------------------------------------- */

static void run_step(const char *name)
{
    if (*text("calls", "") == '/') {
        run_calls();
        return;
    }
    const struct step *const tables[] = {SYSTEM_STEPS, MOUNT_STEPS, FILE_STEPS, MAP_STEPS, MANY_STEPS, NAME_STEPS, RAW_STEPS};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct step *step = tables[i]; step->name; step++)
            if (strcmp(step->name, name) == 0) {
                step->run();
                return;
            }
    fail("no such step");
}

void one_line(char *line)
{
    char phase[16] = "", *word;
    int index = 0;
    key_count = 0;
    snprintf(phase, sizeof phase, "%s", strtok(line, " \n"));
    index = atoi(strtok(NULL, " \n"));
    const char *name = strtok(NULL, " \n");
    snprintf(step_name, sizeof step_name, "%s step %d (%s)", phase, index + 1, name);
    while ((word = strtok(NULL, " \n")) != NULL && key_count < KEYS_MAX) {
        char *equals = strchr(word, '=');
        *equals = 0;
        keys[key_count].name = word;
        keys[key_count++].value = decoded(equals + 1);
    }
    if (strcmp(phase, "measure") == 0 && index == 0)
        start_programs();
    size_t first = latencies;
    fprintf(out, "step %s %d", phase, index);
    /* Before the marker, so that what it costs stands in no step. */
    dprintf(STDOUT_FILENO, "at %s %d %s\n", phase, index, name);
    dprintf(marker, "%s %d %s\n", phase, index, name);
    uint64_t from_ns = now_ns();
    run_step(name);
    uint64_t to_ns = now_ns();
    fprintf(out, " from_ns=%llu to_ns=%llu", (unsigned long long)from_ns, (unsigned long long)to_ns);
    fprintf(out, " first_latency=%zu latencies=%zu", first, latencies - first);
    struct statfs space;
    if (mounted && statfs(ROOT, &space) == 0)
        fprintf(out, " fs_free_B=%llu", (unsigned long long)space.f_bfree * (unsigned long long)space.f_bsize);
    fprintf(out, "\n");
}

int main(int argc, char **argv)
{
    if (argc != 4 || !(out = fopen(argv[2], "w"))) {
        fprintf(stderr, "usage: steps FILE OUT MARKER > PROGRESS\n");
        return 2;
    }
    FILE *steps = fopen(argv[1], "r");
    marker = open(argv[3], O_WRONLY);
    scratch = malloc(SCRATCH_BYTES);
    latency_ns = calloc(LATENCIES_MAX, sizeof *latency_ns);
    if (!steps || marker < 0 || !scratch || !latency_ns)
        fail("%s or %s: %s", argv[1], argv[3], strerror(errno));
    memset(scratch, 1, SCRATCH_BYTES);
    /* Everything is in memory before the first step, this program's own pages included. */
    mlockall(MCL_CURRENT);
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, steps) > 0)
        one_line(line);
    if (has_programs()) {
        mark("joining");
        join_programs();
    }
    dprintf(marker, "end\n");
    end_programs();
    for (size_t i = 0; i < latencies; i++)
        fprintf(out, "%u\n", latency_ns[i]);
    fprintf(out, "done\n");
    return fclose(out) != 0;
}
