# The monitors by bpftrace, until they are interrupted; the kernel's own ring buffer is not used. The programs of vfsmon and
# funcmon are made for the functions that this kernel has.
# Facts: bpftrace 0.17, docs/reference_guide.md (arg0 ..., retval, tuples as values of maps, BPFTRACE_PERF_RB_PAGES).
# shellcheck disable=SC2034 # what ffslab-probe reads

# Pages of each CPU's buffer, a power of two; bpftrace's own 64 overflow while a slow CPU prints.
BPFTRACE_PERF_RB_PAGES=${BPFTRACE_PERF_RB_PAGES:-1024}
export BPFTRACE_PERF_RB_PAGES

bpf() {
  local arguments='' pipe writer
  command -v bpftrace > /dev/null || fail "bpftrace is missing; $MONITOR start does without"
  mkdir -p "$STATE/$MONITOR.bpf" || fail "$STATE/$MONITOR.bpf cannot be made"
  PROGRAM=$STATE/$MONITOR.bpf/program
  SCOPE=chip CLOCK=mono BUFFER=$TRACE
  case $MONITOR in
    flashmon)
      [ $# -eq 0 ] || fail "$1: flashmon bpf takes no options"
      LEVEL=chip FUNCTIONS=' nand_read_page_op nand_read_oob_op nand_prog_page_op nand_prog_page_begin_op nand_erase_op'
      find_geometry
      cp "$HERE/bpf/flashmon.bt" "$PROGRAM"
      arguments="$PAGE_B $BLOCK_B"
      ;;
    vfsmon)
      [ $# -eq 0 ] || fail "$1: vfsmon bpf takes no options"
      if [ -n "$(flash_partitions)" ]; then find_geometry; fi
      begin_program
      probe_vfs
      BUFFER=$TRACE
      ;;
    funcmon)
      [ $# -gt 0 ] || fail "funcmon: name the functions, for instance 'jffs2_*'"
      if [ -n "$(flash_partitions)" ]; then find_geometry; fi
      begin_program
      probe_functions "$*"
      ;;
  esac
  BPF_BUFFER_KiB=$((BPFTRACE_PERF_RB_PAGES * $(cache_page_B) * $(cpus) / 1024))
  header
  note "$MONITOR: bpftrace on$FUNCTIONS; Ctrl-C ends it"
  pipe=$STATE/$MONITOR.bpf/pipe
  mkfifo "$pipe" || fail "$pipe cannot be made"
  awk -F ';' -v kind="$MONITOR" -v functions="$FUNCTIONS" -v counts="$STATE/$MONITOR.bpf/counts" -f "$HERE/lib/bpf.awk" < "$pipe" &
  writer=$!
  # Ctrl-C is for bpftrace; the log gets its footer.
  trap : INT TERM
  # What writes the log must not be in it, or the log would never end: two processes, one of them bpftrace itself.
  # shellcheck disable=SC2016,SC2086 # the other shell's; words
  sh -c 'program=$1; shift; exec bpftrace -q "$program" "$@" $$' sh "$PROGRAM" $arguments $writer \
    > "$pipe" 2> "$STATE/$MONITOR.bpf/reports"
  wait $writer
  trap - INT TERM
  # The program counts what it sees, so nothing at all means that it never ran.
  grep -q '^seen ' "$STATE/$MONITOR.bpf/counts" || fail "bpftrace: $(head -n 1 "$STATE/$MONITOR.bpf/reports")"
  echo "# end: t_s=$(cut -d ' ' -f 1 /proc/uptime) $(sed 's/^seen //' "$STATE/$MONITOR.bpf/counts") overhead_ns_per_event="
  rm -rf "$STATE/$MONITOR.bpf"
}

# From here on `word` and `add_call` speak bpftrace's language.
begin_program() {
  BPF=yes
  : > "$PROGRAM"
}

# $1: an argument as kprobe events have it, NAME=+N(+M(argK)):TYPE; prints what bpftrace calls it.
bpf_expression() {
  local type=uint64
  is_64_bit || type=uint32
  case "$1" in
    *:u64) type=uint64 ;;
    *:u32) type=uint32 ;;
  esac
  # From the inside out: +N(X) becomes *(TYPE *)(X + N), with braces for what is done.
  echo "$1" | sed 's/^[a-z]*=//; s/:[usx][0-9]*$//' | awk -v type="$type" '
    {
      while (match($0, /\+[0-9]+\([^()]*\)/)) {
        inner = substr($0, RSTART + 1, RLENGTH - 2)
        at = index(inner, "(")
        $0 = substr($0, 1, RSTART - 1) "*{" type " *}{" substr(inner, at + 1) " + " substr(inner, 1, at - 1) "}" substr($0, RSTART + RLENGTH)
      }
      gsub(/[{]/, "(")
      gsub(/[}]/, ")")
      print
    }'
}

# Adds function $2 to the program if it can be probed; the rest: what to record, as of add_call.
bpf_call() {
  local function="$2" n=$((COUNT + 1)) name values='' formats='' fields='' part expression i=1
  add_probe p "ffslab_try_$MONITOR" try "$function" || return 1
  remove_probes "ffslab_try_$MONITOR"
  shift 2
  # shellcheck disable=SC2048,SC2086 # words
  set -- $*
  for name in ino pos bytes; do
    expression=0
    for part in "$@"; do
      case "$part" in
        "$name="*) expression=$(bpf_expression "$part") ;;
        index=*) if [ $name = pos ]; then expression="$(bpf_expression "$part") * $(cache_page_B)"; fi ;;
        pages=*) if [ $name = bytes ]; then expression="$(bpf_expression "$part") * $(cache_page_B)"; fi ;;
      esac
    done
    formats="$formats;"
    if [ "$expression" != 0 ]; then
      values="$values, (uint64)($expression)"
      fields="$fields, \$call.$i"
      formats="$formats%llu"
      i=$((i + 1))
    fi
  done
  if [ "$MONITOR" = vfsmon ]; then
    formats="$formats;%lld"
    fields="$fields, (int64)retval"
  else
    formats=''
  fi
  # $1 and $2: the processes that write the log. The last value is never read; it makes a tuple of a single number.
  cat >> "$PROGRAM" << END
kprobe:$function
/pid != \$1 && pid != \$2/
{
  @seen = count();
  @depth_${n}[tid] = @depth_${n}[tid] + 1;
  @call_${n}[tid, @depth_${n}[tid]] = (nsecs$values, 0);
}
kretprobe:$function
/@depth_${n}[tid]/
{
  \$depth = @depth_${n}[tid];
  \$call = @call_${n}[tid, \$depth];
  printf("%lld.%06lld;%lld;$function;%s;%d$formats\n", \$call.0 / 1000000000, (\$call.0 % 1000000000) / 1000,
    (nsecs - \$call.0 + 500) / 1000, comm, tid$fields);
  delete(@call_${n}[tid, \$depth]);
  @depth_${n}[tid] = \$depth - 1;
}
END
  COUNT=$n
  FUNCTIONS="$FUNCTIONS $function"
}
