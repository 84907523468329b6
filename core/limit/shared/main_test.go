//go:build unix

package shared_test

import (
	"testing"

	"github.com/genway/genway/internal/servertest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(servertest.Main{M: m}) }
