/*
 * A library that is preloaded into programs which use a mount with `--think fast`: their sleeps pass on the board and take
 * the host no time, and the time that they ask for is that of the board.
 *
 * Each sleep and each look at a clock is a question on the mount's socket (`src/control.rs`), by a connection of its own: so
 * threads share nothing, and children of fork(2) and programs that close all descriptors need no care. Without a mount
 * that answers, everything is as on the host.
 *
 * Waits for something else (descriptors, locks) with a time limit really wait, since another process may end them, and only
 * what ran out passes on the board, too. Their absolute deadlines are those of the board and become the host's.
 *
 * Leaves out: statically linked programs and those that make system calls themselves (Go): no library comes between.
 * Timers that send signals or are read (alarm, setitimer, timer_create, timerfd) run by the host's clock.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000LL
#define PUBLIC __attribute__((visibility("default")))

/* The next definition of a function; `version` where glibc has an older one of the same name, too; musl has no versions. */
static void *next(const char *name, const char *version) {
    void *found = NULL;
#ifdef __GLIBC__
    if (version)
        found = dlvsym(RTLD_NEXT, name, version);
#else
    (void)version;
#endif
    return found ? found : dlsym(RTLD_NEXT, name);
}
#define NEXT(name) ((__typeof__(&name))next(#name, NULL))
#define NEXT_OF(name, version) ((__typeof__(&name))next(#name, version))

/* ---- the mount ----------------------------------------------------------------------------------------------- */

struct board {
    int64_t now_ns;   /* since the machine was made */
    int64_t epoch_ns; /* the time of day then */
};

static int64_t number_behind(const char *text, const char *key) {
    const char *at = strstr(text, key);
    return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

/* Lets the program sleep for so long on the board, or only asks for the time; whether the mount has answered. */
static int ask(int64_t sleep_ns, struct board *board) {
    const char *path = getenv("FFSLAB_MOUNT_SOCKET");
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    char text[256];
    int saved = errno, known = 0;
    if (!path || strlen(path) >= sizeof place.sun_path)
        return 0;
    strcpy(place.sun_path, path);
    int line = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (line >= 0 && connect(line, (struct sockaddr *)&place, sizeof place) == 0) {
        int length = sleep_ns > 0
            ? snprintf(text, sizeof text, "{\"ask\":\"sleep\",\"ns\":%lld}\n", (long long)sleep_ns)
            : snprintf(text, sizeof text, "{\"ask\":\"clock\"}\n");
        size_t got = 0;
        if (send(line, text, length, MSG_NOSIGNAL) == length) {
            for (;;) {
                ssize_t more = recv(line, text + got, sizeof text - 1 - got, 0);
                if (more < 0 && errno == EINTR)
                    continue;
                if (more <= 0)
                    break;
                got += more;
            }
        }
        text[got] = 0;
        board->now_ns = number_behind(text, "\"now_ns\":");
        board->epoch_ns = number_behind(text, "\"epoch_s\":") * SECOND_NS;
        known = board->now_ns >= 0 && board->epoch_ns >= 0;
    }
    if (line >= 0)
        close(line);
    errno = saved;
    return known;
}

/* ---- times --------------------------------------------------------------------------------------------------- */

static int64_t ns_of(const struct timespec *time) { return time->tv_sec * SECOND_NS + time->tv_nsec; }

static struct timespec timespec_of(int64_t ns) {
    return (struct timespec){.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
}

static int is_valid(const struct timespec *time) {
    return time && time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < SECOND_NS;
}

static int64_t host_ns(clockid_t clock) {
    struct timespec now;
    syscall(SYS_clock_gettime, clock, &now);
    return ns_of(&now);
}

static int is_time_of_day(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

/* Whether a clock is one of the board's. Those of CPU time stay the host's. */
static int is_boards(clockid_t clock) {
    return is_time_of_day(clock) || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE
        || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_BOOTTIME;
}

static int64_t board_ns(clockid_t clock, const struct board *board) {
    return board->now_ns + (is_time_of_day(clock) ? board->epoch_ns : 0);
}

/* ---- clocks -------------------------------------------------------------------------------------------------- */

PUBLIC int clock_gettime(clockid_t clock, struct timespec *now) {
    struct board board;
    if (!is_boards(clock) || !ask(0, &board))
        return syscall(SYS_clock_gettime, clock, now);
    *now = timespec_of(board_ns(clock, &board));
    return 0;
}

PUBLIC int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec time;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &time);
    *now = (struct timeval){.tv_sec = time.tv_sec, .tv_usec = time.tv_nsec / 1000};
    return 0;
}

PUBLIC time_t time(time_t *into) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into)
        *into = now.tv_sec;
    return now.tv_sec;
}

/* ---- sleeps -------------------------------------------------------------------------------------------------- */

PUBLIC int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *rest) {
    struct board board;
    if (!is_valid(wanted) || !is_boards(clock) || !ask(0, &board))
        return NEXT_OF(clock_nanosleep, "GLIBC_2.17")(clock, flags, wanted, rest);
    int64_t ns = ns_of(wanted);
    if (flags & TIMER_ABSTIME)
        ns -= board_ns(clock, &board);
    if (ns > 0 && !ask(ns, &board))
        return NEXT_OF(clock_nanosleep, "GLIBC_2.17")(clock, flags, wanted, rest);
    return 0;
}

PUBLIC int nanosleep(const struct timespec *wanted, struct timespec *rest) {
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, wanted, rest);
    if (error)
        errno = error;
    return error ? -1 : 0;
}

