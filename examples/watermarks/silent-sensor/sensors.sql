-- Readings of sensors: {"sensor", "ts" in milliseconds, "value"}, keyed by the sensor, up to a second out of order. Each of the two partitions has a
-- watermark of its own; the table's is the lower one. 'north' is in partition 0, 'south' in partition 1.
CREATE TABLE readings (
  sensor STRING,
  ts BIGINT,
  `value` DOUBLE,
  rt AS TO_TIMESTAMP_LTZ(ts, 3),
  WATERMARK FOR rt AS rt - INTERVAL '1' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'sensors',
  'properties.bootstrap.servers' = '127.0.0.1:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json',
  'key.format' = 'raw',
  'key.fields' = 'sensor'
);
