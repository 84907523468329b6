// Package frames ends connections of HTTP/2 on which a peer makes work out of nothing:
// streams that are reset as soon as they are opened (rapid reset), frames that make the
// server reset streams (made you reset), and floods of PING, SETTINGS, PRIORITY,
// WINDOW_UPDATE, CONTINUATION, and of DATA of a few bytes. net/http and grpc-go bound what
// most of these hold in memory, and do not end the connection.
//
// A Meter sees the headers of the frames of both directions, which costs a few nanoseconds a
// frame, and keeps an account: cheap frames of the peer are paid from a balance that grows
// with time and with each answer that is sent.
//
// The package must not import anything of ours.
package frames
