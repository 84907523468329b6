// Package reconcile proves a ledger: against what a caller or an upstream has recorded of
// the same requests, and against itself.
//
// It must not import a store: what it reads comes by ledger.Store.
package reconcile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/ledger"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Answers are the records of a file, summed up.
type Answers struct {
	// By are the columns that identify the records, Figures those that are compared.
	By, Figures []string
	rows        map[string]*ledger.Row
}

// record is one line of a file: its columns' values, absent ones left out.
type record map[string]string

// Read reads NDJSON, an object a line, or CSV with a header line. Columns that are not
// asked for are passed over; what is compared is in the result. Times of days may be
// whole times of UTC. Errors say the line.
func Read(name string, from io.Reader, columns Columns) (*Answers, error) {
	in := bufio.NewReader(from)
	first, err := in.Peek(1)
	if err != nil {
		return nil, fmt.Errorf("%s: there is nothing in it", name)
	}
	a := &Answers{rows: map[string]*ledger.Row{}}
	add := func(line int, r record) error {
		if err := a.add(r, columns); err != nil {
			return fmt.Errorf("%s:%d: %w", name, line, err)
		}
		return nil
	}
	if bytes.ContainsAny(first, "{ \n") {
		err = readNDJSON(in, name, add)
	} else {
		err = readCSV(in, name, add)
	}
	return a, err
}

func readNDJSON(in *bufio.Reader, name string, add func(int, record) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var members map[string]jsontext.Value
		if err := json.Unmarshal(lines.Bytes(), &members); err != nil {
			return fmt.Errorf("%s:%d: it is no object: %w", name, n, err)
		}
		r := record{}
		for member, value := range members {
			switch value.Kind() {
			case 'n':
			case '"':
				text, err := jsontext.AppendUnquote(nil, value)
				if err != nil {
					return fmt.Errorf("%s:%d: %s: %w", name, n, member, err)
				}
				r[member] = string(text)
			default:
				r[member] = string(value)
			}
		}
		if err := add(n, r); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func readCSV(in *bufio.Reader, name string, add func(int, record) error) error {
	lines := csv.NewReader(in)
	header, err := lines.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	header[0] = strings.TrimPrefix(header[0], "\uFEFF")
	for {
		values, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r := record{}
		for i, v := range values {
			if v != "" {
				r[header[i]] = v
			}
		}
		line, _ := lines.FieldPos(0)
		if err := add(line, r); err != nil {
			return err
		}
	}
}

// add adds a record. The first says which columns there are.
func (a *Answers) add(r record, columns Columns) error {
	if a.By == nil {
		if err := a.choose(r, columns); err != nil {
			return err
		}
	}
	var key []string
	for _, by := range a.By {
		value := r[columns.theirs(by)[0]]
		if by == string(ledger.ByDay) {
			day, err := dayOf(value)
			if err != nil {
				return err
			}
			value = day
		}
		key = append(key, value)
	}
	row := a.row(key)
	for _, f := range figures {
		if !slices.Contains(a.Figures, f.name) {
			continue
		}
		if f.name == "requests" && slices.Contains(a.By, RequestID) {
			row.Requests++
			continue
		}
		for _, column := range columns.theirs(f.name) {
			n, err := number(f.name, r[column])
			if err != nil {
				return fmt.Errorf("%s: %w", column, err)
			}
			*f.of(row) = amount.Sum(*f.of(row), n)
		}
	}
	return nil
}

// choose takes the columns that a record has.
func (a *Answers) choose(r record, columns Columns) error {
	has := func(ours string) (bool, error) {
		theirs := columns.theirs(ours)
		if _, mapped := columns[ours]; !mapped {
			_, ok := r[theirs[0]]
			return ok, nil
		}
		for _, column := range theirs {
			if _, ok := r[column]; !ok {
				return false, fmt.Errorf("there is no column %q, which is to be %s", column, ours)
			}
		}
		return true, nil
	}
	for _, name := range identities() {
		ok, err := has(name)
		if err != nil {
			return err
		}
		// A request's identifier is enough.
		if ok && !slices.Contains(a.By, RequestID) {
			a.By = append(a.By, name)
		}
	}
	for _, f := range figures {
		ok, err := has(f.name)
		if err != nil {
			return err
		}
		if ok || f.name == "requests" && slices.Contains(a.By, RequestID) {
			a.Figures = append(a.Figures, f.name)
		}
	}
	if len(a.By) == 0 {
		return fmt.Errorf("no column identifies the records; expected one of %s, or --column OURS=THEIRS", strings.Join(identities(), ", "))
	}
	if len(a.Figures) == 0 {
		return errors.New("no column can be compared; expected input_tokens, output_tokens or the like, or --column OURS=THEIRS")
	}
	return nil
}

// separator is in no value: stores keep no zero bytes.
const separator = "\x00"

func (a *Answers) row(values []string) *ledger.Row {
	key := strings.Join(values, separator)
	row := a.rows[key]
	if row == nil {
		row = &ledger.Row{Values: values}
		a.rows[key] = row
	}
	return row
}
