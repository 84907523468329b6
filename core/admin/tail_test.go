package admin

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/core/ledger"
)

// busy is a ledger in which each of some reads finds as many entries.
type busy struct {
	ledger.Searcher

	began       bool
	reads, each int
	made        int64
}

func (b *busy) Tail(context.Context, *ledger.Cursor) (ended []ledger.Located, dropped int64, err error) {
	if !b.began || b.reads == 0 { // the first read finds where the ledger is
		b.began = true
		return nil, 0, nil
	}
	b.reads--
	for range b.each {
		b.made++
		ended = append(ended, ledger.Located{Process: 1, Entry: &ledger.Entry{Number: b.made}})
	}
	return ended, 1, nil // of each read one more was passed over
}

// Case X73: a viewer that does not read keeps a bounded number of reads waiting and learns how many
// requests it has missed, as soon as it reads, although no more have ended. The others miss nothing.
func TestViewersThatDoNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const reads, each, many = 100, 50, 200
		tail := &tail{requests: &busy{reads: reads, each: each}}
		stuck := tail.join()
		var readers []*viewer
		for range many {
			readers = append(readers, tail.join())
		}
		type sum struct{ seen, dropped int64 }
		sums := make([]sum, many)
		over := make(chan struct{})
		ended := make(chan struct{}, many)
		for i, v := range readers {
			go func() {
				defer func() { ended <- struct{}{} }()
				for {
					select {
					case s := <-v.queue:
						sums[i].seen += int64(len(s.entries))
						sums[i].dropped += s.dropped
					case <-over:
						return
					}
				}
			}()
		}
		time.Sleep((reads + 10) * tailEvery) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		if n := len(stuck.queue); n != tailQueue {
			t.Errorf("%d reads wait for a viewer that does not read", n)
		}
		var late sum
		for range tailQueue {
			s := <-stuck.queue
			late.seen += int64(len(s.entries))
			late.dropped += s.dropped
		}
		time.Sleep(2 * tailEvery) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		select {
		case s := <-stuck.queue:
			late.dropped += s.dropped
			if len(s.entries) != 0 {
				t.Errorf("%d entries of nothing", len(s.entries))
			}
		default:
			t.Error("it does not learn what it has missed")
		}
		if late.seen != tailQueue*each || late.seen+late.dropped != reads*(each+1) {
			t.Errorf("it has seen %d and missed %d of %d", late.seen, late.dropped, reads*(each+1))
		}
		close(over)
		for range many {
			<-ended
		}
		for i, s := range sums {
			if s.seen != reads*each || s.dropped != reads {
				t.Fatalf("viewer %d has seen %d and missed %d", i, s.seen, s.dropped)
			}
		}
		for _, v := range append(readers, stuck) {
			tail.leave(v)
		}
		if len(tail.viewers) != 0 {
			t.Errorf("%d viewers stay", len(tail.viewers))
		}
	})
}
