// Package sanitize makes safe to show what others have written: programs in the box, ssh, Lima. Such a text may hold
// anything, and a terminal does what it reads.
package sanitize

import (
	"reflect"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Text takes out of a text whatever a terminal would act on, or a person could not see: escape sequences, control
// characters, and what has no width or turns the direction of what stands beside it. Line ends and tabs stay; bytes that
// are no UTF-8 become U+FFFD.
func Text(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r > '~' }) {
		return s // as nearly all is: a flood of it is looked through quickly
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		}
		return r
	}, ansi.Strip(strings.ToValidUTF8(s, "\ufffd")))
}

// LastLines returns the last n lines of Text(s), without the line ends behind them.
func LastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(Text(s), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Value does that to each string that can be reached from a value through exported fields, elements and pointers; v is
// a pointer. Keys of maps stay as they are.
func Value(v any) { walk(reflect.ValueOf(v)) }

func walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); Text(s) != s { // what is harmless may be read by others meanwhile
			v.SetString(Text(s))
		}
	case reflect.Pointer:
		walk(v.Elem())
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(walked(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			walk(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			v.SetMapIndex(k, walked(v.MapIndex(k)))
		}
	}
}

// walked is a copy that was walked, of what cannot be set in its place.
func walked(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	walk(c)
	return c
}
