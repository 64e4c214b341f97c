// Package sanitize makes text from other programs safe to show. The output of programs in the box, of ssh and of Lima
// may contain escape sequences, which a terminal obeys.
package sanitize

import (
	"reflect"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Text removes escape sequences, control characters, zero-width characters and characters that change the direction of
// text. It keeps line ends and tabs. Bytes that are not UTF-8 become U+FFFD.
func Text(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r > '~' }) {
		return s // the usual case, fast for large outputs
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

// LastLines returns the last n lines of Text(s), without trailing line ends.
func LastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(Text(s), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Value applies Text to each string that is reachable from v; see Strings.
func Value(v any) { Strings(v, Text) }

// Strings replaces each string s that is reachable from v, through exported fields, elements and pointers, with
// change(s). v must be a pointer. The keys of maps are not changed.
func Strings(v any, change func(string) string) { walker(change).walk(reflect.ValueOf(v)) }

type walker func(string) string

func (change walker) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if was := v.String(); change(was) != was { // a string that does not change is not written: other goroutines may read it
			v.SetString(change(was))
		}
	case reflect.Pointer:
		change.walk(v.Elem())
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(change.copied(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				change.walk(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			change.walk(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			v.SetMapIndex(k, change.copied(v.MapIndex(k)))
		}
	}
}

// copied returns a copy of v with its strings replaced. It is for values in maps and interfaces, which cannot be
// changed in place.
func (change walker) copied(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	change.walk(c)
	return c
}
