-- Windows of 5 seconds that take late rows for 4 seconds more.
CREATE TABLE clicks (
  page STRING,
  ts BIGINT,
  rt AS TO_TIMESTAMP_LTZ(ts, 3),
  WATERMARK FOR rt AS rt
) WITH (
  'connector' = 'kafka',
  'topic' = 'clicks',
  'properties.bootstrap.servers' = '127.0.0.1:9092',
  'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset',
  'format' = 'json'
);
-- Where rows go that come too late even for that.
CREATE TABLE late (page STRING, ts BIGINT, late_watermark TIMESTAMP(3), late_by BIGINT, late_window_end TIMESTAMP(3));

INSERT INTO clicks VALUES
  ('first', 1000),           -- of the window from 0 to 5 s
  ('second', 3000),
  ('closes it', 6000),       -- the watermark is 6 s now: the window fires
  ('late', 2000),            -- within 4 seconds of its end: it fires again
  ('closes it for good', 10000),
  ('too late', 4000);        -- the watermark, 10 s, is more than 4 s behind its end

SET 'execution.runtime-mode' = 'streaming';
SET 'weir.result-mode' = 'changelog';
SELECT /*weir+ EMIT('allowed-lateness' = '4 s'), LATE_ROWS('late') */ window_start, window_end, COUNT(*) AS n
FROM TUMBLE(TABLE clicks, DESCRIPTOR(rt), INTERVAL '5' SECOND)
GROUP BY window_start, window_end;

SELECT page, late_watermark, late_by, late_window_end FROM late;
