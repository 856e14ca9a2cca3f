/* Steps that are about files and names. */
#define _GNU_SOURCE
#include "steps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_MAX_FILES = 16 };

static const char *path_of(const char *name)
{
    static char paths[2][PATH_BYTES];
    static int turn;
    char *path = paths[turn = !turn];
    snprintf(path, PATH_BYTES, "%s/%s", ROOT, name);
    return path;
}

static struct { char name[PATH_BYTES]; int fd; } open_files[OPEN_MAX_FILES];

static int *open_file(const char *name)
{
    for (int i = 0; i < OPEN_MAX_FILES; i++)
        if (open_files[i].name[0] && strcmp(open_files[i].name, name) == 0)
            return &open_files[i].fd;
    fail("%s is not open", name);
}

/* Whether a call that returned -1 failed as the step says (`fails`); anything else ends the run. */
static int fails_as_told(int result, const char *what)
{
    const char *told = text("fails", "");
    if (result >= 0) {
        if (*told)
            fail("%s: %s was expected", what, told);
        return 0;
    }
    if (strcmp(told, strerrorname_np(errno)) != 0)
        fail("%s: %s", what, strerror(errno));
    return 1;
}

/* Writes all of it; short writes go on where they stopped. Returns what was written: less after ENOSPC. */
static uint64_t write_all(int fd, uint64_t bytes, uint64_t at)
{
    uint64_t done = 0;
    while (done < bytes) {
        ssize_t n = pwrite(fd, content, bytes - done, (off_t)(at + done));
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
    const char *words = text("flags", ""), *name = text("file", NULL);
    int flags = has(words, "rdwr") ? O_RDWR : has(words, "wronly") ? O_WRONLY : O_RDONLY;
    flags |= has(words, "create") ? O_CREAT : 0;
    flags |= has(words, "truncate") ? O_TRUNC : 0;
    flags |= has(words, "append") ? O_APPEND : 0;
    flags |= has(words, "sync") ? O_SYNC : 0;
    int fd = open(path_of(name), flags, 0644);
    if (fails_as_told(fd, name))
        return;
    for (int i = 0; i < OPEN_MAX_FILES; i++)
        if (!open_files[i].name[0]) {
            snprintf(open_files[i].name, PATH_BYTES, "%s", name);
            open_files[i].fd = fd;
            return;
        }
    fail("more than %d files are open", OPEN_MAX_FILES);
}

static void step_close(void)
{
    int *fd = open_file(text("file", NULL));
    close(*fd);
    ((char *)fd - offsetof(__typeof__(open_files[0]), fd))[0] = 0;
}

static void step_requests(void)
{
    int fd = *open_file(text("file", NULL)), writes = strcmp(text("op", NULL), "write") == 0;
    int random = strcmp(text("pattern", NULL), "random") == 0;
    uint64_t request_B = number("request_B", NULL), count = number("count", NULL), state = number("seed", "1");
    uint64_t gap_us = number("gap_us", "0"), range_B = number("range_B", "0"), done = 0, accepted = 0;
    const char *stopped = NULL;
    struct stat status;
    if (!range_B && fstat(fd, &status) == 0)
        range_B = (uint64_t)status.st_size;
    uint64_t slots = range_B / request_B, started_ns = now_ns();
    if (!slots || request_B > CONTENT_BYTES)
        fail("requests of %llu B do not fit", (unsigned long long)request_B);
    for (; done < count; done++) {
        off_t at = (off_t)((random ? next_random(&state) % slots : done % slots) * request_B);
        uint64_t from_ns = now_ns();
        ssize_t n = writes ? pwrite(fd, content, request_B, at) : pread(fd, content, request_B, at);
        if (n < 0) {
            stopped = strerrorname_np(errno);
            break;
        }
        call_took(from_ns);
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
    uint64_t request_B = number("request_B", NULL), count = number("count", NULL), started_ns = now_ns();
    int fd = *open_file(name);
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
    }
    result("elapsed_ns", now_ns() - started_ns);
}

static const char *many_path(uint64_t i)
{
    char name[PATH_BYTES / 2];
    const char *dir = text("dir", "");
    snprintf(name, sizeof name, "%s%sf%04llu", dir, *dir ? "/" : "", (unsigned long long)i);
    return path_of(name);
}

static void step_create_many(void)
{
    uint64_t count = number("count", "0"), bytes = number("bytes", NULL), request_B = number("request_B", "0"), i = 0;
    int until_full = strcmp(text("until", ""), "ENOSPC") == 0, syncs = strcmp(text("fsync", "false"), "true") == 0;
    uint64_t started_ns = now_ns();
    for (int full = 0; !full && (until_full || i < count); i++) {
        uint64_t from_ns = now_ns(), at = 0, part = request_B ? request_B : bytes;
        int fd = open(many_path(i), O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (fd < 0 && errno == ENOSPC && until_full)
            break;
        if (fd < 0)
            fail("file %llu: %s", (unsigned long long)i, strerror(errno));
        while (!full && at < bytes) {
            uint64_t wanted = bytes - at < part ? bytes - at : part, done = write_all(fd, wanted, at);
            full = done < wanted;
            at += done;
        }
        if (full && !until_full)
            fail("file %llu: no room", (unsigned long long)i);
        if (syncs && !full)
            must(fsync(fd));
        close(fd);
        call_took(from_ns);
    }
    result("files", i);
    result("elapsed_ns", now_ns() - started_ns);
}

static void each_of_many(int (*call)(const char *path))
{
    uint64_t count = number("count", NULL), started_ns = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t from_ns = now_ns();
        const char *path = many_path(i);
        if (call(path) < 0)
            fail("%s: %s", path, strerror(errno));
        call_took(from_ns);
    }
    result("elapsed_ns", now_ns() - started_ns);
}

static int stat_one(const char *path)
{
    struct stat status;
    return stat(path, &status);
}

static int read_one(const char *path)
{
    int fd = open(path, O_RDONLY), n;
    if (fd < 0)
        return fd;
    n = (int)pread(fd, content, number("bytes", "0"), 0);
    close(fd);
    return n;
}

static void step_stat_many(void)
{
    each_of_many(stat_one);
}

static void step_read_many(void)
{
    each_of_many(read_one);
}

static void step_unlink_many(void)
{
    each_of_many(unlink);
}

static void step_readdir(void)
{
    DIR *dir = opendir(path_of(text("dir", "")));
    if (!dir)
        fail("opendir: %s", strerror(errno));
    while (readdir(dir))
        ;
    closedir(dir);
}

/* ---- names --------------------------------------------------------------------------------------------------------- */

static const char *path_in(const char *key)
{
    return path_of(text(key, NULL));
}

static void step_unlink(void)
{
    must(unlink(path_in("file")));
}

static void step_rename(void)
{
    fails_as_told(rename(path_in("file"), path_in("to")), "rename");
}

static void step_link(void)
{
    fails_as_told(link(path_in("file"), path_in("to")), "link");
}

static void step_truncate(void)
{
    must(truncate(path_in("file"), (off_t)number("bytes", NULL)));
}

static void step_fsync(void)
{
    must(fsync(*open_file(text("file", NULL))));
}

static void step_stat(void)
{
    fails_as_told(stat_one(path_in("file")), "stat");
}

static void step_mkdir(void)
{
    must(mkdir(path_in("dir"), 0755));
}

const struct step FILE_STEPS[] = {
    {"create", step_create},
    {"fill", step_fill},
    {"create_fragmented", step_create_fragmented},
    {"open", step_open},
    {"close", step_close},
    {"requests", step_requests},
    {"append", step_append},
    {"fsync", step_fsync},
    {"create_many", step_create_many},
    {"stat_many", step_stat_many},
    {"read_many", step_read_many},
    {"unlink_many", step_unlink_many},
    {"readdir", step_readdir},
    {"stat", step_stat},
    {"unlink", step_unlink},
    {"rename", step_rename},
    {"link", step_link},
    {"truncate", step_truncate},
    {"mkdir", step_mkdir},
    {NULL, NULL},
};
