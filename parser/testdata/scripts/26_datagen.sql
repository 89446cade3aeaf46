CREATE TABLE gen (
  id INT,
  price DOUBLE,
  at AS LOCALTIMESTAMP,
  p AS PROCTIME()
) WITH (
  'connector' = 'datagen',
  'rows-per-second' = '100',
  'fields.id.kind' = 'sequence',
  'fields.id.start' = '1',
  'fields.id.end' = '1000'
);
CREATE TABLE out WITH ('connector' = 'print') LIKE gen (EXCLUDING ALL);
INSERT INTO out SELECT id, ROUND(price, 2), at, p FROM gen;
