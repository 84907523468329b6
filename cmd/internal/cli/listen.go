package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
)

// Listen opens a listener on host:port or, with the prefix unix:, on a socket that
// only this user may connect to. The error is one clear line.
func Listen(ctx context.Context, flag, address string) (net.Listener, error) {
	path, isUnix := strings.CutPrefix(address, "unix:")
	if isUnix {
		return listenUnix(ctx, flag, strings.TrimPrefix(path, "//"))
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, UsageError{fmt.Errorf("%s %q: expected host:port, as in 127.0.0.1:8080, or unix:PATH", flag, address)}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s %s: the port is taken by another process; choose another with %s HOST:PORT", flag, address, flag)
	case isAddress(err): // a port beyond 65535
		return nil, UsageError{fmt.Errorf("%s %s: %w", flag, address, errors.Unwrap(err))}
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", flag, address, errors.Unwrap(err))
	}
	return listener, nil
}

func isAddress(err error) bool {
	_, is := errors.AsType[*net.AddrError](err)
	return is
}

func listenUnix(ctx context.Context, flag, path string) (net.Listener, error) {
	if path == "" {
		return nil, UsageError{fmt.Errorf("%s unix: has no path", flag)}
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, fmt.Errorf("%s unix:%s: %w", flag, path, err)
	}
	// The socket must never exist with wider permissions, so the umask does it.
	old := setUmask(0o177)
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	setUmask(old)
	if err != nil {
		return nil, fmt.Errorf("%s unix:%s: %w", flag, path, err)
	}
	return listener, nil
}

// removeStale removes a socket on which no process listens any more.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return errors.New("the file exists and is no socket")
	}
	if conn, err := new(net.Dialer).DialContext(ctx, "unix", path); err == nil {
		_ = conn.Close()
		return errors.New("another process listens on it")
	}
	return os.Remove(path)
}
