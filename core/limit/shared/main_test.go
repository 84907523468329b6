//go:build unix

package shared_test

import (
	"testing"

	"github.com/genway/genway/test/servers"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(servers.Main{M: m}) }
