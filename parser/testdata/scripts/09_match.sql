SELECT *
FROM ticker
MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY seen_at
  MEASURES
    FIRST(DOWN.price) AS top,
    LAST(DOWN.price) AS bottom,
    LAST(UP.price, 1) AS recovered,
    AVG(DOWN.price) AS mean
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO LAST UP
  PATTERN (START_ROW DOWN{2,5} UP+?) WITHIN INTERVAL '1' HOUR
  DEFINE
    DOWN AS DOWN.price < LAST(DOWN.price, 1) OR LAST(DOWN.price, 1) IS NULL,
    UP AS UP.price > LAST(DOWN.price, 1)
) AS m
WHERE m.top > m.bottom * 1.05;
