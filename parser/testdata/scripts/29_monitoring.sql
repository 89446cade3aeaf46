SET 'pipeline.name' = 'alerts';
SET 'table.exec.source.idle-timeout' = '30 s';
INSERT INTO alerts (host, seen_at, message)
SELECT host, window_end, CONCAT('cpu at ', CAST(ROUND(AVG(cpu), 1) AS STRING), ' %')
FROM TUMBLE(TABLE metrics, DESCRIPTOR(seen_at), INTERVAL '1' MINUTE, INTERVAL '15' SECOND)
WHERE host LIKE 'web-%' AND cpu >= 0.0
GROUP BY host, window_start, window_end
HAVING AVG(cpu) > 90.0 AND COUNT(*) >= 3;
