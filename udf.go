package weir

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser"
	"github.com/weir-sql/weir/planner/bind"
	"github.com/weir-sql/weir/types"
)

// RegisterScalar gives a Go function a name in SQL, for all expressions of this session: SELECT, WHERE, GROUP BY, computed columns, WATERMARK, views.
//
//	bool            BOOLEAN
//	int8 .. int64   TINYINT, SMALLINT, INT, BIGINT (int too)
//	float32         FLOAT
//	float64         DOUBLE
//	string          STRING
//	[]byte          BYTES
//	time.Time       TIMESTAMP(6)
//	time.Duration   INTERVAL DAY TO SECOND
//
// Parameters and the first result are of these types or pointers to them: a nil pointer, and a result that is a nil []byte, is NULL. When the argument
// of a parameter that is no pointer is NULL, the result is NULL without a call. A second result is an error, which fails the query, as a panic does.
//
// Arguments are cast as those of built-in functions. A time.Time takes TIMESTAMP(p), as a time in UTC with that wall clock, and TIMESTAMP_LTZ(p), as the instant in
// the session time zone; with a TIMESTAMP_LTZ among them all are instants, and a time.Time result is TIMESTAMP_LTZ(6), otherwise it is the wall clock in
// UTC. What is finer than a microsecond is cut off.
//
// A function should give the same result for the same arguments: how often, for which rows beyond those that an expression needs, and in which order it is
// called is not said. It is called for rows only, never when a statement is planned, and by several goroutines at once.
//
// Names are matched in any case. Those of built-in functions, reserved words and names that were registered before are refused.
func (db *DB) RegisterScalar(name string, fn any) error {
	key := strings.ToUpper(name)
	f, err := newGoFunction(key, fn)
	if err == nil {
		err = db.addFunction(key, f)
	}
	if err != nil {
		return newError("WEIR-3010", fmt.Sprintf("RegisterScalar %s: %v", name, err), "")
	}
	return nil
}

func (db *DB) addFunction(key string, f *goFunction) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if err := db.freeName(key); err != nil {
		return err
	}
	f.log = func(p any) { db.opts.Log.Error("panic", "function", key, "panic", p, "stack", string(debug.Stack())) }
	params := make([]types.Type, len(f.params))
	for i, p := range f.params {
		params[i] = p.sql
	}
	db.functions[key] = catalog.NewScalar(key, params, f.result.sql, f.caller)
	return nil
}

// freeName says why a name in upper case cannot be that of a new function or generator; db.mu is held.
func (db *DB) freeName(key string) error {
	switch {
	case !isFunctionName(key):
		return errors.New("a name is letters, digits and _, and begins with a letter or _")
	case bind.Taken(key):
		return errors.New("the name is that of a built-in function")
	case parser.IsReserved(key):
		return errors.New("the name is a reserved word")
	case db.functions[key] != nil || db.generators[key] != nil:
		return errors.New("the name is taken")
	}
	return nil
}

func isFunctionName(s string) bool {
	return plainFunction(s) && (s[0] < '0' || s[0] > '9') && !strings.Contains(s, "$")
}

// userFunctions is bind.Env.Functions.
func (db *DB) userFunctions() map[string]*catalog.Function {
	db.mu.Lock()
	defer db.mu.Unlock()
	return maps.Clone(db.functions)
}

// goFunction is a Go function with its SQL signature.
type goFunction struct {
	name   string
	fn     reflect.Value
	params []goScalar
	result goScalar
	fails  bool // it has an error as second result
	log    func(panicked any)
}

// goScalar is the type of a parameter or result.
type goScalar struct {
	typ     reflect.Type // without the pointer
	pointer bool
	sql     types.Type // nullable: it can be NULL
}

func newGoFunction(name string, fn any) (*goFunction, error) {
	v := reflect.ValueOf(fn)
	if !v.IsValid() || v.Kind() != reflect.Func || v.IsNil() {
		return nil, fmt.Errorf("%T is no function", fn)
	}
	t := v.Type()
	f := &goFunction{name: name, fn: v, fails: t.NumOut() == 2}
	switch {
	case t.IsVariadic():
		return nil, fmt.Errorf("%s: a variable number of parameters is not supported", t)
	case t.NumOut() == 0 || t.NumOut() > 2 || f.fails && t.Out(1) != reflect.TypeFor[error]():
		return nil, fmt.Errorf("%s: it must return a value, or a value and an error", t)
	}
	for i := range t.NumIn() {
		p, err := newGoScalar(t.In(i))
		if err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i+1, err)
		}
		f.params = append(f.params, p)
	}
	var err error
	if f.result, err = newGoScalar(t.Out(0)); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	if t.Out(0).Kind() == reflect.Slice {
		f.result.sql.Nullable = true
	}
	return f, nil
}

