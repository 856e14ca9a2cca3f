/* Of a toy with the interface of Dhara. */
#ifndef TOY_DHARA_ERROR_H
#define TOY_DHARA_ERROR_H

typedef enum {
    DHARA_E_NONE = 0,
    DHARA_E_BAD_BLOCK,
    DHARA_E_ECC,
    DHARA_E_TOO_BAD,
    DHARA_E_RECOVER,
    DHARA_E_JOURNAL_FULL,
    DHARA_E_NOT_FOUND,
    DHARA_E_MAP_FULL,
    DHARA_E_CORRUPT_MAP,
} dhara_error_t;

static inline void dhara_set_error(dhara_error_t *error, dhara_error_t value) {
    if (error) *error = value;
}

#endif
