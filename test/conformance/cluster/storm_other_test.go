//go:build !linux

package cluster

import "testing"

func TestStorm(t *testing.T) {
	t.Skip("SKIPPED: hosts of network namespaces need Linux: nothing is known of a cluster in a storm")
}
