SELECT COALESCE(l.window_start, r.window_start) AS ws, l.id AS left_id, r.id AS right_id
FROM (SELECT * FROM TUMBLE(TABLE a, DESCRIPTOR(t), INTERVAL '5' MINUTE)) AS l
FULL OUTER JOIN (SELECT * FROM TUMBLE(TABLE b, DESCRIPTOR(t), INTERVAL '5' MINUTE)) AS r
ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end;
