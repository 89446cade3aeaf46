-- A pipeline: rides per station and half hour, windows that slide by ten minutes, into CSV files with a header line, one folder for each station.
-- The files are there when the job has ended; the last statement reads them.
CREATE TABLE rides (
  bike INT,
  station STRING,
  price DECIMAL(6, 2),
  ended_at TIMESTAMP(3),
  WATERMARK FOR ended_at AS ended_at - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'examples/data/rides.json', 'format' = 'json');

CREATE TABLE half_hours (
  window_start TIMESTAMP(3),
  window_end TIMESTAMP(3),
  rides BIGINT,
  revenue DECIMAL(38, 2),
  station STRING
) PARTITIONED BY (station) WITH (
  'connector' = 'filesystem', 'path' = '/tmp/weir/half_hours', 'format' = 'csv', 'csv.header' = 'true'
);

INSERT OVERWRITE half_hours
SELECT window_start, window_end, COUNT(*), SUM(price), station
FROM HOP(TABLE rides, DESCRIPTOR(ended_at), INTERVAL '10' MINUTE, INTERVAL '30' MINUTE)
GROUP BY window_start, window_end, station;

SELECT station, SUM(rides) AS rides_in_windows, MAX(revenue) AS best_half_hour
FROM half_hours
GROUP BY station
ORDER BY station;
