# flashmon from the first moment of the boot: probes that the kernel's command line sets, and the log of what they saw.
# Facts: Linux, Documentation/trace/boottime-trace.rst and kernel/trace/trace_kprobe.c (kprobe_event=, 5.1 and later:
# definitions with ; between them and commas for spaces; they are switched on, too; a function of a module that is not
# loaded yet is MODULE:FUNCTION).
# shellcheck disable=SC2034 # what ffslab-probe reads

# $1: what a definition of a function begins with ("nand:" when it is in a module), the rest: as of add_probe.
boot_definition() {
  local event="$1" function="$2"
  shift 2
  echo "p:$GROUP_FLASH/$event,$function,$*" | tr ' ' ','
}

# The module that holds the functions of the level chip, with a colon; nothing when they are compiled in.
chip_module() {
  sed -n 's/^[0-9a-f]* [tT] nand_read_page_op[[:space:]]*\[\(.*\)\]$/\1:/p' /proc/kallsyms | head -n 1
}

# Prints the words for the command line of this kernel.
boot_line() {
  local buffer_KiB=8192 module event definitions=''
  case "$#:${1:-}" in
    0:) ;;
    2:--buffer-KiB) buffer_KiB=$2 ;;
    *) fail "boot-line: --buffer-KiB N, or nothing" ;;
  esac
  number --buffer-KiB "$buffer_KiB"
  if older_than 5.1; then fail "boot-line: kernels before 5.1 set no probes by the command line; start the kit early in the boot"; fi
  grep -q ' nand_read_page_op[[:space:]]\{0,1\}' /proc/kallsyms ||
    fail "boot-line: the functions of the level chip are not in this kernel (a module not loaded?)"
  module=$(chip_module)
  for event in read_page_op read_oob_op prog_page_op prog_page_begin_op; do
    definitions="$definitions$(boot_definition $event "${module}nand_$event" "$(chip_operation)");"
  done
  definitions="$definitions$(boot_definition erase_op "${module}nand_erase_op" "$(chip_page)")"
  # Without trace_event= the buffer stays at a few KiB until someone opens it.
  echo "kprobe_event=$definitions trace_event=$GROUP_FLASH: trace_buf_size=${buffer_KiB}K trace_clock=mono"
}

# Writes the log of what the probes of the command line saw, and removes them.
boot_log() {
  local out='' missing
  case "$#:${1:-}" in
    0:) ;;
    2:-o) out=$2 ;;
    *) fail "boot-log: -o LOG, or nothing" ;;
  esac
  if running; then fail "flashmon runs; ffslab-probe flashmon stop ends it"; fi
  grep -q "^p[0-9]*:$GROUP_FLASH/" "$TRACE/kprobe_events" ||
    fail "the command line of this boot has set no probes; ffslab-probe flashmon boot-line says how it does"
  BUFFER=$TRACE
  echo 0 > "$BUFFER/tracing_on"
  # The selected one stands in brackets.
  CLOCK=$(sed 's/.*\[\(.*\)\].*/\1/' "$BUFFER/trace_clock")
  SCOPE=chip LEVEL=chip
  FUNCTIONS=$(sed -n "s#^p[0-9]*:$GROUP_FLASH/[a-z_]* \([a-z_]*:\)\{0,1\}\([a-z_]*\) .*# \2#p" "$TRACE/kprobe_events" | tr -d '\n')
  find_geometry
  mkdir -p "$STATE/$MONITOR" || fail "$STATE/$MONITOR cannot be made"
  overhead_once > /dev/null
  BUFFER=$TRACE
  settings 0 0 > "$STATE/$MONITOR/settings"
  header | sed 's/^# started_s: .*/# started_s: 0/' > "$STATE/$MONITOR/header"
  missing=$(lost)
  if [ -n "$out" ]; then
    print_log "$missing" > "$out" || fail "$out: cannot be written; the probes stay"
  else
    print_log "$missing"
  fi
  remove_probes "$GROUP_FLASH"
  echo > "$BUFFER/trace"
  echo 1 > "$BUFFER/tracing_on"
  rm -rf "${STATE:?}/$MONITOR"
  say_lost "$missing"
}
