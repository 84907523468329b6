package server

// PID is the process's identifier.
func (p *Process) PID() int { return p.cmd.Process.Pid }
