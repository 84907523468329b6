// Package servers runs real servers for tests: PostgreSQL and Redis (or Valkey; alone,
// under Sentinel and as a Cluster), from
// the programs this machine has installed, each in a temporary directory, behind a unix
// socket of its own, without a configuration or a service of the system being touched.
//
// A package's tests share one server of a kind, which is started when it is asked for
// first and ended by Main. Where a server is not installed, the test fails and says so:
// `make test-deps` installs them.
//
// Only tests may import it; it must not import anything of this module.
package servers
