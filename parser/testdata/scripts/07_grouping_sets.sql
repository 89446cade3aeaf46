SELECT window_start, window_end, region, product, SUM(amount) AS amount, GROUPING(region) AS g
FROM TABLE(CUMULATE(TABLE sales, DESCRIPTOR(sold_at), INTERVAL '10' MINUTES, INTERVAL '1' DAY))
GROUP BY window_start, window_end, GROUPING SETS ((region, product), (region), ());
SELECT region, product, AVG(amount) FROM sales GROUP BY ROLLUP (region, product);
SELECT region, product, MAX(amount) FROM sales GROUP BY CUBE (region, (product, shop));