PUBLIC int usleep(useconds_t us) {
    struct timespec wanted = timespec_of(us * 1000LL);
    return nanosleep(&wanted, NULL);
}

PUBLIC unsigned int sleep(unsigned int seconds) {
    struct timespec wanted = {.tv_sec = seconds}, rest = {0};
    return nanosleep(&wanted, &rest) ? (unsigned int)(rest.tv_sec + (rest.tv_nsec > 0)) : 0;
}

/* ---- waits for descriptors ----------------------------------------------------------------------------------- */

/* What passes on the board when a wait has run out. */
static void ran_out(int64_t ns) {
    struct board board;
    if (ns > 0)
        ask(ns, &board);
}

/* A wait for nothing is a sleep. Whether it was one. */
static int slept(int64_t ns) {
    struct board board;
    return ns > 0 && ask(ns, &board);
}

PUBLIC int poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
    if (count == 0 && slept(timeout_ms * 1000000LL))
        return 0;
    int ready = NEXT(poll)(fds, count, timeout_ms);
    if (ready == 0 && count > 0)
        ran_out(timeout_ms * 1000000LL);
    return ready;
}

PUBLIC int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask) {
    if (count == 0 && is_valid(timeout) && slept(ns_of(timeout)))
        return 0;
    int ready = NEXT(ppoll)(fds, count, timeout, mask);
    if (ready == 0 && count > 0 && timeout)
        ran_out(ns_of(timeout));
    return ready;
}

PUBLIC int select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *timeout) {
    int is_sleep = !reads && !writes && !others;
    int64_t ns = timeout ? timeout->tv_sec * SECOND_NS + timeout->tv_usec * 1000LL : 0;
    if (is_sleep && slept(ns)) {
        *timeout = (struct timeval){0};
        return 0;
    }
    int ready = NEXT(select)(count, reads, writes, others, timeout);
    if (ready == 0 && !is_sleep)
        ran_out(ns);
    return ready;
}

PUBLIC int pselect(int count, fd_set *reads, fd_set *writes, fd_set *others, const struct timespec *timeout,
                   const sigset_t *mask) {
    int is_sleep = !reads && !writes && !others;
    if (is_sleep && is_valid(timeout) && slept(ns_of(timeout)))
        return 0;
    int ready = NEXT(pselect)(count, reads, writes, others, timeout, mask);
    if (ready == 0 && !is_sleep && timeout)
        ran_out(ns_of(timeout));
    return ready;
}

PUBLIC int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout_ms) {
    int ready = NEXT(epoll_wait)(epoll, events, count, timeout_ms);
    if (ready == 0)
        ran_out(timeout_ms * 1000000LL);
    return ready;
}

PUBLIC int epoll_pwait(int epoll, struct epoll_event *events, int count, int timeout_ms, const sigset_t *mask) {
    int ready = NEXT(epoll_pwait)(epoll, events, count, timeout_ms, mask);
    if (ready == 0)
        ran_out(timeout_ms * 1000000LL);
    return ready;
}

/* ---- waits for other threads, until a deadline --------------------------------------------------------------- */

/* The deadline by the host's clock, and how far off it is. Whether a mount says what time it is. */
static int hosts_deadline(clockid_t clock, const struct timespec *deadline, struct timespec *on_host, int64_t *left_ns) {
    struct board board;
    if (!is_valid(deadline) || !is_boards(clock) || !ask(0, &board))
        return 0;
    *left_ns = ns_of(deadline) - board_ns(clock, &board);
    *on_host = timespec_of(host_ns(clock) + (*left_ns > 0 ? *left_ns : 0));
    return 1;
}

/* Calls `wait` with the host's deadline; what runs out passes on the board. */
#define UNTIL(clock, deadline, wait, has_run_out)                                                                      \
    do {                                                                                                               \
        struct timespec until;                                                                                         \
        int64_t left_ns = 0;                                                                                           \
        if (hosts_deadline(clock, deadline, &until, &left_ns))                                                         \
            deadline = &until;                                                                                         \
        int result = wait;                                                                                             \
        if (has_run_out)                                                                                               \
            ran_out(left_ns);                                                                                          \
        return result;                                                                                                 \
    } while (0)

/* The clock of a condition cannot be asked for; the board's clocks are years apart. */
static clockid_t clock_of(const struct timespec *deadline) {
    struct board board;
    int is_day = deadline && ask(0, &board) && ns_of(deadline) >= board.epoch_ns / 2;
    return is_day ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

PUBLIC int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline) {
    UNTIL(clock_of(deadline), deadline, NEXT_OF(pthread_cond_timedwait, "GLIBC_2.3.2")(condition, mutex, deadline),
          result == ETIMEDOUT);
}

PUBLIC int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *deadline) {
    UNTIL(clock, deadline, NEXT(pthread_cond_clockwait)(condition, mutex, clock, deadline), result == ETIMEDOUT);
}

PUBLIC int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *deadline) {
    UNTIL(CLOCK_REALTIME, deadline, NEXT(pthread_mutex_timedlock)(mutex, deadline), result == ETIMEDOUT);
}

PUBLIC int sem_timedwait(sem_t *semaphore, const struct timespec *deadline) {
    UNTIL(CLOCK_REALTIME, deadline, NEXT(sem_timedwait)(semaphore, deadline), result && errno == ETIMEDOUT);
}

PUBLIC int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *deadline) {
    UNTIL(clock, deadline, NEXT(sem_clockwait)(semaphore, clock, deadline), result && errno == ETIMEDOUT);
}
