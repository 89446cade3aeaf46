SET 'table.local-time-zone' = 'UTC';
CREATE TABLE clicks (
  user_id STRING NOT NULL,
  url STRING,
  seen_at TIMESTAMP_LTZ(3),
  WATERMARK FOR seen_at AS seen_at - INTERVAL '2' SECOND
) COMMENT 'page views' PARTITIONED BY (user_id) WITH (
  'connector' = 'filesystem',
  'path' = 'clicks/',
  'format' = 'csv'
);
SELECT window_start, COUNT(DISTINCT user_id) AS users, COUNT(*) AS hits
FROM HOP(TABLE clicks, DESCRIPTOR(seen_at), INTERVAL '1' MINUTE, INTERVAL '10' MINUTE)
GROUP BY window_start, window_end
ORDER BY window_start DESC NULLS LAST
LIMIT 100;
