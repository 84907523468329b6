// Package certs reads TLS certificates, their keys and authorities from PEM files, follows
// the files, and warns of certificates before they expire.
//
// Connections that are open keep what they were made with; new ones get what the files say
// now. It must import nothing of ours but internal/stamp, since the edge and the core both
// use it.
package certs
