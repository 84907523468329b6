package member

import (
	"bytes"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A null leaves what it is read into as it is, which is zero; but values that are kept
// as they are written are null then.

// at gives where a value of type T is.
func at[T any](v reflect.Value) *T {
	p, _ := reflect.TypeAssert[*T](v.Addr())
	return p
}

func readRaw(r *Reader, v reflect.Value) bool {
	raw, ok := r.Value()
	if ok {
		v.SetBytes(bytes.Clone(raw))
	}
	return ok
}

func readRaws(r *Reader, v reflect.Value) bool {
	if r.Null() {
		return true
	}
	list := []jsontext.Value{}
	ok := r.Values(&list)
	*at[[]jsontext.Value](v) = list
	return ok
}

func readStrings(r *Reader, v reflect.Value) bool {
	if r.Null() {
		return true
	}
	list := []string{}
	ok := r.Elements(func() bool {
		list = append(list, "")
		return r.Null() || r.Text(&list[len(list)-1])
	})
	*at[[]string](v) = list
	return ok
}

func readStringMap(r *Reader, v reflect.Value) bool {
	if r.Null() {
		return true
	}
	all := map[string]string{}
	*at[map[string]string](v) = all
	more, ok := r.enter('{')
	for more {
		var name span
		var text string
		if name, ok = r.name(); !ok || !r.Null() && !r.Text(&text) {
			return false
		}
		key := string(r.b[name.from:name.to])
		if _, twice := all[key]; twice {
			return false
		}
		all[key] = text
		if more, ok = r.after('}'); !ok {
			return false
		}
	}
	return ok
}

func readOwn(r *Reader, v reflect.Value) bool {
	own, ok := reflect.TypeAssert[ValueReader](v.Addr())
	return ok && own.ReadJSON(r)
}

func readString(r *Reader, v reflect.Value) bool {
	if r.Null() {
		return true
	}
	var text string
	ok := r.Text(&text)
	v.SetString(text)
	return ok
}

func readBool(r *Reader, v reflect.Value) bool {
	if end, ok := word(r.b, r.i, "true"); ok {
		r.i = end
		v.SetBool(true)
		return true
	}
	end, ok := word(r.b, r.i, "false")
	if ok {
		r.i = end
	}
	return ok || r.Null()
}

func readInt(r *Reader, v reflect.Value) bool {
	if r.Null() {
		return true
	}
	n, ok := r.Int(v.Type().Bits())
	v.SetInt(n)
	return ok
}

func readUint8(r *Reader, v reflect.Value) bool {
	if r.Null() {
		return true
	}
	text, ok := r.Number()
	if !ok {
		return false
	}
	n, err := strconv.ParseUint(string(text), 10, 8)
	v.SetUint(n)
	return err == nil
}

func readFloat(r *Reader, v reflect.Value) bool {
	if r.Null() {
		return true
	}
	text, ok := r.Number()
	if !ok {
		return false
	}
	n, err := strconv.ParseFloat(string(text), 64)
	v.SetFloat(n)
	return err == nil
}

func pointer(elem reflect.Type, of step) step {
	return func(r *Reader, v reflect.Value) bool {
		if r.Null() {
			return true
		}
		to := reflect.New(elem)
		v.Set(to)
		return of(r, to.Elem())
	}
}

// slice reads lists, most of which are short. The memory of an empty one is used.
func slice(t reflect.Type, of step) step {
	empty := reflect.MakeSlice(t, 0, 0)
	room := 4
	if t.Elem().Size() > 128 {
		room = 1
	}
	return func(r *Reader, v reflect.Value) bool {
		if r.Null() {
			return true
		}
		n := 0
		ok := r.Elements(func() bool {
			if n == v.Cap() {
				v.Grow(max(n, room))
			}
			n++
			v.SetLen(n)
			return of(r, v.Index(n-1))
		})
		if n == 0 {
			v.Set(empty)
		}
		return ok
	}
}
