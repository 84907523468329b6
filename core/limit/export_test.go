package limit

// Accounts is how many subjects are known.
func (m *Memory) Accounts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.accounts)
}
