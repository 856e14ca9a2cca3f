/* Of a toy with the interface of FatFs: names are bytes. */
