package catalog

import (
	"strings"
	"sync"

	"github.com/genway/genway/core/glob"
)

// Bounds of what a catalogue remembers of the models that were looked up. Callers choose the
// names.
const (
	maxRemembered     = 1024
	maxRememberedName = 256 // bytes
)

// memory holds the rows of models that were looked up. The zero value is empty.
type memory struct {
	mu   sync.RWMutex
	rows map[string]Row
}

// Find returns what is known of a model: of each member, what the first row says that matches
// the name as it is or as Plain gives it. It is the zero Row for a model that is not known. The
// caller must not change what the row points to.
//
// Names of up to 256 bytes are remembered with their rows. A catalogue that remembers 1024 of
// them forgets them all before the next.
func (c *Catalog) Find(model string) Row {
	if c == nil {
		return Row{}
	}
	if row, ok := c.found.get(model); ok {
		return row
	}
	row := c.look(model)
	if len(model) <= maxRememberedName {
		c.found.keep(row)
	}
	return row
}

// look matches the model with all rows.
func (c *Catalog) look(model string) Row {
	var found Row
	name, plain := strings.ToLower(model), Plain(model)
	for _, rows := range [][]Row{c.rows, c.rest()} {
		for i := range rows {
			if r := &rows[i]; glob.Match(r.Model, plain) || glob.Match(r.Model, name) {
				found = found.over(*r)
			}
		}
	}
	found.Model = model
	return found
}

func (m *memory) get(model string) (Row, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	row, ok := m.rows[model]
	return row, ok
}

func (m *memory) keep(row Row) {
	row.Model = strings.Clone(row.Model) // it may be a part of a body, which it would keep in memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows == nil || len(m.rows) >= maxRemembered {
		m.rows = make(map[string]Row)
	}
	m.rows[row.Model] = row
}
