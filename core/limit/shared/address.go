package shared

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// address is where a server is, and how to begin with it.
type address struct {
	network, place string
	options        []redis.DialOption
}

// parse reads redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], rediss:// likewise with TLS, or
// unix://[[USER]:PASSWORD@]/PATH[?db=DB]. What it says of a wrong one does not repeat it,
// since it may hold a password.
func parse(text string) (*address, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w; write redis://host:6379/0", withoutURL(err))
	}
	a := &address{network: "tcp"}
	database := strings.Trim(u.Path, "/")
	parameters := u.Query()
	switch u.Scheme {
	case "redis", "rediss":
		host := cmp.Or(u.Hostname(), "localhost")
		a.place = net.JoinHostPort(host, cmp.Or(u.Port(), "6379"))
		if u.Scheme == "rediss" {
			a.options = append(a.options, redis.DialUseTLS(true), redis.DialTLSConfig(&tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}))
		}
	case "unix":
		a.network, a.place = "unix", u.Path
		if a.place == "" {
			return nil, errors.New("unix:///PATH has no path")
		}
		database = parameters.Get("db")
		parameters.Del("db")
	default:
		return nil, errors.New("its scheme is neither redis, rediss nor unix")
	}
	for name := range parameters {
		return nil, fmt.Errorf("its parameter %q is not known", name)
	}
	if database != "" {
		number, err := strconv.Atoi(database)
		if err != nil || number < 0 {
			return nil, errors.New("its database is no number; write redis://host:6379/0")
		}
		a.options = append(a.options, redis.DialDatabase(number))
	}
	password, _ := u.User.Password()
	a.options = append(a.options, redis.DialUsername(u.User.Username()), redis.DialPassword(password))
	return a, nil
}

// withoutURL gives an error of a URL without the URL, which may hold a password.
func withoutURL(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return errors.New("it cannot be read")
}

// dial connects, while its context lasts.
func (a *address) dial(ctx context.Context) (*connection, error) {
	c := &connection{}
	options := append(slices.Clip(a.options), redis.DialContextFunc(
		func(ctx context.Context, network, place string) (net.Conn, error) {
			var err error
			c.raw, err = new(net.Dialer).DialContext(ctx, network, place)
			return c.raw, err
		}))
	if deadline, bounded := ctx.Deadline(); bounded {
		options = append(options, redis.DialTLSHandshakeTimeout(time.Until(deadline)))
	}
	var err error
	if c.Conn, err = redis.DialContext(ctx, a.network, a.place, options...); err != nil {
		return nil, err
	}
	return c, nil
}
