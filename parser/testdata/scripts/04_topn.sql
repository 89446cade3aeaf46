INSERT INTO top_items
SELECT item, price, rn
FROM (
  SELECT item, price, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC, item) AS rn
  FROM TUMBLE(DATA => TABLE bids, TIMECOL => DESCRIPTOR(bt), SIZE => INTERVAL '10' MINUTES)
) WHERE rn BETWEEN 1 AND 3;
SELECT item, price FROM bids QUALIFY ROW_NUMBER() OVER (PARTITION BY item ORDER BY bt DESC) = 1;
