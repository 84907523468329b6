package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/genway/genway/test/bench/process"
	"github.com/goccy/go-yaml"
)

// Peer is another gateway that is measured beside Genway, as an entry of peers.yaml describes it.
// In argv, env, address and the texts of files, ${UPSTREAM} is the HOST:PORT of the upstream,
// ${ADDRESS} that of the peer, and ${DIR} a directory of the peer's own.
type Peer struct {
	// Name names the peer in flags and results. Required, and no other target's.
	Name string `yaml:"name"`
	// Title is what tables call it; Name where it is empty.
	Title string `yaml:"title"`
	// Argv is the program and its arguments, which must stay in the foreground. Required.
	Argv []string `yaml:"argv"`
	// Env is added to the environment, NAME=VALUE each.
	Env []string `yaml:"env"`
	// Files are written into DIR before the start, by name.
	Files map[string]string `yaml:"files"`
	// Address is the HOST:PORT that the peer answers at; a free port of 127.0.0.1 where it is empty.
	Address string `yaml:"address"`
	// Headers are what its callers send, as the key.
	Headers map[string]string `yaml:"headers"`
	// Model is what callers ask for where the upstream speaks their protocol; bench-model where it
	// is empty.
	Model string `yaml:"model"`
	// Models are what callers ask for where the upstream speaks another protocol, by that
	// protocol: chat, responses, messages or generatecontent. The peer is not asked to translate
	// into a protocol that is not there.
	Models map[string]string `yaml:"models"`
	// Callers are the protocols it serves; only chat if they are empty. Chat must be among
	// them: by a chat request the bench finds out that a peer is up.
	Callers []string `yaml:"callers"`
}

// Takes reports whether a peer serves callers of a protocol from an upstream of another, or of the
// same.
func (p *Peer) Takes(caller, served string) bool {
	if !slices.Contains(p.Callers, caller) {
		return false
	}
	return served == "" || served == caller || p.Models[served] != ""
}

// Peers reads a file of peers. No file is one without peers.
func Peers(path string) ([]Target, error) {
	text, err := os.ReadFile(path) //nolint:gosec // The user names it.
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var file struct {
		Peers []*Peer `yaml:"peers"`
	}
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	taken := map[string]bool{}
	for _, t := range builtin() {
		taken[t.Name] = true
	}
	var targets []Target
	for i, p := range file.Peers {
		if err := p.complete(taken); err != nil {
			return nil, fmt.Errorf("%s: peer %d: %w", path, i+1, err)
		}
		targets = append(targets, p.target())
	}
	return targets, nil
}

var (
	peerName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	texts    = []string{"chat", "responses", "messages", "generatecontent"}
)

// complete checks a peer and sets what it leaves out.
func (p *Peer) complete(taken map[string]bool) error {
	switch {
	case p == nil:
		return errors.New("it is empty")
	case !peerName.MatchString(p.Name):
		return fmt.Errorf("name %q: lower-case letters, digits and hyphens make a name", p.Name)
	case taken[p.Name]:
		return fmt.Errorf("name %q: another target has it", p.Name)
	case len(p.Argv) == 0 || p.Argv[0] == "":
		return errors.New("argv: a program is needed")
	}
	taken[p.Name] = true
	if p.Title == "" {
		p.Title = p.Name
	}
	if len(p.Callers) == 0 {
		p.Callers = []string{"chat"}
	}
	if !slices.Contains(p.Callers, "chat") {
		return errors.New("callers: chat must be among them")
	}
	for _, protocol := range append(slices.Collect(maps.Keys(p.Models)), p.Callers...) {
		if !slices.Contains(append(texts, "images"), protocol) {
			return fmt.Errorf("protocol %q: there are %s and images", protocol, strings.Join(texts, ", "))
		}
	}
	for name := range p.Files {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("files: %q is not inside the peer's directory", name)
		}
	}
	return nil
}

func (p *Peer) target() Target {
	return Target{Name: p.Name, Title: p.Title, Peer: p, Prepare: func(ctx context.Context, site Site) (*Plan, error) {
		address := p.Address
		if address == "" {
			var err error
			if address, err = FreeAddress(ctx); err != nil {
				return nil, err
			}
		}
		fill := strings.NewReplacer("${UPSTREAM}", site.Upstream, "${ADDRESS}", address, "${DIR}", site.Dir).Replace
		for name, text := range p.Files {
			path := filepath.Join(site.Dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(fill(text)), 0o600)); err != nil {
				return nil, err
			}
		}
		command := process.Command{Path: fill(p.Argv[0]), Log: filepath.Join(site.Dir, p.Name+".log"), Core: site.Core}
		for _, arg := range p.Argv[1:] {
			command.Args = append(command.Args, fill(arg))
		}
		for _, variable := range p.Env {
			command.Env = append(command.Env, fill(variable))
		}
		return &Plan{Address: address, Commands: []process.Command{command}}, nil
	}}
}
