# ffslab-probe bench: measurements on the board itself. Run by ffslab-probe, which has read lib/tracefs.sh and lib/flash.sh.
#
# Nothing is written that was not named twice: what to write to, and the same again behind --confirm.

bench_usage() {
  cat << 'END'
ffslab-probe bench: measurements on the board itself

  ffslab-probe bench loops mtdN [--counts "256 512 1024 2048"] [--repeats 3]
        page reads through /dev/mtdN, nothing else: operation,n,time_us on stdout, as `ffslab calibrate` takes it
  ffslab-probe bench loops mtdN --confirm NAME ...
        erases, programs and reads; ALL DATA OF THE PARTITION ARE LOST. NAME is its name in /proc/mtd
  ffslab-probe bench reread mtdN --block B [--times 1000]
        reads an erase block again and again; the bits that ECC corrected, before and after
  ffslab-probe bench fio DIRECTORY --confirm DIRECTORY [JOB...]
        fio's job files of probe/fio (or JOB) in a directory of the file system to be measured; needs fio
  ffslab-probe bench files DIRECTORY --confirm DIRECTORY [--MiB 4]
        without fio: sequential writes, cold sequential and random reads with dd: pattern,request_B,n,time_us
END
}

# ---- what may be written to --------------------------------------------------------------------------------------

# Fails unless $1 is a partition that nobody uses and $2 is its name.
check_partition() {
  local mtd="$1" confirmed="$2" name number volume
  name=$(attribute "$mtd" name)
  [ "$confirmed" = "$name" ] || fail "--confirm $confirmed: /dev/$mtd is \"$name\"; nothing was written"
  number=${mtd#mtd}
  if grep -q "^\(/dev/\)\{0,1\}\($mtd\|mtdblock$number\|mtd:$name\) " /proc/mounts; then
    fail "/dev/$mtd is mounted; nothing was written"
  fi
  for volume in /sys/class/ubi/ubi*/mtd_num; do
    if [ -e "$volume" ] && [ "$(cat "$volume")" = "$number" ]; then
      fail "/dev/$mtd is attached to UBI; nothing was written"
    fi
  done
  command -v flash_erase > /dev/null || fail "flash_erase of mtd-utils is missing; without it only reads are possible"
}

check_directory() {
  [ -d "$1" ] || fail "$1: there is no such directory"
  [ "$2" = "$1" ] || fail "--confirm ${2:-missing}: say the directory twice, as files in it are written: --confirm $1"
}

check_mtd() {
  case "$1" in
    mtd[0-9] | mtd[0-9][0-9]) ;;
    *) fail "$1: a partition is named mtd0, mtd1 ..." ;;
  esac
  [ -c "/dev/$1" ] || fail "/dev/$1: there is no such device"
}

# ---- a clock with microseconds, which no shell has -----------------------------------------------------------------

# The kernel's trace has one: a marker before and after; `elapsed` pairs them.
open_clock() {
  find_tracefs
  use_buffer bench
  choose_clock
  size_buffer 1024 first
  echo 1 > "$BUFFER/tracing_on"
  echo > "$BUFFER/trace"
}

# $1: what stands before the time in the table, the rest: the command.
timed() {
  local label="$1"
  shift
  echo "begin $label" > "$BUFFER/trace_marker"
  "$@" > /dev/null 2>&1 || fail "$label: failed: $*"
  echo "end $label" > "$BUFFER/trace_marker"
}

elapsed() {
  awk '!/^#/ && match($0, /[0-9]+\.[0-9]+: tracing_mark_write: /) {
      t = substr($0, RSTART) + 0
      rest = substr($0, RSTART + RLENGTH)
      if (rest ~ /^begin /) from = t
      if (rest ~ /^end /) printf "%s,%.0f\n", substr(rest, 5), (t - from) * 1e6
    }' "$BUFFER/trace"
}

# ---- loops of the driver -----------------------------------------------------------------------------------------

loops() {
  local mtd="$1" counts='256 512 1024 2048' repeats=3 confirmed='' n blocks page_B block_B size_B round
  check_mtd "$mtd"
  shift
  while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || fail "$1: a value is missing"
    case "$1" in
      --counts) counts=$2 ;;
      --repeats) repeats=$2 ;;
      --confirm) confirmed=$2 ;;
      *) fail "bench loops: $1: no such option" ;;
    esac
    shift 2
  done
  number --repeats "$repeats"
  page_B=$(attribute "$mtd" writesize)
  block_B=$(attribute "$mtd" erasesize)
  size_B=$(attribute "$mtd" size)
  for n in $counts; do
    number --counts "$n"
    [ $((n * page_B)) -le "$size_B" ] || fail "--counts $n: /dev/$mtd has $((size_B / page_B)) pages"
  done
  if [ -n "$confirmed" ]; then check_partition "$mtd" "$confirmed"; fi
  open_clock
  for round in $(seq "$repeats"); do
    for n in $counts; do
      if [ -n "$confirmed" ]; then
        blocks=$(((n * page_B + block_B - 1) / block_B))
        timed "erase,$blocks" flash_erase -q "/dev/$mtd" 0 "$blocks"
        timed "program,$n" dd if=/dev/zero of="/dev/$mtd" bs="$page_B" count="$n"
      fi
      timed "read,$n" dd if="/dev/$mtd" of=/dev/null bs="$page_B" count="$n"
      note "round $round of $repeats: $n pages"
    done
  done
  echo "operation,n,time_us"
  elapsed
  drop_buffer
}

