CREATE TABLE gen (
  id INT,
  price DOUBLE,
  seen_at AS LOCALTIMESTAMP,
  p AS PROCTIME()
) WITH (
  'connector' = 'datagen',
  'rows-per-second' = '100',
  'fields.id.kind' = 'sequence',
  'fields.id.start' = '1',
  'fields.id.end' = '1000'
);
CREATE TABLE results WITH ('connector' = 'print') LIKE gen (EXCLUDING ALL);
INSERT INTO results SELECT id, ROUND(price, 2), seen_at, p FROM gen;
