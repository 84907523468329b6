package store

import (
	"context"
	"fmt"
)

// KeyNames returns the names of the keys that have those ids and a name, revoked and expired ones too.
func (s *Store) KeyNames(ctx context.Context, ids []string) (map[string]string, error) {
	names := map[string]string{}
	err := among(ids, func(marks string, args []any) error {
		rows, err := s.db.query(ctx, `SELECT id, name FROM keys WHERE name <> '' AND id IN (`+marks+`)`, args...)
		if err != nil {
			return fmt.Errorf("select the names of keys: %w", err)
		}
		defer rows.Close()
		for rows.Next() {
			var id, name string
			if err := rows.Scan(&id, &name); err != nil {
				return fmt.Errorf("scan the name of a key: %w", err)
			}
			names[id] = name
		}
		if err := rows.Err(); err != nil {
			return fmt.Errorf("select the names of keys: %w", err)
		}
		return nil
	}, func(id string) any { return text(id) })
	return names, err
}
