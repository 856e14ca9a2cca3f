/* Steps that are about files: making, opening, reading and writing them. */
#define _GNU_SOURCE
#include "steps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { OPEN_MAX_FILES = 16 };

const char *path_in(const char *key)
{
    return path_of(text(key, NULL));
}

static struct open_file open_files[OPEN_MAX_FILES];

struct open_file *find_open(const char *name)
{
    for (int i = 0; i < OPEN_MAX_FILES; i++)
        if (open_files[i].name[0] && strcmp(open_files[i].name, name) == 0)
            return &open_files[i];
    return NULL;
}

struct open_file *open_file(const char *name)
{
    struct open_file *found = find_open(name);
    if (!found)
        fail("%s is not open", name);
    return found;
}

void close_all(void)
{
    for (int i = 0; i < OPEN_MAX_FILES; i++)
        if (open_files[i].name[0]) {
            close(open_files[i].fd);
            open_files[i].name[0] = 0;
        }
}

/* Whether a call that returned -1 failed as the step says (`fails`); anything else ends the run. */
int fails_as_told(int result, const char *what)
{
    const char *told = text("fails", "");
    if (result >= 0) {
        if (*told)
            fail("%s: %s was expected", what, told);
        return 0;
    }
    /* Linux has one number for both names. */
    const char *name = errno == EOPNOTSUPP ? "ENOTSUP" : strerrorname_np(errno);
    if (strcmp(told, name) != 0)
        fail("%s: %s", what, strerror(errno));
    return 1;
}

uint64_t write_all(int fd, uint64_t bytes, uint64_t at)
{
    uint64_t done = 0;
    while (done < bytes) {
        ssize_t n = pwrite(fd, piece(bytes - done), bytes - done, (off_t)(at + done));
        if (n < 0 && errno == ENOSPC)
            return done;
        if (n < 0)
            fail("write: %s", strerror(errno));
        done += (uint64_t)n;
    }
    return done;
}

static int create(const char *name, int flags)
{
    int fd = open(path_of(name), O_WRONLY | O_CREAT | flags, 0644);
    if (fd < 0)
        fail("open %s: %s", name, strerror(errno));
    return fd;
}

/* ---- data ---------------------------------------------------------------------------------------------------------- */

static void step_create(void)
{
    uint64_t bytes = number("bytes", NULL), request_B = number("request_B", "65536"), at = 0;
    int fd = create(text("file", NULL), O_TRUNC);
    while (at < bytes) {
        uint64_t part = bytes - at < request_B ? bytes - at : request_B;
        uint64_t done = write_all(fd, part, at);
        at += done;
        if (done < part) {
            errno = ENOSPC;
            fails_as_told(-1, "write");
            break;
        }
    }
    close(fd);
    result("bytes", at);
}

/* `occupy` with of = "df": writes until df shows a percentage, in ever smaller pieces, because a file system takes more than the data. The simulator's
   step does the same calls. */
#define DF_TOLERANCE_PERCENT 0.5

static void step_occupy(void)
{
    const char *percent = text("percent", NULL);
    uint64_t request_B = number("request_B", "65536"), at = 0;
    int fd = create(text("file", NULL), O_TRUNC);
    for (;;) {
        struct statfs space;
        sync();
        must(statfs(root_of(text("file", NULL)), &space));
        double used = space.f_blocks > space.f_bfree ? (double)(space.f_blocks - space.f_bfree) : 0;
        double missing = (double)space.f_blocks * strtod(percent, NULL) / 100 - used;
        if (missing <= (double)space.f_blocks * DF_TOLERANCE_PERCENT / 100)
            break;
        double piece_B = missing * (double)space.f_bsize * 0.9;
        uint64_t left = (uint64_t)piece_B + (piece_B > (double)(uint64_t)piece_B);
        while (left > 0) {
            uint64_t part = left < request_B ? left : request_B, done = write_all(fd, part, at);
            at += done;
            left -= done;
            if (done < part)
                fail("occupy: no space before df shows %s %%: a smaller percent is needed", percent);
        }
    }
    close(fd);
    result("bytes", at);
}

static void step_fill(void)
{
    uint64_t request_B = number("request_B", "65536"), at = 0, done;
    int fd = create(text("file", NULL), O_TRUNC);
    do {
        done = write_all(fd, request_B, at);
        at += done;
    } while (done == request_B);
    close(fd);
    result("fill_bytes", at);
}

