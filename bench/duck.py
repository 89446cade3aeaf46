"""Runs one query on DuckDB and prints its row as CSV, then the CPU and wall seconds of the query alone: duck.py THREADS SQL."""
import os, sys, time
import duckdb

con = duckdb.connect(config={"threads": int(sys.argv[1])})
con.execute("SET preserve_insertion_order = false")
before, wall = os.times(), time.perf_counter()
rows = con.execute(sys.argv[2]).fetchall()
after, wall = os.times(), time.perf_counter() - wall
for row in rows:
    print(",".join(str(c) for c in row))
print("cpu", after.user + after.system - before.user - before.system, wall)
