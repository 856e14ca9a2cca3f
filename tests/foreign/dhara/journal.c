/* A toy with the interface of Dhara, which itself stands in no registry: see map.c. */
#include "journal.h"

/* The first page of a block that nothing was written to; the number of pages: none is. */
static dhara_page_t prepare_head(struct dhara_journal *j, dhara_block_t block) {
    dhara_page_t page = 0;
    while (page < 1u << j->nand->log2_ppb && !dhara_nand_is_free(j->nand, (block << j->nand->log2_ppb) + page)) page++;
    return page;
}
