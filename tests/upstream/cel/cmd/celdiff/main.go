// celdiff compares an engine with upstream's DRA package on given and on random selectors: the
// answer of the compiler with its messages, the match, run-time errors and both costs.
package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"celoracle/reference"
	"celoracle/wire"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/utils/ptr"
)

var (
	engineFlag = flag.String("engine", "", "command of the engine process")
	exprFlag   = flag.String("expressions", "", "file with selectors, one a line, compared first")
	countFlag  = flag.Int("n", 100000, "number of comparisons")
	seedFlag   = flag.Uint64("seed", 0, "seed of the random expressions (0: a new one)")
	showFlag   = flag.Int("show", 10, "number of differences shown")
	depthFlag  = flag.Int("depth", 3, "depth of the random expressions")
	syntaxFlag = flag.Int("syntax", 10, "percentage of damaged expressions")
	garbleFlag = flag.Int("garbled", 5, "percentage of expressions damaged until nothing makes sense")
	recordFlag = flag.String("record", "", "file for requests and upstream's answers, one pair a line (tests/cel/golden.jsonl)")
	perFlag    = flag.Int("devices", 5, "devices for each expression")
)

var typeVariable = regexp.MustCompile(`_var[0-9]+`)

type kind struct{ passed, failed, varied, panics int }

type run struct {
	engine    *wire.Engine
	selectors *reference.Selectors
	kinds     map[string]*kind
	shown     int
	last      string
	outcomes  map[string]int
	record    *os.File
}

