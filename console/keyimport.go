package console

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
)

// maxMistakes bounds how many mistakes a page shows.
const maxMistakes = 20

// importColumns are the columns of genway keys import, without the capturing of bodies.
var importColumns = sync.OnceValue(func() string {
	columns := []string{"group", "name", "owner", "labels", "expire_time", "models", "addresses", "certificates"}
	for _, figure := range figures() {
		columns = append(columns, string(figure.Name()))
	}
	return strings.Join(append(columns, "budget_day", "budget_month", "strict", "priority"), ", ")
})

type importPage struct {
	Columns, CSV string
	Mistakes     []string
	// Checked is how many keys would be made, Made how many were, and Table their CSV, which is shown
	// once.
	Checked, Made int64
	Table         string
}

func importForm(c *call) error {
	c.show(http.StatusOK, "keyimport.html", "Import keys", importPage{Columns: importColumns()})
	return nil
}

// importKeys makes all keys of a CSV, or says what is wrong with it, by line.
func importKeys(c *call) error {
	text, err := c.importText()
	if err != nil {
		return err
	}
	p := importPage{Columns: importColumns(), CSV: text}
	list, lines, mistakes := readImport(text)
	if p.Mistakes = mistakes; len(mistakes) > 0 {
		c.show(http.StatusBadRequest, "keyimport.html", "Import keys", p)
		return nil
	}
	check := c.r.PostFormValue("do") != "import"
	made, err := c.admin.ImportKeys(c.ctx, &adminv1.ImportKeysRequest{Keys: list, ValidateOnly: check})
	if err != nil {
		if _, wrong := wrongInput(err); !wrong {
			return err
		}
		p.Mistakes = placed(err, lines)
		c.show(http.StatusBadRequest, "keyimport.html", "Import keys", p)
		return nil
	}
	if check {
		p.Checked = int64(len(list))
		c.show(http.StatusOK, "keyimport.html", "Import keys", p)
		return nil
	}
	var table strings.Builder
	out := csv.NewWriter(&table)
	_ = out.Write([]string{"id", "group", "name", "owner", "key"}) // a Builder takes everything
	for _, one := range made.GetKeys() {
		key := one.GetKey()
		_ = out.Write([]string{key.GetId(), groupNames(key), cellText(key.GetSettings().GetName()), cellText(key.GetSettings().GetOwner()), one.GetRawKey()})
	}
	out.Flush()
	c.show(http.StatusOK, "keyimport.html", "Imported keys", importPage{Made: int64(len(made.GetKeys())), Table: table.String()})
	return nil
}

// importText returns the CSV of a form: of its file, or what was pasted.
func (c *call) importText() (string, error) {
	file, _, err := c.r.FormFile("file")
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return "", &pageError{http.StatusRequestEntityTooLarge, fmt.Sprintf("The import is larger than %d bytes; genway keys import takes larger ones.", tooLarge.Limit)}
	}
	if err != nil { // none was chosen
		return c.r.PostFormValue("csv"), nil
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return "", err
	}
	if len(text) == 0 {
		return c.r.PostFormValue("csv"), nil
	}
	return string(text), nil
}

// readImport reads a CSV whose first line names its columns: the keys that it asks for, their lines, and
// what is wrong with it.
func readImport(text string) (list []*adminv1.CreateKeyRequest, lines []int, mistakes []string) {
	in := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	head, err := in.Read()
	if err != nil {
		return nil, nil, []string{"line 1: there is no first line that names the columns"}
	}
	known := strings.Split(importColumns(), ", ")
	for i, name := range head {
		head[i] = strings.TrimSpace(name)
		if at := slices.Index(head[:i], head[i]); at >= 0 || !slices.Contains(known, head[i]) {
			mistakes = append(mistakes, fmt.Sprintf("line 1: the column %s is unknown, or there twice; there are %s", quoted(head[i]), importColumns()))
		}
	}
	if !slices.Contains(head, "group") {
		mistakes = append(mistakes, "line 1: the column group is missing")
	}
	if len(mistakes) > 0 {
		return nil, nil, mistakes[:min(len(mistakes), maxMistakes)]
	}
	for len(mistakes) < maxMistakes {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, nil, append(mistakes, fmt.Sprintf("line %d: %v", wrong.Line, wrong.Err))
		}
		line, _ := in.FieldPos(0)
		one, err := importRow(head, cells)
		if err != nil {
			mistakes = append(mistakes, fmt.Sprintf("line %d: %v", line, err))
		}
		list, lines = append(list, one), append(lines, line)
	}
	if len(list) == 0 && len(mistakes) == 0 {
		mistakes = append(mistakes, "there is no key below the first line")
	}
	return list, lines, mistakes
}