reread() {
  local mtd="$1" block='' times=1000 block_B i before
  check_mtd "$mtd"
  shift
  while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || fail "$1: a value is missing"
    case "$1" in
      --block) block=$2 ;;
      --times) times=$2 ;;
      *) fail "bench reread: $1: no such option" ;;
    esac
    shift 2
  done
  number --block "$block"
  number --times "$times"
  block_B=$(attribute "$mtd" erasesize)
  [ $(((block + 1) * block_B)) -le "$(attribute "$mtd" size)" ] || fail "--block $block: beyond the end of /dev/$mtd"
  before="$(attribute "$mtd" corrected_bits) $(attribute "$mtd" ecc_failures)"
  i=0
  while [ $i -lt "$times" ]; do
    dd if="/dev/$mtd" of=/dev/null bs="$block_B" skip="$block" count=1 2> /dev/null || fail "/dev/$mtd: block $block cannot be read"
    i=$((i + 1))
  done
  echo "reads_of_block corrected_bits_before ecc_failures_before corrected_bits_after ecc_failures_after"
  echo "$times $before $(attribute "$mtd" corrected_bits) $(attribute "$mtd" ecc_failures)"
}

# ---- files -------------------------------------------------------------------------------------------------------

fio_jobs() {
  local directory="$1" confirmed='' job
  shift
  if [ "${1:-}" = --confirm ]; then
    confirmed=${2:-}
    shift 2
  fi
  check_directory "$directory" "$confirmed"
  command -v fio > /dev/null || fail "fio is missing; ffslab-probe bench files does without"
  [ $# -gt 0 ] || set -- "$HERE"/fio/*.fio
  for job in "$@"; do
    # Jobs name their files by themselves; a directory of their own keeps them together, and apart from others.
    mkdir -p "$directory/ffslab-bench" || fail "$directory cannot be written to"
    echo "# job: ${job##*/}"
    fio --directory="$directory/ffslab-bench" --output-format=json "$job" || fail "$job: fio failed"
    rm -rf "$directory/ffslab-bench"
  done
}

random_reads() {
  local file="$1" request_B="$2" n="$3" slots="$4" i=0 place=1
  while [ $i -lt "$n" ]; do
    place=$(((place * 1103515245 + 12345) % 2147483648))
    dd if="$file" of=/dev/null bs="$request_B" skip=$((place / 65536 % slots)) count=1 2> /dev/null || return 1
    i=$((i + 1))
  done
}

no_reads() {
  local i=0
  while [ $i -lt "$1" ]; do
    dd if=/dev/null of=/dev/null bs="$2" count=1 2> /dev/null || return 1
    i=$((i + 1))
  done
}

files() {
  local directory="$1" confirmed='' MiB=4 file bytes request_B n
  shift
  while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || fail "$1: a value is missing"
    case "$1" in
      --confirm) confirmed=$2 ;;
      --MiB) MiB=$2 ;;
      *) fail "bench files: $1: no such option" ;;
    esac
    shift 2
  done
  check_directory "$directory" "$confirmed"
  number --MiB "$MiB"
  file=$directory/ffslab-bench.tmp
  bytes=$((MiB * 1048576))
  [ ! -e "$file" ] || fail "$file: is there already"
  open_clock
  for request_B in 4096 65536; do
    n=$((bytes / request_B))
    timed "sequential write + fsync,$request_B,$n" dd if=/dev/urandom of="$file" bs=$request_B count=$n conv=fsync
    sync
    echo 3 > /proc/sys/vm/drop_caches
    timed "sequential read,$request_B,$n" dd if="$file" of=/dev/null bs=$request_B count=$n
    echo 3 > /proc/sys/vm/drop_caches
    # Each read is a program of its own; the second row says what that costs.
    timed "random read,$request_B,64" random_reads "$file" $request_B 64 $n
    timed "no read,$request_B,64" no_reads 64 $request_B
    rm "$file"
  done
  echo "pattern,request_B,n,time_us"
  elapsed
  drop_buffer
}

bench() {
  local action="${1:-help}"
  [ $# -eq 0 ] || shift
  case "$action" in
    help) bench_usage ;;
    loops | reread)
      [ $# -ge 1 ] || fail "bench $action: which partition?"
      "$action" "$@"
      ;;
    fio)
      [ $# -ge 1 ] || fail "bench fio: which directory?"
      fio_jobs "$@"
      ;;
    files)
      [ $# -ge 1 ] || fail "bench files: which directory?"
      files "$@"
      ;;
    *) fail "bench $action: loops, reread, fio, files or help" ;;
  esac
}
