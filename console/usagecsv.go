package console

import (
	"strconv"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// usageCSV returns all rows, with all figures of both periods.
func usageCSV(c *call) error {
	q, err := c.usageQuery()
	if err != nil {
		return err
	}
	report, err := c.usageRows(q)
	if err != nil {
		return err
	}
	var figures []protoreflect.FieldDescriptor
	fields := (&adminv1.UsageRow{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Kind() == protoreflect.Int64Kind {
			figures = append(figures, f)
		}
	}
	head := []string{usageBy[q.by].value}
	for _, behind := range []string{"", "_before"} {
		for _, f := range figures {
			head = append(head, string(f.Name())+behind)
		}
		for _, name := range firstEventColumns {
			head = append(head, name+behind)
		}
	}
	if usageBy[q.by].value == "key" {
		head = append(head, "name")
	}
	table := [][]string{head}
	for _, r := range report.rows {
		row := []string{r.Name}
		for _, of := range []*adminv1.UsageRow{r.UsageRow, r.Before} {
			for _, f := range figures {
				row = append(row, strconv.FormatInt(of.ProtoReflect().Get(f).Int(), 10))
			}
			row = append(row, firstEventCells(of.GetFirstEvents())...)
		}
		if usageBy[q.by].value == "key" {
			row = append(row, r.Title)
		}
		table = append(table, row)
	}
	return c.writeCSV("genway-usage.csv", table)
}
