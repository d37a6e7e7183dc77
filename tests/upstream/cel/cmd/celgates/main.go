// celgates writes which expressions upstream's compiler for selectors takes, by the version that new
// expressions must stay compatible with and by feature gates: tests/cel/gates.jsonl.
// usage: celgates < EXPRESSIONS > gates.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/dynamic-resource-allocation/cel"
)

// What one expression gets: a letter for each of the gates' settings (none, DRAConsumableCapacity,
// DRAListTypeAttributes, both): y, or n where it is refused.
type row struct {
	Expr   string         `json:"expr"`
	New    map[int]string `json:"new"`
	Stored string         `json:"stored"`
}

var settings = []cel.Features{
	{},
	{EnableConsumableCapacity: true},
	{EnableListTypeAttributes: true},
	{EnableConsumableCapacity: true, EnableListTypeAttributes: true},
}

const firstMinor, lastMinor = 31, 37

func main() {
	kube, ok := compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(
		basecompatibility.DefaultKubeComponent).(basecompatibility.MutableEffectiveVersion)
	if !ok {
		panic("the version of the environment cannot be set")
	}
	var rows []row
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if in.Text() != "" {
			rows = append(rows, row{Expr: in.Text(), New: map[int]string{}})
		}
	}
	for minor := firstMinor; minor <= lastMinor; minor++ {
		kube.SetMinCompatibilityVersion(version.MajorMinor(1, uint(minor)))
		for i, features := range settings {
			// The compiler for the last features is kept, whatever its version.
			cel.GetCompiler(settings[(i+1)%len(settings)])
			compiler := cel.GetCompiler(features)
			for r := range rows {
				take := func(kind environment.Type) string {
					if compiler.CompileCELExpression(rows[r].Expr, cel.Options{EnvType: &kind}).Error != nil {
						return "n"
					}
					return "y"
				}
				rows[r].New[minor] += take(environment.NewExpressions)
				if minor == lastMinor {
					rows[r].Stored += take(environment.StoredExpressions)
				}
			}
		}
	}
	for _, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(line))
	}
}
