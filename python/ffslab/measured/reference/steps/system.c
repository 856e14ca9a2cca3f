/* Steps that are about the system as a whole: caches, time. */
#include "steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void write_file(const char *path, const char *value)
{
    int fd = open(path, O_WRONLY);
    if (fd >= 0) {
        if (write(fd, value, strlen(value)) < 0)
            fail("%s: %s", path, strerror(errno));
        close(fd);
    }
}

void drop_caches(const char *what)
{
    write_file("/proc/sys/vm/drop_caches", what);
}

static void step_drop_caches(void)
{
    drop_caches("3");
}

static void step_sleep(void)
{
    sleep_us(number("us", NULL));
}

/* How far the tick counter (jiffies) lags behind CLOCK_MONOTONIC, by /proc/timer_list: the counter starts 300 s before 32 bits
 * overflow (include/linux/jiffies.h, INITIAL_JIFFIES), and later than the clock, when there are interrupts. The timer of
 * the tick is the first that is called so; the tick before it is the last that was counted. */
static uint64_t tick_lag_ns(uint64_t tick_ns)
{
    char line[256];
    for (int tries = 0; tries < 8; tries++) {
        unsigned long long expires_ns = 0, jiffies = 0;
        int of_tick = 0;
        FILE *file = fopen("/proc/timer_list", "r");
        while (file && fgets(line, sizeof line, file)) {
            if (of_tick && !expires_ns)
                sscanf(line, " # expires at %llu", &expires_ns);
            of_tick = strstr(line, "tick_sched_timer") || strstr(line, "tick_nohz_handler");
            sscanf(line, "jiffies: %llu", &jiffies);
        }
        if (file)
            fclose(file);
        /* Read across a tick, both do not belong together. */
        if (expires_ns && jiffies && now_ns() < expires_ns) {
            uint64_t ticks = (uint32_t)(jiffies + 300 * (1000000000 / tick_ns));
            return expires_ns - tick_ns - ticks * tick_ns;
        }
    }
    fail("/proc/timer_list does not tell the tick counter");
}

/* How far the wall clock is ahead of CLOCK_MONOTONIC within a second: the kernel sets it to half a second when it finds the clock
 * chip, whenever that is (drivers/rtc/class.c, rtc_hctosys). */
static uint64_t wall_ahead_ns(void)
{
    const uint64_t second_ns = 1000000000;
    struct timespec wall;
    if (clock_gettime(CLOCK_REALTIME, &wall))
        fail("no wall clock");
    return ((uint64_t)wall.tv_nsec + second_ns - now_ns() % second_ns) % second_ns;
}

/* The steps begin here: it must not matter how long the machine took to come here, so the time since boot, as the tick
 * counter tells it, becomes phase_us modulo period_us. */
static void step_begin(void)
{
    root_is(text("fs", NULL), (int)number("mtd", "0"), (int)number("volume", "0"));
    uint64_t period_us = number("period_us", NULL), phase_us = number("phase_us", NULL);
    uint64_t lag_ns = tick_lag_ns(1000000000 / number("hz", NULL));
    uint64_t up_us = (now_ns() - lag_ns) / 1000, at_us = (up_us / period_us + 1) * period_us + phase_us;
    result("tick_lag_ns", lag_ns);
    result("wall_ahead_ns", wall_ahead_ns());
    sleep_us(at_us - up_us);
}

const struct step SYSTEM_STEPS[] = {
    {"content", step_content},
    {"begin", step_begin},
    {"program", step_program},
    {"sync", sync},
    {"drop_caches", step_drop_caches},
    {"sleep", step_sleep},
    {NULL, NULL},
};
