package shard

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestGateClosesWhenAllHaveLeftAndOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		g.enter()
		g.enter()
		if g.close(time.Second) {
			t.Fatal("closed around somebody")
		}
		g.enter() // it is open again
		left := 0
		go func() {
			for range 3 {
				time.Sleep(time.Second)
				left++
				g.leave()
			}
		}()
		if !g.close(time.Minute) || left != 3 {
			t.Fatalf("closed when %d of 3 had left", left)
		}
		in := false
		go func() {
			g.enter()
			in = true
			g.leave()
		}()
		synctest.Wait()
		if in {
			t.Error("somebody came in through a closed gate")
		}
		g.open()
		synctest.Wait()
		if !in {
			t.Error("nobody comes in through an open gate")
		}
	})
}
