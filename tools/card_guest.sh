# What jobs of tools/card_guest.py are made of: /dev/vda is the card, /dev/vdb takes marks. A job begins with `. /guest.sh`.
# /sbin/sync is that of coreutils, which syncs single files and folders.

clean_up() {
  if grep -q ' /mnt ' /proc/mounts; then umount /mnt; fi
}

# $1: file system, $2: options.
mount_card() {
  mount -t "$1" -o "${2:-rw}" /dev/vda /mnt
}

# Says something to whoever records the session; it is there when this returns.
mark() {
  printf '%s\n' "$1" | dd of=/dev/vdb bs=512 conv=sync,fsync 2> /dev/null
}

# From now on the first bytes of a file, as many as it has, are to be there after any power cut: it was fsynced.
promise() {
  local sum size
  sum=$(md5sum < "/mnt/$1")
  size=$(stat -c %s "/mnt/$1")
  mark "promise ${sum%% *} $size $1"
}

# From now on a file may be what it was or what it will be.
release() {
  mark "release $1"
}

# Files are made, lengthened, replaced and removed, $1 times; what stands below /mnt/old was fsynced, and below /mnt/new not.
write_files() {
  mkdir /mnt/old /mnt/new
  /sbin/sync /mnt
  for i in $(seq "$1"); do
    # A new file of up to 30 kB.
    dd if=/bin/busybox of="/mnt/old/f$i" bs=1500 skip="$i" count=$((1 + i * 7 % 20)) conv=fsync 2> /dev/null
    promise "old/f$i"
    # A log that grows.
    printf 'reading %6d of a sensor, which is as long as its line is: 64 B\n' "$i" >> /mnt/old/log
    /sbin/sync /mnt/old/log
    promise old/log
    # Nobody waits for this one.
    dd if=/bin/busybox of="/mnt/new/g$((i % 5))" bs=4096 skip="$i" count=$((i * 5 % 17)) 2> /dev/null
    case $((i % 4)) in
      0) # Replaced, as programs keep their settings.
        release old/settings
        dd if=/bin/busybox of=/mnt/old/settings.new bs=700 skip="$i" count=3 conv=fsync 2> /dev/null
        mv /mnt/old/settings.new /mnt/old/settings
        /sbin/sync /mnt/old
        promise old/settings
        ;;
      1) # A part of a file is written again.
        release "old/f$i"
        dd if=/bin/busybox of="/mnt/old/f$i" bs=1000 seek=1 skip=$((i + 50)) count=2 conv=notrunc,fsync 2> /dev/null
        promise "old/f$i"
        ;;
      2)
        release "old/f$((i / 2))"
        rm "/mnt/old/f$((i / 2))"
        ;;
    esac
  done
}

# Counts in the file "counts" what was promised and is there, missing, wrong; "unlike" names what is not there.
check_files() {
  local there=0 missing=0 wrong=0 word sum size path found
  awk '$1 == "promise" { kept[$4] = $0 } $1 == "release" { delete kept[$2] } END { for (path in kept) print kept[path] }' \
    marks > promised
  while read -r word sum size path; do
    if [ ! -e "/mnt/$path" ]; then
      missing=$((missing + 1))
      echo "$path: missing" >> unlike
      continue
    fi
    found=$(head -c "$size" "/mnt/$path" | md5sum)
    if [ "${found%% *}" = "$sum" ]; then
      there=$((there + 1))
    else
      wrong=$((wrong + 1))
      echo "$path: wrong, $(stat -c %s "/mnt/$path") B for $size" >> unlike
    fi
  done < promised
  echo "$there $missing $wrong" > counts
}

# Whether $2 repairs what fsck finds of file system $1; the file "fsck" has its words. Of fsck.ext4: 0 clean, 1 and 2 repaired
# (man 8 e2fsck). fsck.f2fs has no such codes before 1.16, so its words count.
fsck_says() {
  local code=0
  case "$1" in
    ext4)
      fsck.ext4 -f "$2" /dev/vda > fsck 2>&1 || code=$?
      if [ $code = 0 ]; then echo clean; elif [ $code -le 2 ]; then echo repaired; else echo refused; fi
      ;;
    f2fs)
      if [ "$2" = -n ]; then fsck.f2fs --dry-run /dev/vda > fsck 2>&1 || code=$?; else fsck.f2fs -f -y /dev/vda > fsck 2>&1 || code=$?; fi
      if grep -qE '\[Fail\]|ASSERT' fsck; then echo damaged; elif [ $code = 0 ]; then echo clean; else echo refused; fi
      ;;
  esac
}

# After a power cut: $1 file system, $2 options of the mount. The file "said" has how it mounts and what fsck finds after that.
check_card() {
  local mounts=mounts fsck
  # What was read of another card is none of this one.
  blockdev --flushbufs /dev/vda
  if ! mount_card "$1" "$2" 2> mount; then
    mounts="mounts after fsck"
    fsck_says "$1" -y > /dev/null
    mount_card "$1" "$2" 2>> mount || mounts="does not mount"
  fi
  if grep -q ' /mnt ' /proc/mounts; then
    check_files
    umount /mnt
  fi
  fsck=$(fsck_says "$1" -n)
  if [ "$fsck" != clean ]; then
    cp fsck fsck.found
    fsck_says "$1" -y > /dev/null
    if [ "$(fsck_says "$1" -n)" = clean ]; then fsck=repaired; else fsck=refused; fi
  fi
  echo "$mounts, fsck $fsck" > said
}

[ "${1:-}" = clean_up ] && clean_up
:
