# flashmon: which functions of the kernel read, program and erase, and what their arguments mean. Each is a plain number,
# so no layout of a structure is needed, with one exception that has not changed since 2.6.28 (struct mtd_oob_ops).
# Facts: Linux, drivers/mtd/nand/raw/nand_base.c and nand_legacy.c (before 4.20 nand_base.c), drivers/mtd/nand/spi/core.c,
# drivers/mtd/spi-nor/core.c, drivers/mtd/chips/cfi_cmdset_0002.c, drivers/mtd/devices/mtdram.c.

# ---- the chip --------------------------------------------------------------------------------------------------

attribute() {
  cat "/sys/class/mtd/$1/$2" 2> /dev/null
}

# The flash partitions, in order: "mtd0 offset_B size_B name". Those of NAND; where there is none, those of NOR and of memory
# that takes its place. The offset is empty where the kernel does not tell (before 4.1) and there is more than one.
flash_partitions() {
  local mtd names='' others=''
  for mtd in /sys/class/mtd/mtd*[0-9]; do
    mtd=${mtd##*/}
    case "$(attribute "$mtd" type)" in
      nand | mlc-nand) names="$names $mtd" ;;
      nor | ram) others="$others $mtd" ;;
    esac
  done
  names=${names:-$others}
  # shellcheck disable=SC2086 # a list
  for mtd in $(printf '%s\n' $names | sort -t d -k 2 -n); do
    echo "$mtd offset_B=$(attribute "$mtd" offset || if [ "$names" = " $mtd" ]; then echo 0; fi)" \
      "size_B=$(attribute "$mtd" size) name=$(attribute "$mtd" name)"
  done
}

# Sets PAGE_B, OOB_B, BLOCK_B, CHIP_B from the first flash partition; --page-B and so on overrule it.
find_geometry() {
  FIRST_MTD=$(flash_partitions | head -n 1 | cut -d ' ' -f 1)
  [ -n "$FIRST_MTD" ] || [ -n "${PAGE_B:-}" ] ||
    fail "no flash partition in /sys/class/mtd; is the driver loaded? (or say --page-B, --oob-B, --block-B, --size-B)"
  PAGE_B=${PAGE_B:-$(attribute "$FIRST_MTD" writesize)}
  # NOR takes single bytes. What one program of it takes at most the kernel does not tell; on serial chips it is this.
  if [ "$PAGE_B" = 1 ]; then PAGE_B=256; fi
  OOB_B=${OOB_B:-$(attribute "$FIRST_MTD" oobsize)}
  BLOCK_B=${BLOCK_B:-$(attribute "$FIRST_MTD" erasesize)}
  # The chip ends where the last partition does, unless the driver has said how large it is.
  CHIP_B=${CHIP_B:-$(flash_partitions | sed 's/.*offset_B=\([0-9]*\) size_B=\([0-9]*\).*/\1 \2/' |
    awk '$1 + $2 > end { end = $1 + $2 } END { printf "%.0f", end }')}
}

# Sets FROM_B and SIZE_B of the scope.
find_scope() {
  FROM_B=0
  SIZE_B=$CHIP_B
  [ "$SCOPE" = chip ] && return
  set -- "$(flash_partitions | grep "^$SCOPE ")"
  [ -n "$1" ] || fail "--scope $SCOPE: chip, or one of $(flash_partitions | cut -d ' ' -f 1 | tr '\n' ' ')"
  FROM_B=$(echo "$1" | sed 's/.*offset_B=\([0-9]*\) .*/\1/')
  SIZE_B=$(echo "$1" | sed 's/.* size_B=\([0-9]*\) .*/\1/')
  [ -n "$FROM_B" ] || fail "--scope $SCOPE: this kernel does not say where the partition begins; trace the chip"
}

# ---- levels ----------------------------------------------------------------------------------------------------

GROUP_FLASH=ffslab_flash

