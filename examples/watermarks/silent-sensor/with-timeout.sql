-- A partition without rows for three seconds has no say in the watermark: the windows of both sensors close.
SELECT sensor, window_start, COUNT(*) AS n, AVG(`value`) AS mean
FROM TUMBLE(TABLE readings /*+ OPTIONS('scan.watermark.idle-timeout' = '3 s') */, DESCRIPTOR(rt), INTERVAL '4' SECOND)
GROUP BY sensor, window_start, window_end;
