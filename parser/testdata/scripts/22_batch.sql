UPDATE accounts SET balance = balance - 10, touched = TRUE WHERE id = 7 AND balance >= 10;
DELETE FROM accounts WHERE closed IS TRUE OR balance < 0;
TRUNCATE TABLE scratch;
INSERT OVERWRITE results PARTITION (d = '2024-05-01', h) (id, v) SELECT id, v FROM t;
INSERT INTO t VALUES (1, 'one', NULL), (2, 'two', 3.5), (-3, 'it''s', 1e3);
COMPILE PLAN '/tmp/p.json' IF NOT EXISTS FOR INSERT INTO s SELECT * FROM t;
EXECUTE PLAN '/tmp/p.json';
