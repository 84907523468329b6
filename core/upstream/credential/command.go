package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Command says which program prints a token.
type Command struct {
	// Args are the program and its arguments; no shell is between. Required.
	Args []string
	// Lifetime is how long a token is used that is printed without its end. Default 5 min.
	Lifetime time.Duration
	// Header is where the token goes. Default Authorization, where it follows "Bearer ".
	Header string
}

// NewCommand makes the credential of a program, which is run whenever a token is needed, for
// 10 s at most. It prints one of
//
//   - the token, and nothing else;
//   - an ExecCredential, as kubectl's plugins do: status.token, status.expirationTimestamp
//     (kubernetes.io/docs/reference/access-authn-authz/authentication, read 2026-11-22);
//   - lines of git credential: password=…, password_expiry_utc=… (git-scm.com/docs/git-credential,
//     read 2026-11-22).
//
// What it prints to standard error is dropped: it may have the token.
func NewCommand(name string, config Command) Credential {
	lifetime := config.Lifetime
	if lifetime == 0 {
		lifetime = recheck
	}
	b := newBearer(name, func(ctx context.Context) (string, time.Time, error) {
		printed, err := run(ctx, config.Args)
		if err != nil {
			return "", time.Time{}, err
		}
		token, expires, err := printedToken(printed)
		if err != nil {
			return "", time.Time{}, err
		}
		if expires.IsZero() {
			expires = time.Now().Add(lifetime)
		}
		return sendable(token, expires)
	})
	if config.Header != "" && !strings.EqualFold(config.Header, "Authorization") {
		b.header, b.prefix = config.Header, ""
	}
	return b
}

// run returns what a program prints. The program gets no input, and is killed when ctx ends.
func run(ctx context.Context, args []string) ([]byte, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	program := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the operator names the program
	// What the program has started may hold its output open.
	program.WaitDelay = 100 * time.Millisecond
	printed := &bounded{full: stop}
	program.Stdout = printed
	err := program.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(printed.err, errPrinted):
		return nil, printed.err
	case errors.As(err, &exit):
		return nil, fmt.Errorf("the command ended with %s", exit.ProcessState)
	case err != nil:
		return nil, fmt.Errorf("the command could not be run: %w", err)
	}
	return printed.text, nil
}

var errPrinted = fmt.Errorf("the command printed more than %d bytes", maxAnswer)

// bounded takes what a program prints, up to a bound.
type bounded struct {
	text []byte
	// full is called when there is more.
	full func()
	err  error
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.text)+len(p) > maxAnswer {
		b.err = errPrinted
		b.full()
		return 0, b.err
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

// printedToken reads what a program has printed. The expiry is zero if it is not there.
func printedToken(printed []byte) (token string, expires time.Time, err error) {
	printed = bytes.TrimSpace(printed)
	if bytes.HasPrefix(printed, []byte("{")) {
		var exec struct {
			Status struct {
				Token               string     `json:"token"`
				ExpirationTimestamp *time.Time `json:"expirationTimestamp"`
			} `json:"status"`
		}
		if err := json.Unmarshal(printed, &exec); err != nil || exec.Status.Token == "" {
			return "", time.Time{}, errors.New("the command printed JSON that is no ExecCredential with status.token")
		}
		if exec.Status.ExpirationTimestamp != nil {
			expires = *exec.Status.ExpirationTimestamp
		}
		return exec.Status.Token, expires, nil
	}
	lines := strings.Split(string(printed), "\n")
	password, helper := "", false
	for _, line := range lines {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\r"), "=")
		switch name {
		case "password":
			password, helper = value, true
		case "password_expiry_utc":
			seconds, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return "", time.Time{}, errors.New("the command printed a password_expiry_utc that is no number of seconds")
			}
			expires = time.Unix(seconds, 0)
		}
	}
	if helper {
		return password, expires, nil
	}
	return string(printed), time.Time{}, nil
}
