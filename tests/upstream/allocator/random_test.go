package conformance

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
)

// mask removes what is random, and forms that mean the same.
func mask(results []resourceapi.AllocationResult) string {
	for i := range results {
		results[i].AllocationTimestamp = nil
		for j := range results[i].Devices.Results {
			r := &results[i].Devices.Results[j]
			if r.ShareID != nil {
				r.ShareID = nil
				r.Request += " (share)"
			}
		}
	}
	b, err := json.Marshal(results)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func class(r Response) string {
	switch {
	case r.Error != "":
		return "error"
	case r.NodeError != "":
		return "nodeError"
	case r.Results == nil:
		return "none"
	}
	return "results"
}

func setting(t *testing.T, name string, fallback int64) int64 {
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// text is the request of a case, which is asked cold, and again with what was remembered.
func text(t *testing.T, req *Request, again bool) []byte {
	req.Again = again
	b, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRandom compares random cases with upstream's allocator. CASES is their number, SEED the first
// one's seed; every case is reproducible from its own seed.
func TestRandom(t *testing.T) {
	pipe := start(t)
	cases, first := setting(t, "CASES", 20000), setting(t, "SEED", 1)
	counts := map[string]int{}
	var slow, different int64
	var theirs, ours time.Duration
	for seed := first; seed < first+cases; seed++ {
		generated := generate(rand.New(rand.NewSource(seed)))
		line, again := text(t, generated, false), text(t, generated, true)
		// Both see what JSON holds: the case is read back before upstream gets it.
		var req Request
		if err := json.Unmarshal(line, &req); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		want, gaveUp := Upstream(&req)
		theirs += time.Since(begin)
		if gaveUp {
			slow++
			continue
		}
		counts[class(want)]++
		equal := true
		for _, request := range [][]byte{line, again} {
			begin = time.Now()
			answer, err := pipe.Line(request)
			ours += time.Since(begin)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			var got Response
			if err := json.Unmarshal(answer, &got); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if class(got) == class(want) && mask(got.Results) == mask(want.Results) {
				continue
			}
			equal = false
			if different < 20 {
				t.Errorf("seed %d:\n  upstream %s %s%s%s\n  ours     %s %s%s%s", seed,
					class(want), want.Error, want.NodeError, mask(want.Results),
					class(got), got.Error, got.NodeError, mask(got.Results))
				if os.Getenv("SHOW") != "" {
					fmt.Printf("%s\n", request)
				}
			}
		}
		if !equal {
			different++
		}
	}
	fmt.Printf("random: %d cases, %v, %d over %v upstream (not compared), %d different; upstream %v, ours with the pipe %v\n",
		cases, counts, slow, patience, different, theirs.Round(time.Millisecond), ours.Round(time.Millisecond))
}