# "chip": one event for each operation of the chip.
#   4.16 and later: nand_read_page_op(chip, page, offset_in_page, buf, len), nand_read_oob_op(same),
#   nand_prog_page_op and nand_prog_page_begin_op(same), nand_erase_op(chip, eraseblock).
chip_page() {
  echo "chip=$(word 1) page=$(word 2):u32"
}

chip_operation() {
  echo "$(chip_page) off=$(word 3):u32 len=$(word 5):u32"
}

probe_chip_level() {
  FUNCTIONS=
  local event
  for event in read_page_op read_oob_op prog_page_op prog_page_begin_op; do
    if add_probe p $GROUP_FLASH "$event" "nand_$event" "$(chip_operation)"; then
      FUNCTIONS="$FUNCTIONS nand_$event"
    elif [ "$event" = read_page_op ]; then
      return 1
    fi
  done
  add_probe p $GROUP_FLASH erase_op nand_erase_op "$(chip_page)" && FUNCTIONS="$FUNCTIONS nand_erase_op"
}

# "command": the commands that a driver without operations of its own sends, nand_command(mtd or chip, command, column,
#   page): 2.6.x to today, for chips with small and with large pages.
probe_command_level() {
  FUNCTIONS=
  local function
  for function in nand_command nand_command_lp; do
    if add_probe p $GROUP_FLASH "$function" "$function" "chip=$(word 1)" \
      "command=$(word 2):u32" "off=$(word 3):u32" "page=$(word 4):u32"; then
      FUNCTIONS="$FUNCTIONS $function"
    fi
  done
  [ -n "$FUNCTIONS" ]
}

# "mtd": what the MTD layer asks of the driver: f(mtd, from, struct mtd_oob_ops *). For SPI NAND, and for controllers that
#   do not use the functions above. One event for each call; the log has a line for each page that it touches, be it
#   in the core's page buffer or not. len is the second word of the structure, ooblen the fourth.
probe_mtd_level() {
  FUNCTIONS=
  local function where word_B=4 high=''
  if is_64_bit; then word_B=8; fi
  pointer_offset_pointer
  if [ -n "$HIGH" ]; then high="high=$HIGH:u32"; fi
  where="chip=$(word 1) low=$LOW $high len=+$word_B($LAST) ooblen=+$((3 * word_B))($LAST)"
  for function in nand_read_oob nand_write_oob spinand_mtd_read spinand_mtd_write; do
    # shellcheck disable=SC2086 # words
    add_probe p $GROUP_FLASH "mtd_$function" "$function" $where && FUNCTIONS="$FUNCTIONS $function"
  done
  probe_erases mtd nand_erase nanddev_mtd_erase
  [ -n "$FUNCTIONS" ]
}

# Probes f(mtd, struct erase_info *); events begin with $1, the rest are the functions.
probe_erases() {
  local level="$1" function address=0 instruction
  shift
  # struct erase_info began with a pointer before 4.17; only i386 puts 64 bits right behind its 4 bytes.
  if older_than 4.17; then
    case "$ARCH" in
      i?86) address=4 ;;
      *) address=8 ;;
    esac
  fi
  instruction=$(word 2)
  for function in "$@"; do
    add_probe p $GROUP_FLASH "${level}_$function" "$function" "chip=$(word 1)" \
      "from=+$address($instruction):u64" "len=+$((address + 8))($instruction):u64" && FUNCTIONS="$FUNCTIONS $function"
  done
}

