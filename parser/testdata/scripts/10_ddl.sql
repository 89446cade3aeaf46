CREATE CATALOG IF NOT EXISTS lake COMMENT 'cold data' WITH ('type' = 'generic_in_memory', 'default-database' = 'main');
USE CATALOG lake;
CREATE DATABASE IF NOT EXISTS lake.bronze COMMENT 'as it came' WITH ('owner' = 'ann');
USE lake.bronze;
CREATE TABLE IF NOT EXISTS lake.bronze.events (
  id BIGINT NOT NULL COMMENT 'key',
  payload MAP<STRING, ARRAY<INT NOT NULL>>,
  kind CHAR(3),
  body BYTES,
  tag MULTISET<STRING>,
  CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED
) DISTRIBUTED BY HASH(id) INTO 4 BUCKETS WITH ('connector' = 'test');
CREATE TABLE copy_of_events (extra DOUBLE) WITH ('k' = 'v') LIKE events (INCLUDING ALL EXCLUDING CONSTRAINTS OVERWRITING OPTIONS);
DROP TABLE IF EXISTS copy_of_events;
DROP DATABASE IF EXISTS bronze CASCADE;
DROP CATALOG lake;
