-- Statements that Weir refuses, for coverage.txt. What stands before the marker makes what they need.

CREATE TABLE t (id INT, name STRING, v BIGINT, ts TIMESTAMP(3), arr ARRAY<INT>);
CREATE TABLE s (id INT, v BIGINT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector' = 'test');

-- refused

SELECT t.id FROM t JOIN s ON t.id = s.id;
SELECT t.id FROM t LEFT JOIN s ON t.id = s.id;
SELECT t.id FROM t, s;
SELECT t.id FROM t NATURAL JOIN s;
SELECT s.id FROM s JOIN t FOR SYSTEM_TIME AS OF s.ts ON t.id = s.id;
SELECT t.id FROM t CROSS JOIN s;
SELECT id FROM t CROSS JOIN UNNEST(arr) AS u(x);
SELECT id FROM t, LATERAL TABLE(f(id)) AS u(x);
SELECT SUM(v) OVER (PARTITION BY id ORDER BY ts) FROM s;
SELECT id FROM s WINDOW w AS (ORDER BY ts);
SELECT id, ROW_NUMBER() FROM s;
SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS i PATTERN (A B) DEFINE A AS A.v > 1);
SELECT * FROM SESSION(TABLE s, DESCRIPTOR(ts), INTERVAL '1' MINUTE);
SELECT * FROM TUMBLE(TABLE s PARTITION BY id, DESCRIPTOR(ts), INTERVAL '1' MINUTE);
SELECT TUMBLE_START(ts, INTERVAL '1' MINUTE) FROM s GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE);
SELECT id FROM t INTERSECT SELECT id FROM s;
SELECT id FROM t EXCEPT SELECT id FROM s;
SELECT id FROM t WHERE id IN (SELECT id FROM s);
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM s);
SELECT (SELECT MAX(id) FROM s) FROM t;
SELECT id FROM t WHERE id > ALL (SELECT id FROM s);
SELECT id, v FROM t QUALIFY id > 1;
SELECT JSON_VALUE(name, '$.a') FROM t;
SELECT name IS JSON FROM t;
SELECT /*+ STATE_TTL('s' = '1 d') */ id FROM s;
WITH RECURSIVE a AS (SELECT 1) SELECT * FROM a;
CREATE TABLE x (id INT, WATERMARK FOR ts AS PERCENTILE_WATERMARK(ts, 0.99), ts TIMESTAMP(3)) WITH ('connector' = 'test');
CREATE TABLE x (id INT) WITH ('connector' = 'test', 'bad-records.table' = 'b');
CREATE TABLE x (id RAW('a', 'b')) WITH ('connector' = 'test');
CREATE TABLE x (id INT) DISTRIBUTED BY (id) INTO 3 BUCKETS WITH ('connector' = 'test');
UPDATE t SET v = 1;
DELETE FROM t;
TRUNCATE TABLE t;
CREATE FUNCTION f AS 'x.Y';
CREATE CATALOG c WITH ('type' = 'hive');
CREATE OR REPLACE TABLE x AS SELECT 1 AS a;
EXPLAIN ANALYZE SELECT id FROM t;
ADVISE WATERMARK FOR s;
SHOW PARTITIONS t;
COMPILE PLAN 'x' FOR INSERT INTO t SELECT * FROM t;
ADD JAR 'x';
CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' MINUTE AS SELECT 1 AS a;

-- Queries.

