package conformance

import (
	"fmt"
	"math/rand"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

var allFeatures = []string{
	"DRAAdminAccess", "DRADeviceCompatibilityGroups", "DRAConsumableCapacity", "DRADerivedAttributes",
	"DRADeviceTaints", "DRAFractionalCapacityRange", "DRAListTypeAttributes", "DRAOptionalNodeOperations",
	"DRAPartitionableDevices", "DRAPrioritizedList", "DRADeviceBindingConditions+DRAResourceClaimDeviceStatus",
}

// generator makes one case. Sizes are small, so that upstream's search ends, and names are few, so
// that things collide.
type generator struct {
	*rand.Rand
	req     Request
	on      map[string]bool
	devices []Device // every device there is
	sharing map[Device]bool
	driver  []string
	easy    bool // few things go wrong: most of such cases have a solution
}

func (g *generator) chance(percent int) bool { return g.Intn(100) < percent }

func pick[T any](g *generator, list ...T) T { return list[g.Intn(len(list))] }

func generate(r *rand.Rand) *Request {
	g := &generator{Rand: r, on: map[string]bool{}, sharing: map[Device]bool{}, driver: []string{"a.example.com", "b.example.com"}}
	g.easy = g.chance(50)
	g.features()
	g.node()
	for i := 0; i < 2; i++ {
		g.req.Classes = append(g.req.Classes, g.class(fmt.Sprintf("class-%d", i)))
	}
	for n := 1 + g.Intn(3); n > 0; n-- {
		g.pool(n)
	}
	g.Shuffle(len(g.req.Slices), func(i, j int) { g.req.Slices[i], g.req.Slices[j] = g.req.Slices[j], g.req.Slices[i] })
	for n, i := pick(g, 1, 1, 1, 2, 3), 0; i < n; i++ {
		g.req.Claims = append(g.req.Claims, g.claim(i))
	}
	g.allocated()
	return &g.req
}

func (g *generator) features() {
	g.req.Features = []string{}
	mode := g.Intn(10)
	if g.easy {
		mode %= 6
	}
	for _, f := range allFeatures {
		on := true
		switch {
		case mode < 5:
		case mode < 9:
			on = g.chance(93)
		default:
			on = g.chance(50)
		}
		if on {
			g.req.Features = append(g.req.Features, f)
			g.on[f] = true
		}
	}
}

func (g *generator) node() {
	g.req.Node = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0", Labels: map[string]string{"zone": pick(g, "a", "b"), "n": pick(g, "1", "5", "x")}}}
	if g.chance(50) {
		g.req.Node.Status.DeclaredFeatures = []string{"DRAOptionalNodeOperations"}
	}
}

func selector(expression string) resourceapi.DeviceSelector {
	return resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}
}

func (g *generator) expression() string {
	d := pick(g, g.driver...)
	n := g.Intn(100)
	if g.easy {
		n = n * 88 / 100 // without those that may fail
	}
	switch {
	case n < 34 || g.easy && g.chance(30):
		return "true"
	case n < 46:
		return fmt.Sprintf("device.driver == '%s'", d)
	case n < 64:
		return fmt.Sprintf("device.attributes['%s'].?kind.orValue('') == '%s'", d, pick(g, "x", "y"))
	case n < 76:
		return fmt.Sprintf("'memory' in device.capacity['%s'] && device.capacity['%s'].memory.compareTo(quantity('%s')) >= 0", d, d, pick(g, "1Gi", "4Gi", "8Gi"))
	case n < 86:
		return fmt.Sprintf("has(device.attributes['%s'].index) && device.attributes['%s'].index < %d", d, d, g.Intn(4))
	case n < 92:
		return fmt.Sprintf("device.driver != '%s' || device.attributes['%s'].kind != 'y'", d, d)
	case n < 94:
		return fmt.Sprintf("device.attributes['%s'].kind == 'x'", d) // fails where there is none
	case n < 98 && g.on["DRAConsumableCapacity"]:
		return "device.allowMultipleAllocations"
	default:
		return "false"
	}
}

func (g *generator) config(name string) resourceapi.DeviceConfiguration {
	return resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{Driver: pick(g, g.driver...), Parameters: runtime.RawExtension{Raw: []byte(fmt.Sprintf(`{"name":"%s"}`, name))}}}
}

