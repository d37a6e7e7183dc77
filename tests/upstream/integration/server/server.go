// Package server stands in for two packages of Kubernetes' integration tests: the one that starts an
// API server in the process of the test, and the one that starts an etcd for it. It starts drachma's API
// server instead, as a program of its own, with the feature gates and API versions that the test asks
// for. DRACHMA names the program.
package server

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/pkg/features" // registers the gates before byDefault looks at them
)

const readyTimeout = 30 * time.Second

// TestServer is what tests use of a running server.
type TestServer struct {
	ClientConfig *rest.Config
	TearDownFn   func()
}

// The options of upstream's own server; none of them has a meaning here.
type (
	Options     struct{}
	EtcdOptions struct{}
)

func NewDefaultTestServerOptions() *Options { return nil }
func SharedEtcd() *EtcdOptions              { return nil }

// DefaultTestServerFlags are the flags that upstream gives its server in tests and that mean something
// to ours.
func DefaultTestServerFlags() []string {
	return []string{"--disable-admission-plugins=ServiceAccount"}
}

// EtcdMain runs the tests; there is no etcd to be started before them.
func EtcdMain(tests func() int) {
	code := tests()
	klog.StopFlushDaemon()
	os.Exit(code)
}

// StartTestServerOrDie is StartTestServer for tests that cannot go on without one.
func StartTestServerOrDie(t testing.TB, options *Options, flags []string, etcd *EtcdOptions) *TestServer {
	t.Helper()
	server, err := StartTestServer(t, options, flags, etcd)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// StartTestServer starts an API server with an empty store in memory. The log of the server is in
// $DRACHMA_LOGS.
func StartTestServer(_ any, _ *Options, flags []string, _ *EtcdOptions) (*TestServer, error) {
	dir, err := os.MkdirTemp("", "drachma-integration")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	args := []string{"up", "--roles=apiserver", "--ephemeral", "--listen=127.0.0.1:0", "--kubeconfig=" + kubeconfig}
	args = append(args, gateFlags()...)
	for _, flag := range flags {
		// All versions are served unless one is switched off.
		if !strings.HasPrefix(flag, "--runtime-config=") || strings.Contains(flag, "=false") {
			args = append(args, flag)
		}
	}
	log, err := os.CreateTemp(os.Getenv("DRACHMA_LOGS"), "apiserver-*.log")
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(log, args)
	command := exec.Command(os.Getenv("DRACHMA"), args...)
	command.Stdout, command.Stderr = log, log
	// The server must not survive a test that is killed.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, err
	}
	exited := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(exited)
	}()
	tearDown := func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(readyTimeout):
			_ = command.Process.Kill()
		}
		_ = log.Close()
		_ = os.RemoveAll(dir)
	}
	config, err := whenReady(kubeconfig, exited)
	if err != nil {
		tearDown()
		return nil, fmt.Errorf("%w (log: %s)", err, log.Name())
	}
	config.QPS, config.Burst = 1000, 10000 // as upstream's test server
	return &TestServer{ClientConfig: config, TearDownFn: tearDown}, nil
}

// whenReady waits for the kubeconfig and for /readyz to say ok.
func whenReady(kubeconfig string, exited <-chan struct{}) (*rest.Config, error) {
	for deadline := time.Now().Add(readyTimeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case <-exited:
			return nil, errors.New("the API server ended")
		default:
		}
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			continue
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			continue
		}
		response, err := client.Get(config.Host + "/readyz")
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return config, nil
		}
	}
	return nil, fmt.Errorf("the API server was not ready after %s", readyTimeout)
}

// gateFlags say what the gates of this process are, as far as the server knows them and they differ from
// what they are without a test; and the older version that the process emulates, if it does.
func gateFlags() []string {
	var flags, entries []string
	gates := utilfeature.DefaultMutableFeatureGate
	if version := emulated(); version != versionByDefault {
		flags = append(flags, "--emulated-version="+version)
	}
	for feature := range gates.GetAll() {
		if on := gates.Enabled(feature); known(feature) && (on != byDefault[feature] || flags != nil) {
			entries = append(entries, fmt.Sprintf("%s=%t", feature, on))
		}
	}
	if entries == nil {
		return flags
	}
	sort.Strings(entries)
	return append(flags, "--feature-gates="+strings.Join(entries, ","))
}

// The version that the program emulates without a test: its own.
var versionByDefault = emulated()

func emulated() string {
	version := utilfeature.DefaultMutableFeatureGate.EmulationVersion()
	return fmt.Sprintf("%d.%d", version.Major(), version.Minor())
}

// byDefault is what every gate was when the program started.
var byDefault = func() map[featuregate.Feature]bool {
	out := map[featuregate.Feature]bool{}
	for feature := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		out[feature] = utilfeature.DefaultFeatureGate.Enabled(feature)
	}
	return out
}()

// known: the gates that concern DRA; those of the machinery of upstream's own server are not ours.
func known(feature featuregate.Feature) bool {
	switch feature {
	case "CompositePodGroup", "DynamicResourceAllocation", "EvictionRequestAPI", "GenericWorkload",
		"NodeDeclaredFeatures", "ResourceHealthStatus", "ResourceHealthStatusMessage",
		"TopologyAwareWorkloadScheduling":
		return true
	}
	return strings.HasPrefix(string(feature), "DRA")
}