SELECT t.id FROM t RIGHT JOIN s ON t.id = s.id;
SELECT t.id FROM t FULL JOIN s ON t.id = s.id;
SELECT t.id FROM t JOIN s USING (id);
SELECT SUM(v) OVER (PARTITION BY id ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM s;
SELECT SUM(v) OVER (ORDER BY ts ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) FROM s;
SELECT SUM(v) OVER (ORDER BY ts RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM s;
SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES CLASSIFIER() AS c, MATCH_ROWTIME() AS r, MATCH_PROCTIME() AS p ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN ((A | B) C* PERMUTE(D, E) {- F -}) SUBSET U = (A, B) DEFINE A AS A.v > 1) AS m;
SELECT COUNT(x => id) FROM t;
SELECT MULTISET[1, 2];
SELECT LISTAGG(name) WITHIN GROUP (ORDER BY id) FROM t;
SELECT id FROM t GROUP BY DISTINCT ROLLUP (id);
SELECT * FROM TABLE(ML_PREDICT(TABLE t, MODEL => 1));
SELECT /*+ EMIT('early' = '10 s') */ id FROM s;
SELECT /*+ BROADCAST(t) */ id FROM t;
SELECT /*+ SHUFFLE_HASH(t) */ id FROM t;
SELECT /*+ SHUFFLE_MERGE(t) */ id FROM t;
SELECT /*+ NEST_LOOP(t) */ id FROM t;
SELECT /*+ LOOKUP('table' = 't') */ id FROM t;

-- Functions.

SELECT JSON_EXISTS(name, '$.a') FROM t;
SELECT JSON_VALUE(name, '$.a' RETURNING INT DEFAULT 1 ON EMPTY NULL ON ERROR) FROM t;
SELECT JSON_QUERY(name, '$.a' WITH UNCONDITIONAL ARRAY WRAPPER) FROM t;
SELECT JSON_STRING(id) FROM t;
SELECT JSON_OBJECT(KEY 'a' VALUE id) FROM t;
SELECT JSON_ARRAY(id, v) FROM t;
SELECT JSON_OBJECTAGG(KEY name VALUE id) FROM t;
SELECT JSON_ARRAYAGG(id) FROM t;
SELECT PARSE_JSON(name) FROM t;
SELECT TRY_PARSE_JSON(name) FROM t;
SELECT RANK() FROM s;
SELECT DENSE_RANK() FROM s;
SELECT LAG(v) FROM s;
SELECT LEAD(v) FROM s;
SELECT NTILE(4) FROM s;
SELECT CUME_DIST() FROM s;
SELECT PERCENT_RANK() FROM s;
SELECT PERCENTILE(v, 0.5) FROM s;
SELECT TUMBLE_END(ts, INTERVAL '1' MINUTE) FROM s;
SELECT TUMBLE_ROWTIME(ts, INTERVAL '1' MINUTE) FROM s;
SELECT TUMBLE_PROCTIME(p, INTERVAL '1' MINUTE) FROM s;
SELECT HOP_START(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE) FROM s;
SELECT HOP_END(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE) FROM s;
SELECT HOP_ROWTIME(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE) FROM s;
SELECT HOP_PROCTIME(p, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE) FROM s;
SELECT SESSION_START(ts, INTERVAL '1' MINUTE) FROM s;
SELECT SESSION_END(ts, INTERVAL '1' MINUTE) FROM s;
SELECT SESSION_ROWTIME(ts, INTERVAL '1' MINUTE) FROM s;
SELECT SESSION_PROCTIME(p, INTERVAL '1' MINUTE) FROM s;
SELECT CLASSIFIER() FROM t;
SELECT MATCH_ROWTIME() FROM t;
SELECT MATCH_PROCTIME() FROM t;
SELECT ML_PREDICT(id) FROM t;
SELECT ML_EVALUATE(id) FROM t;
SELECT VECTOR_SEARCH(id) FROM t;
SELECT TO_CHANGELOG(id) FROM t;
SELECT FROM_CHANGELOG(id) FROM t;

-- Types.

CREATE TABLE x (id BITMAP) WITH ('connector' = 'test');
CREATE TABLE x (id VARIANT) WITH ('connector' = 'test');
CREATE TABLE x (id DESCRIPTOR) WITH ('connector' = 'test');
CREATE TABLE x (id NULL) WITH ('connector' = 'test');
CREATE TABLE x (id TIMESTAMP WITH TIME ZONE) WITH ('connector' = 'test');
CREATE TABLE x (id TIMESTAMP_TZ) WITH ('connector' = 'test');

-- Options, connectors and formats.

CREATE TABLE x (id INT) WITH ('connector' = 'test', 'scan.watermark.alignment.group' = 'g');
CREATE TABLE x (id INT) WITH ('connector' = 'test', 'scan.watermark.alignment.max-drift' = '1 min');
CREATE TABLE x (id INT) WITH ('connector' = 'test', 'scan.watermark.alignment.update-interval' = '1 s');
CREATE TABLE x (id INT) WITH ('connector' = 'jdbc', 'url' = 'jdbc:postgresql://localhost/x', 'table-name' = 't');
CREATE TABLE x (id INT) WITH ('connector' = 'elasticsearch-7', 'hosts' = 'http://localhost:9200', 'index' = 'i');
CREATE TABLE x (id INT) WITH ('connector' = 'hbase-2.2', 'table-name' = 't');
CREATE TABLE x (id INT) WITH ('connector' = 'mysql-cdc', 'hostname' = 'localhost');
CREATE TABLE x (id INT) WITH ('connector' = 'kinesis', 'stream' = 's');
CREATE TABLE x (id INT) WITH ('connector' = 'firehose', 'delivery-stream' = 's');
CREATE TABLE x (id INT) WITH ('connector' = 'dynamodb', 'table-name' = 't');
CREATE TABLE x (id INT) WITH ('connector' = 'mongodb', 'uri' = 'mongodb://localhost');
CREATE TABLE x (id INT) WITH ('connector' = 'opensearch', 'hosts' = 'http://localhost:9200', 'index' = 'i');
CREATE TABLE x (id INT) WITH ('connector' = 'faker', 'fields.id.expression' = '1');
CREATE TABLE x (id INT) WITH ('connector' = 'filesystem', 'path' = 'x', 'format' = 'avro');
CREATE TABLE x (id INT) WITH ('connector' = 'filesystem', 'path' = 'x', 'format' = 'avro-confluent');
CREATE TABLE x (id INT) WITH ('connector' = 'filesystem', 'path' = 'x', 'format' = 'orc');
CREATE TABLE x (id INT) WITH ('connector' = 'filesystem', 'path' = 'x', 'format' = 'protobuf');
CREATE TABLE x (id INT) WITH ('connector' = 'filesystem', 'path' = 'x', 'format' = 'debezium-avro-confluent');
CREATE TABLE x (id INT) WITH ('connector' = 'filesystem', 'path' = 'x', 'format' = 'ogg-json');
SELECT * FROM 'x.avro';

-- Statements.

CALL p(1);
CREATE MODEL m INPUT (a INT) OUTPUT (b INT) WITH ('provider' = 'x');
ALTER FUNCTION f AS 'x.Y';
DROP FUNCTION f;
CREATE FUNCTION f AS 'x.Y' USING JAR 'x.jar';
DROP MODEL m;
DROP MATERIALIZED TABLE m;
ALTER MODEL m RENAME TO n;
ALTER MATERIALIZED TABLE m SUSPEND;
ALTER MATERIALIZED TABLE m REFRESH PARTITION (a = 1);
ALTER MATERIALIZED TABLE m SET FRESHNESS = INTERVAL '1' MINUTE;
ALTER TABLE s ADD PARTITION (id = 1);
ALTER TABLE s DROP PARTITION (id = 1);
ALTER TABLE t ADD (x INT);
ALTER CATALOG c COMMENT 'x';
ALTER DATABASE default_database SET ('a' = 'b');
SELECT COALESCE(id, DEFAULT) FROM t;
DESCRIBE DATABASE default_database;
DESCRIBE MODEL m;
DESCRIBE JOB '1';
EXPLAIN WATERMARK SELECT id FROM s;
SHOW MODELS;
SHOW PROCEDURES;
SHOW MATERIALIZED TABLES;
SHOW MODULES;
SHOW FULL MODULES;
SHOW JARS;
SHOW WATERMARKS;
SHOW LATE ROWS;
SHOW CREATE MODEL m;
SHOW CREATE MATERIALIZED TABLE m;
USE MODULES core;
LOAD MODULE m;
UNLOAD MODULE m;
ANALYZE TABLE t COMPUTE STATISTICS;
EXECUTE PLAN 'x';
REMOVE JAR 'x';
INSERT INTO t SELECT * FROM t ON CONFLICT DO NOTHING;
REPLACE TABLE x AS SELECT 1 AS a;
QUIT;
