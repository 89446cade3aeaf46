package ast

import (
	"fmt"
	"reflect"
	"strings"
)

// Dump gives a node as text that shows its structure: (Type Field:value ...),
// without places and without empty fields. Two trees that mean the same have
// the same dump. It is for tests and for reading.
func Dump(n Node) string {
	var b strings.Builder
	dump(&b, reflect.ValueOf(n))
	return b.String()
}

func dump(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		b.WriteString("nil")
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		dump(b, v.Elem())
	case reflect.Slice:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(' ')
			}
			dump(b, v.Index(i))
		}
		b.WriteByte(']')
	case reflect.Struct:
		dumpStruct(b, v)
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	default:
		fmt.Fprint(b, v.Interface())
	}
}

func dumpStruct(b *strings.Builder, v reflect.Value) {
	switch x := v.Interface().(type) {
	case Ident:
		fmt.Fprintf(b, "`%s`", x.Name)
		return
	case ObjectName:
		b.WriteString("`" + strings.Join(x.Strings(), "`.`") + "`")
		return
	case StringLit:
		fmt.Fprintf(b, "%q", x.Value)
		return
	case Name:
		b.WriteString("`" + strings.Join(ObjectName{Parts: x.Parts}.Strings(), "`.`") + "`")
		return
	case IntervalQualifier:
		var p printer
		p.qualifier(x)
		b.WriteString(p.b.String())
		return
	case Literal:
		if x.Kind == NumberLit || x.Kind == BoolLit || x.Kind == NullLit || x.Kind == UnknownLit {
			b.WriteString(x.Value)
		} else {
			fmt.Fprintf(b, "%s%q", x.Kind, x.Value)
		}
		return
	}
	t := v.Type()
	b.WriteString("(" + t.Name())
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("dump") == "-" || f.Type == spanType || f.Type == baseType {
			continue
		}
		fv := v.Field(i)
		if fv.IsZero() {
			continue
		}
		b.WriteString(" " + f.Name + ":")
		dump(b, fv)
	}
	b.WriteByte(')')
}
