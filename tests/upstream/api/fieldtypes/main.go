// Prints the Go type of every field of the API structs, as reflect names it ("[]v1.Container", "types.UID"): one line
// "package.Struct<TAB>Field<TAB>type", for tools/gen_api_tables.py. Errors of Go's JSON decoder name these types.
package main

import (
	"fmt"
	"reflect"
	"sort"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	apiextensionsv1.AddToScheme(scheme.Scheme)
	lines := map[string]bool{}
	seen := map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] {
			return
		}
		seen[t] = true
		for i := 0; i < t.NumField(); i++ {
			f := t.Field(i)
			if !f.IsExported() {
				continue
			}
			ft := f.Type
			visit(ft)
			if ft.Kind() == reflect.Pointer {
				ft = ft.Elem()
			}
			lines[fmt.Sprintf("%s.%s\t%s\t%s", t.PkgPath(), t.Name(), f.Name, ft.String())] = true
		}
	}
	for _, t := range scheme.Scheme.AllKnownTypes() {
		visit(t)
	}
	sorted := make([]string, 0, len(lines))
	for line := range lines {
		sorted = append(sorted, line)
	}
	sort.Strings(sorted)
	for _, line := range sorted {
		fmt.Println(line)
	}
}
