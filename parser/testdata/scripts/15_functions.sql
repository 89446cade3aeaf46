SELECT
  EXTRACT(HOUR FROM ts) AS h,
  FLOOR(ts TO DAY) AS d,
  CEIL(price) AS c,
  TRIM(BOTH ' ' FROM name) AS n,
  SUBSTRING(name FROM 2 FOR 3) AS s,
  POSITION('x' IN name) AS p,
  OVERLAY(name PLACING 'zz' FROM 1 FOR 2) AS o,
  TIMESTAMPADD(MONTH, 1, ts) AS m,
  JSON_VALUE(doc, '$.a.b' RETURNING INT NULL ON EMPTY ERROR ON ERROR) AS jv,
  JSON_QUERY(doc, '$.a' WITH CONDITIONAL ARRAY WRAPPER EMPTY ARRAY ON ERROR) AS jq,
  JSON_OBJECT(KEY 'k' VALUE price, 'l' VALUE name ABSENT ON NULL) AS jo,
  IF(price > 10, 'dear', 'cheap') AS level,
  CURRENT_TIMESTAMP AS now_,
  LISTAGG(name, ',') WITHIN GROUP (ORDER BY ts DESC) AS names
FROM goods
GROUP BY ts, price, name, doc;
