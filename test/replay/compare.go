package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// decode reads JSON whose numbers stay as they are written.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w: %.120q", err, text)
	}
	return v, nil
}

// changed returns a body after changes to its top-level members.
func changed(text []byte, by ...func(members)) ([]byte, error) {
	v, err := decode(text)
	if err != nil {
		return nil, err
	}
	if body, ok := v.(map[string]any); ok {
		for _, f := range by {
			f(body)
		}
	}
	return json.Marshal(v)
}

// differences lists by JSON path where one body departs from another.
func differences(want, got []byte) []string {
	w, err := decode(want)
	if err != nil {
		return []string{"expected: " + err.Error()}
	}
	g, err := decode(got)
	if err != nil {
		return []string{"received: " + err.Error()}
	}
	var all []string
	differ("$", w, g, &all)
	return all
}

func differ(path string, want, got any, all *[]string) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			*all = append(*all, path+" is no object")
			return
		}
		for _, name := range slices.Sorted(maps.Keys(w)) {
			if v, there := g[name]; there {
				differ(path+"."+name, w[name], v, all)
			} else {
				*all = append(*all, path+"."+name+" is lost")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(g)) {
			if _, there := w[name]; !there {
				*all = append(*all, path+"."+name+" is added")
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			*all = append(*all, path+" has another length")
			return
		}
		for i := range w {
			differ(path+"[]", w[i], g[i], all)
		}
	default:
		if want != got {
			*all = append(*all, fmt.Sprintf("%s is %v, not %v", path, got, want))
		}
	}
}

// event is one of a stream.
type event struct{ name, data string }

// events reads a stream without its comments.
func events(stream string) []event {
	var all []event
	for block := range strings.SplitSeq(strings.ReplaceAll(stream, "\r\n", "\n"), "\n\n") {
		var e event
		var data []string
		for line := range strings.SplitSeq(block, "\n") {
			if v, ok := strings.CutPrefix(line, "event:"); ok {
				e.name = strings.TrimPrefix(v, " ")
			} else if v, ok := strings.CutPrefix(line, "data:"); ok {
				data = append(data, strings.TrimPrefix(v, " "))
			}
		}
		if e.data = strings.Join(data, "\n"); e.data != "" {
			all = append(all, e)
		}
	}
	return all
}

// streamDifferences compares streams event by event.
func streamDifferences(want, got []event) []string {
	if len(want) != len(got) {
		return []string{fmt.Sprintf("%d events became %d", len(want), len(got))}
	}
	var all []string
	for i, w := range want {
		if w.name != got[i].name {
			all = append(all, fmt.Sprintf("event %q became %q", w.name, got[i].name))
		}
		if w.data != got[i].data {
			all = append(all, differences([]byte(w.data), []byte(got[i].data))...)
		}
	}
	return all
}
