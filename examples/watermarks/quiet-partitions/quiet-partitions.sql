-- Orders keyed by city; today only one city orders, so that three of the four partitions are empty. 'SHOW WATERMARKS' tells which (kill -USR1 the process).
CREATE TABLE orders (
  city STRING,
  ts BIGINT,
  amount BIGINT,
  rt AS TO_TIMESTAMP_LTZ(ts, 3),
  WATERMARK FOR rt AS rt - INTERVAL '1' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = '127.0.0.1:9092',
  'scan.startup.mode' = 'earliest-offset',
  'scan.watermark.idle-timeout' = '30 s',
  'format' = 'json',
  'key.format' = 'raw',
  'key.fields' = 'city'
);
SELECT city, window_start, COUNT(*) AS n, SUM(amount) AS amount
FROM TUMBLE(TABLE orders, DESCRIPTOR(rt), INTERVAL '5' SECOND)
GROUP BY city, window_start, window_end;
