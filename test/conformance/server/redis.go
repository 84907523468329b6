package server

import "testing"

// Redis is a Redis server of the tests' own.
type Redis struct{ *servant }

// StartRedis starts a server. The test's end ends it.
func StartRedis(tb testing.TB) *Redis {
	tb.Helper()
	return &Redis{startServant(tb, "redis")}
}

// URL is the server's, for the limits' store in a configuration.
func (r *Redis) URL(tb testing.TB) string {
	tb.Helper()
	return r.ask(tb, "database")
}
