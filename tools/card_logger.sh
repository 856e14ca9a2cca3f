# What jobs of tools/card_logger.py are made of: a file system on a device in the guest's memory, which has a write cache as a
# card has one, so that flushes are asked for. A job begins with `. /guest.sh`.

EVENTS=/sys/kernel/tracing/events/block/block_rq_issue/enable

clean_up() {
  if grep -q ' /mnt ' /proc/mounts; then umount /mnt; fi
  if [ -e /tmp/card ]; then losetup -d /dev/loop0; rm /tmp/card; fi
}

# $1: file system, $2: options of the mount, $3: seconds, $4: how many seconds' readings, of 64 B each, are appended together. Once
# a minute the log is fsynced. $5: /dev/loop0, for the image "card", or a drive. "trace" has the requests, "files" what was in the
# log at the end.
log_readings() {
  if [ -e card ]; then
    cp card /tmp/card
    losetup /dev/loop0 /tmp/card
  fi
  # Housekeeping of memory wakes the kernel three times a second, and writes nothing.
  echo 3600 > /proc/sys/vm/stat_interval
  echo 0 > /proc/sys/vm/compaction_proactiveness
  mount -t tracefs nodev /sys/kernel/tracing
  # 512 MiB of requests: nobody reads meanwhile, which would take time from who is watched.
  echo 262144 > /sys/kernel/tracing/buffer_size_kb
  echo 1 > "$EVENTS"
  mount -t "$1" -o "$2" "$5" /mnt
  # What waits on this is woken by its clock alone, without a process for each second.
  mkfifo /tmp/never
  exec 9<> /tmp/never
  local second=0 line='of a sensor, as long as its line is: 64 B' others
  others=$(printf "reading %13d $line\n" $(seq 2 "$4"))
  [ "$4" = 1 ] || line="$line
$others"
  while [ "$second" -lt "$3" ]; do
    read -r -t "$4" _ <&9 || true
    second=$((second + $4))
    printf 'reading %13d %s\n' "$second" "$line" >> /mnt/log
    if [ $((second % 60)) = 0 ]; then /sbin/sync /mnt/log; fi
  done
  exec 9>&-
  stat -c %s /mnt/log > files
  date +%s >> files
  umount /mnt
  echo 0 > "$EVENTS"
  cp /sys/kernel/tracing/trace trace
}

[ "${1:-}" = clean_up ] && clean_up
:
