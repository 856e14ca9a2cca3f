.read /dev/zero
ATTACH '/dev/zero' AS z;
