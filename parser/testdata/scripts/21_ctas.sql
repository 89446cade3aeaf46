CREATE TABLE daily (PRIMARY KEY (day_) NOT ENFORCED) WITH ('connector' = 'test') AS
SELECT CAST(ts AS DATE) AS day_, COUNT(*) AS n, SUM(price) / COUNT(*) AS mean
FROM bids
GROUP BY CAST(ts AS DATE);
CREATE OR REPLACE TABLE daily2 AS SELECT * FROM daily;
CREATE TABLE reordered (n, day_) AS SELECT day_, n FROM daily;
