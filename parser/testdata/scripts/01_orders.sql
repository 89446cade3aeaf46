-- Revenue per product and minute, in euros at the rate of the order's time.
CREATE TABLE orders (
  order_id BIGINT,
  product STRING,
  amount DECIMAL(10, 2),
  currency STRING,
  info ROW<city STRING, tags ARRAY<STRING>>,
  ts TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL,
  total AS amount * 1.19,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
  PRIMARY KEY (order_id) NOT ENFORCED
) WITH ('connector' = 'kafka', 'topic' = 'orders', 'format' = 'json');

INSERT INTO report
WITH enriched AS (
  SELECT o.order_id, o.product, o.ts, o.info.tags[1] AS tag, o.amount * r.rate AS eur
  FROM orders AS o
  LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency
  WHERE o.amount > 0 AND o.product LIKE 'p%' || 'x'
), ranked AS (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY eur DESC) AS rn
  FROM enriched
)
SELECT window_start, window_end, product,
  COUNT(*) FILTER (WHERE tag IS NOT NULL) AS tagged,
  SUM(CAST(eur AS DECIMAL(18, 4))) AS total,
  CASE WHEN SUM(eur) > 100 THEN 'big' ELSE 'small' END AS size
FROM TABLE(TUMBLE(TABLE ranked, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
WHERE rn <= 10
GROUP BY window_start, window_end, product
HAVING COUNT(DISTINCT order_id) > 1;
