package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
)

// version is the release's, where the linker sets it:
//
//	go build -ldflags '-X github.com/genway/genway/cmd/internal/cli.version=v1.2.3' ./cmd/...
//
// Otherwise the version is what the Go command has stamped: the module's, with the commit.
var version string

// revision and commitTime are the commit's name and its time in RFC 3339, where the linker sets
// them: a build outside of a checkout, as for an image, has no stamp of the Go command.
// modified says that files differed from the commit, unless it is empty or false.
// deploy/scripts/revision sets all four. With a revision, the stamp of the Go command does not count.
var revision, commitTime, modified string

// build is what is known of how a program was built.
type build struct {
	version string
	// revision and time are the commit's, empty if it was built outside of a checkout;
	// modified says that files differed from the commit.
	revision, time string
	modified       bool
}

// linkedBuild is what the linker has set.
func linkedBuild() build {
	return build{version: version, revision: revision, time: commitTime, modified: modified != "" && modified != "false"}
}

// buildOf returns what is known by the linker and by the Go command. A commit is described by one of
// the two alone, since the linker's may be of another checkout.
func buildOf(info *debug.BuildInfo, linked build) build {
	b := linked
	if info == nil {
		b.version = cmp.Or(linked.version, "unknown")
		return b
	}
	b.version = cmp.Or(linked.version, info.Main.Version, "(devel)")
	if linked.revision != "" {
		return b
	}
	b.time, b.modified = "", false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.revision = s.Value
		case "vcs.time":
			b.time = s.Value
		case "vcs.modified":
			b.modified = s.Value == "true"
		}
	}
	return b
}

func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info, linkedBuild())
}

// shortRevision is how much of a commit's name identifies it.
const shortRevision = 12

// String is the build in one line: the version, and the commit unless the version names it.
func (b build) String() string {
	short := b.revision[:min(len(b.revision), shortRevision)]
	if short == "" || strings.Contains(b.version, short) {
		return b.version
	}
	if b.modified {
		short += ", modified"
	}
	return b.version + " (" + short + ")"
}

// Version is the program's version in one line.
func Version() string { return thisBuild().String() }

// VersionCommand prints what is known of the program's build.
type VersionCommand struct{}

// Run prints it, a line for each.
func (VersionCommand) Run(_ context.Context, stdout io.Writer) error {
	return thisBuild().print(stdout)
}

func (b build) print(stdout io.Writer) error {
	revision := cmp.Or(b.revision, "unknown")
	if b.modified {
		revision += " (modified)"
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"version", b.version},
		{"commit", revision},
		{"commit time", cmp.Or(b.time, "unknown")},
		{"go", runtime.Version()},
		{"platform", runtime.GOOS + "/" + runtime.GOARCH},
	} {
		fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
	}
	return table.Flush()
}
