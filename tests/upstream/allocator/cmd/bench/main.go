// bench writes the benchmark's cases as JSON lines {"name","request"} to the file it is given, and
// prints what upstream's allocator needs for each: name, nanoseconds of CPU time, nanoseconds of the
// best batch, outcome, separated by tabs. See bench/allocator.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/structured/conformance"
	"k8s.io/utils/ptr"
)

const (
	driver  = "gpu.example.com"
	gpus    = 8
	giveUp  = 20 * time.Second
	minimum = 300 * time.Millisecond
)

var features = []string{"DRAAdminAccess", "DRAPrioritizedList", "DRAPartitionableDevices", "DRADeviceTaints", "DRAConsumableCapacity", "DRADeviceBindingConditions+DRAResourceClaimDeviceStatus"}

func text(s string) resourceapi.DeviceAttribute { return resourceapi.DeviceAttribute{StringValue: &s} }
func number(n int) resourceapi.DeviceAttribute {
	return resourceapi.DeviceAttribute{IntValue: ptr.To(int64(n))}
}

func basic(i, perGroup int) resourceapi.Device {
	d := resourceapi.Device{Name: fmt.Sprintf("gpu-%d", i), Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
		"index": number(i), "group": text(fmt.Sprint("g", i/perGroup)), "model": text("H100"), "uuid": text(fmt.Sprint("GPU-", i)),
	}, Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}}}
	for k := 0; k < 9; k++ {
		d.Attributes[resourceapi.QualifiedName(fmt.Sprintf("attribute-%d", k))] = text(fmt.Sprint("value-", k))
	}
	return d
}

func slice(name string) *resourceapi.ResourceSlice {
	s := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec.Driver, s.Spec.NodeName = driver, ptr.To("node")
	s.Spec.Pool = resourceapi.ResourcePool{Name: "node", Generation: 1, ResourceSliceCount: 1}
	return s
}

func basics(n, perGroup int) []*resourceapi.ResourceSlice {
	var out []*resourceapi.ResourceSlice
	for i := 0; i < n; i++ {
		if i%128 == 0 {
			out = append(out, slice(fmt.Sprintf("slice-%04d", i)))
		}
		s := out[len(out)-1]
		s.Spec.Devices = append(s.Spec.Devices, basic(i, perGroup))
	}
	for _, s := range out {
		s.Spec.Pool.ResourceSliceCount = int64(len(out))
	}
	return out
}

// The GPU instance profiles of an H100 with 80 GB: compute slices, memory slices, placements.
var profiles = []struct {
	name                           string
	compute, memory, decoders, ofa int
	starts                         []int
}{
	{"1g.10gb", 1, 1, 1, 0, []int{0, 1, 2, 3, 4, 5, 6}},
	{"1g.10gb+me", 1, 1, 1, 1, []int{0, 1, 2, 3, 4, 5, 6}},
	{"1g.20gb", 1, 2, 1, 0, []int{0, 2, 4, 6}},
	{"2g.20gb", 2, 2, 2, 0, []int{0, 2, 4}},
	{"3g.40gb", 3, 4, 3, 0, []int{0, 4}},
	{"4g.40gb", 4, 4, 4, 0, []int{0}},
	{"7g.80gb", 7, 8, 7, 1, []int{0}},
}

func counters(compute, memoryFirst, memory, decoders, ofa int) map[string]resourceapi.Counter {
	c := map[string]resourceapi.Counter{}
	set := func(name string, n int) {
		c[name] = resourceapi.Counter{Value: *resource.NewQuantity(int64(n), resource.DecimalSI)}
	}
	set("multiprocessors", compute*16)
	set("copy-engines", compute)
	set("decoders", decoders)
	set("ofa-engines", ofa)
	c["memory"] = resourceapi.Counter{Value: *resource.NewQuantity(int64(memory)<<30*10, resource.BinarySI)}
	for i := memoryFirst; i < memoryFirst+memory; i++ {
		set(fmt.Sprintf("memory-slice-%d", i), 1)
	}
	return c
}

