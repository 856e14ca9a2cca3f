/* The step that works on a mapped file. */
#define _GNU_SOURCE
#include "steps.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { PAGE_BYTES = 4096, TABLE_BYTES = 2 << 20 };

static sigjmp_buf on_bus_error;

static void bus_error(int signal)
{
    (void)signal;
    siglongjmp(on_bus_error, 1);
}

/* A shared map. What a fault maps along depends on the place of a page in its 64 KiB of addresses: that is the place in the file,
 * as is the place among those that one page table holds. */
static char *mapped(int fd, uint64_t at, uint64_t bytes, int protection)
{
    char *room = mmap(NULL, bytes + 2 * TABLE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return room;
    uintptr_t begin = ((uintptr_t)room + TABLE_BYTES - 1) / TABLE_BYTES * TABLE_BYTES + at % TABLE_BYTES;
    return mmap((void *)begin, bytes, protection, MAP_SHARED | MAP_FIXED, fd, (off_t)at);
}

/* Page by page, so that each page is touched once and in order. */
static void move(char *map, const char *data, uint64_t at, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t part = PAGE_BYTES - (at + done) % PAGE_BYTES;
        if (part > bytes - done)
            part = bytes - done;
        if (data)
            memcpy(map + at + done, data + done, part);
        else
            memcpy(scratch + done, map + at + done, part);
        done += part;
    }
}

/* msync(2) takes whole pages. */
static int made_durable(char *map, uint64_t at, uint64_t bytes)
{
    uint64_t before = at % PAGE_BYTES;
    return msync(map + at - before, bytes + before, MS_SYNC);
}

static volatile uint64_t done_count;

/* Returns whether an access ended in a bus error. */
static int accesses(char *map, uint64_t slots)
{
    int writes = strcmp(text("access", NULL), "write") == 0, each = strcmp(text("msync", "none"), "each") == 0;
    uint64_t request_B = number("request_B", NULL), count = number("count", NULL), gap_us = number("gap_us", "0");
    uint64_t state = number("seed", "1");
    if (sigsetjmp(on_bus_error, 1))
        return 1;
    for (done_count = 0; done_count < count; done_count++) {
        uint64_t at = slot_of(done_count, slots, &state) * request_B;
        const char *data = writes ? piece(request_B) : NULL;
        uint64_t from_ns = now_ns();
        move(map, data, at, request_B);
        if (each)
            must(made_durable(map, at, request_B));
        call_took(from_ns);
        sleep_us(gap_us);
    }
    return 0;
}

static void step_mmap(void)
{
    int fd = open_file(text("file", NULL))->fd, writes = strcmp(text("access", NULL), "write") == 0;
    uint64_t at = number("offset_B", "0"), bytes = number("bytes", "0"), request_B = number("request_B", NULL);
    struct stat status;
    must(fstat(fd, &status));
    if (!bytes)
        bytes = (uint64_t)status.st_size - at;
    if (bytes / request_B == 0 || request_B > SCRATCH_BYTES)
        fail("accesses of %llu B do not fit", (unsigned long long)request_B);
    char *map = mapped(fd, at, bytes, writes ? PROT_READ | PROT_WRITE : PROT_READ);
    if (fails_as_told(map == MAP_FAILED ? -1 : 0, "mmap"))
        return;
    uint64_t started_ns = now_ns();
    signal(SIGBUS, bus_error);
    int stopped = accesses(map, bytes / request_B);
    signal(SIGBUS, SIG_DFL);
    if (strcmp(text("msync", "none"), "end") == 0)
        must(made_durable(map, 0, bytes));
    result("elapsed_ns", now_ns() - started_ns);
    must(munmap(map, bytes));
    result("requests_done", done_count);
    result("bytes_accepted", done_count * request_B);
    if (stopped)
        result_text("stopped_by", "SIGBUS");
}

const struct step MAP_STEPS[] = {
    {"mmap", step_mmap},
    {NULL, NULL},
};