func (g *generator) class(name string) *resourceapi.DeviceClass {
	c := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if g.chance(45) {
		c.Spec.Selectors = append(c.Spec.Selectors, selector(g.expression()))
	}
	if g.chance(10) {
		c.Spec.ExtendedResourceName = ptr.To("example.com/" + name)
	}
	for n := g.Intn(3); n > 0; n-- {
		c.Spec.Config = append(c.Spec.Config, resourceapi.DeviceClassConfiguration{DeviceConfiguration: g.config(name)})
	}
	return c
}

func (g *generator) nodeSelector() *v1.NodeSelector {
	var term v1.NodeSelectorTerm
	if g.chance(70) {
		term.MatchExpressions = append(term.MatchExpressions, pick(g,
			v1.NodeSelectorRequirement{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{"a"}},
			v1.NodeSelectorRequirement{Key: "zone", Operator: v1.NodeSelectorOpNotIn, Values: []string{"b"}},
			v1.NodeSelectorRequirement{Key: "zone", Operator: v1.NodeSelectorOpExists},
			v1.NodeSelectorRequirement{Key: "n", Operator: v1.NodeSelectorOpGt, Values: []string{"3"}},
			v1.NodeSelectorRequirement{Key: "n", Operator: v1.NodeSelectorOpLt, Values: []string{"3"}}))
	}
	if g.chance(30) {
		term.MatchFields = append(term.MatchFields, v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{pick(g, "node-0", "node-0", "node-1")}})
	}
	s := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}
	if g.chance(5) {
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpExists}}})
	}
	if g.chance(2) {
		s.NodeSelectorTerms[0].MatchExpressions = append(s.NodeSelectorTerms[0].MatchExpressions, v1.NodeSelectorRequirement{Key: "zone", Operator: "Odd"})
	}
	return s
}

func (g *generator) pool(number int) {
	driver := pick(g, g.driver...)
	pool := fmt.Sprintf("pool-%d", number)
	partitions := g.chance(45)
	generation := int64(1)
	slices := 1 + g.Intn(3)
	var made []*resourceapi.ResourceSlice
	device := 0
	kind := g.Intn(10)
	for i := 0; i < slices; i++ {
		s := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%s-%d", pick(g, "s", "t"), pool, i)}}
		s.Spec.Driver = driver
		s.Spec.Pool = resourceapi.ResourcePool{Name: pool, Generation: generation, ResourceSliceCount: int64(slices)}
		switch {
		case kind < 6:
			s.Spec.NodeName = ptr.To("node-0")
			if g.chance(5) {
				s.Spec.NodeName = ptr.To("node-1")
			}
		case kind < 7:
			s.Spec.AllNodes = ptr.To(true)
		case kind < 8:
			s.Spec.NodeSelector = g.nodeSelector()
		default:
			s.Spec.PerDeviceNodeSelection = ptr.To(true)
		}
		for n := 1 + g.Intn(5) + pick(g, 0, 0, 0, 2); n > 0; n-- {
			name := fmt.Sprintf("dev-%d", device)
			if !g.easy && g.chance(2) && device > 0 {
				name = fmt.Sprintf("dev-%d", device-1)
			}
			device++
			s.Spec.Devices = append(s.Spec.Devices, g.device(driver, pool, name, partitions, s.Spec.PerDeviceNodeSelection != nil))
		}
		if g.chance(8) {
			s.Spec.SkipNodeOperations = []resourceapi.SkipNodeOperation{"*"}
		}
		made = append(made, s)
	}
	if partitions {
		c := made[0].DeepCopy()
		c.Name = pick(g, "a", "z") + "-" + pool + "-counters"
		c.Spec.Devices, c.Spec.SkipNodeOperations = nil, nil
		for n := 1 + g.Intn(2); n > 0; n-- {
			c.Spec.SharedCounters = append(c.Spec.SharedCounters, resourceapi.CounterSet{Name: fmt.Sprintf("set-%d", n), Counters: map[string]resourceapi.Counter{
				"memory": {Value: resource.MustParse(pick(g, "4", "8", "10Gi", "6500m", "20Gi", "2000000000000000000000000000003"))}, "cores": {Value: *resource.NewQuantity(int64(1+g.Intn(6)), resource.DecimalSI)}}})
		}
		if g.chance(50) {
			c.Spec.NodeName, c.Spec.NodeSelector, c.Spec.PerDeviceNodeSelection = nil, nil, nil
			c.Spec.AllNodes = ptr.To(true)
		}
		for _, s := range made {
			s.Spec.Pool.ResourceSliceCount++
		}
		c.Spec.Pool.ResourceSliceCount = made[0].Spec.Pool.ResourceSliceCount
		made = append(made, c)
	}
	if g.easy {
		g.req.Slices = append(g.req.Slices, made...)
		return
	}
	if g.chance(4) { // still being written
		made = made[1:]
	}
	if g.chance(4) && len(made) > 0 { // a slice of the generation before
		old := made[g.Intn(len(made))].DeepCopy()
		old.Name += "-old"
		old.Spec.Pool.Generation = 0
		made = append(made, old)
	}
	if g.chance(2) && len(made) > 0 {
		made[g.Intn(len(made))].Spec.Pool.Generation = 2
	}
	if g.chance(2) && len(made) > 0 {
		made[g.Intn(len(made))].Spec.Pool.ResourceSliceCount++
	}
	g.req.Slices = append(g.req.Slices, made...)
}

