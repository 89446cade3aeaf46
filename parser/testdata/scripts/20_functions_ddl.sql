CREATE TEMPORARY SYSTEM FUNCTION IF NOT EXISTS parse_ua AS 'com.example.ParseUA' LANGUAGE JAVA USING JAR 's3://b/x.jar', JAR 's3://b/y.jar';
CREATE FUNCTION lake.main.area AS 'geo.area' LANGUAGE PYTHON;
DROP TEMPORARY FUNCTION IF EXISTS parse_ua;
SELECT lake.main.area(x => 1, y => 2.5e0) FROM shapes;
CALL sys.compact('t', 3);
