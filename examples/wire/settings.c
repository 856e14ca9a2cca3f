/* A firmware's settings in two sectors of serial NOR, tested against a simulated part: power is cut at every program and erase
 * of a change, in four ways, and what the next boot finds must be the old settings or the new ones.
 *
 *     cc examples/wire/settings.c -I python/ffslab/foreign/include -o settings
 *     ffslab chip serve --part w25q128jv --socket chip.sock -- ./settings
 *
 * `./settings careless` forgets to write the settings before their mark, and is caught. docs/chip-serve.md explains it.
 */
#include "ffslab_wire.h"

enum { SECTOR = 4096, VALUE = 64 };

struct record {
    uint32_t number; /* of the change; 0xFFFFFFFF: nothing was written here */
    uint32_t sum;
    uint8_t value[VALUE];
};

static struct ffslab_wire wire;
static int careless;

/* ---- the driver, as a firmware has it ------------------------------------------------------------------------- */

/* The bus has a clock of 10 MHz. */
static int transfer(const uint8_t *send, uint32_t send_B, void *take, uint32_t take_B)
{
    wire.now_ns += (send_B + take_B) * 800u;
    if (ffslab_wire_spi(&wire, send, send_B, take, take_B) < 0) {
        fprintf(stderr, "%s\n", wire.error);
        exit(2);
    }
    return wire.flags & FFSLAB_WIRE_POWERED ? 0 : -1;
}

static int command(uint8_t opcode, uint32_t at, const void *data, uint32_t data_B)
{
    uint8_t enable = 0x06, status, send[4 + 256] = {opcode, at >> 16, at >> 8, at};
    memcpy(send + 4, data, data_B);
    if (transfer(&enable, 1, NULL, 0) < 0 || transfer(send, 4 + data_B, NULL, 0) < 0)
        return -1;
    do {
        uint8_t read_status = 0x05;
        wire.now_ns += 100000;
        if (transfer(&read_status, 1, &status, 1) < 0)
            return -1;
    } while (status & 1);
    return 0;
}

static int program(uint32_t at, const void *data, uint32_t data_B)
{
    return command(0x02, at, data, data_B);
}

static int erase(uint32_t at)
{
    return command(0x20, at, "", 0);
}

static int read_bytes(uint32_t at, void *into, uint32_t count)
{
    uint8_t send[] = {0x03, at >> 16, at >> 8, at};
    return transfer(send, sizeof send, into, count);
}

/* ---- the settings --------------------------------------------------------------------------------------------- */

static uint32_t sum_of(const struct record *record)
{
    uint32_t sum = 2166136261u ^ record->number;
    for (int i = 0; i < VALUE; i++)
        sum = (sum ^ record->value[i]) * 16777619u;
    return sum;
}

/* The newest record that is whole; -1: there is none. */
static int boot(struct record *found)
{
    int which = -1;
    for (int i = 0; i < 2; i++) {
        struct record here;
        if (read_bytes(i * SECTOR, &here, sizeof here) < 0)
            return -1;
        int whole = careless ? here.number != 0xffffffffu : here.sum == sum_of(&here);
        if (whole && here.number != 0xffffffffu && (which < 0 || here.number > found->number)) {
            *found = here;
            which = i;
        }
    }
    return which;
}

static int change(const uint8_t *value)
{
    struct record now = {0}, next;
    int which = boot(&now);
    uint32_t to = which == 0 ? SECTOR : 0;
    next.number = which < 0 ? 1 : now.number + 1;
    memcpy(next.value, value, VALUE);
    next.sum = sum_of(&next);
    if (erase(to) < 0)
        return -1;
    /* The number says that the record is there: it must come last. */
    if (!careless)
        return program(to + 4, (uint8_t *)&next + 4, sizeof next - 4) < 0 ? -1 : program(to, &next, 4);
    return program(to, &next, 4) < 0 ? -1 : program(to + 4, (uint8_t *)&next + 4, sizeof next - 4);
}

int main(int count, char **words)
{
    static const char *const torn[] = {"partial", "nothing", "complete", "unstable"};
    struct record found;
    uint8_t old[VALUE], new[VALUE];
    int cuts = 0, wrong = 0;
    careless = count > 1 && strcmp(words[1], "careless") == 0;
    if (ffslab_wire_open(&wire, NULL) < 0) {
        fprintf(stderr, "%s\n", wire.error);
        return 2;
    }
    memset(old, 0x11, VALUE);
    memset(new, 0x22, VALUE);
    ffslab_wire_label(&wire, "first settings");
    if (change(new) < 0 || change(old) < 0)
        return 2;
    ffslab_wire_keep(&wire);
    ffslab_wire_label(&wire, "settings changed");
    for (int how = 0; how < 4; how++) {
        for (uint32_t at = 1;; at++, cuts++) {
            ffslab_wire_put_back(&wire);
            ffslab_wire_cut(&wire, at, how, at);
            int done = change(new) == 0;
            if (done)
                break;
            ffslab_wire_power_on(&wire);
            int which = boot(&found);
            if (which < 0 || (memcmp(found.value, old, VALUE) != 0 && memcmp(found.value, new, VALUE) != 0)) {
                printf("cut at operation %u, %s: settings are lost\n", at, torn[how]);
                wrong++;
            }
        }
    }
    printf("%d cuts, %d of them lose the settings\n", cuts, wrong);
    ffslab_wire_close(&wire);
    return wrong > 0;
}
