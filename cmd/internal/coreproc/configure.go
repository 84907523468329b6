package coreproc

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/price"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// before is behind the name of a file whose text was replaced.
const before = ".before"

var _ admin.Configurator = (*Routing)(nil)

// CheckConfiguration says what is wrong with a text that would be the file.
func (r *Routing) CheckConfiguration(text string) *adminv1.CheckConfigurationResponse {
	file, _ := os.ReadFile(r.file) // without one no value is masked
	_, resp := r.checkText([]byte(text), file)
	return resp
}

// checkText checks a text beside the file's, and returns it whole. The environment and the files that the text names are
// for those alone who may write the file, and what is in such a file is shown to no one.
func (r *Routing) checkText(text, file []byte) (whole []byte, resp *adminv1.CheckConfigurationResponse) {
	resp = &adminv1.CheckConfigurationResponse{}
	var secrets []string
	wrong := func(err error) {
		for _, e := range mistakesOf(err) {
			m := &adminv1.ConfigurationMistake{Line: int32(e.Line), Column: int32(e.Column), Message: config.Hide(e.Text, secrets)}
			if e.File != "" && e.File != r.file {
				m = &adminv1.ConfigurationMistake{Message: fmt.Sprintf("%s: line %d is wrong; genway config check, on the server's host, says what it is", e.File, e.Line)}
			}
			resp.Mistakes = append(resp.Mistakes, m)
		}
	}
	whole, secrets, err := config.Unmask(text, file)
	if err != nil {
		_, known := config.ParseAlone(r.file, text) // it has the line
		wrong(cmp.Or(known, err))
		return nil, resp
	}
	if shown, err := config.MaskedText(whole); err == nil {
		resp.Yaml = string(shown)
	}
	parsed, err := config.ParseAlone(r.file, whole)
	if r.writable {
		if parsed, err = config.Parse(r.file, whole, os.LookupEnv); err == nil {
			err = cmp.Or(config.CheckCommands(r.file, whole, file), r.tryOut(parsed))
		}
	}
	if parsed != nil {
		for _, w := range parsed.Warnings() {
			resp.Warnings = append(resp.Warnings, config.Hide(w.Error(), secrets))
		}
	}
	if err != nil {
		wrong(err)
	}
	return whole, resp
}

// mistakesOf returns an error as config.Errors, the errors of a file.
func mistakesOf(err error) config.Errors {
	if all, ok := errors.AsType[config.Errors](err); ok {
		return all
	}
	if one, ok := errors.AsType[*config.Error](err); ok {
		return config.Errors{one}
	}
	return config.Errors{{Text: err.Error()}}
}

// tryOut builds what a configuration describes, without calling anything or taking it.
func (r *Routing) tryOut(c *config.Config) error {
	if c.Prices != "" {
		if _, err := price.Load(c.Prices); err != nil {
			return err
		}
	}
	r.mu.Lock()
	limits := r.limits
	r.mu.Unlock()
	if err := limits.check(c.EffectiveLimits()); err != nil {
		return err
	}
	built, err := Build(c, r.embedded, nil)
	if err != nil {
		return err
	}
	return built.Close()
}

// ReloadConfiguration reads the file again. record is called before it is taken.
func (r *Routing) ReloadConfiguration(record func() error) (hash string, err error) {
	if r.file == "" {
		return "", noFile()
	}
	if err := record(); err != nil {
		return "", err
	}
	if err := r.reload(); err != nil {
		return "", r.refused(err)
	}
	return r.Hash(), nil
}

// WriteConfiguration replaces the file, whose text before it keeps, and takes it. record is called before
// it is written.
func (r *Routing) WriteConfiguration(text, hash string, record func() error) (string, error) {
	switch {
	case !r.writable:
		return "", fault.New(fault.Unprocessable, admin.ReasonConfigurationReadOnly, "the server was started without --console-write, so its file is changed on its host alone")
	case r.file == "":
		return "", noFile()
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	old, err := os.ReadFile(r.file)
	if err != nil {
		return "", fault.Wrap(err, fault.Unavailable, admin.ReasonConfigurationFile, "the file cannot be read; the server's log says why")
	}
	if hashOfText(old) != hash {
		return "", fault.New(fault.Unprocessable, admin.ReasonConfigurationChanged, "the file has changed meanwhile; begin with the present one")
	}
	whole, checked := r.checkText([]byte(text), old)
	if len(checked.GetMistakes()) > 0 {
		f := fault.Invalid("yaml", "")
		for _, m := range checked.GetMistakes() {
			f.Fields = append(f.Fields, fault.Field{Param: "yaml", Message: place(m)})
		}
		f.Message = "yaml: " + f.Fields[0].Message
		return "", f
	}
	if err := record(); err != nil {
		return "", err
	}
	if err := replace(r.file, old, whole); err != nil {
		r.log.Error("the configuration cannot be written", "file", r.file, "error", err)
		return "", fault.Wrap(err, fault.Unavailable, admin.ReasonConfigurationFile, "the file cannot be written; the server's log says why")
	}
	if err := r.reload(); err != nil {
		return "", r.refused(err)
	}
	return r.Hash(), nil
}

// place writes a mistake with its place.
func place(m *adminv1.ConfigurationMistake) string {
	if m.GetLine() == 0 {
		return m.GetMessage()
	}
	return fmt.Sprintf("line %d: %s", m.GetLine(), m.GetMessage())
}

func noFile() error {
	return fault.New(fault.Unprocessable, admin.ReasonConfigurationFile, "this server has no configuration file")
}

// refused is a file that was not taken. What the error repeats of the file may be a secret.
func (r *Routing) refused(err error) error {
	f := fault.Invalid("file", "file: it was not taken; the configuration in force stays. The server's log, and genway config check, say why")
	for _, e := range mistakesOf(err) {
		if e.Line > 0 {
			f.Fields = append(f.Fields, fault.Field{Param: "file", Message: fmt.Sprintf("line %d is wrong", e.Line)})
		}
	}
	return f
}

// replace writes a file at once, with the rights of the one before, and keeps that.
func replace(file string, old, text []byte) error {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		name string
		text []byte
	}{{file + before, old}, {file, text}} {
		if err := writeWhole(one.name, one.text, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}

// writeWhole writes a file beside its place, and moves it there.
func writeWhole(file string, text []byte, mode os.FileMode) error {
	beside, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(beside.Name()) //nolint:errcheck // it was moved, unless this fails
	_, err = beside.Write(text)
	if err := errors.Join(err, beside.Chmod(mode), beside.Sync(), beside.Close()); err != nil {
		return err
	}
	return os.Rename(beside.Name(), file)
}

// hashOfText returns the first six bytes of the SHA-256 of a file's text, in hexadecimal.
func hashOfText(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// shownOf is a file without what may be a secret, and its members; empty where it cannot be shown.
func shownOf(file string) (string, []config.Member) {
	text, err := os.ReadFile(file) //nolint:gosec // the configuration that this program was started with
	if err != nil {
		return "", nil
	}
	shown, err := config.MaskedText(bytes.Clone(text))
	if err != nil {
		return "", nil
	}
	members, err := config.Members(text)
	if err != nil {
		return "", nil
	}
	return string(shown), members
}
