#!/bin/busybox sh
# The guest's first process: loads the modules, then runs one job after the other. A line on the terminal JOBS_TTY (a word
# of the kernel's command line) names the folder of a job on the host; the answer is a line "done STATUS". When the line
# ends, so does the machine. It is open as file 3, so that a job can tell the host how far it is: "at WORDS".
# /first.sh, when there is one, runs before the machine meets anything whose timing depends on the host, so that a clock
# which counts instructions gives the same run again; what it leaves in /tmp/first becomes the job "first".
export PATH=/sbin:/bin
/bin/busybox mkdir -p /bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /tmp
while read -r name; do
  insmod "/modules/$name.ko" || echo "referee: $name.ko cannot be loaded"
done < /modules/order
exec 3<> "/dev/$JOBS_TTY"
# Behind the opening: a virtio console forgets its settings when it is closed.
stty -F "/dev/$JOBS_TTY" raw -echo
if [ -e /first.sh ]; then
  mkdir /tmp/first
  (cd /tmp/first && sh -eu /first.sh > log 2>&1 < /dev/null)
  echo $? > /tmp/first/status
  sh /guest.sh clean_up > /dev/null 2>&1
  dmesg > /tmp/first/dmesg
fi
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=none host /host || echo "referee: no shared folder"
if [ -e /tmp/first ]; then cp -r /tmp/first /host/first; fi
echo ready >&3
while read -r job <&3; do
  [ "$job" = poweroff ] && break
  dmesg -c > /dev/null
  # A shell of its own: `set -e` ends the job, not the machine.
  (cd "/host/$job" && JOB="/host/$job" sh -eu ./job.sh > log 2>&1 < /dev/null)
  status=$?
  # What a failed job left mounted must not stand in the way of the next one.
  sh /guest.sh clean_up > /dev/null 2>&1
  dmesg > "/host/$job/dmesg"
  sync
  echo "done $status" >&3
done
poweroff -f
