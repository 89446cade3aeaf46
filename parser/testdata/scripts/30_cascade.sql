WITH five AS (
  SELECT window_start AS s5, window_end AS e5, window_time AS rt, item, SUM(price) AS total
  FROM TUMBLE(TABLE bids, DESCRIPTOR(bt), INTERVAL '5' MINUTE)
  GROUP BY window_start, window_end, window_time, item
), ten AS (
  SELECT window_start, window_end, item, SUM(total) AS total
  FROM TUMBLE(TABLE five, DESCRIPTOR(rt), INTERVAL '10' MINUTE)
  GROUP BY window_start, window_end, item
)
SELECT * FROM ten WHERE total > (SELECT AVG(total) FROM ten) ORDER BY total DESC, item LIMIT 10 OFFSET 2;
