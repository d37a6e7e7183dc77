// Package conformance runs upstream's own allocator table, and random cases, against an allocator
// behind a pipe of JSON lines.
//
// The module's path puts it below k8s.io/dynamic-resource-allocation/structured, so that Go lets it
// import the internal packages that hold the table and the allocator to compare with.
package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// Request is one allocation attempt on one node.
type Request struct {
	Features  []string                     `json:"features"`
	Node      *v1.Node                     `json:"node"`
	Classes   []*resourceapi.DeviceClass   `json:"classes"`
	Slices    []*resourceapi.ResourceSlice `json:"slices"`
	Claims    []*resourceapi.ResourceClaim `json:"claims"`
	Allocated Allocated                    `json:"allocated"`
	// Again asks for the answer of a second attempt that remembers what selectors said.
	Again bool `json:"again,omitempty"`
}

// Allocated is upstream's AllocatedState.
type Allocated struct {
	Devices  []Device         `json:"devices,omitempty"`
	Shared   []Device         `json:"shared,omitempty"`
	Capacity []DeviceCapacity `json:"capacity,omitempty"`
}

type Device struct {
	Driver  string `json:"driver"`
	Pool    string `json:"pool"`
	Device  string `json:"device"`
	ShareID string `json:"shareID,omitempty"`
}

type DeviceCapacity struct {
	Device
	Consumed map[string]string `json:"consumed"`
}

// Response: Results is null when the claims do not fit; Error is set for a fatal error, NodeError
// for one that concerns this node only.
type Response struct {
	Results   []resourceapi.AllocationResult `json:"results"`
	Error     string                         `json:"error,omitempty"`
	NodeError string                         `json:"nodeError,omitempty"`
}

// Pipe talks to one long-running process.
type Pipe struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func Start(command string) (*Pipe, error) {
	args := strings.Fields(command)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Pipe{in: in, out: bufio.NewReaderSize(out, 1<<20), cmd: cmd}, nil
}

func (p *Pipe) Close() error {
	if err := p.in.Close(); err != nil {
		return err
	}
	return p.cmd.Wait()
}

func (p *Pipe) Call(request any, response any) error {
	b, err := json.Marshal(request)
	if err != nil {
		return err
	}
	line, err := p.Line(b)
	if err != nil {
		return err
	}
	return json.Unmarshal(line, response)
}

// Line sends one line and returns the answer.
func (p *Pipe) Line(request []byte) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.in.Write(append(request, '\n')); err != nil {
		return nil, err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	return line, nil
}
