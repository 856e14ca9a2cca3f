/* Of a toy with the interface of Dhara. */
#ifndef TOY_DHARA_JOURNAL_H
#define TOY_DHARA_JOURNAL_H

#include "nand.h"

struct dhara_journal {
    const struct dhara_nand *nand;
};

#endif