// mig: eight GPUs with 25 partitions each, as the GPU driver publishes them: one slice with the
// counters and one per GPU.
func mig() []*resourceapi.ResourceSlice {
	sets := slice("a-counters")
	out := []*resourceapi.ResourceSlice{sets}
	for g := 0; g < gpus; g++ {
		name := fmt.Sprintf("gpu-%d", g)
		sets.Spec.SharedCounters = append(sets.Spec.SharedCounters, resourceapi.CounterSet{Name: name, Counters: counters(8, 0, 8, 7, 1)})
		s := slice("b-" + name)
		for _, p := range profiles {
			for _, start := range p.starts {
				d := basic(g, 1)
				d.Name = fmt.Sprintf("%s-mig-%s-%d", name, p.name, start)
				d.Attributes["type"], d.Attributes["profile"], d.Attributes["parent"] = text("mig"), text(p.name), text(name)
				d.ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: name, Counters: counters(p.compute, start, p.memory, p.decoders, p.ofa)}}
				s.Spec.Devices = append(s.Spec.Devices, d)
			}
		}
		out = append(out, s)
	}
	for _, s := range out {
		s.Spec.Pool.ResourceSliceCount = int64(len(out))
	}
	return out
}

func request(name string, count int64, selectors ...string) resourceapi.DeviceRequest {
	r := resourceapi.DeviceRequest{Name: name, Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count}}
	for _, s := range selectors {
		r.Exactly.Selectors = append(r.Exactly.Selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: s}})
	}
	return r
}

func requests(n int, selectors ...string) []resourceapi.DeviceRequest {
	var out []resourceapi.DeviceRequest
	for i := 0; i < n; i++ {
		out = append(out, request(fmt.Sprintf("r%d", i), 1, selectors...))
	}
	return out
}

func used(names ...string) conformance.Allocated {
	var a conformance.Allocated
	for _, n := range names {
		a.Devices = append(a.Devices, conformance.Device{Driver: driver, Pool: "node", Device: n})
	}
	return a
}

func firstGpus(n int) []string {
	var out []string
	for i := 0; i < n; i++ {
		out = append(out, fmt.Sprintf("gpu-%d", i))
	}
	return out
}

func onGpus(first, n int, partition string) []string {
	var out []string
	for g := first; g < n; g++ {
		out = append(out, fmt.Sprintf("gpu-%d-mig-%s", g, partition))
	}
	return out
}

func match(attribute string) []resourceapi.DeviceConstraint {
	return []resourceapi.DeviceConstraint{{MatchAttribute: ptr.To(resourceapi.FullyQualifiedName(driver + "/" + attribute))}}
}

func profile(name string) string {
	return fmt.Sprintf("device.attributes['%s'].profile == '%s'", driver, name)
}

type benchCase struct {
	Name    string               `json:"name"`
	Request *conformance.Request `json:"request"`
}

func makeCase(name string, slices []*resourceapi.ResourceSlice, allocated conformance.Allocated, constraints []resourceapi.DeviceConstraint, requests ...resourceapi.DeviceRequest) benchCase {
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	class.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: "device.driver == '" + driver + "'"}}}
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: "ns"}}
	claim.Spec.Devices.Requests, claim.Spec.Devices.Constraints = requests, constraints
	return benchCase{name, &conformance.Request{Features: features, Node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}},
		Classes: []*resourceapi.DeviceClass{class}, Slices: slices, Claims: []*resourceapi.ResourceClaim{claim}, Allocated: allocated}}
}

