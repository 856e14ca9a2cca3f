# What jobs in the guest are made of. A job begins with `. /guest.sh`.

# A fresh chip of 256 MiB with pages of 2 KiB, as nandsim knows it by its ID; /dev/mtd0 is a partition of $1 erase blocks. $2: further
# options of nandsim.
chip() {
  clean_up
  insmod /modules/nandsim.ko first_id_byte=0x20 second_id_byte=0xaa third_id_byte=0x00 fourth_id_byte=0x15 parts="$1" ${2:-}
}

# Unmounts, detaches and removes what is there.
clean_up() {
  if grep -q ' /mnt ' /proc/mounts; then umount /mnt; fi
  if [ -e /dev/ubi0 ]; then ubidetach -d 0 > /dev/null; fi
  if [ -e /dev/mtd0 ]; then rmmod nandsim; fi
  write_back_after 500 3000
}

# ---- images in and out --------------------------------------------------------------------------------------

# The tools of mtd-utils read and write a page at a time, which is slow on the shared folder.
write() {
  cp "$1" /tmp/image
  shift
  nandwrite -q "$@" /dev/mtd0 /tmp/image
  rm /tmp/image
}

read_mtd() {
  local to="$1"
  shift
  nanddump -q --bb=dumpbad "$@" -f /tmp/image /dev/mtd0
  cp /tmp/image "$to"
  rm /tmp/image
}

# Page data only, as users write an image of mkfs.jffs2: the kernel adds ECC, flash_erase the clean markers.
write_jffs2_data() {
  flash_erase -q -j /dev/mtd0 0 0
  write "$1" -p
}

# Page data only, on erased blocks.
write_data() {
  flash_erase -q /dev/mtd0 0 0
  write "$1" -p
}

# Page data and OOB as they are: the image brings ECC and clean markers.
write_dump() {
  flash_erase -q /dev/mtd0 0 0
  write "$1" --noecc --oob
}

# $1.dump: page data and OOB as they are.
read_dump() {
  read_mtd "$1.dump" --noecc --oob
}

# $1.data: page data, corrected where need be.
read_data() {
  read_mtd "$1.data"
}

# ---- mounts -------------------------------------------------------------------------------------------------

# $1: options of ubiattach. Two blocks of 1024 stand by for bad ones, so that small partitions have room.
attach() {
  ubiattach -p /dev/mtd0 -b 2 ${1:-} > /dev/null
}

# A new UBI with one volume that takes all the room. $1: options of ubiformat and ubiattach.
make_volume() {
  ubiformat -q -y /dev/mtd0 ${1:-}
  attach "${1:-}"
  ubimkvol /dev/ubi0 -N volume -m > /dev/null
}

# $1: jffs2 or ubifs, $2: options.
mount_fs() {
  case "$1" in
    jffs2) mount -t jffs2 -o "${2:-rw}" mtd0 /mnt ;;
    ubifs)
      [ -e /dev/ubi0 ] || attach
      # As ffslab does when the power went away before there was one.
      [ -e /dev/ubi0_0 ] || ubimkvol /dev/ubi0 -N volume -m > /dev/null
      mount -t ubifs -o "${2:-rw}" ubi0_0 /mnt
      ;;
    *) echo "unknown file system: $1"; return 1 ;;
  esac
}

# Unmounts; UBI is detached too, so that nothing writes any more.
umount_fs() {
  umount /mnt
  if [ -e /dev/ubi0 ]; then ubidetach -d 0 > /dev/null; fi
}

# When dirty pages are written, in units of 10 ms: how often the flusher looks, after which age; UBIFS's write buffers are
# written after the first.
write_back_after() {
  echo "$1" > /proc/sys/vm/dirty_writeback_centisecs
  echo "$2" > /proc/sys/vm/dirty_expire_centisecs
}

# Until the end of the job nothing is written because of its age, so that a dump is of one moment.
hold_write_back() {
  write_back_after 360000 360000
}

# ---- files --------------------------------------------------------------------------------------------------

# Extracts an archive with owners, modes and times.
extract() {
  /sbin/tar -C /mnt --numeric-owner -xpf "$1"
}

# Everything below /mnt: $1.tar with contents, $1.find with what tar does not say, $1.ecc with the bits corrected and the
# ECC steps lost so far. (busybox has programs of these names, which can do less, and prefers its own.)
list() {
  /sbin/tar -C /mnt --format=gnu --sort=name --numeric-owner -cf "$1.tar" .
  /sbin/find /mnt -printf '%y %i %n %m %U %G %s %T@ %P\0' > "$1.find"
  cat /sys/class/mtd/mtd0/corrected_bits /sys/class/mtd/mtd0/ecc_failures > "$1.ecc"
}

# Does everything that changes a file system, below /mnt/$1. A number of rounds overwrites "big" in pieces.
modify() {
  mkdir "/mnt/$1"
  (
    cd "/mnt/$1"
    mkdir -p a/b/c empty
    for i in $(seq 40); do seq "$i" $((i * 40)) > "a/f$i"; done
    seq 60000 > big
    for i in $(seq "$2"); do
      # A piece in the middle, at no page's border, of bytes that compress or do not.
      if [ $((i % 2)) = 0 ]; then from=/bin/busybox; else from=big; fi
      dd if=$from of=big bs=1000 skip=$((i * 7 % 300)) seek=$((i * 37 % 340)) count=$((1 + i % 9)) conv=notrunc 2> /dev/null
      if [ $((i % 8)) = 0 ]; then dd if=/bin/busybox of="a/f$i" bs=777 skip="$i" count=2 conv=notrunc,fsync 2> /dev/null; fi
    done
    dd if=/bin/busybox of=program bs=4096 count=150 2> /dev/null
    truncate -s 5000 a/f39
    truncate -s 20000 a/f38
    truncate -s 0 a/f37
    dd if=/bin/busybox of=holes bs=4096 seek=20 count=1 2> /dev/null
    dd if=/bin/busybox of=holes bs=100 seek=3000 count=3 conv=notrunc 2> /dev/null
    for i in $(seq 1 3 36); do rm "a/f$i"; done
    for i in $(seq 2 3 36); do mv "a/f$i" "a/b/g$i"; done
    mv a/f3 a/f6
    ln a/f9 link1
    ln a/f9 a/b/c/link2
    ln -s a/f9 symbolic
    ln -s "$(seq 200 | tr -d '\n' | cut -c 1-250)" dangling
    ln a/f12 removed
    rm a/f12
    mv a/b/c moved
    mkdir gone
    touch gone/file
    rm -r gone
    mknod character c 5 1
    mknod block b 259 300
    mkfifo fifo
    chmod 4751 a/f15
    chown 1000:1001 a/f15
    chmod 1777 empty
    echo "changed" >> a/f18
    touch -d @1234567890 a/f21
    echo 'name' > "$(printf 'n%.0s' $(seq 250))"
    touch 'a name with "quotes", \backslash and ümläut'
  )
}

[ "${1:-}" = clean_up ] && clean_up
:
