/* The bytes that steps write: the simulator's own, which the host has put into files. */
#include "steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KINDS_MAX = 32 };

static struct source { char kind[16]; char *bytes; uint64_t count, stride_B, modulo_B, goes_on, at; } sources[KINDS_MAX];
/* Where the next piece begins: one place for all kinds whose pieces do not all begin at 0. */
static uint64_t start;

void step_content(void)
{
    struct source *source = sources;
    while (source->bytes)
        source++;
    const char *path = text("path", NULL);
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (source == sources + KINDS_MAX - 1 || fd < 0 || fstat(fd, &status) < 0)
        fail("%s: %s", path, strerror(errno));
    snprintf(source->kind, sizeof source->kind, "%s", text("kind", NULL));
    source->count = (uint64_t)status.st_size;
    source->stride_B = number("stride_B", NULL);
    source->modulo_B = number("modulo_B", NULL);
    source->goes_on = number("goes_on", "0");
    source->bytes = malloc(source->count);
    for (uint64_t done = 0; done < source->count;) {
        ssize_t n = read(fd, source->bytes + done, source->count - done);
        if (n <= 0)
            fail("%s: %s", path, strerror(errno));
        done += (uint64_t)n;
    }
    close(fd);
}

void forget_content(void)
{
    memset(sources, 0, sizeof sources);
    start = 0;
}

const char *piece(uint64_t bytes)
{
    const char *kind = text("content", "random");
    for (struct source *source = sources; source->bytes; source++) {
        if (strcmp(source->kind, kind) != 0)
            continue;
        uint64_t at = source->goes_on ? source->at : source->stride_B ? start : 0;
        if (source->goes_on)
            source->at = (source->at + bytes) % source->modulo_B;
        if (source->stride_B)
            start = (start + source->stride_B) % source->modulo_B;
        if (at + bytes > source->count)
            fail("content %s has no %llu B", kind, (unsigned long long)bytes);
        return source->bytes + at;
    }
    fail("there is no content %s", kind);
}
