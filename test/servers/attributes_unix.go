//go:build unix && !linux

package servers

import "syscall"

// attributes let a process run as another user.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as}
}