func (g *generator) attribute() resourceapi.DeviceAttribute {
	if g.on["DRAListTypeAttributes"] && g.chance(20) {
		return pick(g, resourceapi.DeviceAttribute{StringValues: []string{"g0", "g1"}}, resourceapi.DeviceAttribute{StringValues: []string{"g1", "g2"}}, resourceapi.DeviceAttribute{IntValues: []int64{1, 2}})
	}
	switch n := g.Intn(20); {
	case n < 16:
		return resourceapi.DeviceAttribute{StringValue: ptr.To(fmt.Sprintf("g%d", g.Intn(3)))}
	case n < 17:
		return resourceapi.DeviceAttribute{IntValue: ptr.To(int64(g.Intn(2)))}
	case n < 18:
		return resourceapi.DeviceAttribute{BoolValue: ptr.To(g.chance(50))}
	default:
		return resourceapi.DeviceAttribute{VersionValue: ptr.To(pick(g, "1.0.0", "2.0.0"))}
	}
}

func (g *generator) device(driver, pool, name string, partitions, perDevice bool) resourceapi.Device {
	d := resourceapi.Device{Name: name, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{}, Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{}}
	id := Device{Driver: driver, Pool: pool, Device: name}
	g.devices = append(g.devices, id)
	if g.chance(85) {
		d.Attributes["kind"] = resourceapi.DeviceAttribute{StringValue: ptr.To(pick(g, "x", "y"))}
	}
	if g.chance(70) {
		d.Attributes["index"] = resourceapi.DeviceAttribute{IntValue: ptr.To(int64(g.Intn(4)))}
	}
	if g.chance(92) {
		d.Attributes[pick[resourceapi.QualifiedName](g, "group", "group", resourceapi.QualifiedName(driver+"/group"), "a.example.com/group")] = g.attribute()
	}
	shared := g.chance(25)
	if shared {
		d.AllowMultipleAllocations = ptr.To(true)
		g.sharing[id] = true
	}
	if g.chance(75) {
		d.Capacity["memory"] = g.capacity(shared)
	}
	if g.chance(10) {
		d.Capacity["bandwidth"] = g.capacity(shared)
	}
	if partitions && g.chance(80) {
		c := resourceapi.DeviceCounterConsumption{CounterSet: "set-1", Counters: map[string]resourceapi.Counter{"memory": {Value: resource.MustParse(pick(g, "1", "2", "4", "2Gi", "500m", "1000000000000000000000000000001"))}}}
		if g.chance(60) {
			c.Counters["cores"] = resourceapi.Counter{Value: *resource.NewQuantity(int64(g.Intn(3)), resource.DecimalSI)}
		}
		if g.chance(1) {
			c.CounterSet = "set-9"
		}
		if g.chance(12) {
			c.CompatibilityGroups = pick(g, []string{"c1"}, []string{"c2"}, []string{"c1", "c2"})
		}
		d.ConsumesCounters = append(d.ConsumesCounters, c)
		if g.chance(15) { // of the other set too, which may not be there
			d.ConsumesCounters = append(d.ConsumesCounters, resourceapi.DeviceCounterConsumption{CounterSet: "set-2", Counters: map[string]resourceapi.Counter{"cores": {Value: *resource.NewQuantity(1, resource.DecimalSI)}}})
		}
	}
	if perDevice {
		switch g.Intn(4) {
		case 0:
			d.NodeSelector = g.nodeSelector()
		case 1:
			d.AllNodes = ptr.To(true)
		default:
			d.NodeName = ptr.To(pick(g, "node-0", "node-0", "node-1"))
		}
	}
	if g.chance(12) {
		d.Taints = append(d.Taints, resourceapi.DeviceTaint{Key: pick(g, "k1", "k2"), Value: pick(g, "", "v"), Effect: pick(g, resourceapi.DeviceTaintEffectNoSchedule, resourceapi.DeviceTaintEffectNoExecute, resourceapi.DeviceTaintEffectNone)})
	}
	if g.chance(5) { // of no concern to the allocator
		d.NodeAllocatableResources = map[v1.ResourceName]resourceapi.NodeAllocatableResource{"cpu": {Mapping: &resourceapi.NodeAllocatableMapping{}}}
	}
	if g.chance(5) {
		d.BindingConditions, d.BindingFailureConditions = []string{"ready"}, []string{"broken"}
	}
	if g.chance(5) {
		d.BindsToNode = ptr.To(true)
	}
	return d
}