# "nor": what the MTD layer asks of a driver of NOR: f(mtd, from, length, ...), for serial chips, for those in the
#   processor's memory, and for memory in their place (mtdram). One event for each call. The log has a line for a read
#   however long it is, since NOR has no pages to read, and one for each page that a program touches. Not for chips of Intel's kind: their
#   cfi_intelext_writev takes a list of pieces, whose lengths are no arguments.
probe_nor_level() {
  FUNCTIONS=
  local function where high=''
  pointer_offset_pointer
  if [ -n "$HIGH" ]; then high="high=$HIGH:u32"; fi
  where="chip=$(word 1) low=$LOW $high len=$LAST:u32"
  for function in spi_nor_read spi_nor_write cfi_amdstd_read cfi_amdstd_write_buffers cfi_amdstd_write_words \
    ram_read ram_write; do
    # shellcheck disable=SC2086 # words
    add_probe p $GROUP_FLASH "nor_$function" "$function" $where && FUNCTIONS="$FUNCTIONS $function"
  done
  probe_erases nor spi_nor_erase cfi_amdstd_erase_varsize ram_erase
  [ -n "$FUNCTIONS" ]
}

# Functions that the user names, as FUNCTION:N with N the number of the argument that holds the page (reads, writes) or the
# block (erases).
probe_named() {
  local type list entry
  FUNCTIONS=
  for type in R W E; do
    case $type in
      R) list=$READ_AT ;;
      W) list=$WRITE_AT ;;
      E) list=$ERASE_AT ;;
    esac
    for entry in $list; do
      add_probe p $GROUP_FLASH "named_${type}_${entry%:*}" "${entry%:*}" "chip=$(word 1)" "page=$(word "${entry##*:}"):u32" ||
        fail "$entry: the kernel has no such function that can be probed"
      FUNCTIONS="$FUNCTIONS ${entry%:*}"
    done
  done
}

# Whether a read of two pages of the first partition is seen. Two, because the core may have one in its buffer.
level_sees_reads() {
  [ -n "$FIRST_MTD" ] && [ -c "/dev/$FIRST_MTD" ] || return 0
  echo > "$BUFFER/trace"
  dd if="/dev/$FIRST_MTD" of=/dev/null bs="$PAGE_B" count=2 2> /dev/null || return 0
  grep -q "read_page_op:\|nand_command[_lp]*:\|_read[_oob]*:" "$BUFFER/trace"
}

# Sets LEVEL and FUNCTIONS; probes are on.
probe_flash() {
  remove_probes $GROUP_FLASH
  if [ -n "$READ_AT$WRITE_AT$ERASE_AT" ]; then
    LEVEL=named
    probe_named
    echo 1 > "$BUFFER/events/$GROUP_FLASH/enable"
    return
  fi
  local wanted="$LEVEL"
  for LEVEL in chip command mtd nor; do
    [ "$wanted" = auto ] || [ "$wanted" = "$LEVEL" ] || continue
    "probe_${LEVEL}_level" || continue
    echo 1 > "$BUFFER/events/$GROUP_FLASH/enable"
    if [ "$wanted" != auto ] || level_sees_reads; then return; fi
    note "level $LEVEL: this driver does not call$FUNCTIONS"
    remove_probes $GROUP_FLASH
  done
  fail "no function of a flash driver is known in this kernel; name them: --read FUNCTION:ARGUMENT, --write, --erase" \
    "(candidates: ffslab-probe functions)"
}

# The kernel itself leaves out what is not in the scope, so it takes no room in the buffer.
filter_scope() {
  [ "$SCOPE" = chip ] && return
  case $LEVEL in
    mtd | command | nor) return ;; # other units: the log is filtered when it is written
  esac
  local from=$((FROM_B / PAGE_B)) end=$(((FROM_B + SIZE_B) / PAGE_B)) directory filter
  for directory in "$BUFFER/events/$GROUP_FLASH"/*/; do
    filter="page >= $from && page < $end"
    case "$directory" in
      */erase_op/ | */named_E_*) filter="page >= $((FROM_B / BLOCK_B)) && page < $(((FROM_B + SIZE_B) / BLOCK_B))" ;;
    esac
    # Kernels whose events have no named fields cannot; the log is filtered anyway.
    echo "$filter" > "${directory}filter" 2> /dev/null || :
  done
}
