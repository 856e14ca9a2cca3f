ATTACH '/etc/passwd' AS z;
SELECT * FROM z.x;
SELECT load_extension('/tmp/x');
