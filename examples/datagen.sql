-- No file at hand: rows made up on the spot. Without 'number-of-rows' the query would run until Ctrl-C.
CREATE TABLE measurements (
  sensor INT,
  value_c DOUBLE,
  ts AS TO_TIMESTAMP_LTZ(n * 250, 3),
  n BIGINT,
  WATERMARK FOR ts AS ts
) WITH (
  'connector' = 'datagen', 'number-of-rows' = '1000', 'seed' = '1',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '1000',
  'fields.sensor.min' = '1', 'fields.sensor.max' = '3',
  'fields.value_c.min' = '15', 'fields.value_c.max' = '25'
);

SELECT window_start, sensor, COUNT(*) AS readings, CAST(AVG(value_c) AS DECIMAL(5, 2)) AS average_c
FROM TUMBLE(TABLE measurements, DESCRIPTOR(ts), INTERVAL '1' MINUTE)
GROUP BY window_start, window_end, sensor;
