package foreign

import (
	"strconv"

	"github.com/goccy/go-yaml"
)

// headers sets what is sent with every call.
func (b *builder) headers(u *upstream, n *node) {
	if u.has("headers") {
		b.sayf(n, Manual, "the upstream has headers already: add these to them")
		return
	}
	var list yaml.MapSlice
	for _, name := range n.keys {
		value := n.members[name]
		list = append(list, yaml.MapItem{Key: name, Value: b.secret(value, variable(u.name, name))})
	}
	u.set("headers", list)
}

// seconds sets a duration; what is no number is left to the operator.
func (b *builder) seconds(u *upstream, key string, n *node) {
	v, ok := n.figure()
	if !ok || v <= 0 || v > 86400 {
		b.sayf(n, Manual, "it is no number of seconds up to a day")
		return
	}
	u.set(key, strconv.FormatFloat(v, 'f', -1, 64)+"s")
	b.sayf(n, Exact, "%s of the upstream", key)
}

// retries sets how often a call is made again, for which 0 is the default here.
func (b *builder) retries(u *upstream, n *node) {
	v, ok := n.figure()
	if !ok || v < 0 || v > 100 {
		b.sayf(n, Manual, "it is no number of retries")
		return
	}
	if v == 0 {
		v = -1
	}
	u.set("retries", int64(v))
	b.sayf(n, Exact, "retries of the upstream")
}
