CREATE TEMPORARY VIEW long_sessions (visitor, began, ended, pages) COMMENT 'more than five pages' AS
SELECT visitor, window_start, window_end, COUNT(*)
FROM SESSION(TABLE visits PARTITION BY visitor, DESCRIPTOR(seen), INTERVAL '30' MINUTE)
GROUP BY visitor, window_start, window_end
HAVING COUNT(*) > 5;
SELECT began, TIMESTAMPDIFF(SECOND, began, ended) AS seconds, pages FROM long_sessions WHERE visitor <> 'robot';
