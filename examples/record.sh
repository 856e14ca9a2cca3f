#!/bin/sh
# Records the traces in this folder anew: a contacts data base is filled, then read in order and at random.
#
#   examples/record.sh [FOLDER]      default: examples/sqlite beside this script
#
# Needs strace, sqlite3, awk and gzip. The SQL is the same each time (the generator is written out below); time
# stamps and process ids differ from run to run.
set -eu

for tool in strace sqlite3 awk gzip; do
    command -v "$tool" >/dev/null || { echo "record.sh: $tool is not installed" >&2; exit 2; }
done

# Numbers of selected records.
counts="10 50 200 500 1000"
out=${1:-$(dirname "$0")/sqlite}
mkdir -p "$out"
out=$(cd "$out" && pwd)
root=/tmp/ffslab-record
rm -rf "$root"
mkdir -p "$root"
sql=$(mktemp -d)
trap 'rm -rf "$root" "$sql"' EXIT

# Park-Miller minimal standard generator: exact in the doubles that every awk computes with.
generator='function next_random() { state = (state * 16807) % 2147483647; return state }
function text(bytes,    s) { s = ""; while (length(s) < bytes) s = s sprintf("%08x", next_random()); return substr(s, 1, bytes) }'

awk "$generator"'
BEGIN {
    state = 2014
    print "PRAGMA page_size = 1024;"
    print "PRAGMA journal_mode = delete;"
    print "CREATE TABLE contacts (id INTEGER PRIMARY KEY, n1 INTEGER, n2 INTEGER, n3 INTEGER, n4 INTEGER, n5 INTEGER,"
    print "  n6 INTEGER, n7 INTEGER, n8 INTEGER, n9 INTEGER, n10 INTEGER, n11 INTEGER,"
    print "  t1 TEXT, t2 TEXT, t3 TEXT, t4 TEXT, t5 TEXT);"
    for (id = 1; id <= 1000; id++) {
        if (id % 10 == 1) print "BEGIN;"
        line = "INSERT INTO contacts VALUES (" id
        for (i = 1; i <= 11; i++) line = line ", " next_random()
        for (i = 1; i <= 5; i++) line = line ", \047" text(64) "\047"
        print line ");"
        if (id % 10 == 0) print "COMMIT;"
    }
}' >"$sql/insert.sql"

for count in $counts; do
    awk -v count="$count" '
    BEGIN { for (id = 1; id <= count; id++) print "SELECT * FROM contacts WHERE id = " id ";" }' \
        >"$sql/select-sequential-$count.sql"
    awk -v count="$count" "$generator"'
    BEGIN { state = 4; for (n = 1; n <= count; n++) print "SELECT * FROM contacts WHERE id = " next_random() % 1000 + 1 ";" }' \
        >"$sql/select-random-$count.sql"
done

cd "$root"
record() {
    # -s 0: file contents are not recorded. The paths below $root are what is replayed.
    strace -f -ttt -T -y -s 0 -e trace=%file,%desc,%process,sync,syncfs -o "$sql/$1.strace" \
        sqlite3 -batch -bail -init /dev/null "$root/contacts.db" <"$sql/$1.sql" >/dev/null
    gzip -9 -n -c "$sql/$1.strace" >"$out/$1.strace.gz"
}
record insert
for count in $counts; do
    record "select-sequential-$count"
    record "select-random-$count"
done
ls -l "$root/contacts.db" "$out"
