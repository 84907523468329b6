package servers

import "syscall"

// attributes let a process run as another user, and end with this one: by SIGQUIT, on
// which PostgreSQL ends its own processes.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGQUIT}
}
