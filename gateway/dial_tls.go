package gateway

import (
	"context"
	"crypto/tls"
	"net"

	"google.golang.org/grpc/credentials"
)

// newTLS encrypts each connection by the configuration of the moment in which it is made.
type newTLS struct{ config func() *tls.Config }

var _ credentials.TransportCredentials = newTLS{}

func (t newTLS) now() credentials.TransportCredentials { return credentials.NewTLS(t.config()) }

// ClientHandshake makes a connection an encrypted one.
func (t newTLS) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return t.now().ClientHandshake(ctx, authority, conn)
}

// ServerHandshake is for servers, which the edge is not here.
func (t newTLS) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return t.now().ServerHandshake(conn)
}

// Info describes the protocol.
func (t newTLS) Info() credentials.ProtocolInfo { return t.now().Info() }

// Clone returns credentials of their own.
func (t newTLS) Clone() credentials.TransportCredentials { return t }

// OverrideServerName is deprecated, and not called since grpc-go 1.59.
func (newTLS) OverrideServerName(string) error { return nil }