func quantities(g *generator) *resource.Quantity {
	return ptr.To(resource.MustParse(pick(g, "1Gi", "2Gi", "3Gi", "4Gi", "500m", "1500m", "1", "2", "10", "12345678901234567890", "2.5Gi", "3000000000000000000000000000000", "1n")))
}

func (g *generator) capacity(shared bool) resourceapi.DeviceCapacity {
	c := resourceapi.DeviceCapacity{Value: resource.MustParse(pick(g, "4Gi", "8Gi", "10", "10Gi", "6500m", "12345678901234567891", "7000000000000000000000000000001"))}
	if !shared || g.chance(40) {
		return c
	}
	p := &resourceapi.CapacityRequestPolicy{}
	c.RequestPolicy = p
	switch g.Intn(4) {
	case 0:
		p.Default = quantities(g)
	case 1:
		p.Default = ptr.To(resource.MustParse("1Gi"))
		p.ValidValues = []resource.Quantity{resource.MustParse("1Gi"), resource.MustParse("2Gi"), resource.MustParse("4Gi")}
	case 2:
		p.Default = ptr.To(resource.MustParse("1Gi"))
		p.ValidRange = &resourceapi.CapacityRequestPolicyRange{Min: ptr.To(resource.MustParse("1Gi"))}
		if g.chance(60) {
			p.ValidRange.Step = ptr.To(resource.MustParse(pick(g, "1Gi", "512Mi")))
		}
		if g.chance(50) {
			p.ValidRange.Max = ptr.To(resource.MustParse("4Gi"))
		}
	default:
		p.Default = ptr.To(resource.MustParse("1"))
		p.ValidRange = &resourceapi.CapacityRequestPolicyRange{Min: ptr.To(resource.MustParse(pick(g, "500m", "1"))), Step: ptr.To(resource.MustParse(pick(g, "500m", "1", "250m")))}
	}
	return c
}

func (g *generator) tolerations() []resourceapi.DeviceToleration {
	var out []resourceapi.DeviceToleration
	for n := g.Intn(3); n > 0; n-- {
		out = append(out, resourceapi.DeviceToleration{Key: pick(g, "k1", "k2", ""), Operator: pick(g, resourceapi.DeviceTolerationOpExists, resourceapi.DeviceTolerationOpEqual), Value: pick(g, "", "v"), Effect: pick[resourceapi.DeviceTaintEffect](g, "", "NoSchedule", "NoExecute")})
	}
	return out
}

func (g *generator) selectors() []resourceapi.DeviceSelector {
	var out []resourceapi.DeviceSelector
	for n := pick(g, 0, 0, 0, 1, 2); n > 0; n-- {
		out = append(out, selector(g.expression()))
	}
	if !g.easy && g.chance(1) {
		out = append(out, selector("noSuchVariable"))
	}
	if !g.easy && g.chance(1) {
		out = append(out, resourceapi.DeviceSelector{})
	}
	return out
}

func (g *generator) capacityRequests() *resourceapi.CapacityRequirements {
	if !g.chance(25) || (!g.on["DRAConsumableCapacity"] && !g.chance(20)) {
		return nil
	}
	c := &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{}}
	if g.chance(90) {
		c.Requests["memory"] = *quantities(g)
	}
	if g.chance(10) {
		c.Requests["bandwidth"] = *quantities(g)
	}
	return c
}

