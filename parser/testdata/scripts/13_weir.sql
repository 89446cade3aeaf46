SHOW WATERMARKS;
SHOW LATE ROWS FROM bids;
EXPLAIN WATERMARK SELECT * FROM bids;
EXPLAIN ANALYZE SELECT COUNT(*) FROM 'bids.csv';
ADVISE WATERMARK FOR bids;
DESCRIBE 'data/bids.json';
SHOW CREATE TABLE 'data/*.parquet';
SELECT /*weir+ LATE_ROWS('late_bids') */ window_start, COUNT(*)
FROM TUMBLE(TABLE bids, DESCRIPTOR(bt), INTERVAL '10' SECOND)
GROUP BY window_start, window_end;
CREATE TABLE guarded (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (
  'connector' = 'filesystem' /*weir , 'scan.watermark.max-future' = '5 min' */
);
