package ast

import "reflect"

// Walk visits n and everything below it, parents first, in the order of the
// fields. When f gives false, the node's children are not visited. Small parts
// that are stored by value (Ident, OrderItem, SelectItem, ...) are visited as
// pointers into their parent, so f may change them in place.
func Walk(n Node, f func(Node) bool) {
	if n == nil {
		return
	}
	v := reflect.ValueOf(n)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return
	}
	if f(n) {
		walkFields(v.Elem(), f)
	}
}

var (
	spanType = reflect.TypeFor[Span]()
	posType  = reflect.TypeFor[Pos]()
	baseType = reflect.TypeFor[StmtBase]()
)

// walkFields goes through a struct's fields. Reflection keeps the walker in
// step with the node types by itself; trees are small.
func walkFields(v reflect.Value, f func(Node) bool) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		walkValue(v.Field(i), f)
	}
}

func walkValue(v reflect.Value, f func(Node) bool) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			walkValue(v.Elem(), f)
		}
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return
		}
		if n, ok := v.Interface().(Node); ok {
			Walk(n, f)
			return
		}
		walkFields(v.Elem(), f)
	case reflect.Slice:
		for i := range v.Len() {
			walkValue(v.Index(i), f)
		}
	case reflect.Struct:
		if t := v.Type(); t == spanType || t == posType || t == baseType {
			return
		}
		if v.CanAddr() {
			if n, ok := v.Addr().Interface().(Node); ok {
				Walk(n, f)
				return
			}
		}
		walkFields(v, f)
	}
}
