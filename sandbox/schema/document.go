package schema

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// document is one schema text: its values, the schemas compiled of them, and the
// names under which parts of it can be referred to.
type document struct {
	root    *value
	nodes   map[*value]*node
	anchors map[string]*value // by "#name" ($anchor, $dynamicAnchor) and by $id
	checks  int               // left for valid
	depth   int               // of valid

	literal   bool // leave descriptions alone (see withDescribed)
	described bool // a description gave a keyword

	anything, name *node // schemas for what no schema of the document describes
}

func newDocument(root *value) *document {
	d := &document{root: root, nodes: map[*value]*node{}, anchors: map[string]*value{}}
	d.anything, d.name = newNode("#"), newNode("#")
	d.name.kinds = kindString
	d.index(root)
	return d
}

func (d *document) index(v *value) {
	for _, item := range v.items {
		d.index(item)
	}
	for _, m := range v.members {
		if m.value.kind == kindString {
			switch m.name {
			case "$anchor", "$dynamicAnchor":
				d.anchors["#"+m.value.text] = v
			case "$id", "id":
				d.anchors[m.value.text] = v
			}
		}
		d.index(m.value)
	}
}

// resolve finds the schema a $ref of the document means: #, a JSON pointer (RFC 6901)
// into the document, an anchor, or an $id in it with a pointer into that.
func (d *document) resolve(reference string) (*node, error) {
	base, fragment, _ := strings.Cut(reference, "#")
	at := d.root
	if base != "" {
		at = d.anchors[base]
	}
	if v, ok := d.anchors["#"+fragment]; ok && fragment != "" {
		at, fragment = v, ""
	}
	if unescaped, err := url.PathUnescape(fragment); err == nil {
		fragment = unescaped
	}
	if fragment != "" && fragment[0] != '/' {
		at = nil
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(fragment, "/"), "/") {
		if fragment == "" || at == nil {
			break
		}
		at = at.step(strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	if at == nil {
		return nil, fmt.Errorf("%.200q refers to nothing in the schema", reference)
	}
	return d.compile(at, reference)
}

func (v *value) step(name string) *value {
	if v.kind == kindArray {
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v.items) {
			return v.items[i]
		}
		return nil
	}
	return v.get(name)
}

func escape(step string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(step) }
