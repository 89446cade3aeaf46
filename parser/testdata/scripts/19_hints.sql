SELECT /*+ STATE_TTL('o' = '1d', 'c' = '6h'), BROADCAST(c) */ o.id, c.name
FROM orders /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */ AS o
RIGHT JOIN customers AS c ON o.customer = c.id
NATURAL JOIN regions
JOIN dims FOR SYSTEM_TIME AS OF o.proc_time AS d USING (id);
INSERT INTO sink /*+ OPTIONS('sink.parallelism' = '2') */ SELECT * FROM t;
