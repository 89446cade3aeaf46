-- Without it the silent partition holds the watermark where it was: no window closes, and Weir says after five seconds which split it is and what helps.
SELECT sensor, window_start, COUNT(*) AS n, AVG(`value`) AS mean
FROM TUMBLE(TABLE readings, DESCRIPTOR(rt), INTERVAL '4' SECOND)
GROUP BY sensor, window_start, window_end;
