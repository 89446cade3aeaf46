SELECT
  (SELECT MAX(b) FROM s WHERE s.k = t.k) AS biggest,
  CASE t.kind WHEN 'a' THEN 1 WHEN 'b' THEN 2 ELSE NULL END AS n,
  ARRAY[1, 2, 3][2] AS second_,
  MAP['k', ROW(1, 'x')]['k'].f0 AS field,
  t.*
FROM (VALUES (1, 'a'), (2, 'b')) AS t (k, kind)
INNER JOIN (a CROSS JOIN b) ON t.k = a.k
WHERE EXISTS (SELECT 1 FROM u WHERE u.k IN (t.k, t.k + 1));
