//go:build unix

package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store"
)

// childVariable makes the test binary a process that opens the database it names.
const childVariable = "GENWAY_STORE_TEST_CHILD"

// child opens the database and mints the first keys, if it is the first. It prints
// a line when it is ready and one with the outcome, and starts at the end of its
// input, so that several start at once.
func child(location string) int {
	fmt.Fprintln(os.Stdout, "ready")
	if _, err := os.Stdin.Read(make([]byte, 1)); err == nil {
		return 2
	}
	if err := mint(location); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	return 0
}

func mint(location string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := store.Open(ctx, store.Config{Location: location})
	if err != nil {
		return err
	}
	defer s.Close()
	service, err := keys.New(keys.Config{Store: s.Keys()})
	if err != nil {
		return err
	}
	_, first, err := service.MintDefaults(ctx, nil)
	fmt.Fprintln(os.Stdout, "first:", first)
	return err
}

// Processes that start at once on a directory that does not exist yet all succeed,
// and one of them mints.
func TestManyProcesses(t *testing.T) {
	onEachEmpty(t, func(t *testing.T, location string) {
		const processes = 4
		outputs := make([]bytes.Buffer, processes)
		var ready, ended sync.WaitGroup
		start := make(chan struct{})
		for n := range processes {
			ready.Add(1)
			ended.Go(func() {
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), childVariable+"="+location)
				stdin, err := cmd.StdinPipe()
				if err != nil {
					t.Error(err)
				}
				stdout, err := cmd.StdoutPipe()
				if err != nil {
					t.Error(err)
				}
				err = cmd.Start()
				if err == nil {
					_, err = stdout.Read(make([]byte, len("ready\n")))
				}
				ready.Done()
				if err != nil {
					t.Errorf("start process %d: %v", n, err)
					return
				}
				<-start
				stdin.Close()
				_, readErr := outputs[n].ReadFrom(stdout)
				if err := errors.Join(readErr, cmd.Wait()); err != nil {
					t.Errorf("process %d: %v\n%s", n, err, &outputs[n])
				}
			})
		}
		ready.Wait()
		close(start)
		ended.Wait()

		firsts := 0
		for n := range outputs {
			firsts += strings.Count(outputs[n].String(), "first: true")
		}
		if firsts != 1 {
			t.Errorf("%d processes were first", firsts)
		}
		list, err := opened(t, location).Keys().List(t.Context(), keys.Query{Limit: 1000})
		if err != nil || len(list) != len(keys.Groups())-1 { // none of the group admin
			t.Errorf("%d keys, %v", len(list), err)
		}
	})
}

// The same within one process, whose locks are another matter.
func TestManyHandles(t *testing.T) {
	onEachEmpty(t, func(t *testing.T, location string) {
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				s, err := store.Open(t.Context(), store.Config{Location: location})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := s.Keys().List(t.Context(), keys.Query{Limit: 1000}); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	})
}
