package overload

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// The least quota on the way to the root holds; what is no quota bounds nothing.
func TestGroupQuota(t *testing.T) {
	root := t.TempDir()
	for dir, text := range map[string]string{
		"": "max 100000\n", "a": "150000 100000\n", "a/b": "50000 100000\n", "a/c": "max 100000\n",
		"zero": "0 100000\n", "negative": "-1 100000\n", "no period": "100000 0\n", "half": "100000", "empty": "", "text": "NaN x\n",
	} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, "cpu.max"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for own, want := range map[string]float64{
		"": 0, "0::/\n": 0, "0::/a\n": 1.5, "0::/a/b\n": 0.5, "0::/a/c\n": 1.5, "0::/a/none\n": 1.5, "0::/none\n": 0,
		"12:cpu,cpuacct:/a\n": 0, "nonsense": 0, "0::/../a/b\n": 0.5,
		"0::/zero\n": 0, "0::/negative\n": 0, "0::/no period\n": 0, "0::/half\n": 0, "0::/empty\n": 0, "0::/text\n": 0,
	} {
		if got := groupQuota(root, own); got != want {
			t.Errorf("%q: got %v, want %v", own, got, want)
		}
	}
}

// A process that uses all of a small quota uses a large share of what it may.
func TestShareOfAQuota(t *testing.T) {
	used, known := processorTime()
	if !known {
		t.Skip("the system does not say how much of its processors a process uses")
	}
	for now := used; now < used+10*time.Millisecond; now, _ = processorTime() {
		burn(1)
	}
	now := time.Now()
	with := func(quota float64) share { return share{used: used, at: now.Add(-time.Second), quota: quota} }
	whole, small, larger := with(0), with(0.01), with(float64(2*runtime.GOMAXPROCS(0)))
	if whole.large(now) || larger.large(now) {
		t.Error("some 20 ms of a second are a large share")
	}
	if !small.large(now) {
		t.Error("10 ms of a second are no large share of a hundredth")
	}
}
