EXECUTE STATEMENT SET BEGIN
  INSERT INTO good SELECT id, name FROM events WHERE kind IN ('a', 'b', 'c') AND id IS NOT NULL;
  INSERT INTO bad (id, reason) SELECT id, 'unknown kind: ' || COALESCE(kind, '?') FROM events WHERE kind NOT IN ('a', 'b', 'c');
  INSERT INTO counts SELECT kind, COUNT(*) FROM events GROUP BY kind;
END;
SHOW JOBS;
STOP JOB 'a1b2c3' WITH SAVEPOINT WITH DRAIN;
