SELECT o.id, s.carrier, s.shipped - o.ordered AS waited
FROM orders o
JOIN shipments s ON o.id = s.order_id
  AND s.shipped BETWEEN o.ordered AND o.ordered + INTERVAL '4' HOUR
UNION ALL
SELECT o.id, CAST(NULL AS STRING), CAST(NULL AS INTERVAL DAY TO SECOND(3))
FROM orders AS o
WHERE NOT EXISTS (SELECT 1 FROM shipments AS s WHERE s.order_id = o.id);
