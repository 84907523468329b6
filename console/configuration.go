package console

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"github.com/rogpeppe/go-internal/diff"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
)

type configurationPage struct {
	*adminv1.GetConfigurationResponse
	Lines []string
	// Flags and FileMembers are what is in force, by where it is from.
	Flags, FileMembers []configurationMember
	// Pending is what the file would change of what is in force; Changed what the text of the form would
	// change of the file.
	Pending, Changed []diffLine
	// Text and FileHash are the form's; Checked says that Text was checked.
	Text, FileHash string
	Checked        bool
	Mistakes       []*adminv1.ConfigurationMistake
	Warnings       []string
	// Done describes what was done.
	Done string
}

// configurationMember is a value with where it is from, in words.
type configurationMember struct {
	*adminv1.ConfigurationMember
	From string
}

// sourced puts members into words, without those that are at their defaults.
func sourced(members []*adminv1.ConfigurationMember) (flags, file []configurationMember) {
	for _, m := range members {
		row := configurationMember{ConfigurationMember: m}
		switch m.GetSource() {
		case adminv1.ConfigurationSource_CONFIGURATION_SOURCE_FLAG:
			row.From = "flag"
		case adminv1.ConfigurationSource_CONFIGURATION_SOURCE_FILE, adminv1.ConfigurationSource_CONFIGURATION_SOURCE_ENVIRONMENT:
			var parts []string
			if m.GetLine() > 0 {
				parts = append(parts, "line "+strconv.Itoa(int(m.GetLine())))
			}
			for _, v := range m.GetVariables() {
				parts = append(parts, "$"+v)
			}
			row.From = strings.Join(parts, ", ")
		default:
			continue
		}
		if by := m.GetOverriddenBy(); by != "" {
			row.From += "; not in force, since " + by + " is given"
		}
		if m.GetLine() > 0 {
			file = append(file, row)
		} else {
			flags = append(flags, row)
		}
	}
	return flags, file
}

// diffLine is a line of a difference. Class colors it: kept, gone or new.
type diffLine struct{ Class, Text string }

// showConfiguration shows the file that is in force, without secrets.
func showConfiguration(c *call) error {
	p, err := c.configuration()
	if err != nil {
		return err
	}
	c.show(http.StatusOK, "configuration.html", "Configuration", p)
	return nil
}

func (c *call) configuration() (*configurationPage, error) {
	resp, err := c.admin.GetConfiguration(c.ctx, &adminv1.GetConfigurationRequest{})
	if err != nil {
		return nil, err
	}
	p := &configurationPage{GetConfigurationResponse: resp, Text: resp.GetYaml(), FileHash: resp.GetFileHash()}
	p.Flags, p.FileMembers = sourced(resp.GetMembers())
	if resp.GetYaml() != "" {
		p.Lines = strings.Split(strings.TrimSuffix(resp.GetYaml(), "\n"), "\n")
	}
	if !resp.GetCurrent() && resp.GetRunningYaml() != "" {
		p.Pending = difference("in force", resp.GetRunningYaml(), "file", resp.GetYaml())
	}
	return p, nil
}

// difference returns what one text changes of another, by lines.
func difference(oldName, old, newName, text string) (lines []diffLine) {
	for line := range strings.Lines(string(diff.Diff(oldName, []byte(old), newName, []byte(text)))) {
		line = strings.TrimSuffix(line, "\n")
		class := "kept"
		switch {
		case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			continue
		case strings.HasPrefix(line, "-"):
			class = "gone"
		case strings.HasPrefix(line, "+"):
			class = "new"
		}
		lines = append(lines, diffLine{class, line})
	}
	return lines
}

// changeConfiguration checks the text of the form, writes it, or has the file read again.
func changeConfiguration(c *call) error {
	text := strings.ReplaceAll(c.r.PostFormValue("yaml"), "\r\n", "\n") // as forms send lines
	var done string
	var err error
	switch c.r.PostFormValue("do") {
	case "reload":
		done = "The file was read again, and is in force."
		_, err = c.admin.ReloadConfiguration(c.ctx, &adminv1.ReloadConfigurationRequest{})
	case "write":
		done = "The file was written, and is in force. Its text before is beside it."
		_, err = c.admin.WriteConfiguration(c.ctx, &adminv1.WriteConfigurationRequest{Yaml: text, FileHash: c.r.PostFormValue("file_hash")})
	default:
		return c.tryConfiguration(text)
	}
	if _, mistaken := wrongInput(err); err != nil && !mistaken {
		return err
	}
	p, failed := c.configuration()
	if failed != nil {
		return failed
	}
	if err != nil {
		p.Mistakes = mistakesIn(err)
		if text != "" {
			p.Text, p.FileHash = text, c.r.PostFormValue("file_hash")
		}
		c.show(http.StatusBadRequest, "configuration.html", "Configuration", p)
		return nil
	}
	p.Done = done
	c.show(http.StatusOK, "configuration.html", "Configuration", p)
	return nil
}

// tryConfiguration shows what a text would change, and what is wrong with it.
func (c *call) tryConfiguration(text string) error {
	checked, err := c.admin.CheckConfiguration(c.ctx, &adminv1.CheckConfigurationRequest{Yaml: text})
	if err != nil {
		return err
	}
	p, err := c.configuration()
	if err != nil {
		return err
	}
	p.Text, p.FileHash, p.Checked, p.Mistakes, p.Warnings = text, c.r.PostFormValue("file_hash"), true, checked.GetMistakes(), checked.GetWarnings()
	if checked.GetYaml() != "" {
		p.Changed = difference("file", p.GetYaml(), "text", checked.GetYaml())
	}
	c.show(http.StatusOK, "configuration.html", "Configuration", p)
	return nil
}

// mistakesIn returns what an error says of fields.
func mistakesIn(err error) (list []*adminv1.ConfigurationMistake) {
	st := status.Convert(err)
	for _, d := range st.Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range bad.GetFieldViolations() {
				list = append(list, &adminv1.ConfigurationMistake{Message: v.GetDescription()})
			}
		}
	}
	if len(list) == 0 {
		list = append(list, &adminv1.ConfigurationMistake{Message: st.Message()})
	}
	return list
}

// typedMistake is a mistake as the page's script gets it.
type typedMistake struct {
	Line    int32  `json:"line"`
	Message string `json:"message"`
}

// checkConfiguration tells the page's script, while somebody types, what is wrong.
func checkConfiguration(c *call) error {
	checked, err := c.admin.CheckConfiguration(c.ctx, &adminv1.CheckConfigurationRequest{Yaml: strings.ReplaceAll(c.r.PostFormValue("yaml"), "\r\n", "\n")})
	if err != nil {
		return err
	}
	list := []typedMistake{}
	for _, m := range checked.GetMistakes() {
		list = append(list, typedMistake{m.GetLine(), m.GetMessage()})
	}
	text, err := json.Marshal(map[string]any{"mistakes": list, "warnings": append([]string{}, checked.GetWarnings()...)})
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	_, _ = c.w.Write(text) // the browser may have left
	return nil
}
