// Package release holds .goreleaser.yaml to goreleaser's own strict reader and to what a release
// must have, and the workflows to actions that are pinned.
package release

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

const root = "../../.."

// load reads .goreleaser.yaml; a member that goreleaser does not know is an error.
func load(t *testing.T) config.Project {
	t.Helper()
	project, err := config.Load(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func text(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Each program is built for six systems, as `make build` builds it, and says its version.
func TestU20EachProgramIsBuiltForSixSystems(t *testing.T) {
	mains, err := filepath.Glob(filepath.Join(root, "cmd", "*", "main.go"))
	if err != nil || len(mains) == 0 {
		t.Fatalf("no commands: %v", err)
	}
	builds := map[string]config.Build{}
	for _, b := range load(t).Builds {
		builds[b.Main] = b
	}
	if len(builds) != len(mains) {
		t.Errorf("%d builds, %d commands", len(builds), len(mains))
	}
	source := text(t, "cmd/internal/cli/version.go")
	if !strings.Contains(source, "\nvar version string\n") || !strings.Contains(source, "\nvar revision, commitTime, modified string\n") {
		t.Error("the variables that the linker sets have gone")
	}
	for _, main := range mains {
		name := filepath.Base(filepath.Dir(main))
		b, ok := builds["./cmd/"+name]
		if !ok {
			t.Errorf("%s is not built", name)
			continue
		}
		if b.Binary != name || b.ID != name {
			t.Errorf("%s is built as %s, %s", name, b.Binary, b.ID)
		}
		if !slices.Equal(b.Goos, []string{"linux", "darwin", "windows"}) || !slices.Equal(b.Goarch, []string{"amd64", "arm64"}) {
			t.Errorf("%s is built for %v on %v", name, b.Goarch, b.Goos)
		}
		if !slices.Contains(b.Env, "CGO_ENABLED=0") || b.ModTimestamp == "" {
			t.Errorf("%s is not static, or has the time of its build in it: %v", name, b.Env)
		}
		if flags := "BUILDFLAGS := " + strings.Join(b.Flags, " ") + "\n"; !strings.Contains(text(t, "Makefile"), flags) {
			t.Errorf("%s is built with other flags than make build has: %v", name, b.Flags)
		}
		for _, set := range []string{"version=v{{ .Version }}", "revision={{ .FullCommit }}", "commitTime={{ .CommitDate }}", "modified={{ .IsGitDirty }}"} {
			if !strings.Contains(strings.Join(b.Ldflags, " "), "-X github.com/genway/genway/cmd/internal/cli."+set) {
				t.Errorf("%s does not say its %s: %v", name, set, b.Ldflags)
			}
		}
	}
}

// Archives and packages have all programs, the licences and an SBOM; the checksums are signed.
func TestU21WhatIsReleasedIsWhole(t *testing.T) {
	project := load(t)
	var programs []string
	for _, b := range project.Builds {
		programs = append(programs, b.ID)
	}
	const licences = "dist-licences/third-party-licences.txt"
	if len(project.Before.Hooks) != 1 || project.Before.Hooks[0] != "deploy/scripts/licences "+filepath.Dir(licences) {
		t.Errorf("the licences are not written before: %+v", project.Before.Hooks)
	}
	if len(project.Archives) != 1 || !slices.Equal(project.Archives[0].IDs, programs) {
		t.Fatalf("archives: %+v", project.Archives)
	}
	var files []string
	for _, f := range project.Archives[0].Files {
		files = append(files, f.Source)
	}
	for _, want := range []string{"LICENSE", "NOTICE", licences} {
		if !slices.Contains(files, want) {
			t.Errorf("the archives have no %s", want)
		}
	}
	if len(project.NFPMs) != 1 || !slices.Equal(project.NFPMs[0].IDs, programs) {
		t.Fatalf("packages: %+v", project.NFPMs)
	}
	nfpm := project.NFPMs[0]
	files = append(files, nfpm.Scripts.PostInstall, nfpm.Scripts.PreRemove)
	packaged := []string{}
	for _, c := range nfpm.Contents {
		files = append(files, c.Source)
		packaged = append(packaged, c.Destination)
	}
	for _, name := range files {
		if name == licences {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	// `make packages` makes the same, but for the licences, which only a release collects.
	var made struct {
		Contents []struct {
			Dst string `yaml:"dst"`
		} `yaml:"contents"`
	}
	if err := yaml.Unmarshal([]byte(text(t, "deploy/packages/nfpm.yaml")), &made); err != nil {
		t.Fatal(err)
	}
	for _, c := range made.Contents {
		if !slices.Contains(packaged, c.Dst) && !slices.Contains(programs, strings.TrimPrefix(c.Dst, nfpm.Bindir+"/")) {
			t.Errorf("a released package has no %s", c.Dst)
		}
	}
	// The packages of the contract are released, and their checksums signed, as the programs are.
	for what, extra := range map[string][]config.ExtraFile{"checksums": project.Checksum.ExtraFiles, "files": project.Release.ExtraFiles} {
		if len(extra) != 2 || extra[0].Glob != "bin/contract-packages/*" || extra[1].Glob != "deploy/install.sh" {
			t.Errorf("the released %s lack the packages of the contract, or the script that installs: %+v", what, extra)
		}
	}
	if !strings.Contains(text(t, ".github/workflows/release.yaml"), "make contract-packages") {
		t.Error("a release does not build the packages of the contract")
	}
	with := map[string]bool{}
	for _, s := range project.SBOMs {
		with[s.Artifacts] = strings.Contains(strings.Join(s.Args, " "), "spdx-json=") && strings.HasSuffix(s.Documents[0], ".spdx.json")
	}
	if !with["archive"] || !with["package"] {
		t.Errorf("SBOMs: %+v", project.SBOMs)
	}
	// syft finds nothing in a deb or an rpm, so that it reads the archive with the same programs.
	for _, s := range project.SBOMs {
		if s.Artifacts == "package" && s.Args[0] != project.Archives[0].NameTemplate+".tar.gz" {
			t.Errorf("the SBOM of a package is made of %s", s.Args[0])
		}
	}
	if len(project.Signs) != 1 || project.Signs[0].Artifacts != "checksum" || project.Signs[0].Cmd != "cosign" ||
		!slices.Contains(project.Signs[0].Args, "--bundle=${signature}") {
		t.Errorf("signatures: %+v", project.Signs)
	}
}

// Each server has an image for each system of the chart, from the one Dockerfile, with an SBOM, provenance and a signature; the chart
// names these images, and README, script, cask and npm package what the release makes.
func TestU23ImagesChartAndPackagesAreReleased(t *testing.T) {
	project := load(t)
	dockerfile, workflow := text(t, "deploy/image/Dockerfile"), text(t, ".github/workflows/release.yaml")
	var values struct {
		Images map[string]any `yaml:"images"`
	}
	if err := yaml.Unmarshal([]byte(text(t, "deploy/chart/genway/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	released := map[string]bool{}
	for _, i := range project.DockersV2 {
		name := i.IDs[0]
		released[i.Images[0]] = true
		if !slices.Equal(i.Images, []string{"ghcr.io/genway/" + name}) || i.Dockerfile != "deploy/image/Dockerfile" || i.SBOM != "true" {
			t.Errorf("%s: %+v", name, i)
		}
		if !slices.Equal(i.Platforms, []string{"linux/amd64", "linux/arm64"}) || i.Tags[0] != "{{ .Version }}" {
			t.Errorf("%s: platforms %v, tags %v", name, i.Platforms, i.Tags)
		}
		for _, flag := range []string{"--target=" + name, "--build-context=build=.", "--build-context=certificates=/etc/ssl/certs", "--provenance=mode=max"} {
			if !slices.Contains(i.Flags, flag) {
				t.Errorf("%s is built without %s", name, flag)
			}
		}
		for _, stage := range []string{" AS " + name + "\n", " AS build\n", " AS certificates\n", "COPY --from=build /${TARGETPLATFORM}/" + name + " /" + name + "\n"} {
			if !strings.Contains(dockerfile, stage) {
				t.Errorf("the Dockerfile has no %q", stage)
			}
		}
		for argument := range i.BuildArgs {
			if !regexp.MustCompile(`(?m)^ARG .*\b` + argument + `\b`).MatchString(dockerfile) {
				t.Errorf("the Dockerfile takes no %s", argument)
			}
		}
		for _, file := range i.ExtraFiles {
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Error(err)
			}
		}
	}
	for _, part := range []string{"genway", "core", "edge"} {
		image, _ := values.Images[part].(map[string]any)
		name, _ := image["repository"].(string)
		registry, _ := values.Images["registry"].(string)
		if !released[registry+"/"+name] {
			t.Errorf("the chart names %s/%s, which no release makes: %v", registry, name, released)
		}
	}
	if len(project.DockerSigns) != 1 || project.DockerSigns[0].Cmd != "cosign" || !slices.Contains(project.DockerSigns[0].Args, "${artifact}@${digest}") {
		t.Errorf("signatures of images: %+v", project.DockerSigns)
	}
	if len(project.Casks) != 1 || !slices.Equal(project.Casks[0].IDs, []string{project.Archives[0].ID}) || !slices.Equal(project.Casks[0].Binaries, project.Archives[0].IDs) {
		t.Errorf("casks: %+v", project.Casks)
	}
	const charts = "oci://ghcr.io/genway/charts"
	for _, part := range []string{"deploy/scripts/chart-package " + charts + "\n", "deploy/scripts/npm-packages\n", "packages: write", "id-token: write", "docker login ghcr.io"} {
		if !strings.Contains(workflow, part) {
			t.Errorf("the release workflow has no %q", part)
		}
	}
	readme, cask := text(t, "README.md"), project.Casks[0]
	for _, part := range []string{
		project.DockersV2[0].Images[0] + "`", charts + "/genway ", "npx genway serve", "releases/latest/download/" + filepath.Base(project.Release.ExtraFiles[1].Glob) + " ",
		"brew install --cask " + cask.Repository.Owner + "/" + strings.TrimPrefix(cask.Repository.Name, "homebrew-") + "/" + cask.Name + " ",
	} {
		if !strings.Contains(readme, part) {
			t.Errorf("README does not say %q", part)
		}
	}
	// What install.sh demands of a release is what the workflow and .goreleaser.yaml make.
	script := text(t, "deploy/install.sh")
	for _, part := range []string{
		"genway_${version}_${os}_${arch}.tar.gz", project.Checksum.NameTemplate + ".sigstore.json", "/.github/workflows/release.yaml@refs/tags/v$version",
		"for program in " + strings.Join(project.Archives[0].IDs, " ") + "; do",
	} {
		if !strings.Contains(script, part) {
			t.Errorf("install.sh does not have %q", part)
		}
	}
}

// What a project says to those who report a vulnerability or a mistake is there, and a change runs the tests.
func TestU24OutsidersAreMet(t *testing.T) {
	for name, part := range map[string]string{
		"SECURITY.md": "Report a vulnerability", "CODE_OF_CONDUCT.md": "Contributor Covenant", ".github/ISSUE_TEMPLATE/config.yml": "security/advisories/new",
		".github/ISSUE_TEMPLATE/bug.yml": "genway version", ".github/ISSUE_TEMPLATE/feature.yml": "body:", ".github/workflows/ci.yaml": "run: .ci/run\n",
		".github/workflows/security.yaml": "ossf/scorecard-action@",
	} {
		if content := text(t, name); !strings.Contains(content, part) {
			t.Errorf("%s does not say %q", name, part)
		} else if strings.HasSuffix(name, "ml") {
			var document map[string]any
			if err := yaml.Unmarshal([]byte(content), &document); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, part := range []string{"pull_request:", "make lint", "release-check", "release-rehearsal"} {
		if !strings.Contains(text(t, ".github/workflows/ci.yaml"), part) {
			t.Errorf("a change does not run %q", part)
		}
	}
	for _, part := range []string{"codeql-action/init@", "codeql-action/analyze@", "make vuln"} {
		if !strings.Contains(text(t, ".github/workflows/security.yaml"), part) {
			t.Errorf("a change does not run %q", part)
		}
	}
}

// pinned is an action by the hash of its commit, with its version for people.
var pinned = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*$`)

// Each action is pinned by hash, no workflow has a permission that it does not name, and a release
// uses the goreleaser that has read the file here.
func TestU22WorkflowsArePinned(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	for _, name := range names {
		content := text(t, filepath.Join(".github", "workflows", filepath.Base(name)))
		var workflow struct {
			Permissions map[string]string `yaml:"permissions"`
			Jobs        map[string]struct {
				Permissions map[string]string `yaml:"permissions"`
				Steps       []struct {
					Uses string `yaml:"uses"`
					Run  string `yaml:"run"`
				} `yaml:"steps"`
			} `yaml:"jobs"`
		}
		if err := yaml.Unmarshal([]byte(content), &workflow); err != nil {
			t.Fatal(err)
		}
		if workflow.Permissions == nil || len(workflow.Permissions) > 0 || len(workflow.Jobs) == 0 {
			t.Errorf("%s: permissions for all jobs: %v", name, workflow.Permissions)
		}
		count := 0
		for line := range strings.Lines(content) {
			if _, uses, is := strings.Cut(line, "uses: "); is {
				count++
				if !pinned.MatchString(strings.TrimSpace(uses)) {
					t.Errorf("%s: not pinned: %s", name, uses)
				}
			}
		}
		for job, j := range workflow.Jobs {
			for _, s := range j.Steps {
				if s.Uses != "" {
					count--
				}
				if strings.Contains(s.Run, "@latest") || strings.Contains(s.Run, "curl ") {
					t.Errorf("%s: %s runs what is not pinned: %s", name, job, s.Run)
				}
			}
		}
		if count != 0 {
			t.Errorf("%s: %d lines with uses are no steps", name, count)
		}
	}
	_, version, _ := strings.Cut(text(t, "deploy/release/test/go.mod"), "github.com/goreleaser/goreleaser/v2 ")
	version, _, _ = strings.Cut(version, "\n")
	if !strings.Contains(text(t, ".github/workflows/release.yaml"), "GORELEASER: "+version+"\n") {
		t.Errorf("the release uses another goreleaser than %s", version)
	}
}
