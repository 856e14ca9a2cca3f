/* ffslab_wire: a flash part of `ffslab chip serve`, for firmware tests on the host. One file, no library.
 *
 *     struct ffslab_wire wire;
 *     ffslab_wire_open(&wire, NULL);                    // where FFSLAB_CHIP says, or "unix:/path" or "tcp:127.0.0.1:9000"
 *     uint8_t send[] = {0x9f, 0x00}, id[3];
 *     ffslab_wire_spi(&wire, send, 2, id, 3);
 *
 * Put your driver's transfers in the place of this one. `wire.now_ns` is the clock of the program, which only goes on when it
 * says so: add to it what the bus takes, and what the program waits. A part that is not ready says so in its status, as it does on a board;
 * ffslab_wire_wait() is a delay until it is. docs/chip-serve.md of ffslab describes the protocol.
 *
 * Functions give 0, or -1 when the connection or the request is broken: wire.error then says it in a line.
 */
#ifndef FFSLAB_WIRE_H
#define FFSLAB_WIRE_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum ffslab_wire_kind {
    FFSLAB_WIRE_SPI = 1,       /* a transfer: bytes go in, then bytes come out */
    FFSLAB_WIRE_NAND = 2,      /* cycles: 'C' byte; 'A' count bytes; 'W' count (2 bytes) bytes; 'R' count (2 bytes) */
    FFSLAB_WIRE_IDLE = 3,      /* time passes */
    FFSLAB_WIRE_LABEL = 16,    /* why: a line of text; none ends it */
    FFSLAB_WIRE_CUT = 17,      /* power goes */
    FFSLAB_WIRE_POWER_ON = 18,
    FFSLAB_WIRE_COUNTS = 19,   /* 8 bytes each: requests, refusals, programs and erases begun, reads, erases, time in ns */
    FFSLAB_WIRE_WHY = 20,      /* the last refusal, as text */
    FFSLAB_WIRE_KEEP = 21,     /* remembers what the chip holds */
    FFSLAB_WIRE_PUT_BACK = 22
};

/* How a cut leaves the operation that it hits. */
enum ffslab_wire_torn {
    FFSLAB_WIRE_PARTIAL = 0,
    FFSLAB_WIRE_NOTHING = 1,
    FFSLAB_WIRE_COMPLETE = 2,
    FFSLAB_WIRE_UNSTABLE = 3
};

/* Bits of `flags`. */
#define FFSLAB_WIRE_READY 1    /* R/B# is high */
#define FFSLAB_WIRE_REFUSED 2  /* the part did not do what was asked: ffslab_wire_why() */
#define FFSLAB_WIRE_POWERED 4

struct ffslab_wire {
    int socket;
    uint64_t now_ns;       /* the program's clock; it must not go back */
    uint64_t ready_at_ns;  /* of the last answer: when the part is ready, on the same clock */
    uint8_t flags;         /* of the last answer */
    uint16_t bus;          /* 1 SPI NOR, 2 SPI NAND, 3 raw NAND */
    char error[256];
};

static inline int ffslab_wire_fails(struct ffslab_wire *wire, const char *what, const char *why)
{
    snprintf(wire->error, sizeof wire->error, "%s: %s", what, why);
    return -1;
}

