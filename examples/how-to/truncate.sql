PRAGMA journal_mode = truncate;
INSERT INTO log VALUES (1, 20.5);
INSERT INTO log VALUES (2, 20.6);
INSERT INTO log VALUES (3, 20.4);
