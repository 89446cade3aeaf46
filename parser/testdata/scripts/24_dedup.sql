CREATE VIEW latest_rates AS
SELECT currency, rate, seen_at
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY seen_at DESC) AS rank_
  FROM rate_updates
)
WHERE rank_ = 1;
SELECT SUM(o.amount * r.rate) AS total FROM orders AS o, latest_rates AS r WHERE o.currency = r.currency;
