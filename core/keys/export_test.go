package keys

// Idle waits until nothing of the store is read in the background.
func (s *Service) Idle() { s.work.Wait() }
