package main

const header = `# What a real Flink 2.3.0 answers to CAST and TRY_CAST; written by gen, never by hand. Columns, separated by tabs:
# source expression, its type, target type, CAST(x AS target), TRY_CAST(x AS target).
# An answer is NULL, the printed value as a quoted text (Go's escapes; what CAST to STRING prints, but binary as x'0aff'),
# "error: plan" (refused before it runs) or "error: run" (the job fails). A pair of types that is refused when it is
# planned has one line. The session zone is UTC.
`

// source is a type and expressions of exactly that type.
type source struct {
	name   string
	values []string
}

var targets = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL(5,2)", "DECIMAL(20,6)", "DECIMAL(38,10)", "FLOAT", "DOUBLE",
	"CHAR(5)", "VARCHAR(5)", "STRING", "BINARY(3)", "VARBINARY(3)", "BYTES", "DATE", "TIME", "TIME(3)", "TIMESTAMP(0)",
	"TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(3)", "INTERVAL YEAR TO MONTH", "INTERVAL DAY TO SECOND(3)", "ARRAY<INT>",
	"ARRAY<STRING>", "MAP<STRING, INT>", "MAP<STRING, STRING>", "MULTISET<STRING>", "ROW<a INT, b STRING>", "ROW<a STRING, b CHAR(2)>",
}

// of makes a source whose values are casts of the given expressions, and NULL.
func of(name string, values ...string) source {
	s := source{name: name}
	for _, v := range values {
		s.values = append(s.values, "CAST("+v+" AS "+name+")")
	}
	s.values = append(s.values, "CAST(NULL AS "+name+")")
	return s
}

// text makes a source of character strings.
func text(name string, values ...string) source {
	for i, v := range values {
		values[i] = "'" + v + "'"
	}
	return of(name, values...)
}

var sources = []source{
	{"BOOLEAN", []string{"TRUE", "FALSE", "CAST('yes' AS BOOLEAN)", "CAST(0 AS BOOLEAN)", "CAST(NULL AS BOOLEAN)"}},
	of("TINYINT", "5", "-7", "127", "-128", "0"),
	of("SMALLINT", "300", "-7", "32767", "-32768", "0"),
	of("INT", "12345", "-7", "2147483647", "-2147483648", "0", "1"),
	of("BIGINT", "123456789012", "-7", "9223372036854775807", "-9223372036854775808", "0", "9007199254740993"),
	of("DECIMAL(5,2)", "123.45", "-0.05", "999.99", "-999.99", "0.00", "12.50"),
	of("DECIMAL(20,6)", "123456.789012", "-7.500000", "'99999999999999.999999'", "'-99999999999999.999999'", "0.000001"),
	of("DECIMAL(38,10)", "'1234567890.0123456789'", "-0.5", "'9999999999999999999999999999.9999999999'",
		"'-9999999999999999999999999999.9999999999'", "128.999", "0"),
	of("FLOAT", "1.5e0", "-2.25e0", "'3.4028235E38'", "'1.4E-45'", "0.1e0", "'NaN'", "'-Infinity'", "1.0e10", "123456.789e0"),
	of("DOUBLE", "1.5e0", "-2.25e0", "'1.7976931348623157E308'", "'4.9E-324'", "0.1e0", "'NaN'", "'Infinity'", "1.0e10",
		"123456.789e0", "-9.3e18", "127.999e0", "1.0e-5", "9.999999e6"),
	text("CHAR(5)", "abc", "12345", "-1.50", "true", "", "héé", "0"),
	text("VARCHAR(5)", "abc", "123", "-1.50", "f", "", " 7 ", "日本語"),
	text("STRING", "abc", "123", "-1.59", "TRUE", "", " 42 ", "1.9", "-3.5e2", "99999999999999999999", "NaN", "2024-02-29",
		"12:34:56", "12:34:56.789", "2024-02-29 12:34:56", "2024-02-29 12:34:56.789123", "1969-12-31 23:59:59.5", "2024-2-9",
		"2023-02-30", "2024-02-29T12:34:56", "2024-02-29 12:34:56Z", "+5", "1e3", "x", "no", "0.005", "999.995", "24:00:00", "1", "-",
		"日本語テキスト"),
	of("BINARY(3)", "x'414243'", "x'00ff10'", "x'41'", "x'313233'"),
	of("VARBINARY(3)", "x'414243'", "x'00ff10'", "x'41'", "x''"),
	of("BYTES", "x'414243'", "x'00ff10'", "x'3132333435'", "x''", "'é'"),
	of("DATE", "DATE '2024-02-29'", "DATE '1969-12-31'", "DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '1970-01-01'"),
	of("TIME", "TIME '12:34:56'", "TIME '00:00:00'", "TIME '23:59:59'", "TIME '01:02:03'"),
	of("TIME(3)", "TIME '12:34:56.789'", "TIME '00:00:00.001'", "TIME '23:59:59.999'", "TIME '10:00:00'"),
	of("TIMESTAMP(0)", "TIMESTAMP '2024-02-29 12:34:56'", "TIMESTAMP '1969-12-31 23:59:59'", "TIMESTAMP '0001-01-01 00:00:00'",
		"TIMESTAMP '9999-12-31 23:59:59'", "TIMESTAMP '1970-01-01 00:00:00'"),
	of("TIMESTAMP(3)", "TIMESTAMP '2024-02-29 12:34:56.789'", "TIMESTAMP '1969-12-31 23:59:59.999'",
		"TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999'", "TIMESTAMP '2024-05-01 10:00:00'"),
	of("TIMESTAMP(6)", "TIMESTAMP '2024-02-29 12:34:56.789123'", "TIMESTAMP '1969-12-31 23:59:59.999999'",
		"TIMESTAMP '0001-01-01 00:00:00.000001'", "TIMESTAMP '9999-12-31 23:59:59.999999'", "TIMESTAMP '2024-05-01 10:00:00'"),
	of("TIMESTAMP_LTZ(3)", "TIMESTAMP '2024-02-29 12:34:56.789'", "TIMESTAMP '1969-12-31 23:59:59.999'",
		"TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999'", "TIMESTAMP '1970-01-01 00:00:00'"),
	of("INTERVAL YEAR TO MONTH", "INTERVAL '2-3' YEAR TO MONTH", "INTERVAL -'0-5' YEAR TO MONTH", "INTERVAL '9999-11' YEAR(4) TO MONTH",
		"INTERVAL '0' MONTH"),
	of("INTERVAL DAY TO SECOND(3)", "INTERVAL '1 10:17:36.789' DAY TO SECOND(3)", "INTERVAL -'0 00:00:01.5' DAY TO SECOND(3)",
		"INTERVAL '99 23:59:59.999' DAY TO SECOND(3)", "INTERVAL '0' SECOND"),
	of("ARRAY<INT>", "ARRAY[1, 2]", "ARRAY[-1, CAST(NULL AS INT)]", "ARRAY[2147483647]", "ARRAY_REMOVE(ARRAY[1], 1)"),
	of("MAP<STRING, INT>", "MAP['a', 1]", "MAP['b', -2]", "MAP['', CAST(NULL AS INT)]", "MAP['x y', 2147483647]"),
	of("MULTISET<STRING>"),
	of("ROW<a INT, b STRING>", "ROW(1, 'x')", "ROW(-1, '')", "ROW(CAST(NULL AS INT), CAST(NULL AS STRING))", "ROW(2147483647, 'é, (')"),
}
