# /guest.sh of reference runs: what a variant left must not stand in the way of the next one.
clean_up() {
  if grep -q ' /mnt ' /proc/mounts; then umount /mnt; fi
  if [ -e /dev/ubi0 ]; then /steps /detach /tmp/detached /dev/null || true; fi
  if [ -e /dev/mtd0 ]; then rmmod nandsim || rmmod mtdram; fi
}

[ "${1:-}" = clean_up ] && clean_up
:
