# What all monitors share: the kernel's trace directory, arguments of functions, buffers, losses, what a probe costs.
# Facts: Linux, Documentation/trace/{ftrace,kprobetrace}.rst; arch/*/kernel/ptrace.c for the names of registers.

fail() {
  echo "ffslab-probe: $*" >&2
  exit 2
}

note() {
  echo "ffslab-probe: $*" >&2
}

number() {
  case "$2" in
    '' | *[!0-9]*) fail "$1 $2: a whole number is expected" ;;
  esac
}

# ---- where -----------------------------------------------------------------------------------------------------

# Sets TRACE: tracefs stands alone since 4.1, before it is a part of debugfs.
find_tracefs() {
  [ "$(id -u)" = 0 ] || fail "only root may trace"
  if [ -z "${TRACE:-}" ]; then
    for TRACE in /sys/kernel/tracing /sys/kernel/debug/tracing ''; do
      [ -e "$TRACE/kprobe_events" ] && return
    done
    mount -t tracefs tracefs /sys/kernel/tracing 2> /dev/null || mount -t debugfs debugfs /sys/kernel/debug 2> /dev/null
    for TRACE in /sys/kernel/tracing /sys/kernel/debug/tracing ''; do
      [ -e "$TRACE/kprobe_events" ] && return
    done
  fi
  [ -e "$TRACE/kprobe_events" ] ||
    fail "no kprobe_events: the kernel needs CONFIG_KPROBE_EVENTS (2.6.33 or later) and tracefs or debugfs"
}

# Sets BUFFER, the directory of a monitor's own ring buffer, or the only one on kernels before 3.10.
use_buffer() {
  BUFFER=$TRACE
  if [ -d "$TRACE/instances" ]; then
    BUFFER=$TRACE/instances/ffslab-$1
    [ -d "$BUFFER" ] || mkdir "$BUFFER" || fail "$BUFFER cannot be made"
  fi
}

drop_buffer() {
  if [ "$BUFFER" != "$TRACE" ]; then
    rmdir "$BUFFER" 2> /dev/null || note "$BUFFER is in use and stays"
  else
    echo > "$TRACE/trace"
  fi
}

# Seconds since boot that all CPUs agree on. "mono" is there since 3.17, "global" since 2.6.32.
choose_clock() {
  for CLOCK in mono global local; do
    if grep -qw "$CLOCK" "$BUFFER/trace_clock" 2> /dev/null && echo "$CLOCK" > "$BUFFER/trace_clock" 2> /dev/null; then
      return
    fi
  done
  CLOCK=local
}

# One CPU where the kernel writes "Processor" (arm before 3.8).
cpus() {
  grep -c '^processor' /proc/cpuinfo | sed 's/^0$/1/'
}

# Whether the running kernel is older than $1 (two numbers).
older_than() {
  [ "$(printf '%s\n%s\n' "$1" "$(uname -r)" | sort -t . -k 1,1n -k 2,2n | head -n 1)" != "$1" ]
}

# Bytes of a page of the page cache.
cache_page_B() {
  sed -n 's/^KernelPageSize: *\([0-9]*\) kB$/\1/p' /proc/self/smaps 2> /dev/null | awk 'NR == 1 { n = $1 } END { print (n ? n : 4) * 1024 }'
}

# The kernel's size is for each CPU. What does not fit replaces the oldest, as in Flashmon, or is dropped (keep first).
size_buffer() {
  echo $((($1 + $(cpus) - 1) / $(cpus))) > "$BUFFER/buffer_size_kb" || fail "--buffer-KiB $1: the kernel has no room for it"
  if [ -e "$BUFFER/options/overwrite" ]; then
    if [ "$2" = first ]; then echo 0; else echo 1; fi > "$BUFFER/options/overwrite"
  elif [ "$2" = first ]; then
    fail "--keep first: this kernel can only drop the oldest"
  fi
}

buffer_KiB() {
  # "7 (expanded: 1408)" before the first use of a buffer.
  sed 's/.*expanded: //; s/[^0-9].*//; s/^/'"$(cpus)"' /' "$BUFFER/buffer_size_kb" | awk '{ print $1 * $2 }'
}

# Events that the buffer had no room for. Kernels before 2.6.38 do not say; then the answer is empty.
lost_in_buffer() {
  [ -e "$BUFFER/per_cpu/cpu0/stats" ] || return 0
  cat "$BUFFER"/per_cpu/cpu*/stats | awk '/^(overrun|commit overrun|dropped events):/ { n += $NF } END { print n + 0 }'
}

# Hits that a probe missed, because it was busy or too many calls were under way (kprobe_profile, third column).
missed_hits() {
  awk -v list=" $1 " 'index(list, " " $1 " ") { n += $3 } END { print n + 0 }' "$TRACE/kprobe_profile"
}

# ---- arguments -------------------------------------------------------------------------------------------------

# The machine of the kernel, which may be wider than that of the shell.
ARCH=$(uname -m)

is_64_bit() {
  case "$ARCH" in
    *64*) return 0 ;;
    *) return 1 ;;
  esac
}

# $1: number of a word-sized argument, from 1. Registers by the calling convention of each architecture; later arguments
# stand on the stack. By these names it works on every kernel; $argN needs 4.20 and not every architecture has it. With
# BPF the names are bpftrace's.
word() {
  if [ -n "${BPF:-}" ]; then
    echo "arg$(($1 - 1))"
    return
  fi
  case "$ARCH:$1" in
    x86_64:1) echo %di ;;
    x86_64:2) echo %si ;;
    x86_64:3) echo %dx ;;
    x86_64:4) echo %cx ;;
    x86_64:5) echo %r8 ;;
    x86_64:6) echo %r9 ;;
    i?86:1) echo %ax ;;
    i?86:2) echo %dx ;;
    i?86:3) echo %cx ;;
    i?86:*) echo "\$stack$(($1 - 3))" ;;
    aarch64:[1-8]) echo "%x$(($1 - 1))" ;;
    arm*:[1-4]) echo "%r$(($1 - 1))" ;;
    arm*:*) echo "\$stack$(($1 - 5))" ;;
    mips64*:[1-8]) echo "%r$(($1 + 3))" ;;
    mips*:[1-4]) echo "%r$(($1 + 3))" ;;
    mips*:*) echo "\$stack$(($1 - 1))" ;;
    riscv*:[1-8]) echo "%a$(($1 - 1))" ;;
    *) echo "\$arg$1" ;;
  esac
}

is_big_endian() {
  [ "$(printf '\001\000' | od -An -td2 | tr -d ' ')" = 256 ]
}

# The third argument of f(pointer, pointer, 64 bits, ...), on 32-bit machines its lower half: a pair of registers, which
# i386 has no more.
third_of_64_bits() {
  case "$ARCH" in
    *64*) word 3 ;;
    i?86) word 4 ;;
    *) if is_big_endian; then word 4; else word 3; fi ;;
  esac
}

# Arguments of f(pointer, 64 bits, pointer): on 32-bit machines the number takes an even pair of words.
# Sets LOW, HIGH (empty: one word holds all) and LAST.
# shellcheck disable=SC2034 # used by lib/flash.sh
pointer_offset_pointer() {
  HIGH=
  if is_64_bit; then
    LOW=$(word 2)
    LAST=$(word 3)
    return
  fi
  case "$ARCH" in
    i?86)
      LOW=$(word 2)
      HIGH=$(word 3)
      LAST=$(word 4)
      ;;
    *)
      LOW=$(word 3)
      HIGH=$(word 4)
      LAST=$(word 5)
      ;;
  esac
  # A big-endian machine has the high half first.
  if is_big_endian; then
    set -- "$LOW"
    LOW=$HIGH
    HIGH=$1
  fi
}

# $1: words with the file name wildcard *; the functions of the kernel that match, one a line.
matching_functions() {
  for pattern in $1; do
    expression=$(echo "$pattern" | sed 's/[.]/\\./g; s/\*/[A-Za-z0-9_.]*/g')
    sed -n "s/^[0-9a-f]* [tTwW] \($expression\)\([[:space:]].*\)\{0,1\}$/\1/p" /proc/kallsyms
  done | grep -v '\.cold\|^__pfx_\|^__crc_\|^__ksymtab' | sort -u
}

# ---- probes ----------------------------------------------------------------------------------------------------

# $1: "p" or "r", $2: group, $3: event, $4: function, the rest: arguments. Types of arguments came with 2.6.35. Fails when
# the kernel has no such function, or the compiler has merged it with its caller.
add_probe() {
  local kind="$1" group="$2" event="$3" function="$4"
  shift 4
  echo "$kind:$group/$event $function $*" >> "$TRACE/kprobe_events" 2> /dev/null ||
    echo "$kind:$group/$event $function $(echo "$*" | sed 's/:[usx][0-9]*//g')" >> "$TRACE/kprobe_events" 2> /dev/null
}

remove_probes() {
  grep -q "^[pr][0-9]*:$1/" "$TRACE/kprobe_events" || return 0
  # Those of the command line may lack their directory, when they are made before tracefs is: they are switched off by name.
  [ -e "$TRACE/events/$1/enable" ] || echo "!$1:*" >> "$TRACE/set_event"
  # Other buffers may have switched them on as well.
  for switch in "$TRACE/events/$1/enable" "$TRACE"/instances/*/events/"$1"/enable; do
    if [ -e "$switch" ]; then echo 0 > "$switch"; fi
  done
  # One at a time: a line that cannot be removed must not keep the others.
  sed -n "s#^[pr][0-9]*:\($1/[^ ]*\) .*#\1#p" "$TRACE/kprobe_events" > "$STATE/probes"
  while read -r event; do
    echo "-:$event" >> "$TRACE/kprobe_events" 2> /dev/null || note "probe $event is in use and stays"
  done < "$STATE/probes"
}

# ---- what it costs ---------------------------------------------------------------------------------------------

# ns that dd needs for $1 writes of a byte to /dev/null; the kernel's clock in steps of 10 ms.
writes_ns() {
  local from to
  from=$(cut -d ' ' -f 1 /proc/uptime)
  dd if=/dev/zero of=/dev/null bs=1 count="$1" 2> /dev/null
  to=$(cut -d ' ' -f 1 /proc/uptime)
  awk -v from="$from" -v to="$to" 'BEGIN { printf "%.0f", (to - from) * 1e9 }'
}

# Nanoseconds that one event costs on this machine: /dev/null is written to, with a probe on write_null and without; the
# smallest of three. Empty where there is no such function. The event is as long as Flashmon's: three numbers.
overhead_ns() {
  local group=ffslab_cost writes=20000 round bare probed best_bare='' best_probed=''
  remove_probes "$group"
  add_probe p "$group" write write_null "a=$(word 2):u32" "b=$(word 3):u32" "c=$(word 4):u32" || return 0
  use_buffer cost
  size_buffer 1024 last
  echo 1 > "$BUFFER/tracing_on"
  # Long enough for a clock of 10 ms.
  while [ "$writes" -lt 2000000 ] && [ "$(writes_ns "$writes")" -lt 200000000 ]; do writes=$((writes * 4)); done
  for round in 1 2 3; do
    bare=$(writes_ns "$writes")
    echo 1 > "$BUFFER/events/$group/enable"
    probed=$(writes_ns "$writes")
    echo 0 > "$BUFFER/events/$group/enable"
    if [ -z "$best_bare" ] || [ "$bare" -lt "$best_bare" ]; then best_bare=$bare; fi
    if [ -z "$best_probed" ] || [ "$probed" -lt "$best_probed" ]; then best_probed=$probed; fi
    note "cost of an event, round $round of 3"
  done
  remove_probes "$group"
  drop_buffer
  awk -v with="$best_probed" -v without="$best_bare" -v n="$writes" \
    'BEGIN { d = (with - without) / n; printf "%.0f", (d > 0 ? d : 0) }'
}

# The measurement takes a second or two, so it is made once per boot.
overhead_once() {
  if [ ! -s "$STATE/overhead_ns" ]; then overhead_ns > "$STATE/overhead_ns"; fi
  cat "$STATE/overhead_ns"
}
