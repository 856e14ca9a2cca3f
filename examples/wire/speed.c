/* How many requests a second `ffslab chip serve` answers, one by one and many at a time.
 *
 *     cc -O2 examples/wire/speed.c -I python/ffslab/foreign/include -o speed
 *     ffslab chip serve --part w25n01gv --socket chip.sock --no-results -- ./speed
 *
 * Half of the requests ask for the status, half read 16 bytes from the register.
 */
#include "ffslab_wire.h"
#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(void)
{
    static const uint8_t status[] = {0x0f, 0xc0}, cache[] = {0x03, 0, 0, 0};
    static const int batches[] = {1, 16, 256};
    struct ffslab_wire wire;
    uint8_t taken[16];
    if (ffslab_wire_open(&wire, NULL) < 0) {
        fprintf(stderr, "%s\n", wire.error);
        return 2;
    }
    for (int i = 0; i < 3; i++) {
        int batch = batches[i], all = batch == 1 ? 100000 : 1000000;
        uint8_t *requests = malloc((size_t)batch * 24), *answers = malloc((size_t)batch * 32);
        size_t sent = 0, answered = 0;
        for (int n = 0; n < batch; n++) {
            const uint8_t *bytes = n % 2 ? cache : status;
            uint32_t out = n % 2 ? sizeof cache : sizeof status, in = n % 2 ? sizeof taken : 1;
            memset(requests + sent, 0, 20);
            requests[sent] = FFSLAB_WIRE_SPI;
            ffslab_wire_number(requests + sent + 4, out, 4);
            ffslab_wire_number(requests + sent + 8, in, 4);
            memcpy(requests + sent + 20, bytes, out);
            sent += 20 + out;
            answered += 16 + in;
        }
        double began = seconds();
        for (int done = 0; done < all; done += batch) {
            if (ffslab_wire_put(&wire, requests, sent) < 0 || ffslab_wire_take(&wire, answers, answered) < 0) {
                fprintf(stderr, "%s\n", wire.error);
                return 2;
            }
        }
        printf("%3d at a time: %.0f requests/s\n", batch, all / (seconds() - began));
        free(requests);
        free(answers);
    }
    ffslab_wire_close(&wire);
    return 0;
}