static inline int ffslab_wire_put(struct ffslab_wire *wire, const void *bytes, size_t count)
{
    const char *rest = bytes;
    while (count > 0) {
        ssize_t done = send(wire->socket, rest, count, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return ffslab_wire_fails(wire, "send", strerror(errno));
        rest += done;
        count -= (size_t)done;
    }
    return 0;
}

static inline int ffslab_wire_take(struct ffslab_wire *wire, void *bytes, size_t count)
{
    char *rest = bytes;
    while (count > 0) {
        ssize_t done = recv(wire->socket, rest, count, 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return ffslab_wire_fails(wire, "receive", done == 0 ? "the server has ended" : strerror(errno));
        rest += done;
        count -= (size_t)done;
    }
    return 0;
}

static inline void ffslab_wire_number(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t ffslab_wire_number_of(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* Connects to `where`: "unix:PATH" or "tcp:127.0.0.1:PORT"; NULL: what the variable FFSLAB_CHIP says. */
static inline int ffslab_wire_open(struct ffslab_wire *wire, const char *where)
{
    uint8_t greeting[16];
    memset(wire, 0, sizeof *wire);
    wire->socket = -1;
    if (where == NULL && (where = getenv("FFSLAB_CHIP")) == NULL)
        return ffslab_wire_fails(wire, "FFSLAB_CHIP", "is not set: start the program by `ffslab chip serve ... -- PROGRAM`");
    if (strncmp(where, "unix:", 5) == 0) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        if (strlen(where + 5) >= sizeof at.sun_path)
            return ffslab_wire_fails(wire, where, "is too long");
        strcpy(at.sun_path, where + 5);
        wire->socket = socket(AF_UNIX, SOCK_STREAM, 0);
        if (wire->socket < 0 || connect(wire->socket, (struct sockaddr *)&at, sizeof at) < 0)
            return ffslab_wire_fails(wire, where, strerror(errno));
    } else if (strncmp(where, "tcp:127.0.0.1:", 14) == 0) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(where + 14))};
        int on = 1;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        wire->socket = socket(AF_INET, SOCK_STREAM, 0);
        if (wire->socket < 0 || connect(wire->socket, (struct sockaddr *)&at, sizeof at) < 0)
            return ffslab_wire_fails(wire, where, strerror(errno));
        setsockopt(wire->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    } else {
        return ffslab_wire_fails(wire, where, "is neither unix:PATH nor tcp:127.0.0.1:PORT");
    }
    if (ffslab_wire_take(wire, greeting, sizeof greeting) < 0)
        return -1;
    if (memcmp(greeting, "ffslchip", 8) != 0 || ffslab_wire_number_of(greeting + 8, 2) != 1)
        return ffslab_wire_fails(wire, where, "is no chip of this version");
    wire->bus = (uint16_t)ffslab_wire_number_of(greeting + 10, 2);
    return 0;
}

static inline void ffslab_wire_close(struct ffslab_wire *wire)
{
    if (wire->socket >= 0)
        close(wire->socket);
    wire->socket = -1;
}

/* Sends a request at now_ns without waiting for its answer. Many of them can be sent before their answers are taken, in their order, by
 * ffslab_wire_answer(); some 100 KiB of answers at most may wait. */
static inline int ffslab_wire_request(struct ffslab_wire *wire, uint8_t kind, uint8_t option, const void *sent,
                                      uint32_t sent_B, uint32_t taken_B)
{
    uint8_t all[20 + 4096] = {kind, option};
    ffslab_wire_number(all + 4, sent_B, 4);
    ffslab_wire_number(all + 8, taken_B, 4);
    ffslab_wire_number(all + 12, wire->now_ns, 8);
    if (sent_B > 0 && sent_B <= 4096)
        memcpy(all + 20, sent, sent_B);
    if (ffslab_wire_put(wire, all, 20 + (sent_B <= 4096 ? sent_B : 0)) < 0)
        return -1;
    return sent_B > 4096 ? ffslab_wire_put(wire, sent, sent_B) : 0;
}

/* Takes the next answer, of at most `room` bytes; `count`, if it is not NULL, is how many there were. */
static inline int ffslab_wire_answer(struct ffslab_wire *wire, void *taken, uint32_t room, uint32_t *count)
{
    uint8_t head[16];
    if (ffslab_wire_take(wire, head, sizeof head) < 0)
        return -1;
    uint32_t bytes = (uint32_t)ffslab_wire_number_of(head + 4, 4);
    wire->flags = head[1];
    wire->ready_at_ns = ffslab_wire_number_of(head + 8, 8);
    if (head[0] != 0) {
        char text[256];
        uint32_t first = bytes < sizeof text - 1 ? bytes : (uint32_t)sizeof text - 1;
        if (ffslab_wire_take(wire, text, first) < 0)
            return -1;
        text[first] = 0;
        return ffslab_wire_fails(wire, "request", text);
    }
    if (bytes > room)
        return ffslab_wire_fails(wire, "answer", "is longer than there is room");
    if (count != NULL)
        *count = bytes;
    return bytes > 0 ? ffslab_wire_take(wire, taken, bytes) : 0;
}

static inline int ffslab_wire_ask(struct ffslab_wire *wire, uint8_t kind, uint8_t option, const void *sent,
                                  uint32_t sent_B, void *taken, uint32_t taken_B)
{
    if (ffslab_wire_request(wire, kind, option, sent, sent_B, taken_B) < 0)
        return -1;
    return ffslab_wire_answer(wire, taken, taken_B, NULL);
}

/* One transfer on an SPI bus: command, address, dummies and data out; then bytes in. */
static inline int ffslab_wire_spi(struct ffslab_wire *wire, const void *sent, uint32_t sent_B, void *taken,
                                  uint32_t taken_B)
{
    return ffslab_wire_ask(wire, FFSLAB_WIRE_SPI, 0, sent, sent_B, taken, taken_B);
}

/* Cycles on the bus of a raw NAND. `taken_B`: what all reads in them take together. */
static inline int ffslab_wire_nand(struct ffslab_wire *wire, const void *cycles, uint32_t cycles_B, void *taken,
                                   uint32_t taken_B)
{
    return ffslab_wire_ask(wire, FFSLAB_WIRE_NAND, 0, cycles, cycles_B, taken, taken_B);
}

/* The program's clock goes on until the part is ready. */
static inline int ffslab_wire_wait(struct ffslab_wire *wire)
{
    if (ffslab_wire_ask(wire, FFSLAB_WIRE_IDLE, 0, NULL, 0, NULL, 0) < 0)
        return -1;
    if (wire->ready_at_ns > wire->now_ns)
        wire->now_ns = wire->ready_at_ns;
    return 0;
}

/* What follows is done for this reason; NULL ends it. */
static inline int ffslab_wire_label(struct ffslab_wire *wire, const char *why)
{
    return ffslab_wire_ask(wire, FFSLAB_WIRE_LABEL, 0, why, why == NULL ? 0 : (uint32_t)strlen(why), NULL, 0);
}

/* The power goes at this program or erase from now on (1: the next one; 0: at once). */
static inline int ffslab_wire_cut(struct ffslab_wire *wire, uint32_t operations, enum ffslab_wire_torn torn,
                                  uint64_t seed)
{
    uint8_t sent[12];
    ffslab_wire_number(sent, operations, 4);
    ffslab_wire_number(sent + 4, seed, 8);
    return ffslab_wire_ask(wire, FFSLAB_WIRE_CUT, (uint8_t)torn, sent, sizeof sent, NULL, 0);
}

static inline int ffslab_wire_power_on(struct ffslab_wire *wire)
{
    return ffslab_wire_ask(wire, FFSLAB_WIRE_POWER_ON, 0, NULL, 0, NULL, 0);
}

/* Remembers what the chip holds, and puts it back as often as a test needs it. */
static inline int ffslab_wire_keep(struct ffslab_wire *wire)
{
    return ffslab_wire_ask(wire, FFSLAB_WIRE_KEEP, 0, NULL, 0, NULL, 0);
}

static inline int ffslab_wire_put_back(struct ffslab_wire *wire)
{
    return ffslab_wire_ask(wire, FFSLAB_WIRE_PUT_BACK, 0, NULL, 0, NULL, 0);
}

/* The last thing that the part did not do, and why, as a line of text. */
static inline int ffslab_wire_why(struct ffslab_wire *wire, char *text, uint32_t room)
{
    uint32_t count = 0;
    if (room == 0 || ffslab_wire_request(wire, FFSLAB_WIRE_WHY, 0, NULL, 0, 0) < 0)
        return -1;
    if (ffslab_wire_answer(wire, text, room - 1, &count) < 0)
        return -1;
    text[count] = 0;
    return 0;
}

#endif