static void step_create_fragmented(void)
{
    uint64_t bytes = number("bytes", NULL), state = number("seed", "1"), n = 0, at = 0;
    struct { uint64_t at, bytes; } *pieces = calloc(bytes / 512 + 1, sizeof *pieces), held;
    for (; at < bytes; n++) {
        uint64_t piece_B = 512u << (next_random(&state) % 4);
        pieces[n].at = at;
        pieces[n].bytes = piece_B < bytes - at ? piece_B : bytes - at;
        at += pieces[n].bytes;
    }
    for (uint64_t i = n - 1; i >= 1; i--) {
        uint64_t j = next_random(&state) % (i + 1);
        held = pieces[i], pieces[i] = pieces[j], pieces[j] = held;
    }
    int fd = create(text("file", NULL), O_TRUNC);
    for (uint64_t i = 0; i < n; i++)
        if (write_all(fd, pieces[i].bytes, pieces[i].at) < pieces[i].bytes || fsync(fd) < 0)
            fail("no room after %llu pieces", (unsigned long long)i);
    close(fd);
    free(pieces);
    result("fragment_pieces", n);
}

static void step_open(void)
{
    const char *words = text("flags", ""), *name = text("file", NULL), *path = path_of(name);
    int flags = has(words, "rdwr") ? O_RDWR : has(words, "wronly") ? O_WRONLY : O_RDONLY;
    flags |= has(words, "create") ? O_CREAT : 0;
    flags |= has(words, "truncate") ? O_TRUNC : 0;
    flags |= has(words, "append") ? O_APPEND : 0;
    flags |= has(words, "sync") ? O_SYNC : 0;
    flags |= has(words, "direct") ? O_DIRECT : 0;
    if (has(words, "tmpfile")) {
        flags |= O_TMPFILE;
        *strrchr(path, '/') = 0;
    }
    int fd = open(path, flags, 0644);
    if (fails_as_told(fd, name))
        return;
    for (int i = 0; i < OPEN_MAX_FILES; i++)
        if (!open_files[i].name[0]) {
            snprintf(open_files[i].name, PATH_BYTES, "%s", name);
            open_files[i].fd = fd;
            open_files[i].unnamed = (flags & O_TMPFILE) == O_TMPFILE;
            return;
        }
    fail("more than %d files are open", OPEN_MAX_FILES);
}

static void step_close(void)
{
    struct open_file *open = open_file(text("file", NULL));
    close(open->fd);
    open->name[0] = 0;
}

uint64_t slot_of(uint64_t i, uint64_t slots, uint64_t *state)
{
    static uint64_t *order, places;
    const char *pattern = text("pattern", NULL);
    if (strcmp(pattern, "random") == 0)
        return next_random(state) % slots;
    if (strcmp(pattern, "listed") != 0)
        return i % slots;
    if (i == 0) {
        places = 0;
        for (const char *at = text("order", NULL); at; at = strchr(at, ',')) {
            order = realloc(order, (places + 1) * sizeof *order);
            order[places++] = strtoull(at += *at == ',', NULL, 10);
        }
    }
    return order[i % places];
}

/* One request. Unless it is positioned, a read(2) or write(2), behind an lseek(2) if the file is elsewhere. */
static ssize_t request(int fd, int writes, int positioned, int is_there, const char *data, uint64_t bytes, off_t at)
{
    if (positioned)
        return writes ? pwrite(fd, data, bytes, at) : pread(fd, scratch, bytes, at);
    if (!is_there && lseek(fd, at, SEEK_SET) < 0)
        return -1;
    return writes ? write(fd, data, bytes) : read(fd, scratch, bytes);
}

static void step_requests(void)
{
    int fd = open_file(text("file", NULL))->fd, positioned = strcmp(text("calls", "pread"), "pread") == 0;
    int alternates = strcmp(text("op", NULL), "alternate") == 0, writes = strcmp(text("op", NULL), "write") == 0;
    int sequential = strcmp(text("pattern", NULL), "sequential") == 0;
    uint64_t request_B = number("request_B", NULL), count = number("count", NULL), state = number("seed", "1");
    uint64_t gap_us = number("gap_us", "0"), range_B = number("range_B", "0"), done = 0, accepted = 0;
    const char *stopped = NULL;
    struct stat status;
    if (!range_B && fstat(fd, &status) == 0)
        range_B = (uint64_t)status.st_size;
    uint64_t slots = range_B / request_B, started_ns = now_ns();
    if (!slots || request_B > SCRATCH_BYTES)
        fail("requests of %llu B do not fit", (unsigned long long)request_B);
    for (off_t position = positioned ? 0 : lseek(fd, 0, SEEK_CUR); done < count; done++) {
        off_t at = (off_t)(slot_of(done, slots, &state) * request_B);
        int write_this = alternates ? done % 2 == 1 : writes;
        const char *data = write_this ? piece(request_B) : NULL;
        uint64_t from_ns = now_ns();
        ssize_t n = request(fd, write_this, positioned, sequential && position == at, data, request_B, at);
        if (n < 0) {
            stopped = strerrorname_np(errno);
            break;
        }
        call_took(from_ns);
        position = at + n;
        accepted += (uint64_t)n;
        sleep_us(gap_us);
    }
    result("elapsed_ns", now_ns() - started_ns);
    result("requests_done", done);
    result("bytes_accepted", accepted);
    if (stopped)
        result_text("stopped_by", stopped);
}