func text(a wire.SelectorAnswer) string {
	b, err := wire.Marshal(a)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func outcome(a wire.SelectorAnswer) string {
	switch {
	case a.Phase != "":
		return a.Phase + " error"
	case a.Match != nil && *a.Match:
		return "match"
	}
	return "no match"
}

// compare asks both sides; it returns how many answers were compared, 1 or 0.
func (r *run) compare(group string, req *wire.SelectorRequest) int {
	k := r.kinds[group]
	if k == nil {
		k = &kind{}
		r.kinds[group] = k
	}
	want := r.selectors.Match(req)
	panicked := strings.HasPrefix(want.Error, "panic: ") || strings.HasPrefix(want.Error, "internal error: ")
	if r.record != nil && !panicked {
		line, _ := wire.Marshal(map[string]any{"request": req, "answer": want})
		fmt.Fprintln(r.record, string(line))
	}
	r.outcomes[outcome(want)]++
	var got wire.SelectorAnswer
	if err := r.engine.Call(req, &got); err != nil {
		got = wire.SelectorAnswer{Error: err.Error(), Phase: "engine"}
	}
	if text(want) == text(got) {
		k.passed++
		return 1
	}
	// Go code that panics: an error as good as any, nothing to copy.
	if panicked {
		if got.Phase != "engine" {
			k.panics++
			return 0
		}
	}
	// Go's maps have no order: what an expression over a map finds first may change each time, and
	// so do the numbers of type variables in messages, in each process anew.
	for range tries(k) {
		fresh := reference.NewSelectors().Match(req)
		if typeVariable.ReplaceAllString(text(fresh), "_var") == typeVariable.ReplaceAllString(text(got), "_var") {
			k.passed++
			k.varied++
			return 1
		}
	}
	k.failed++
	if r.shown < *showFlag && req.Expr != r.last {
		r.shown++
		r.last = req.Expr
		b, _ := wire.Marshal(req)
		fmt.Printf("%s\n  request  %s\n  upstream %s\n  engine   %s\n", req.Expr, b, text(want), text(got))
	}
	return 1
}

// tries is how often upstream is asked again: often enough that the rarest of some ten answers comes
// (with 20 one run in thirty called an equal answer different), seldom when everything differs.
func tries(k *kind) int {
	if k.failed < 10 {
		return 1000
	}
	return 20
}

func device(rng *rand.Rand) wire.Device {
	choose := func(s ...string) string { return s[rng.IntN(len(s))] }
	d := wire.Device{Driver: choose("gpu.example.com", "gpu.example.com", "other.com")}
	if rng.IntN(3) > 0 {
		d.AllowMultipleAllocations = ptr.To(rng.IntN(2) == 0)
	}
	d.Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{}
	d.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{}
	values := map[string]func() resourceapi.DeviceAttribute{
		"model": func() resourceapi.DeviceAttribute {
			return resourceapi.DeviceAttribute{StringValue: ptr.To(choose("A100-SXM4", "a", "", "gpu ünï", "1.2.3", "10.0.0.1"))}
		},
		"text": func() resourceapi.DeviceAttribute {
			return resourceapi.DeviceAttribute{StringValue: ptr.To(choose("a,b,c", "https://x.y/z", "2024-02-29T12:30:00Z"))}
		},
		"idx": func() resourceapi.DeviceAttribute {
			return resourceapi.DeviceAttribute{IntValue: ptr.To(rng.Int64N(9) - 2)}
		},
		"ok": func() resourceapi.DeviceAttribute {
			return resourceapi.DeviceAttribute{BoolValue: ptr.To(rng.IntN(2) == 0)}
		},
		"ver": func() resourceapi.DeviceAttribute {
			return resourceapi.DeviceAttribute{VersionValue: ptr.To(choose("1.2.3", "570.86.15", "2.0.0-rc.1+b"))}
		},
		"ints": func() resourceapi.DeviceAttribute {
			return resourceapi.DeviceAttribute{IntValues: []int64{rng.Int64N(3), 2, -1}[:1+rng.IntN(3)]}
		},
		"bools": func() resourceapi.DeviceAttribute {
			return resourceapi.DeviceAttribute{BoolValues: []bool{true, false}}
		},
		"strings": func() resourceapi.DeviceAttribute {
			return resourceapi.DeviceAttribute{StringValues: []string{"a", choose("b", "c")}}
		},
		"versions": func() resourceapi.DeviceAttribute {
			return resourceapi.DeviceAttribute{VersionValues: []string{"1.2.3", "0.9.0"}}
		},
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, domain := range []string{"", "other.com/"} {
			// Of a name and its qualified twin upstream takes one at random.
			if strings.TrimSuffix(domain, "/") != d.Driver && rng.IntN(4) > 0 {
				d.Attributes[resourceapi.QualifiedName(domain+name)] = values[name]()
			}
		}
	}
	switch rng.IntN(300) {
	case 0:
		d.Attributes["broken"] = resourceapi.DeviceAttribute{}
	case 1:
		d.Attributes["broken"] = resourceapi.DeviceAttribute{VersionValue: ptr.To("1.x")}
	}
	for _, name := range []string{"memory", "cores", "other.com/memory"} {
		if !strings.HasPrefix(name, d.Driver+"/") && rng.IntN(4) > 0 {
			d.Capacity[resourceapi.QualifiedName(name)] = resourceapi.DeviceCapacity{Value: resource.MustParse(choose("40Gi", "80G", "132", "1500m", "0", "12E"))}
		}
	}
	return d
}

func main() {
	flag.Parse()
	failed, err := compareAll()
	if err != nil {
		fmt.Fprintln(os.Stderr, "celdiff:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func compareAll() (int, error) {
	engine, err := wire.NewEngine(*engineFlag, 10*time.Second)
	if err != nil {
		return 0, err
	}
	defer engine.Close()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	base, err := environment.MustBaseEnvSet(version.MajorMinor(1, 37)).Env(environment.StoredExpressions)
	if err != nil {
		return 0, err
	}
	g := newGenerator(base, seed)
	r := &run{engine: engine, selectors: reference.NewSelectors(), kinds: map[string]*kind{}, outcomes: map[string]int{}}
	if *recordFlag != "" {
		if r.record, err = os.Create(*recordFlag); err != nil {
			return 0, err
		}
		defer r.record.Close()
	}

	request := func(expr string) *wire.SelectorRequest {
		req := &wire.SelectorRequest{Op: "selector", Expr: expr, Features: []string{}, Env: pick(g, wire.EnvStored, wire.EnvStored, wire.EnvNew)}
		if g.chance(50) {
			req.Features = append(req.Features, wire.ConsumableCapacity)
		}
		if g.chance(50) {
			req.Features = append(req.Features, wire.ListTypeAttributes)
		}
		return req
	}
	var given []string
	if *exprFlag != "" {
		b, err := os.ReadFile(*exprFlag)
		if err != nil {
			return 0, err
		}
		for _, line := range strings.Split(string(b), "\n") {
			if strings.TrimSpace(line) != "" {
				given = append(given, line)
			}
		}
	}
	done := 0
	for _, expr := range given {
		for range 4 {
			req := request(expr)
			for range *perFlag {
				req.Device = device(g.rng)
				done += r.compare("given selectors", req)
			}
		}
	}
	for i := 0; done < *countFlag; i++ {
		if i%500 == 0 {
			r.selectors = reference.NewSelectors()
		}
		expr := g.selector(1 + g.rng.IntN(*depthFlag))
		group, devices := "random selectors", *perFlag
		if g.chance(*syntaxFlag) {
			if len(given) > 0 && g.chance(50) {
				expr = pick(g, given...)
			}
			expr = g.mutated(expr)
			group, devices = "damaged selectors", 1
		} else if g.chance(*garbleFlag) {
			if len(given) > 0 && g.chance(70) {
				expr = pick(g, given...)
			}
			expr = g.garbled(expr)
			group, devices = "garbled selectors", 1
		}
		req := request(expr)
		for range devices {
			req.Device = device(g.rng)
			done += r.compare(group, req)
		}
	}
	never := []string{}
	for _, o := range g.overloads {
		if g.used[o.id] == 0 {
			never = append(never, o.id)
		}
	}
	fmt.Printf("seed %d; %d of %d overloads called", seed, len(g.overloads)-len(never), len(g.overloads))
	if len(never) > 0 {
		fmt.Printf(", not: %s", strings.Join(never, " "))
	}
	fmt.Println()
	for _, name := range slices.Sorted(maps.Keys(r.outcomes)) {
		fmt.Printf("upstream: %-15s %8d\n", name, r.outcomes[name])
	}
	// Each overload of each library has to have been called.
	total := kind{failed: len(never)}
	for _, name := range slices.Sorted(maps.Keys(r.kinds)) {
		k := r.kinds[name]
		fmt.Printf("%-18s %8d equal (%d of them one of several answers of upstream), %d different, %d left out (upstream panics)\n",
			name, k.passed, k.varied, k.failed, k.panics)
		total.passed += k.passed
		total.failed += k.failed
	}
	fmt.Printf("celdiff: %d passed, %d failed\n", total.passed, total.failed)
	return total.failed, nil
}
