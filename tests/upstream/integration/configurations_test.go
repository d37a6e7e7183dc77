// Package integration runs the configurations of upstream's test/integration/dra, which have a package
// each there to run side by side, in one program.
package integration

import (
	"os"
	"testing"

	"drachma/upstream/integration/dra"
	"drachma/upstream/integration/server"
)

func TestMain(m *testing.M) { server.EtcdMain(m.Run) }

// TestDRA runs the configurations whose names match the regular expression $CONFIGURATIONS.
func TestDRA(t *testing.T) { dra.Run(t, os.Getenv("CONFIGURATIONS")) }
