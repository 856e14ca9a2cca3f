/* Of a stand-in: fcb.c has all of it. */