func newGoScalar(t reflect.Type) (goScalar, error) {
	s := goScalar{typ: t}
	if t.Kind() == reflect.Pointer {
		s.typ, s.pointer = t.Elem(), true
	}
	switch k := s.typ.Kind(); {
	case s.typ == reflect.TypeFor[time.Time]():
		s.sql = types.TimestampOf(6)
	case k == reflect.Bool, k >= reflect.Int && k <= reflect.Int64, k == reflect.Float32, k == reflect.Float64, k == reflect.String,
		k == reflect.Slice && s.typ.Elem().Kind() == reflect.Uint8:
		var err error
		if s.sql, err = goType(s.typ); err != nil {
			return s, err
		}
	default:
		return s, fmt.Errorf("the Go type %s is not one of bool, int8 to int64, float32, float64, string, []byte, time.Time, time.Duration, or a pointer to one of them", t)
	}
	s.sql.Nullable = s.pointer
	return s, nil
}

// caller is its catalog.Implementation.
func (f *goFunction) caller(args []types.Type, zone *time.Location) func([]any) (any, error) {
	in := make([]reflect.Value, len(f.params))
	for i, p := range f.params {
		in[i] = reflect.New(p.typ).Elem()
		if p.pointer {
			in[i] = reflect.New(reflect.PointerTo(p.typ)).Elem()
		}
	}
	return func(values []any) (any, error) {
		for i, p := range f.params {
			if values[i] == nil && !p.pointer {
				return nil, nil
			}
		}
		for i, p := range f.params {
			to := in[i]
			switch {
			case values[i] == nil:
				to.SetZero()
				continue
			case p.pointer: // the function may keep it
				to.Set(reflect.New(p.typ))
				to = to.Elem()
			}
			if err := setGo(to, values[i], args[i], zone); err != nil {
				return nil, fmt.Errorf("function %s: argument %d: %w", f.name, i+1, err)
			}
		}
		out, err := f.call(in)
		if err != nil {
			return nil, err
		}
		v, err := f.result.value(out)
		if err != nil {
			return nil, fmt.Errorf("function %s: the result %w", f.name, err)
		}
		return v, nil
	}
}

func (f *goFunction) call(in []reflect.Value) (out reflect.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			f.log(p)
			err = fmt.Errorf("function %s panicked: %v", f.name, p)
		}
	}()
	results := f.fn.Call(in)
	if f.fails && !results[1].IsNil() {
		return out, fmt.Errorf("function %s: %w", f.name, results[1].Interface().(error))
	}
	return results[0], nil
}

// setGo gives a Go variable a value of type t in canonical form. Bytes are copied: they may be those of a constant, and the function may change them.
func setGo(to reflect.Value, v any, t types.Type, zone *time.Location) error {
	switch v := v.(type) {
	case bool:
		to.SetBool(v)
	case string:
		to.SetString(v)
	case []byte:
		to.SetBytes(bytes.Clone(v))
	case float32:
		to.SetFloat(float64(v))
	case float64:
		to.SetFloat(v)
	case types.TimestampVal:
		at := time.UnixMicro(int64(v))
		if t.Nanos() {
			at = time.Unix(0, int64(v))
		}
		if t.Kind == types.Timestamp {
			zone = time.UTC
		}
		to.Set(reflect.ValueOf(at.In(zone)))
	case types.DurationVal:
		const most = math.MaxInt64 / int64(time.Microsecond)
		if int64(v) > most || int64(v) < -most {
			return fmt.Errorf("%s does not fit a time.Duration", types.Display(v, t, nil))
		}
		to.SetInt(int64(v) * int64(time.Microsecond))
	default:
		to.SetInt(reflect.ValueOf(v).Int())
	}
	return nil
}

// value is a result in canonical form.
func (s goScalar) value(v reflect.Value) (any, error) {
	if s.pointer {
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	}
	switch {
	case s.typ == reflect.TypeFor[time.Time]():
		at := v.Interface().(time.Time)
		if y := at.UTC().Year(); y < 1 || y > 9999 {
			return nil, fmt.Errorf("%s is not in the years 1 to 9999", at)
		}
		return types.TimestampVal(at.UnixMicro()), nil
	case s.typ.Kind() == reflect.String && !utf8.ValidString(v.String()):
		return nil, fmt.Errorf("%q is not valid UTF-8", v.String())
	case s.typ.Kind() == reflect.Slice && !v.IsNil():
		return bytes.Clone(v.Bytes()), nil
	}
	return goValue(v)
}
