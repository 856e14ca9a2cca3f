# /guest.sh of reference runs: what a variant left must not stand in the way of the next one.
clean_up() {
  for mounted in $(grep -o ' /mnt[.0-9]* ' /proc/mounts | sort -r); do umount "$mounted"; done
  for attached in /dev/ubi[0-9]; do
    if [ -e "$attached" ]; then /steps /detach /tmp/detached /dev/null || true; fi
  done
  if [ -e /dev/mtd0 ]; then rmmod nandsim || rmmod mtdram; fi
}

[ "${1:-}" = clean_up ] && clean_up
:
