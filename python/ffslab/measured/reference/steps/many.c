/* Steps over many small files. */
#define _GNU_SOURCE
#include "steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number stands for the run of # in the name, with at least as many digits. */
static const char *many_path(uint64_t i)
{
    char name[PATH_BYTES / 2];
    const char *dir = text("dir", ""), *pattern = text("name", "f####");
    int before = (int)strcspn(pattern, "#"), digits = (int)strspn(pattern + before, "#");
    snprintf(name, sizeof name, "%s%s%.*s%0*llu%s", dir, *dir ? "/" : "", before, pattern, digits,
             (unsigned long long)i, pattern + before + digits);
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
    uint64_t bytes = number("bytes", "0"), request_B = number("request_B", "0"), done = 0;
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return fd;
    while (done < bytes) {
        uint64_t left = bytes - done;
        ssize_t n = read(fd, scratch, request_B && request_B < left ? request_B : left);
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (uint64_t)n;
    }
    close(fd);
    return 0;
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

const struct step MANY_STEPS[] = {
    {"create_many", step_create_many},
    {"stat_many", step_stat_many},
    {"read_many", step_read_many},
    {"unlink_many", step_unlink_many},
    {NULL, NULL},
};
