package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured/internal"
	"k8s.io/dynamic-resource-allocation/structured/internal/allocatortesting"
	"k8s.io/dynamic-resource-allocation/structured/internal/experimental"
)

func start(t *testing.T) *Pipe {
	command := os.Getenv("ALLOCATOR")
	if command == "" {
		t.Skip("ALLOCATOR is not set")
	}
	pipe, err := Start(command)
	if err != nil {
		t.Fatal(err)
	}
	return pipe
}

// TestTable: upstream's own table against the process under test.
//
// The input of consumable-capacity-requests-are-not-modified does not survive JSON: upstream writes
// the request of 1000000000000000000000 as "1", since it has no suffix for 10^21.
func TestTable(t *testing.T) {
	pipe := start(t)
	allocatortesting.TestAllocator(t, experimental.SupportedFeatures,
		func(ctx context.Context, f allocatortesting.Features, s allocatortesting.AllocatedState, l allocatortesting.DeviceClassLister, slices []*resourceapi.ResourceSlice, cache *cel.Cache) (internal.Allocator, error) {
			return newExternal(ctx, pipe, f, s, l, slices, cache)
		})
}

func toAllocated(s internal.AllocatedState) Allocated {
	var out Allocated
	dev := func(id internal.DeviceID) Device {
		return Device{Driver: id.Driver.String(), Pool: id.Pool.String(), Device: id.Device.String()}
	}
	for id := range s.AllocatedDevices {
		out.Devices = append(out.Devices, dev(id))
	}
	for id := range s.AllocatedSharedDeviceIDs {
		d := dev(id.GetDeviceID())
		d.ShareID = id.ShareID.String()
		out.Shared = append(out.Shared, d)
	}
	for id, c := range s.AggregatedCapacity {
		m := map[string]string{}
		for k, q := range c {
			m[string(k)] = q.String()
		}
		out.Capacity = append(out.Capacity, DeviceCapacity{Device: dev(id), Consumed: m})
	}
	return out
}

// external is an allocator behind a Pipe, in the form the table takes.
type external struct {
	pipe      *Pipe
	req       Request
	reference internal.Allocator
}

func newExternal(ctx context.Context, p *Pipe, f internal.Features, s internal.AllocatedState, l internal.DeviceClassLister, slices []*resourceapi.ResourceSlice, cache *cel.Cache) (*external, error) {
	reference, err := experimental.NewAllocator(ctx, f, s, l, slices, cache)
	if err != nil {
		return nil, err
	}
	classes, err := l.List()
	if err != nil {
		return nil, err
	}
	return &external{pipe: p, reference: reference, req: Request{Features: sets.List(f.Set()), Classes: classes, Slices: slices, Allocated: toAllocated(s)}}, nil
}

func (e *external) Channel() internal.AllocatorChannel { return internal.Experimental }

func (e *external) Allocate(ctx context.Context, node *v1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	req := e.req
	req.Node, req.Claims = node, claims
	var resp Response
	if err := e.pipe.Call(&req, &resp); err != nil {
		return nil, err
	}
	switch {
	case resp.Error != "":
		return nil, errors.New(resp.Error)
	case resp.NodeError != "":
		return nil, fmt.Errorf("%w%s", internal.ErrFailedAllocationOnNode, resp.NodeError)
	}
	e.restoreFormats(ctx, node, claims, resp.Results)
	return resp.Results, nil
}

// restoreFormats puts back what JSON drops of a small quantity (binary or decimal notation): where
// the allocator in process chose an equal value, its representation is taken.
func (e *external) restoreFormats(ctx context.Context, node *v1.Node, claims []*resourceapi.ResourceClaim, results []resourceapi.AllocationResult) {
	ref, err := e.reference.Allocate(ctx, node, claims)
	if err != nil || len(ref) != len(results) {
		return
	}
	for i := range results {
		if len(ref[i].Devices.Results) != len(results[i].Devices.Results) {
			return
		}
		for j := range results[i].Devices.Results {
			m, r := results[i].Devices.Results[j].ConsumedCapacity, ref[i].Devices.Results[j].ConsumedCapacity
			for k, q := range m {
				if want, ok := r[k]; ok && q.Cmp(want) == 0 {
					m[k] = want
				}
			}
		}
	}
}
