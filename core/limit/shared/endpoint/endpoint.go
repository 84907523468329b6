// Package endpoint reads the URL of a shared store of limits: a Redis or Valkey server, servers
// under Sentinel, or a Cluster.
//
// It must not import anything of ours.
package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Kind is how the servers behind a URL are found.
type Kind string

// The kinds.
const (
	// Single is one server, or a name that leads to the primary.
	Single Kind = ""
	// Sentinel asks Redis Sentinel which server is the primary.
	Sentinel Kind = "sentinel"
	// Cluster is a Redis Cluster, which names its nodes itself.
	Cluster Kind = "cluster"
)

// Endpoint is what a URL names.
type Endpoint struct {
	Kind Kind
	// Network is tcp, or unix for a Single server with a socket.
	Network string
	// Addresses are HOST:PORT of the server, of the sentinels or of nodes of the cluster; of a
	// socket its path.
	Addresses []string
	// Master is the name by which the sentinels know the servers.
	Master string
	// Username and Password are for the servers; empty for none.
	Username, Password string
	// SentinelUsername and SentinelPassword are for the sentinels; empty for none.
	SentinelUsername, SentinelPassword string
	// Database is the number of the database; a Cluster has only 0.
	Database int
	// TLS connects by TLS 1.2 or later, to sentinels too.
	TLS bool
	// CAFile holds the authorities of the servers' certificates, in PEM; empty is the system's.
	// CertFile and KeyFile hold a certificate to show to the servers; empty is none.
	CAFile, CertFile, KeyFile string
}

const (
	serverPort, sentinelPort = "6379", "26379"
	// maxAddresses bounds the list of one URL.
	maxAddresses = 64
)

// Parse reads one of
//
//	redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]
//	redis+sentinel://[[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]]…/MASTER[/DB]
//	redis+cluster://[[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]]…
//	unix://[[USER]:PASSWORD@]/PATH[?db=DB]
//
// where rediss in place of redis is TLS. Parameters are sentinel_username and sentinel_password
// of a Sentinel URL, and ca_file, cert_file and key_file of a URL with TLS. An error does not
// repeat the URL, which may hold a password.
func Parse(text string) (*Endpoint, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return nil, errors.New("it has no scheme; write redis://host:6379/0")
	}
	scheme = strings.ToLower(scheme)
	e := &Endpoint{Network: "tcp"}
	family, kind, _ := strings.Cut(scheme, "+")
	e.Kind, e.TLS = Kind(kind), family == "rediss"
	known := []string{"redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster", "unix"}
	if !slices.Contains(known, scheme) {
		return nil, errors.New("its scheme is none of redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster and unix")
	}
	// net/url takes one host, so that the list is taken out first.
	authority, tail := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, tail = rest[:end], rest[end:]
	}
	hosts := authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		hosts, authority = authority[at+1:], authority[:at+1]+"host"
	} else {
		authority = "host"
	}
	u, err := url.Parse("redis://" + authority + tail)
	if err != nil {
		return nil, fmt.Errorf("%w; write redis://host:6379/0", withoutURL(err))
	}
	if u.Fragment != "" {
		return nil, errors.New("it has a fragment; write # as %23")
	}
	e.Username = u.User.Username()
	e.Password, _ = u.User.Password()
	if family == "unix" {
		if hosts != "" {
			return nil, errors.New("unix:///PATH has a host")
		}
		e.Network, e.Addresses = "unix", []string{u.Path}
		if strings.Trim(u.Path, "/") == "" {
			return nil, errors.New("unix:///PATH has no path")
		}
	} else if err := e.readHosts(hosts); err != nil {
		return nil, err
	}
	if err := e.readPath(strings.Trim(u.Path, "/")); err != nil {
		return nil, err
	}
	err = e.readParameters(u.RawQuery)
	return e, err
}

// readHosts reads HOST[:PORT] between commas.
func (e *Endpoint) readHosts(text string) error {
	port := serverPort
	if e.Kind == Sentinel {
		port = sentinelPort
	}
	if text == "" && e.Kind == Single {
		text = "localhost"
	}
	list := strings.Split(text, ",")
	if e.Kind == Single && len(list) > 1 {
		return errors.New("it names several hosts; write redis+sentinel:// or redis+cluster://")
	}
	if len(list) > maxAddresses {
		return fmt.Errorf("it names more than %d hosts", maxAddresses)
	}
	for _, one := range list {
		u, err := url.Parse("redis://" + one)
		if err != nil {
			return fmt.Errorf("%w; write redis://host:6379/0", withoutURL(err))
		}
		if u.Hostname() == "" && (e.Kind != Single || u.Port() == "") {
			return errors.New("it has an empty host; write HOST:PORT between commas")
		}
		if n, err := strconv.Atoi(cmp.Or(u.Port(), port)); err != nil || n < 1 || n > 65535 {
			return errors.New("it has a port that is not 1 to 65535")
		}
		address := net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), port))
		if slices.Contains(e.Addresses, address) {
			return errors.New("it names a host twice")
		}
		e.Addresses = append(e.Addresses, address)
	}
	return nil
}

// readPath reads the name of the servers and the database.
func (e *Endpoint) readPath(path string) error {
	if e.Network == "unix" {
		return nil
	}
	switch e.Kind {
	case Sentinel:
		e.Master, path, _ = strings.Cut(path, "/")
		if e.Master == "" {
			return errors.New("it does not name the servers; write redis+sentinel://host:26379/MASTER/0")
		}
	case Cluster:
		if path != "" && path != "0" {
			return errors.New("a cluster has only the database 0")
		}
	case Single:
	}
	return e.readDatabase(path)
}

func (e *Endpoint) readDatabase(text string) error {
	if text == "" {
		return nil
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 0 {
		return errors.New("its database is no number; write redis://host:6379/0")
	}
	e.Database = number
	return nil
}

// readParameters reads the query. Each parameter may be there once, where it has a meaning.
func (e *Endpoint) readParameters(query string) error {
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("its parameters cannot be read")
	}
	into := map[string]*string{}
	if e.Kind == Sentinel {
		into["sentinel_username"], into["sentinel_password"] = &e.SentinelUsername, &e.SentinelPassword
	}
	if e.TLS {
		into["ca_file"], into["cert_file"], into["key_file"] = &e.CAFile, &e.CertFile, &e.KeyFile
	}
	var database string
	if e.Network == "unix" {
		into["db"] = &database
	}
	for name, values := range parameters {
		field := into[name]
		if field == nil {
			return fmt.Errorf("its parameter %q is not known", name)
		}
		if len(values) > 1 {
			return fmt.Errorf("its parameter %q is there twice", name)
		}
		*field = values[0]
	}
	if (e.CertFile == "") != (e.KeyFile == "") {
		return errors.New("cert_file and key_file belong together")
	}
	return e.readDatabase(database)
}

// withoutURL returns an error of a URL without the URL, which may hold a password.
func withoutURL(err error) error {
	if inner := errors.Unwrap(err); inner != nil && !strings.Contains(inner.Error(), "userinfo") {
		return inner
	}
	return errors.New("it cannot be read")
}
