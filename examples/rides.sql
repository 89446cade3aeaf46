-- Bike rides as they end, counted in windows of ten minutes of event time.
-- A window closes when the watermark (five seconds behind the newest ride) passes its end; a ride that comes after that is late: it is left out and
-- counted in the summary.
CREATE TABLE rides (
  ride_id BIGINT,
  bike INT,
  station STRING,
  minutes INT,
  price DECIMAL(6, 2),
  ended_at TIMESTAMP(3),
  WATERMARK FOR ended_at AS ended_at - INTERVAL '5' SECOND
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/data/rides.json',
  'format' = 'json'
);

SELECT window_start, window_end, COUNT(*) AS rides, COUNT(DISTINCT bike) AS bikes, SUM(price) AS revenue
FROM TUMBLE(TABLE rides, DESCRIPTOR(ended_at), INTERVAL '10' MINUTE)
GROUP BY window_start, window_end;
