package weir_test

import (
	"strings"
	"testing"

	"github.com/weir-sql/weir"
)

// TestHideSecrets: values of secret options are hidden, in statements with mistakes too, whose lines are shown with the error.
func TestHideSecrets(t *testing.T) {
	for sql, want := range map[string]string{
		"WITH ('topic' = 'x', 'properties.sasl.password' = 'pw')":                            "WITH ('topic' = 'x', 'properties.sasl.password' = '**')",
		"SET 'a.token'='it''s\nlong'":                                                        "SET 'a.token'='*****\n****'",
		"/*+ OPTIONS('KEY.SECRET' 'pw') */":                                                  "/*+ OPTIONS('KEY.SECRET' '**') */",
		"WITH ('topic' = 'x, 'password' = 'pw')":                                             "WITH ('topic' = 'x, 'password' = '**')",
		"WITH ('topic' 'password' = 'pw')":                                                   "WITH ('topic' 'password' = '**')",
		"WITH ('password' = 'pw, 'a' = 'b')":                                                 "WITH ('password' = '****'a' = 'b')",
		"WITH ('password' = 'pw":                                                             "WITH ('password' = '**",
		"-- don't\nWITH ('password' = 'pw', 'password' = '')":                                "-- don't\nWITH ('password' = '**', 'password' = '')",
		`WITH ('properties.sasl.jaas.confg' = 'X required username="me" password="p\"w";')`:  `WITH ('properties.sasl.jaas.confg' = '*****************************************')`,
		`WITH ('properties.sasl.jas.config' = 'X required username="me" password="p\"w";')`:  `WITH ('properties.sasl.jas.config' = 'X required username="me" password="****";')`,
		`WITH ('properties.sasl.jaas.config' = X required username="me" password="pw";')`:    `WITH ('properties.sasl.jaas.config' = X required username="me" password="**";')`,
		"WITH ('avro-confluent.url' = 'http://me:p@w@host:8081,http://me:pw@host:8082/x@y')": "WITH ('avro-confluent.url' = 'http://me:***@host:8081,http://me:**@host:8082/x@y')",
		"WITH ('avro-confluent.url' = 'http://me:pw@host:8081,http://host:8082')":            "WITH ('avro-confluent.url' = 'http://me:**@host:8081,http://host:8082')",
		"SELECT password = 'x', 'secret', 'y' FROM t":                                        "SELECT password = 'x', 'secret', 'y' FROM t",
	} {
		got := weir.HideSecrets(sql)
		if got != want {
			t.Errorf("%s\ngives %s\nwant  %s", sql, got, want)
		}
		if len(got) != len(sql) || strings.Count(got, "\n") != strings.Count(sql, "\n") {
			t.Errorf("%s: places have changed", sql)
		}
	}
}

// TestSecretsAreNotShown: not by what shows declarations and settings.
func TestSecretsAreNotShown(t *testing.T) {
	db, err := weir.Open(weir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, sql := range []string{
		`CREATE TABLE t (a INT) WITH ('connector' = 'blackhole', 'password' = 'hush', 'url' = 'http://me:hush@host', 'jaas' = 'hush')`,
		`CREATE TABLE u (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1')`,
		`CREATE VIEW v AS SELECT * FROM u WHERE 'password="hush"' <> 'x'`,
		`CREATE CATALOG c WITH ('type' = 'generic_in_memory', 'api-key' = 'hush')`,
		`SET 'my.token' = 'hush'`,
	} {
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{"SHOW CREATE TABLE t", "SHOW CREATE VIEW v", "SHOW CREATE CATALOG c", "DESCRIBE CATALOG EXTENDED c", "SET"} {
		q, err := db.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		table, err := q.Final()
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(table.CSV(), "\n"); strings.Contains(text, "hush") || !strings.Contains(text, "***") {
			t.Errorf("%s shows\n%s", sql, text)
		}
	}
}