// importRow reads the cells of a row as the fields of the form of one key.
func importRow(head, cells []string) (*adminv1.CreateKeyRequest, error) {
	of := map[string]string{}
	for i, name := range head {
		of[name] = strings.TrimSpace(cells[i])
	}
	groups := groupsOf(strings.Split(of["group"], ","))
	if slices.Contains(groups, adminv1.Group_GROUP_UNSPECIFIED) {
		return nil, fmt.Errorf("group: %s is no group", quoted(of["group"]))
	}
	for name, none := range map[string]string{"expire_time": "never", "budget_day": "none", "budget_month": "none"} {
		if of[name] == none {
			of[name] = ""
		}
	}
	var err error
	if of["strict"], err = oneOf("strict", of["strict"], map[string]string{"": "", "false": "", "no": "", "0": "", "true": "1", "yes": "1", "1": "1"}); err != nil {
		return nil, err
	}
	if of["batch"], err = oneOf("priority", of["priority"], map[string]string{"": "", "interactive": "", "batch": "1"}); err != nil {
		return nil, err
	}
	with, err := settingsOf(func(name string) string { return of[name] })
	if err != nil {
		return nil, err
	}
	with.Certificates = words(of["certificates"])
	for _, label := range strings.FieldsFunc(of["labels"], func(r rune) bool { return r == ',' }) {
		name, value, ok := strings.Cut(label, "=")
		name = strings.TrimSpace(name)
		if _, twice := with.Labels[name]; !ok || twice {
			return nil, fmt.Errorf("labels: expected NAME=VALUE between commas, each name once, got %s", quoted(label))
		}
		if with.Labels == nil {
			with.Labels = map[string]string{}
		}
		with.Labels[name] = strings.TrimSpace(value)
	}
	return &adminv1.CreateKeyRequest{Groups: groups, Settings: with}, nil
}

// oneOf translates one of some texts, in any case.
func oneOf(name, text string, known map[string]string) (string, error) {
	to, ok := known[strings.ToLower(text)]
	if !ok {
		return "", fmt.Errorf("%s: %s is unknown", name, quoted(text))
	}
	return to, nil
}

// quoted quotes a text of an import in an error, unless a key may be in it.
func quoted(text string) string {
	if strings.Contains(text, "gwk_") {
		return "[REDACTED]"
	}
	return fmt.Sprintf("%.80q", text)
}

// keyAt is how the Admin service names a member of one of the keys.
var keyAt = regexp.MustCompile(`^keys\[(\d+)\]\.(?:settings\.)?`)

// placed returns the mistakes that the Admin service found, with the lines of the CSV.
func placed(err error, lines []int) (mistakes []string) {
	st := status.Convert(err)
	for _, d := range st.Details() {
		bad, ok := d.(*errdetails.BadRequest)
		if !ok {
			continue
		}
		for _, v := range bad.GetFieldViolations() {
			where := v.GetField()
			if at := keyAt.FindStringSubmatch(where); at != nil {
				if n, err := strconv.Atoi(at[1]); err == nil && n < len(lines) {
					where = fmt.Sprintf("line %d: %s", lines[n], where[len(at[0]):])
				}
			}
			mistakes = append(mistakes, where+": "+v.GetDescription())
		}
	}
	if len(mistakes) == 0 {
		mistakes = append(mistakes, st.Message())
	}
	return mistakes
}