static void step_append(void)
{
    const char *how = text("sync", "none"), *name = text("file", NULL);
    uint64_t request_B = number("request_B", NULL), count = number("count", NULL), gap_us = number("gap_us", "0");
    uint64_t started_ns = now_ns();
    int fd = open_file(name)->fd;
    off_t end = lseek(fd, 0, SEEK_END);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t from_ns = now_ns();
        if (write_all(fd, request_B, (uint64_t)end) < request_B)
            fail("no room after %llu of %llu", (unsigned long long)i, (unsigned long long)count);
        end += (off_t)request_B;
        if (strcmp(how, "fsync") == 0)
            must(fsync(fd));
        else if (strcmp(how, "fdatasync") == 0)
            must(fdatasync(fd));
        else if (strcmp(how, "sync") == 0)
            sync();
        call_took(from_ns);
        sleep_us(gap_us);
    }
    result("elapsed_ns", now_ns() - started_ns);
}

static void step_fsync(void)
{
    fails_as_told(fsync(open_file(text("file", NULL))->fd), "fsync");
}

static void step_ftruncate(void)
{
    fails_as_told(ftruncate(open_file(text("file", NULL))->fd, (off_t)number("bytes", NULL)), "ftruncate");
}

static void step_truncate(void)
{
    if (strcmp(text("by_descriptor", "false"), "true") == 0)
        step_ftruncate();
    else
        fails_as_told(truncate(path_in("file"), (off_t)number("bytes", NULL)), "truncate");
}

static void step_fallocate(void)
{
    static const struct { const char *word; int bit; } FLAGS[] = {
        {"keep_size", FALLOC_FL_KEEP_SIZE},           {"punch_hole", FALLOC_FL_PUNCH_HOLE},
        {"zero_range", FALLOC_FL_ZERO_RANGE},         {"collapse_range", FALLOC_FL_COLLAPSE_RANGE},
        {"insert_range", FALLOC_FL_INSERT_RANGE},
    };
    int mode = 0;
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        mode |= has(text("flags", ""), FLAGS[i].word) ? FLAGS[i].bit : 0;
    int fd = open_file(text("file", NULL))->fd;
    fails_as_told(fallocate(fd, mode, (off_t)number("offset", "0"), (off_t)number("bytes", NULL)), "fallocate");
}

int advise_file(int fd, off_t at, off_t bytes, const char *word)
{
    static const struct { const char *word; int advice; } ADVICE[] = {
        {"normal", POSIX_FADV_NORMAL},     {"random", POSIX_FADV_RANDOM},     {"sequential", POSIX_FADV_SEQUENTIAL},
        {"willneed", POSIX_FADV_WILLNEED}, {"dontneed", POSIX_FADV_DONTNEED}, {"noreuse", POSIX_FADV_NOREUSE},
    };
    for (size_t i = 0; i < sizeof ADVICE / sizeof *ADVICE; i++)
        if (strcmp(ADVICE[i].word, word) == 0)
            return posix_fadvise(fd, at, bytes, ADVICE[i].advice);
    fail("no such advice: %s", word);
}

static void step_fadvise(void)
{
    errno = advise_file(open_file(text("file", NULL))->fd, 0, 0, text("advice", NULL));
    must(errno ? -1 : 0);
}

const struct step FILE_STEPS[] = {
    {"create", step_create},
    {"fill", step_fill},
    {"occupy", step_occupy},
    {"create_fragmented", step_create_fragmented},
    {"open", step_open},
    {"close", step_close},
    {"requests", step_requests},
    {"append", step_append},
    {"fsync", step_fsync},
    {"truncate", step_truncate},
    {"ftruncate", step_ftruncate},
    {"fallocate", step_fallocate},
    {"fadvise", step_fadvise},
    {NULL, NULL},
};
