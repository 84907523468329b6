package member

import (
	"maps"
	"slices"
)

// StrPtr leaves out what is not there.
func (w *Writer) StrPtr(name string, s *string) {
	if s != nil {
		w.Str(name, *s)
	}
}

// StringMapOpt writes an object of strings, in the order of their names, unless it is
// empty.
func (w *Writer) StringMapOpt(name string, all map[string]string) {
	if len(all) == 0 {
		return
	}
	w.Object(name)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		w.KeyOf(key)
		w.String(all[key])
	}
	w.End()
}

// WriteList writes an array of objects; null for a nil list.
func WriteList[T any](w *Writer, name string, list []T, write func(*T, *Writer)) {
	if list == nil {
		w.Null(name)
		return
	}
	WriteArray(w, name, list, write)
}

// WriteArray is WriteList with an empty array for a nil list.
func WriteArray[T any](w *Writer, name string, list []T, write func(*T, *Writer)) {
	w.List(name)
	for i := range list {
		write(&list[i], w)
	}
	w.EndList()
}

// StrsArray writes an array of strings.
func (w *Writer) StrsArray(name string, list []string) {
	w.List(name)
	for _, s := range list {
		w.String(s)
	}
	w.EndList()
}

// IntsOpt writes an array of whole numbers unless it is empty.
func IntsOpt[T ~int | ~int32 | ~int64 | ~uint8](w *Writer, name string, list []T) {
	if len(list) == 0 {
		return
	}
	w.List(name)
	for _, n := range list {
		w.Element(int64(n))
	}
	w.EndList()
}