func (g *generator) derived() []resourceapi.DeviceDerivedAttribute {
	if !g.chance(10) || (!g.on["DRADerivedAttributes"] && !g.chance(20)) {
		return nil
	}
	return []resourceapi.DeviceDerivedAttribute{{Name: "a.example.com/group", Expression: pick(g,
		"device.driver", "device.attributes['a.example.com'].?kind.orValue('none')", "device.attributes['a.example.com'].kind")}}
}

func (g *generator) mode() (resourceapi.DeviceAllocationMode, int64) {
	if g.chance(8) {
		return resourceapi.DeviceAllocationModeAll, 0
	}
	if g.easy {
		return resourceapi.DeviceAllocationModeExactCount, pick[int64](g, 1, 1, 1, 1, 1, 1, 2, 2, 3)
	}
	if g.chance(1) {
		return "Some", 1
	}
	return resourceapi.DeviceAllocationModeExactCount, pick[int64](g, 1, 1, 1, 1, 1, 2, 2, 3, 4, 17, 33)
}

func (g *generator) claim(index int) *resourceapi.ResourceClaim {
	c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("claim-%d", index), Namespace: "default", UID: "u"}}
	names := []string{}
	for n, i := pick(g, 1, 1, 2, 2, 3), 0; i < n; i++ {
		r := resourceapi.DeviceRequest{Name: fmt.Sprintf("req-%d", i)}
		names = append(names, r.Name)
		if g.chance(25) {
			for k, s := 1+g.Intn(3), 0; s < k; s++ {
				mode, count := g.mode()
				sub := resourceapi.DeviceSubRequest{Name: fmt.Sprintf("sub-%d", s), DeviceClassName: pick(g, "class-0", "class-1"), Selectors: g.selectors(), AllocationMode: mode, Count: count, Tolerations: g.tolerations(), Capacity: g.capacityRequests(), DerivedAttributes: g.derived()}
				r.FirstAvailable = append(r.FirstAvailable, sub)
				names = append(names, r.Name+"/"+sub.Name)
			}
		} else {
			mode, count := g.mode()
			r.Exactly = &resourceapi.ExactDeviceRequest{DeviceClassName: pick(g, "class-0", "class-1"), Selectors: g.selectors(), AllocationMode: mode, Count: count, Tolerations: g.tolerations(), Capacity: g.capacityRequests(), DerivedAttributes: g.derived()}
			if g.chance(10) {
				r.Exactly.AdminAccess = ptr.To(g.chance(80))
			}
			if !g.easy && g.chance(2) {
				r.Exactly.DeviceClassName = pick(g, "class-9", "class-9", "")
			}
		}
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, r)
	}
	some := func() []string {
		var out []string
		for _, n := range names {
			if g.chance(40) {
				out = append(out, n)
			}
		}
		return out
	}
	for n := pick(g, 0, 0, 0, 1, 1, 2); n > 0; n-- {
		k := resourceapi.DeviceConstraint{Requests: some()}
		name := pick(g, "a.example.com/group", "a.example.com/group", "b.example.com/group", "a.example.com/kind")
		if !g.easy && g.chance(1) {
			// neither: a type of constraint that is not known
		} else if g.chance(70) {
			k.MatchAttribute = ptr.To(resourceapi.FullyQualifiedName(name))
		} else {
			k.DistinctAttribute = ptr.To(resourceapi.FullyQualifiedName(name))
		}
		c.Spec.Devices.Constraints = append(c.Spec.Devices.Constraints, k)
	}
	for n := pick(g, 0, 0, 1, 2); n > 0; n-- {
		c.Spec.Devices.Config = append(c.Spec.Devices.Config, resourceapi.DeviceClaimConfiguration{Requests: some(), DeviceConfiguration: g.config("claim")})
	}
	return c
}

func (g *generator) allocated() {
	for i, d := range g.devices {
		if !g.chance(12) {
			continue
		}
		if !g.sharing[d] || g.chance(5) {
			g.req.Allocated.Devices = append(g.req.Allocated.Devices, d)
			continue
		}
		d.ShareID = fmt.Sprintf("share-%d", i)
		g.req.Allocated.Shared = append(g.req.Allocated.Shared, d)
		if g.chance(80) {
			c := DeviceCapacity{Device: d, Consumed: map[string]string{"memory": pick(g, "1Gi", "2Gi", "1", "500m")}}
			c.ShareID = ""
			g.req.Allocated.Capacity = append(g.req.Allocated.Capacity, c)
		}
	}
}
