# vfsmon and funcmon: functions with the time between entry and return.
# Facts: Linux, fs/read_write.c, fs/sync.c, mm/readahead.c, mm/page-writeback.c, include/linux/fs.h (struct address_space
# begins with a pointer to its inode).

GROUP_VFS=ffslab_vfs
GROUP_FUNC=ffslab_func

# Adds entry and return of function $2 to group $1; the rest: what to record at entry. Sets FUNCTIONS and COUNT.
add_call() {
  if [ -n "${BPF:-}" ]; then
    bpf_call "$@"
    return
  fi
  local group="$1" function="$2" kind=r100
  shift 2
  add_probe p "$group" "enter_$((COUNT + 1))" "$function" "$*" || return 1
  # Without room for 100 calls at a time the kernel misses those that sleep long. Before 4.12 there is no such number, and
  # a probe with one gets a name that nobody asked for.
  if older_than 4.12; then kind=r; fi
  # shellcheck disable=SC2016 # $retval is the kernel's
  if ! add_probe "$kind" "$group" "leave_$((COUNT + 1))" "$function" 'ret=$retval:s64'; then
    echo "-:$group/enter_$((COUNT + 1))" >> "$TRACE/kprobe_events"
    return 1
  fi
  COUNT=$((COUNT + 1))
  FUNCTIONS="$FUNCTIONS $function"
}

# ---- where a file's inode number is ----------------------------------------------------------------------------

# Sets INODE_AT (in struct file) and NUMBER_AT (in struct inode), in bytes. No layout is assumed: files whose inode
# numbers are known are read, and the pair of offsets that leads to these numbers is the right one. Wrong ones are
# harmless, for the kernel reads memory for a probe with care. Empty when none fits.
find_inode_offsets() {
  INODE_AT=
  NUMBER_AT=
  # By kprobe events in any case.
  local BPF='' word_B=4 type=u32 pairs first second batch group=ffslab_layout
  if is_64_bit; then
    word_B=8
    type=u64
  fi
  echo one > "$STATE/first-inode"
  echo two > "$STATE/second-inode"
  first=$(inode_number "$STATE/first-inode")
  second=$(inode_number "$STATE/second-inode")
  pairs=$(awk -v w=$word_B 'BEGIN { for (a = 1; a <= 24; a++) for (b = 4; b <= 18; b++) print a * w "_" b * w }')
  use_buffer layout
  size_buffer 256 last
  # A definition of a probe may be 4096 characters long.
  for batch in 1 2 3 4 5; do
    # shellcheck disable=SC2046 # words
    add_probe p $group read vfs_read "bytes=$(word 3)" $(echo "$pairs" | awk -v batch="$batch" -v file="$(word 1)" -v type=$type \
      'int((NR - 1) / 80) + 1 == batch { split($1, at, "_"); print "o" $1 "=+" at[2] "(+" at[1] "(" file ")):" type }') || break
    echo 1 > "$BUFFER/events/$group/enable"
    dd if="$STATE/first-inode" of=/dev/null bs=3 count=1 2> /dev/null
    dd if="$STATE/second-inode" of=/dev/null bs=3 count=1 2> /dev/null
    echo 0 > "$BUFFER/events/$group/enable"
    awk -v first="$first" -v second="$second" '
      function hex(text,    value, i) {
          for (i = 3; i <= length(text); i++) value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
          return value
      }
      / bytes=(0x)?3 / {
          for (i = 1; i <= NF; i++) if (split($i, pair, "=") == 2 && pair[1] ~ /^o[0-9]/) {
              value = substr(pair[2], 1, 2) == "0x" ? hex(pair[2]) : pair[2]
              if (value == first) is_first[pair[1]] = 1
              if (value == second && pair[1] in is_first) { print substr(pair[1], 2); exit }
          }
      }' "$BUFFER/trace" > "$STATE/offsets"
    echo > "$BUFFER/trace"
    remove_probes $group
    if [ -s "$STATE/offsets" ]; then
      INODE_AT=$(sed 's/_.*//' "$STATE/offsets")
      NUMBER_AT=$(sed 's/.*_//' "$STATE/offsets")
      break
    fi
  done
  remove_probes $group
  drop_buffer
}

