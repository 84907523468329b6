// Package compose holds deploy/compose/compose.yaml to the schema of the Compose Specification, and
// to what it refers to.
package compose

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func project(t *testing.T, profiles ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"../compose.yaml"}, cli.WithProfiles(profiles), cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// The file is a valid one, with and without its profiles, and the files that it mounts are there.
func TestFile(t *testing.T) {
	for _, profiles := range [][]string{nil, {"load"}, {"admin"}, {"load", "admin"}} {
		p := project(t, profiles...)
		if want := 7 + len(profiles); len(p.Services) != want {
			t.Errorf("with %v it has %d services, want %d", profiles, len(p.Services), want)
		}
	}
	p := project(t, "load", "admin")
	for name, config := range p.Configs {
		if _, err := os.Stat(config.File); err != nil {
			t.Errorf("config %s: %v", name, err)
		}
	}
	for name, service := range p.Services {
		for _, volume := range service.Volumes {
			if volume.Type != "bind" {
				continue
			}
			if _, err := os.Stat(volume.Source); err != nil {
				t.Errorf("service %s: %v", name, err)
			}
		}
		for dependency := range service.DependsOn {
			if _, ok := p.Services[dependency]; !ok {
				t.Errorf("service %s waits for %s", name, dependency)
			}
		}
	}
}

// Genway's own services are built by a target of the Dockerfile, serve alone, and have variables
// that the programs know.
func TestServices(t *testing.T) {
	dockerfile, err := os.ReadFile("../../image/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var known string
	for _, program := range []string{"genway", "genway-core", "genway-edge"} {
		flags, err := os.ReadFile(filepath.Join("../../../cmd", program, "testdata/flags.txt"))
		if err != nil {
			t.Fatal(err)
		}
		known += string(flags)
	}
	names := regexp.MustCompile(`GENWAY_[A-Z_]+`).FindAllString(known, -1)
	built := 0
	for name, service := range project(t, "load", "admin").Services {
		if service.Build == nil {
			continue
		}
		built++
		if !strings.Contains(string(dockerfile), " AS "+service.Build.Target+"\n") {
			t.Errorf("service %s: the Dockerfile has no target %s", name, service.Build.Target)
		}
		for _, name := range []string{"VERSION", "REVISION", "TIME", "MODIFIED"} {
			if _, ok := service.Build.Args[name]; !ok || !strings.Contains(string(dockerfile), "${"+name+"}") {
				t.Errorf("service %s: %s is not given to the Dockerfile, or not used", service.Name, name)
			}
		}
		for variable := range service.Environment {
			if !slices.Contains(names, variable) {
				t.Errorf("service %s: no program knows %s", name, variable)
			}
		}
		if name != "admin" && (!service.ReadOnly || !slices.Contains(service.CapDrop, "ALL") || !slices.Contains(service.SecurityOpt, "no-new-privileges:true")) {
			t.Errorf("service %s may do more than serve", name)
		}
	}
	if built != 3 {
		t.Errorf("%d services are built", built)
	}
}
