package console

import (
	"encoding/csv"
	"net/http"
	"strings"
)

// writeCSV answers with a table. A text that a spreadsheet would take for a formula begins with
// an apostrophe.
func (c *call) writeCSV(name string, rows [][]string) error {
	c.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	c.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	c.w.WriteHeader(http.StatusOK)
	out := csv.NewWriter(c.w)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = cellText(cell)
		}
		if err := out.Write(row); err != nil {
			return nil //nolint:nilerr // the browser has left
		}
	}
	out.Flush()
	return nil
}

func cellText(cell string) string {
	if strings.HasPrefix(cell, "-") && strings.Trim(cell, "-0123456789.") == "" {
		return cell // a figure
	}
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
