package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/dynamic-resource-allocation/structured/internal/experimental"
)

// patience is how long upstream's search may take before the case is counted instead of compared.
const patience = 2 * time.Second

type lister []*resourceapi.DeviceClass

func (l lister) List() ([]*resourceapi.DeviceClass, error) { return l, nil }
func (l lister) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, x := range l {
		if x.Name == name {
			return x, nil
		}
	}
	return nil, fmt.Errorf("deviceclass.resource.k8s.io %q not found", name)
}

func featuresOf(names []string) structured.Features {
	s := sets.New(names...)
	return structured.Features{
		AdminAccess: s.Has("DRAAdminAccess"), CompatibilityGroups: s.Has("DRADeviceCompatibilityGroups"),
		ConsumableCapacity: s.Has("DRAConsumableCapacity"), DerivedAttributes: s.Has("DRADerivedAttributes"),
		DeviceBindingAndStatus:  s.Has("DRADeviceBindingConditions+DRAResourceClaimDeviceStatus"),
		DeviceTaints:            s.Has("DRADeviceTaints"),
		FractionalCapacityRange: s.Has("DRAFractionalCapacityRange"), ListTypeAttributes: s.Has("DRAListTypeAttributes"),
		OptionalNodeOperations: s.Has("DRAOptionalNodeOperations"), PartitionableDevices: s.Has("DRAPartitionableDevices"),
		PrioritizedList: s.Has("DRAPrioritizedList"),
	}
}

func stateOf(a Allocated) structured.AllocatedState {
	s := structured.AllocatedState{AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](), AggregatedCapacity: structured.NewConsumedCapacityCollection()}
	for _, d := range a.Devices {
		s.AllocatedDevices.Insert(structured.MakeDeviceID(d.Driver, d.Pool, d.Device))
	}
	for _, d := range a.Shared {
		id := apitypes.UID(d.ShareID)
		s.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(structured.MakeDeviceID(d.Driver, d.Pool, d.Device), &id))
	}
	for _, d := range a.Capacity {
		m := map[resourceapi.QualifiedName]resource.Quantity{}
		for k, v := range d.Consumed {
			m[resourceapi.QualifiedName(k)] = resource.MustParse(v)
		}
		s.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(structured.MakeDeviceID(d.Driver, d.Pool, d.Device.Device), m))
	}
	return s
}

// Prepare builds upstream's experimental allocator (its stable one walks pools in random order) and
// returns one attempt on it, which may be made any number of times.
func Prepare(ctx context.Context, req *Request) (func() (Response, error), error) {
	f := featuresOf(req.Features)
	a, err := experimental.NewAllocator(ctx, f, stateOf(req.Allocated), lister(req.Classes), req.Slices,
		cel.NewCache(100, cel.Features{EnableConsumableCapacity: f.ConsumableCapacity, EnableListTypeAttributes: f.ListTypeAttributes}))
	if err != nil {
		return nil, err
	}
	return func() (resp Response, err error) {
		resp.Results, err = a.Allocate(ctx, req.Node, req.Claims)
		switch {
		case err == nil || errors.Is(err, context.DeadlineExceeded):
			return resp, err
		case errors.Is(err, structured.ErrFailedAllocationOnNode):
			resp.NodeError = err.Error()
		default:
			resp.Error = err.Error()
		}
		return resp, nil
	}, nil
}

// Upstream answers a request as upstream does. gaveUp says that it took too long.
func Upstream(req *Request) (resp Response, gaveUp bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	allocate, err := Prepare(ctx, req)
	if err == nil {
		resp, err = allocate()
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		resp.Error = err.Error()
	}
	return resp, errors.Is(err, context.DeadlineExceeded)
}
