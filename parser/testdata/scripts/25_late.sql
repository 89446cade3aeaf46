INSERT INTO late
SELECT user_id, seen_at, CURRENT_WATERMARK(seen_at) AS wm
FROM clicks
WHERE CURRENT_WATERMARK(seen_at) IS NOT NULL AND seen_at <= CURRENT_WATERMARK(seen_at);
SELECT TUMBLE_START(seen_at, INTERVAL '1' HOUR) AS hour_, COUNT(*) AS n
FROM clicks
GROUP BY TUMBLE(seen_at, INTERVAL '1' HOUR), user_id;