func cases() []benchCase {
	none := used()
	index := func(n int) string { return fmt.Sprintf("device.attributes['%s'].index == %d", driver, n) }
	out := []benchCase{
		makeCase("basic-10-empty", basics(10, 99), none, nil, request("r", 1)),
		makeCase("basic-10-half", basics(10, 99), used(firstGpus(5)...), nil, request("r", 1)),
		makeCase("basic-10-full", basics(10, 99), used(firstGpus(10)...), nil, request("r", 1)),
		makeCase("selector-first", basics(10, 99), none, nil, request("r", 1, index(0))),
		makeCase("selector-none", basics(10, 99), none, nil, request("r", 1, index(99))),
		makeCase("match-5-requests", basics(10, 5), none, match("group"), requests(5)...),
		makeCase("count-8-of-10", basics(10, 99), none, nil, request("r", 8)),
		makeCase("1024-devices-last", basics(1024, 9999), none, nil, request("r", 1, index(1023))),
		makeCase("mig-1g.10gb", mig(), none, nil, request("r", 1, profile("1g.10gb"))),
		makeCase("mig-7g.80gb-free", mig(), none, nil, request("r", 1, profile("7g.80gb"))),
		makeCase("mig-7g.80gb-blocked", mig(), used(onGpus(0, gpus, "1g.10gb-0")...), nil, request("r", 1, profile("7g.80gb"))),
		makeCase("mig-3x2g-one-parent", mig(), none, match("parent"), requests(3, profile("2g.20gb"))...),
	}
	for _, n := range []int{7, 8, 9, 10, 11} {
		out = append(out, makeCase(fmt.Sprintf("worst-%d-requests-%d-devices", n, n-1), basics(n-1, 99), none, nil, requests(n)...))
	}
	for _, n := range []int{12, 16, 20, 24} {
		out = append(out, makeCase(fmt.Sprintf("worst-count-%d-of-%d", n, n-1), basics(n-1, 99), none, nil, request("r", int64(n))))
	}
	for _, n := range []int{7, 8, 9, 10} {
		out = append(out, makeCase(fmt.Sprintf("worst-match-%d-requests", n), basics(2*n-2, n-1), none, match("group"), requests(n)...))
	}
	for _, n := range []int{14, 16, 18, 20} {
		out = append(out, makeCase(fmt.Sprintf("worst-match-count-%d", n), basics(2*n-2, n-1), none, match("group"), request("r", int64(n))))
	}
	small := fmt.Sprintf("device.attributes['%s'].profile.startsWith('1g.')", driver)
	out = append(out,
		makeCase("worst-mig-eight-1g-one-gpu", mig(), used(onGpus(1, gpus, "7g.80gb-0")...), nil, request("r", 8, small)),
		makeCase("worst-mig-18-of-16-3g", mig(), none, nil, request("r", 18, profile("3g.40gb"))))
	return out
}

func outcome(r conformance.Response) string {
	switch {
	case r.Error != "" || r.NodeError != "":
		return "error"
	case r.Results == nil:
		return "none"
	}
	return "fits"
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func main() {
	f, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	e := json.NewEncoder(f)
	all := cases()
	for _, c := range all {
		if err := e.Encode(c); err != nil {
			panic(err)
		}
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
	for _, c := range all {
		ctx, cancel := context.WithTimeout(context.Background(), giveUp)
		allocate, err := conformance.Prepare(ctx, c.Request)
		if err != nil {
			panic(err)
		}
		resp, err := allocate()
		// CPU time of the whole process counts what garbage collection costs; the best batch is what
		// an attempt takes when nothing comes between.
		best, batch, runs, begin, cpu := giveUp, 1, int64(0), time.Now(), cpuTime()
		for err == nil && (runs == 0 || time.Since(begin) < minimum) {
			start := time.Now()
			for i := 0; i < batch && err == nil; i++ {
				resp, err = allocate()
			}
			spent := time.Since(start)
			runs += int64(batch)
			best = min(best, spent/time.Duration(batch))
			if spent < time.Millisecond {
				batch *= 2
			}
		}
		cpu = cpuTime() - cpu
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			fmt.Printf("%s\t%d\t%d\tover\n", c.Name, giveUp.Nanoseconds(), giveUp.Nanoseconds())
			continue
		}
		fmt.Printf("%s\t%d\t%d\t%s\n", c.Name, cpu.Nanoseconds()/runs, best.Nanoseconds(), outcome(resp))
	}
}