inode_number() {
  # shellcheck disable=SC2012 # busybox may have no stat
  ls -i "$1" | awk '{ print $1 }'
}

# What to record to have the inode number of: a file, a mapping, or a file that a structure begins with.
inode_of_file() {
  if [ -n "$INODE_AT" ]; then echo "ino=+$NUMBER_AT(+$INODE_AT($1))"; fi
}

inode_of_mapping() {
  if [ -n "$NUMBER_AT" ]; then echo "ino=+$NUMBER_AT(+0($1))"; fi
}

# ---- vfsmon ----------------------------------------------------------------------------------------------------

probe_vfs() {
  local fs position
  [ -n "${BPF:-}" ] || remove_probes $GROUP_VFS
  find_inode_offsets
  [ -n "${BPF:-}" ] || use_buffer vfsmon
  FUNCTIONS=
  COUNT=0
  # System calls: f(file, buffer, count, position *), f(file, from, to, datasync).
  for fs in vfs_read vfs_write; do
    add_call $GROUP_VFS $fs "$(inode_of_file "$(word 1)")" "bytes=$(word 3)" "pos=+0($(word 4)):u64"
  done
  add_call $GROUP_VFS vfs_fsync_range "$(inode_of_file "$(word 1)")"
  # Read-ahead: before 5.8 f(mapping, file, first page, pages, ...), then f(struct readahead_control *, pages, ...).
  add_call $GROUP_VFS page_cache_ra_unbounded "$(inode_of_file "+0($(word 1))")" "pages=$(word 2)" ||
    add_call $GROUP_VFS __do_page_cache_readahead "$(inode_of_mapping "$(word 1)")" "index=$(word 3)" "pages=$(word 4)"
  # Write-back of the pages of one file.
  add_call $GROUP_VFS do_writepages "$(inode_of_mapping "$(word 1)")"
  # The page cache of each flash file system: f(file, mapping, position, bytes, ...), f(file, page), f(page, ...).
  position="pos=$(third_of_64_bits)"
  if ! is_64_bit; then position="$position:u32"; fi
  for fs in jffs2 ubifs yaffs; do
    add_call $GROUP_VFS ${fs}_write_begin "$(inode_of_mapping "$(word 2)")" "$position"
    add_call $GROUP_VFS ${fs}_write_end "$(inode_of_mapping "$(word 2)")" "$position"
    add_call $GROUP_VFS ${fs}_read_folio "$(inode_of_file "$(word 1)")" ||
      add_call $GROUP_VFS ${fs}_readpage "$(inode_of_file "$(word 1)")"
    add_call $GROUP_VFS ${fs}_writepage
  done
  [ $COUNT -gt 0 ] || fail "no function of the VFS can be probed"
  [ -n "${BPF:-}" ] || echo 1 > "$BUFFER/events/$GROUP_VFS/enable"
}

# ---- funcmon ---------------------------------------------------------------------------------------------------

FUNCTIONS_MAX=100

# $1: names, * allowed. A function that the compiler has merged with its caller is not in the kernel any more.
probe_functions() {
  local function pattern found
  [ -n "${BPF:-}" ] || remove_probes $GROUP_FUNC
  FUNCTIONS=
  COUNT=0
  for pattern in $1; do
    found=$(matching_functions "$pattern")
    [ -n "$found" ] || fail "funcmon $pattern: the kernel has no such function (a module not loaded, or merged by the compiler)"
    for function in $found; do
      [ $COUNT -lt $FUNCTIONS_MAX ] || fail "funcmon: more than $FUNCTIONS_MAX functions; name fewer"
      add_call $GROUP_FUNC "$function" || note "funcmon $function: cannot be probed, left out"
    done
  done
  [ $COUNT -gt 0 ] || fail "funcmon: none of these functions can be probed"
  [ -n "${BPF:-}" ] || echo 1 > "$BUFFER/events/$GROUP_FUNC/enable"
}
