//go:build rehearsal

package release

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory" // the storage of the registry
	"github.com/goccy/go-yaml"
	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

// rehearsed is the version of the rehearsal.
const rehearsed = "9.8.7"

// TestRehearsal publishes a release of the working tree to registries on loopback, as the release workflow publishes it to
// those of the world, and installs it from there: images, chart, script and npx. The identity that signs is a key, since there is
// no workflow. It needs Linux, root, buildah, npm and curl.
func TestRehearsal(t *testing.T) {
	for _, tool := range []string{"buildah", "npm", "curl", "unzip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is not installed", tool)
		}
	}
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Fatal("it needs Linux and root")
	}
	project := load(t)
	dist := t.TempDir()
	programs := built(t, project, dist)
	archived(t, project, dist, programs)
	key := signed(t, dist)
	t.Run("script", func(t *testing.T) { installs(t, dist, key) })
	t.Run("npx", func(t *testing.T) { npx(t, dist) })
	address := registryOnLoopback(t)
	t.Run("images", func(t *testing.T) { images(t, project, programs, address) })
	t.Run("chart", func(t *testing.T) { chart(t, address) })
}

// command is a program with its output, which a failure shows.
func command(t *testing.T, dir string, env []string, name string, arguments ...string) string {
	t.Helper()
	out, err := attempted(t, dir, env, name, arguments...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, out)
	}
	return out
}

func attempted(t *testing.T, dir string, env []string, name string, arguments ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, arguments...)
	cmd.Dir, cmd.Env = cmp.Or(dir, root), append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// built compiles the programs of .goreleaser.yaml for Linux into dist/linux/ARCHITECTURE, which is how goreleaser arranges the
// context of an image, and returns that context.
func built(t *testing.T, project config.Project, dist string) string {
	t.Helper()
	programs := filepath.Join(dist, "programs")
	commit := strings.TrimSpace(command(t, "", nil, "git", "rev-parse", "HEAD"))
	said := strings.NewReplacer("{{ .Version }}", rehearsed, "{{ .FullCommit }}", commit, "{{ .CommitDate }}", "2026-01-02T03:04:05Z", "{{ .IsGitDirty }}", "false")
	for _, arch := range project.Builds[0].Goarch {
		for _, b := range project.Builds {
			command(t, "", append([]string{"GOOS=linux", "GOARCH=" + arch, "GOFLAGS=-buildvcs=false"}, b.Env...), "go", slices.Concat(
				[]string{"build"}, b.Flags, []string{"-ldflags", said.Replace(strings.Join(b.Ldflags, " ")), "-o", filepath.Join(programs, "linux", arch, b.Binary), b.Main})...)
		}
	}
	return programs
}

// archived packs the programs by the names of .goreleaser.yaml, and writes the checksums.
func archived(t *testing.T, project config.Project, dist, programs string) {
	t.Helper()
	var sums bytes.Buffer
	for _, arch := range project.Builds[0].Goarch {
		name := strings.NewReplacer("{{ .Version }}", rehearsed, "{{ .Os }}", "linux", "{{ .Arch }}", arch).Replace(project.Archives[0].NameTemplate) + "." + project.Archives[0].Formats[0]
		var packed bytes.Buffer
		compressed := gzip.NewWriter(&packed)
		archive := tar.NewWriter(compressed)
		for _, b := range project.Builds {
			content, err := os.ReadFile(filepath.Join(programs, "linux", arch, b.Binary))
			if err != nil {
				t.Fatal(err)
			}
			if err := archive.WriteHeader(&tar.Header{Name: b.Binary, Mode: 0o755, Size: int64(len(content))}); err != nil {
				t.Fatal(err)
			}
			if _, err := archive.Write(content); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(archive.Close(), compressed.Close(), os.WriteFile(filepath.Join(dist, name), packed.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(packed.Bytes()), name)
	}
	if err := os.WriteFile(filepath.Join(dist, project.Checksum.NameTemplate), sums.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// signed installs the cosign of the release workflow into dist, signs the checksums by a key with it, and returns the public key.
func signed(t *testing.T, dist string) string {
	t.Helper()
	version := regexp.MustCompile(`COSIGN: (v\S+)`).FindStringSubmatch(text(t, ".github/workflows/release.yaml"))[1]
	command(t, "", []string{"GOBIN=" + filepath.Join(dist, "bin"), "GOFLAGS=-buildvcs=false"}, "go", "install", "github.com/sigstore/cosign/v2/cmd/cosign@"+version)
	cosign, env := filepath.Join(dist, "bin", "cosign"), []string{"COSIGN_PASSWORD="}
	command(t, dist, env, cosign, "generate-key-pair")
	command(t, dist, env, cosign, "sign-blob", "--yes", "--key=cosign.key", "--tlog-upload=false", "--bundle=checksums.txt.sigstore.json", "checksums.txt")
	return filepath.Join(dist, "cosign.pub")
}

// installs runs install.sh against a server of the release's files.
func installs(t *testing.T, dist, key string) {
	tampered := ""
	releases := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch name := filepath.Base(r.URL.Path); {
		case r.URL.Path == "/latest":
			http.Redirect(w, r, "/tag/v"+rehearsed, http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/tag/"):
		case filepath.Dir(r.URL.Path) != "/download/v"+rehearsed:
			http.NotFound(w, r)
		default:
			content, err := os.ReadFile(filepath.Join(dist, name))
			if err != nil {
				http.NotFound(w, r)
				return
			}
			if tampered != "" && strings.HasPrefix(name, tampered) {
				content[len(content)/2] ^= 1
			}
			_, _ = w.Write(content)
		}
	}))
	defer releases.Close()
	script, err := filepath.Abs(filepath.Join(root, "deploy/install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	with := "PATH=" + filepath.Join(dist, "bin") + ":" + os.Getenv("PATH")
	for name, c := range map[string]struct {
		env      []string
		tampered string
		fails    string // what the error says; empty where it succeeds
	}{
		"the latest":                {env: []string{with, "GENWAY_COSIGN_KEY=" + key}},
		"a version":                 {env: []string{with, "GENWAY_COSIGN_KEY=" + key, "GENWAY_VERSION=v" + rehearsed}},
		"without cosign":            {env: []string{"GENWAY_COSIGN_KEY=" + key}, fails: "cosign is not installed"},
		"the sum alone":             {env: []string{"GENWAY_VERIFY=checksum"}},
		"another archive":           {env: []string{with, "GENWAY_COSIGN_KEY=" + key}, tampered: "genway_", fails: "another sum"},
		"other sums":                {env: []string{with, "GENWAY_COSIGN_KEY=" + key}, tampered: "checksums.txt", fails: "signature"},
		"another signer":            {env: []string{with}, fails: "signature"},
		"a version that is none":    {env: []string{with, "GENWAY_VERSION=1/../../x"}, fails: "is not a version"},
		"a version that is unknown": {env: []string{with, "GENWAY_VERSION=1.2.3"}, fails: "cannot download"},
	} {
		t.Run(name, func(t *testing.T) {
			tampered = c.tampered
			folder := t.TempDir()
			target := filepath.Join(folder, "bin")
			out, err := attempted(t, folder, append(c.env, "GENWAY_RELEASES="+releases.URL, "GENWAY_INSTALL_DIR=bin"), "sh", script)
			if c.fails != "" {
				if err == nil || !strings.Contains(out, c.fails) {
					t.Errorf("%v: %s", err, out)
				}
				if _, err := os.Stat(target); err == nil {
					t.Error("something is installed")
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if version := command(t, "", nil, filepath.Join(target, "genway"), "version"); !strings.Contains(version, "v"+rehearsed) {
				t.Errorf("installed: %s", version)
			}
		})
	}
}

// npx runs the packages of deploy/scripts/npm-packages from a registry.
func npx(t *testing.T, dist string) {
	out := t.TempDir()
	command(t, "", []string{"VERSION=" + rehearsed, "DIST=" + dist, "OUT=" + out}, "deploy/scripts/npm-packages")
	files := map[string][]byte{}
	packages := map[string]json.RawMessage{}
	var base string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if content, ok := files[strings.TrimPrefix(r.URL.Path, "/tarballs/")]; ok {
			_, _ = w.Write(content)
		} else if document, ok := packages[strings.TrimPrefix(r.URL.Path, "/")]; ok {
			_, _ = w.Write(document)
		} else {
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	base = server.URL
	tarballs, err := filepath.Glob(filepath.Join(out, "*.tgz"))
	if err != nil || len(tarballs) != 3 {
		t.Fatalf("packages: %v %v", tarballs, err)
	}
	for _, path := range tarballs {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Base(path)
		files[file] = content
		var manifest map[string]any
		if err := json.Unmarshal([]byte(command(t, out, nil, "tar", "-xzOf", file, "package/package.json")), &manifest); err != nil {
			t.Fatal(err)
		}
		sum := sha512.Sum512(content)
		manifest["dist"] = map[string]string{"tarball": base + "/tarballs/" + file, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		name, _ := manifest["name"].(string)
		packages[name], err = json.Marshal(map[string]any{"name": name, "dist-tags": map[string]string{"latest": rehearsed}, "versions": map[string]any{rehearsed: manifest}})
		if err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	env := []string{"HOME=" + home, "npm_config_registry=" + base, "npm_config_cache=" + filepath.Join(home, "cache"), "npm_config_update_notifier=false"}
	if version := command(t, home, env, "npx", "--yes", "genway", "version"); !strings.Contains(version, "v"+rehearsed) {
		t.Errorf("npx runs %s", version)
	}
	if out, err := attempted(t, home, env, "npx", "--yes", "genway", "no-such-command"); err == nil || !strings.Contains(out, "no-such-command") {
		t.Errorf("the status of the program is lost: %v %s", err, out)
	}
}

// registryOnLoopback starts a registry of images and charts, and returns its address.
func registryOnLoopback(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil { // the registry opens it itself
		t.Fatal(err)
	}
	c := &configuration.Configuration{Version: "0.1", Storage: configuration.Storage{"inmemory": configuration.Parameters{}}}
	c.HTTP.Addr, c.Log.Level, c.Log.AccessLog.Disabled = address, "fatal", true
	t.Setenv("OTEL_TRACES_EXPORTER", "none")
	r, err := registry.NewRegistry(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.ListenAndServe() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := r.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		<-ended
	})
	for {
		response, err := http.Get("http://" + address + "/v2/")
		if err == nil {
			_ = response.Body.Close()
			return address
		}
		select {
		case err := <-ended:
			t.Fatalf("the registry ended: %v", err)
		default:
		}
	}
}

// images builds the images of .goreleaser.yaml from the programs, as goreleaser arranges them, pushes them, and runs what comes back.
func images(t *testing.T, project config.Project, programs, address string) {
	env := []string{"BUILDAH_ISOLATION=chroot"}
	for _, i := range project.DockersV2 {
		work := t.TempDir()
		storage := []string{"--storage-driver", "vfs", "--root", filepath.Join(work, "storage"), "--runroot", filepath.Join(work, "run")}
		buildah := func(arguments ...string) string {
			return command(t, programs, env, "buildah", slices.Concat(storage, arguments)...)
		}
		for _, file := range append([]string{i.Dockerfile}, i.ExtraFiles...) {
			command(t, "", nil, "sh", "-c", `mkdir -p "$2/$(dirname "$1")" && cp -R "$1" "$2/$(dirname "$1")"`, "sh", file, programs)
		}
		name := address + strings.TrimPrefix(i.Images[0], "ghcr.io") + ":" + rehearsed
		for _, platform := range i.Platforms {
			arguments := []string{"build", "--quiet", "--platform", platform, "--build-arg", "TARGETPLATFORM=" + platform, "--manifest", name, "--file", i.Dockerfile}
			for argument, value := range i.BuildArgs {
				arguments = append(arguments, "--build-arg", argument+"="+strings.ReplaceAll(value, "{{ .Version }}", rehearsed))
			}
			for _, flag := range i.Flags {
				if !strings.HasPrefix(flag, "--provenance=") { // BuildKit's
					arguments = append(arguments, flag)
				}
			}
			buildah(append(arguments, ".")...)
		}
		buildah("manifest", "push", "--all", "--tls-verify=false", name, "docker://"+name)

		// What a user's engine pulls.
		pulled := []string{"--storage-driver", "vfs", "--root", filepath.Join(work, "pulled"), "--runroot", filepath.Join(work, "pulled-run")}
		container := strings.TrimSpace(lastLine(command(t, "", env, "buildah", slices.Concat(pulled, []string{"from", "--quiet", "--tls-verify=false", name})...)))
		mounted := strings.TrimSpace(command(t, "", env, "buildah", slices.Concat(pulled, []string{"mount", container})...))
		program := "/" + filepath.Base(i.Images[0])
		if version := command(t, "", nil, "chroot", "--userspec=65532:65532", mounted, program, "--version"); !strings.Contains(version, "v"+rehearsed) {
			t.Errorf("%s runs %s", name, version)
		}
		if _, err := os.Stat(filepath.Join(mounted, "etc/ssl/certs/ca-certificates.crt")); err != nil {
			t.Error(err)
		}
		command(t, "", env, "buildah", slices.Concat(pulled, []string{"umount", container})...)
		command(t, "", env, "buildah", slices.Concat(pulled, []string{"rm", container})...)
		platforms := map[string]bool{}
		for _, m := range indexOf(t, address, strings.TrimPrefix(i.Images[0], "ghcr.io/")) {
			platforms[m.Platform.OS+"/"+m.Platform.Architecture] = true
		}
		for _, platform := range i.Platforms {
			if !platforms[platform] {
				t.Errorf("%s has no image for %s: %v", name, platform, platforms)
			}
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

type manifest struct {
	Platform struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
	} `json:"platform"`
}

func indexOf(t *testing.T, address, repository string) []manifest {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v2/"+repository+"/manifests/"+rehearsed, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Manifests []manifest `json:"manifests"`
	}
	if err := json.Unmarshal(content, &index); err != nil || len(index.Manifests) == 0 {
		t.Fatalf("%s: %v: %s", repository, err, content)
	}
	return index.Manifests
}

// chart packs and pushes the chart as the workflow does, and holds what is installed from there to the images of the release.
func chart(t *testing.T, address string) {
	command(t, "", []string{"VERSION=" + rehearsed}, "deploy/scripts/chart-package", "oci://"+address+"/charts", "--plain-http")
	helm := func(arguments ...string) string {
		return command(t, "", nil, "go", slices.Concat([]string{"tool", "-modfile=test/tools/helm/go.mod", "helm"}, arguments)...)
	}
	pulled := t.TempDir()
	helm("pull", "oci://"+address+"/charts/genway", "--version", rehearsed, "--plain-http", "--destination", pulled)
	rendered := helm("template", "genway", filepath.Join(pulled, "genway-"+rehearsed+".tgz"), "--kube-version", "1.33.0", "--set", "store.url=postgres://db/genway", "--set", "images.registry="+address+"/genway")
	images := map[string]bool{}
	decoder := yaml.NewDecoder(strings.NewReader(rendered))
	for {
		var object struct {
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct {
							Image string `yaml:"image"`
						} `yaml:"containers"`
					} `yaml:"spec"`
				} `yaml:"template"`
			} `yaml:"spec"`
		}
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, rendered)
		}
		for _, c := range object.Spec.Template.Spec.Containers {
			images[c.Image] = true
		}
	}
	if len(images) == 0 {
		t.Fatalf("the chart names no image:\n%s", rendered)
	}
	for image := range images {
		name, tag, _ := strings.Cut(strings.TrimPrefix(image, address+"/"), ":")
		if tag != rehearsed {
			t.Errorf("the chart names %s", image)
			continue
		}
		indexOf(t, address, name)
	}
}
