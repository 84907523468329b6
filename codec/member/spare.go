package member

import "sync"

// Spare is the memory of lists of large elements, which is used again for body after
// body. The zero value is ready.
type Spare[T any] struct{ lists sync.Pool }

// maxSpare bounds the lists that are kept.
const maxSpare = 1 << 10

// Take returns an empty list, mostly one with room.
func (s *Spare[T]) Take() []T {
	if list, ok := s.lists.Get().(*[]T); ok {
		return *list
	}
	return nil
}

// Give puts a list that nothing uses any more back into the pool.
func (s *Spare[T]) Give(list []T) {
	if n := cap(list); n == 0 || n > maxSpare {
		return
	}
	clear(list)
	list = list[:0]
	s.lists.Put(&list)
}
