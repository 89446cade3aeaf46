package avroconfluent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// double is a schema registry that does what the tests need.
type double struct {
	*httptest.Server
	mu      sync.Mutex
	schemas []string
	asked   int
	broken  int    // how many requests fail first
	login   string // of basic authentication
}

func newDouble(t *testing.T) *double {
	d := &double{}
	d.Server = httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(d.Close)
	return d
}

func (d *double) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	if d.broken > 0 {
		d.broken--
		http.Error(w, "{}", http.StatusInternalServerError)
		return
	}
	if user, password, _ := r.BasicAuth(); d.login != "" && user+":"+password != d.login {
		http.Error(w, "{}", http.StatusUnauthorized)
		return
	}
	var id int
	switch {
	case r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/subjects/"):
		var body struct{ Schema string }
		if json.NewDecoder(r.Body).Decode(&body) != nil || strings.Contains(r.URL.Path, "forbidden") {
			http.Error(w, `{"error_code":409,"message":"incompatible"}`, http.StatusConflict)
			return
		}
		for id = range d.schemas {
			if d.schemas[id] == body.Schema {
				fmt.Fprintf(w, `{"id":%d}`, id+1)
				return
			}
		}
		d.schemas = append(d.schemas, body.Schema)
		fmt.Fprintf(w, `{"id":%d}`, len(d.schemas))
	default:
		if _, err := fmt.Sscanf(r.URL.Path, "/schemas/ids/%d", &id); err != nil || id < 1 || id > len(d.schemas) {
			http.Error(w, `{"error_code":40403,"message":"Schema not found"}`, http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"schema": d.schemas[id-1]})
	}
}

var columns = types.Schema{{Name: "id", Type: types.IntType}, {Name: "name", Type: types.StringType}}

func encode(t *testing.T, c connectors.FormatConfig, rows ...[]any) ([][]byte, error) {
	t.Helper()
	env := conntest.NewEnv(t)
	e, err := Format{}.Encoder(c)
	if err != nil {
		return nil, err
	}
	b := conntest.Batch(t, env, c.Columns, nil, rows...)
	defer b.Release()
	var out [][]byte
	for i := range rows {
		m, ok, err := e.(connectors.MessageEncoder).EncodeMessage(nil, b.Record, int32(i), stream.Insert)
		if err != nil {
			return nil, err
		}
		if !ok {
			t.Fatal("a null message")
		}
		out = append(out, m)
	}
	return out, nil
}

func decode(t *testing.T, c connectors.FormatConfig, messages ...[]byte) ([]string, error) {
	t.Helper()
	env := conntest.NewEnv(t)
	d, err := Format{}.Decoder(c)
	if err != nil {
		return nil, err
	}
	m := connectors.Messages{Split: "s", Values: messages, Offset: func(i int) int64 { return int64(i) }}
	out, _, err := d.Clone().(connectors.MessageDecoder).DecodeMessages(context.Background(), m, env.Allocator)
	if err != nil {
		return nil, err
	}
	defer out.Batch.Release()
	rows := conntest.Rows(out.Batch, c.Columns)
	for _, b := range out.Bad {
		rows = append(rows, fmt.Sprintf("bad %d: %s", b.Position, b.Err))
	}
	return rows, nil
}

func TestRoundTrip(t *testing.T) {
	d := newDouble(t)
	d.broken = 2 // it is asked again
	messages, err := encode(t, conntest.FormatConfig(columns, "url="+d.URL, "subject=x-value"), []any{int32(1), "a"}, []any{nil, nil})
	if err != nil {
		t.Fatal(err)
	}
	// Another version of the schema, with a field more and another order.
	more := types.Schema{{Name: "extra", Type: types.DoubleType}, {Name: "name", Type: types.StringType}, {Name: "id", Type: types.BigIntType}}
	old, err := encode(t, conntest.FormatConfig(more, "url="+d.URL, "subject=x-value"), []any{1.5, "b", int64(2)})
	if err != nil {
		t.Fatal(err)
	}
	messages = append(messages, nil, old[0], []byte("{}"), []byte{0, 0, 0, 0, 99, 1})
	c := conntest.FormatConfig(columns, "url="+d.URL)
	c.KeepBad = true
	d.asked = 0
	rows, err := decode(t, c, messages...)
	if err != nil {
		t.Fatal(err)
	}
	conntest.Equal(t, rows, []string{"1|a", "NULL|NULL", "2|b", "bad 4: it does not begin with a zero byte and the id of a schema, as Confluent's serializers write",
		"bad 5: the schema registry has no schema 99"})
	if d.asked != 3 {
		t.Errorf("the registry was asked %d times for 3 schemas", d.asked)
	}
}

func TestErrors(t *testing.T) {
	d := newDouble(t)
	d.login = "user:secret"
	d.schemas = []string{`{"type":"record","name":"r","fields":[]}`}
	message := []byte{0, 0, 0, 0, 1}
	for _, c := range []struct{ options, want string }{
		{"url=" + d.URL, "refuses the login: look at 'avro-confluent.basic-auth.user-info'"},
		{"url=" + d.URL + " bearer-auth.credentials-source=STATIC_TOKEN bearer-auth.token=secret", "refuses the login: look at 'avro-confluent.bearer-auth.token'"},
		{"url=" + d.URL + " basic-auth.credentials-source=USER_INFO basic-auth.user-info=user:not-secret", "refuses the login"},
		{"url=" + d.URL + " basic-auth.credentials-source=USER_INFO basic-auth.user-info=user:secret", ""},
		{"url=" + d.URL + " basic-auth.credentials-source=USER_INFO", "need each other"},
		{"url=ftp://x", "it must be http"},
		{"urls=x", "unknown option"},
		{"url=http://user:secret@127.0.0.1:1", "the schema registry http://user:xxxxx@127.0.0.1:1 cannot be used"},
	} {
		rows, err := decode(t, conntest.FormatConfig(columns, strings.Fields(c.options)...), message)
		if c.want == "" {
			if err != nil || len(rows) != 1 {
				t.Errorf("%s: %v %q", c.options, err, rows)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", c.options, err)
		}
	}
	d.login = ""
	if _, err := encode(t, conntest.FormatConfig(columns, "url="+d.URL), []any{int32(1), "a"}); err == nil || !strings.Contains(err.Error(), "'avro-confluent.subject'") {
		t.Error(err)
	}
	if _, err := encode(t, conntest.FormatConfig(columns, "url="+d.URL, "subject=forbidden"), []any{int32(1), "a"}); err == nil || !strings.Contains(err.Error(), "incompatible") {
		t.Error(err)
	}
	// A schema of one's own must fit the columns.
	schema := `{"type":"record","name":"r","fields":[{"name":"id","type":"int"}]}`
	if _, err := encode(t, conntest.FormatConfig(columns, "url="+d.URL, "subject=x", "schema="+schema), []any{int32(1), "a"}); err == nil || !strings.Contains(err.Error(), "1 field for 2 columns") {
		t.Error(err)
	}
	if _, err := encode(t, conntest.FormatConfig(columns[:1], "url="+d.URL, "subject=x", "schema="+schema), []any{nil}); err == nil || !strings.Contains(err.Error(), "NULL, which the schema does not allow") {
		t.Error(err)
	}
}
