SELECT o.id, t.sku, t.qty, n.pos
FROM orders AS o
CROSS JOIN UNNEST(o.lines) AS t (sku, qty)
CROSS JOIN UNNEST(ARRAY['x', 'y', 'z']) WITH ORDINALITY AS n (letter, pos)
LEFT JOIN LATERAL TABLE(split_words(o.note, ' ')) AS w (word, len) ON TRUE
WHERE t.qty[1] > 0 AND o.attrs['colour'] = 'red' AND ROW(t.sku, t.qty) IS NOT NULL;
