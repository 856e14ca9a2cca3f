/* ChaN's FatFs on a chip of libffslab, without a translation layer: the functions of diskio.h for drive 0. Include it in one source file.
 *
 *     ffslab_fatfs_chip = chip;
 *     f_mount(&fs, "", 1);
 *
 * A write of sectors reads their erase block, erases it and programs it: what small firmware on NOR does, and what wears a chip and loses a
 * block in a power cut. FFSLAB_FATFS_SECTOR_B (512 if not defined) is the size of a sector; with that of an erase block nothing is
 * read before. */
#ifndef FFSLAB_FATFS_H
#define FFSLAB_FATFS_H

#include <ffslab.h>
#include <ff.h>
#include <diskio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FFSLAB_FATFS_SECTOR_B
#define FFSLAB_FATFS_SECTOR_B 512
#endif

static ffslab_chip *ffslab_fatfs_chip;

DSTATUS disk_status(BYTE pdrv) { return pdrv == 0 && ffslab_fatfs_chip ? 0 : STA_NOINIT; }
DSTATUS disk_initialize(BYTE pdrv) { return disk_status(pdrv); }

DRESULT disk_read(BYTE pdrv, BYTE *buff, LBA_t sector, UINT count) {
    if (disk_status(pdrv)) return RES_NOTRDY;
    uint64_t at = (uint64_t)sector * FFSLAB_FATFS_SECTOR_B;
    return ffslab_read(ffslab_fatfs_chip, at, buff, (size_t)count * FFSLAB_FATFS_SECTOR_B) >= 0 ? RES_OK : RES_ERROR;
}

/* A part of one erase block gets new bytes. */
static inline int ffslab_fatfs_replace(uint64_t at, const BYTE *data, uint32_t bytes, const struct ffslab_geometry *of) {
    uint64_t block = at / of->erase_block_B * of->erase_block_B;
    uint8_t *held = (uint8_t *)malloc(of->erase_block_B);
    int code = held ? FFSLAB_OK : FFSLAB_EINPUT;
    if (code >= 0 && bytes < of->erase_block_B) code = ffslab_read(ffslab_fatfs_chip, block, held, of->erase_block_B);
    if (code >= 0) {
        memcpy(held + (at - block), data, bytes);
        code = ffslab_erase(ffslab_fatfs_chip, block);
    }
    if (code >= 0) code = ffslab_program(ffslab_fatfs_chip, block, held, of->erase_block_B);
    free(held);
    return code;
}

DRESULT disk_write(BYTE pdrv, const BYTE *buff, LBA_t sector, UINT count) {
    struct ffslab_geometry of;
    if (disk_status(pdrv)) return RES_NOTRDY;
    if (ffslab_geometry(ffslab_fatfs_chip, &of) < 0) return RES_ERROR;
    uint64_t at = (uint64_t)sector * FFSLAB_FATFS_SECTOR_B, end = at + (uint64_t)count * FFSLAB_FATFS_SECTOR_B;
    while (at < end) {
        uint64_t of_block = of.erase_block_B - at % of.erase_block_B;
        uint32_t bytes = (uint32_t)(of_block < end - at ? of_block : end - at);
        if (ffslab_fatfs_replace(at, buff, bytes, &of) < 0) return RES_ERROR;
        at += bytes;
        buff += bytes;
    }
    return RES_OK;
}

DRESULT disk_ioctl(BYTE pdrv, BYTE cmd, void *buff) {
    struct ffslab_geometry of;
    if (disk_status(pdrv)) return RES_NOTRDY;
    if (ffslab_geometry(ffslab_fatfs_chip, &of) < 0) return RES_ERROR;
    switch (cmd) {
    case CTRL_SYNC: return ffslab_sync(ffslab_fatfs_chip) >= 0 ? RES_OK : RES_ERROR;
    case GET_SECTOR_COUNT: *(LBA_t *)buff = (LBA_t)(of.size_B / FFSLAB_FATFS_SECTOR_B); return RES_OK;
    case GET_SECTOR_SIZE: *(WORD *)buff = FFSLAB_FATFS_SECTOR_B; return RES_OK;
    case GET_BLOCK_SIZE:
        *(DWORD *)buff = of.erase_block_B > FFSLAB_FATFS_SECTOR_B ? of.erase_block_B / FFSLAB_FATFS_SECTOR_B : 1;
        return RES_OK;
    default: return RES_PARERR;
    }
}

#endif
