// Writes what Kubernetes makes of API objects, as the golden values of tests/api. Reads cases as JSON lines from standard
// input, each {"name", "apiVersion", "kind", "text", "to": [apiVersions]}, and adds to each:
// "error" of decoding, or "strict" (errors of strict decoding), "value" (the Go round trip), "defaulted" (after defaults),
// "converted" (the defaulted object in each version of "to"). With "patch", a strategic merge patch of the text, only
// "patched" or "patchError" is added.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	kjson "sigs.k8s.io/json"
)

type goldenCase struct {
	Name       string                     `json:"name"`
	APIVersion string                     `json:"apiVersion"`
	Kind       string                     `json:"kind"`
	Text       string                     `json:"text"`
	To         []string                   `json:"to,omitempty"`
	Patch      string                     `json:"patch,omitempty"`
	Patched    json.RawMessage            `json:"patched,omitempty"`
	PatchError string                     `json:"patchError,omitempty"`
	Error      string                     `json:"error,omitempty"`
	Strict     []string                   `json:"strict,omitempty"`
	Value      json.RawMessage            `json:"value,omitempty"`
	Defaulted  json.RawMessage            `json:"defaulted,omitempty"`
	Converted  map[string]json.RawMessage `json:"converted,omitempty"`
}

func marshal(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func fill(c *goldenCase) {
	gv, _ := schema.ParseGroupVersion(c.APIVersion)
	object, err := legacyscheme.Scheme.New(gv.WithKind(c.Kind))
	if err != nil {
		panic(err)
	}
	if c.Patch != "" {
		patched, err := strategicpatch.StrategicMergePatch([]byte(c.Text), []byte(c.Patch), object)
		if err != nil {
			c.PatchError = err.Error()
			return
		}
		c.Patched = patched
		return
	}
	strict, err := kjson.UnmarshalStrict([]byte(c.Text), object)
	if err != nil {
		c.Error = err.Error()
		return
	}
	for _, e := range strict {
		c.Strict = append(c.Strict, e.Error())
	}
	c.Value = marshal(object)
	legacyscheme.Scheme.Default(object)
	c.Defaulted = marshal(object)
	for _, to := range c.To {
		target, _ := schema.ParseGroupVersion(to)
		converted, err := legacyscheme.Scheme.New(target.WithKind(c.Kind))
		if err != nil {
			panic(err)
		}
		// By way of the internal type; both sorts of events have the same one.
		internal := runtime.Object(&core.Event{})
		if c.Kind != "Event" {
			internal, err = legacyscheme.Scheme.New(schema.GroupVersionKind{Group: target.Group, Version: runtime.APIVersionInternal, Kind: c.Kind})
			if err != nil {
				panic(err)
			}
		}
		if err := legacyscheme.Scheme.Convert(object.DeepCopyObject(), internal, nil); err != nil {
			panic(err)
		}
		if err := legacyscheme.Scheme.Convert(internal, converted, nil); err != nil {
			panic(err)
		}
		converted.GetObjectKind().SetGroupVersionKind(target.WithKind(c.Kind))
		if c.Converted == nil {
			c.Converted = map[string]json.RawMessage{}
		}
		c.Converted[to] = marshal(converted)
	}
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		var c goldenCase
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			panic(err)
		}
		fill(&c)
		if err := out.Encode(c); err != nil {
			panic(err)
		}
	}
}
