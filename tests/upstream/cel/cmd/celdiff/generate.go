package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// overload is one signature that the generator can call.
type overload struct {
	function, id string
	args         []*cel.Type
	result       *cel.Type
	member       bool
}

// generator writes random expressions. It knows every overload that the environment declares, so
// that a library needs no work here when it gets a new function.
type generator struct {
	rng       *rand.Rand
	overloads []overload
	used      map[string]int
	vars      []variable
	names     int
	wild      bool // arguments of wrong types now and then
}

type variable struct {
	name string
	typ  *cel.Type
}

var (
	quantity = cel.ObjectType("kubernetes.Quantity")
	semver   = cel.ObjectType("kubernetes.Semver")
)

func newGenerator(env *cel.Env, seed uint64) *generator {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 1)), used: map[string]int{}}
	for name, f := range env.Functions() {
		// Of the names with @ only operators can be written.
		if name == "in" || (strings.Contains(name, "@") && name != operators.In) || strings.HasPrefix(name, "__") {
			continue
		}
		for _, o := range f.OverloadDecls() {
			g.overloads = append(g.overloads, overload{name, o.ID(), o.ArgTypes(), o.ResultType(), o.IsMemberFunction()})
		}
	}
	slices.SortFunc(g.overloads, func(a, b overload) int { return strings.Compare(a.id, b.id) })
	return g
}

func pick[T any](g *generator, items ...T) T { return items[g.rng.IntN(len(items))] }
func (g *generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

// bind makes the parameters of `pattern` fit `t`.
func bind(pattern, t *cel.Type, to map[string]*cel.Type) bool {
	if pattern.Kind() == types.TypeParamKind {
		if old, ok := to[pattern.TypeName()]; ok {
			return old.IsExactType(t)
		}
		to[pattern.TypeName()] = t
		return true
	}
	if pattern.Kind() == types.DynKind && t.Kind() == types.DynKind {
		return true
	}
	if pattern.Kind() != t.Kind() || pattern.TypeName() != t.TypeName() || len(pattern.Parameters()) != len(t.Parameters()) {
		return false
	}
	for i, p := range pattern.Parameters() {
		if !bind(p, t.Parameters()[i], to) {
			return false
		}
	}
	return true
}

func (g *generator) fill(t *cel.Type, to map[string]*cel.Type) *cel.Type {
	switch t.Kind() {
	case types.TypeParamKind:
		if _, ok := to[t.TypeName()]; !ok {
			to[t.TypeName()] = g.scalar()
		}
		return to[t.TypeName()]
	case types.ListKind:
		return cel.ListType(g.fill(t.Parameters()[0], to))
	case types.MapKind:
		return cel.MapType(g.fill(t.Parameters()[0], to), g.fill(t.Parameters()[1], to))
	case types.TypeKind:
		return t
	case types.OpaqueKind:
		if t.TypeName() == "optional_type" {
			return cel.OptionalType(g.fill(t.Parameters()[0], to))
		}
	}
	return t
}

func (g *generator) scalar() *cel.Type {
	return pick(g, cel.IntType, cel.StringType, cel.BoolType, cel.StringType, cel.IntType, cel.DoubleType, cel.UintType,
		cel.BytesType, cel.DurationType, cel.TimestampType, quantity, semver, cel.DynType)
}

func (g *generator) any() *cel.Type {
	switch g.rng.IntN(8) {
	case 0:
		return cel.ListType(g.scalar())
	case 1:
		return cel.MapType(pick(g, cel.StringType, cel.StringType, cel.IntType), g.scalar())
	case 2:
		return cel.OptionalType(g.scalar())
	}
	return g.scalar()
}

// expr writes an expression of type t.
func (g *generator) expr(t *cel.Type, depth int) string {
	if g.wild && g.chance(2) {
		t = g.any()
	}
	if g.wild && g.chance(2) {
		return "dyn(" + g.expr(g.any(), depth-1) + ")"
	}
	if depth <= 0 {
		return g.leaf(t)
	}
	switch n := g.rng.IntN(20); {
	case n < 3:
		return g.leaf(t)
	case n == 3:
		return "(" + g.expr(cel.BoolType, depth-1) + " ? " + g.expr(t, depth-1) + " : " + g.expr(t, depth-1) + ")"
	case n == 4:
		return g.bind(t, depth)
	case n < 8:
		if s := g.macro(t, depth); s != "" {
			return s
		}
	}
	if s := g.call(t, depth); s != "" {
		return s
	}
	return g.leaf(t)
}

// call prefers the overloads that were used least.
func (g *generator) call(t *cel.Type, depth int) string {
	var best []overload
	least := 0
	start := g.rng.IntN(len(g.overloads))
	for i := range g.overloads {
		o := g.overloads[(start+i)%len(g.overloads)]
		if !bind(o.result, t, map[string]*cel.Type{}) || (o.result.Kind() == types.TypeParamKind && !g.chance(30)) {
			continue
		}
		if n := g.used[o.id]; len(best) == 0 || n < least {
			least = n
			best = []overload{o}
		} else if n <= least+20 {
			best = append(best, o)
		}
	}
	if len(best) == 0 {
		return ""
	}
	return g.callOf(best[g.rng.IntN(len(best))], t, depth)
}

func (g *generator) callOf(o overload, t *cel.Type, depth int) string {
	to := map[string]*cel.Type{}
	if t != nil {
		bind(o.result, t, to)
	}
	g.used[o.id]++
	args := make([]string, len(o.args))
	for i, a := range o.args {
		args[i] = g.argument(o.function, i, g.fill(a, to), depth-1)
	}
	switch o.function {
	case operators.Conditional:
		return "(" + args[0] + " ? " + args[1] + " : " + args[2] + ")"
	case operators.Index:
		return "(" + args[0] + ")[" + args[1] + "]"
	case operators.OptIndex:
		return "(" + args[0] + ")[?" + args[1] + "]"
	case operators.OptSelect:
		return "(" + args[0] + ").?" + pick(g, "a", "model", "idx")
	case operators.Negate:
		return "-(" + args[0] + ")"
	case operators.LogicalNot:
		return "!(" + args[0] + ")"
	}
	if o.function == operators.In {
		return "(" + args[0] + " in " + args[1] + ")"
	}
	if symbol, ok := operators.FindReverse(o.function); ok && symbol != "" {
		return "(" + args[0] + " " + symbol + " " + args[1] + ")"
	}
	if o.member {
		return "(" + args[0] + ")." + o.function + "(" + strings.Join(args[1:], ", ") + ")"
	}
	return o.function + "(" + strings.Join(args, ", ") + ")"
}

// special are texts that a function reads.
var special = map[string][]string{
	"semver":         {"1.2.3", "0.0.1-alpha.1+b", "v1.2", "1", "01.2.3", "570.86.15"},
	"isSemver":       {"1.2.3", "v1.2.3", "a.b.c"},
	"quantity":       {"1", "40Gi", "1500m", "1e3", "-5Ki", "0.1", "1k", "12E", "100n", "abc"},
	"isQuantity":     {"1", "40Gi", "x", "1.5.2"},
	"ip":             {"10.0.0.1", "::1", "fe80::1", "1.2.3", "::ffff:1.2.3.4", "224.0.0.1"},
	"isIP":           {"10.0.0.1", "::1", "nope"},
	"ip.isCanonical": {"10.0.0.1", "2001:DB8::1", "2001:db8::1", "x"},
	"cidr":           {"10.0.0.0/8", "::/0", "10.1.2.3/24", "10.0.0.0/33", "2001:db8::/32"},
	"isCIDR":         {"10.0.0.0/8", "10.0.0.0"},
	"url":            {"https://a.example.com:80/p?x=1&x=2#f", "/path", "a b", "http://[::1]/", "://"},
	"isURL":          {"https://example.com/", "example"},
	"matches":        {"^gpu.*", "a|b", "[0-9]+", "(?i)A100", "(", "a{2,3}", "\\\\d+"},
	"find":           {"[a-z]+", "x*", "a(b)?", "["},
	"findAll":        {"[a-z]+", "x*", "a(b)?", "["},
	"timestamp":      {"2024-02-29T12:30:00Z", "2009-02-13T23:31:30.5+02:00", "bad"},
	"duration":       {"1h", "90s", "1.5ms", "-2m3s", "bad"},
	"format":         {"%s", "%d-%s", "%.2f", "%x", "%%", "%b", "%e", "%z", "%s %s %s"},
	"format.named":   {"dns1123Label", "uuid", "qualifiedName", "none"},
	"int":            {"12", "-5", "x", "9223372036854775808"},
	"uint":           {"12", "-5"},
	"double":         {"1.5", "1e400", "NaN", "x"},
	"bool":           {"true", "False", "t", "yes"},
	"bytes":          {"abc", "ü"},
	"getHours":       {"UTC", "Europe/Berlin", "-08:30", "Mars"},
	"getDate":        {"America/New_York", "+02:00"},
	"getFullYear":    {"Asia/Tokyo"},
}

func (g *generator) argument(function string, i int, t *cel.Type, depth int) string {
	if t.Kind() == types.StringKind && g.chance(70) {
		if texts, ok := special[function]; ok && (i > 0 || !strings.HasPrefix(function, "get")) {
			return strconv.Quote(strings.ReplaceAll(pick(g, texts...), "\\\\", "\\"))
		}
	}
	return g.expr(t, depth)
}

func (g *generator) name() string {
	g.names++
	return fmt.Sprintf("v%d", g.names%7)
}

func (g *generator) with(v variable, body func() string) string {
	g.vars = append(g.vars, v)
	s := body()
	g.vars = g.vars[:len(g.vars)-1]
	return s
}

func (g *generator) bind(t *cel.Type, depth int) string {
	typ := g.any()
	v := variable{g.name(), typ}
	init := g.expr(typ, depth-1)
	return "cel.bind(" + v.name + ", " + init + ", " + g.with(v, func() string { return g.expr(t, depth-1) }) + ")"
}

func (g *generator) macro(t *cel.Type, depth int) string {
	elem := g.scalar()
	v := variable{g.name(), elem}
	list := func() string { return "(" + g.expr(cel.ListType(elem), depth-1) + ")" }
	in := func(body *cel.Type) string { return g.with(v, func() string { return g.expr(body, depth-1) }) }
	switch t.Kind() {
	case types.BoolKind:
		switch g.rng.IntN(6) {
		case 0:
			return "has(device." + pick(g, "attributes", "driver", "capacity") + ")"
		case 1:
			return "has(" + g.domain("attributes") + "." + pick(g, names...) + ")"
		case 2:
			w := variable{g.name() + "x", cel.IntType}
			return list() + "." + pick(g, "all", "exists", "existsOne") + "(" + w.name + ", " + v.name + ", " +
				g.with(w, func() string { return in(cel.BoolType) }) + ")"
		case 3:
			k := variable{v.name, cel.StringType}
			return pick(g, "device.attributes", g.domain("attributes"), g.domain("capacity")) + "." + pick(g, "all", "exists", "exists_one") +
				"(" + k.name + ", " + g.with(k, func() string { return g.expr(cel.BoolType, depth-1) }) + ")"
		}
		macro := pick(g, "all", "exists", "exists_one")
		if g.chance(3) {
			macro = "existsOne" // of two variables only
		}
		return list() + "." + macro + "(" + v.name + ", " + in(cel.BoolType) + ")"
	case types.ListKind:
		switch g.rng.IntN(5) {
		case 0:
			v.typ = t.Parameters()[0]
			return "(" + g.expr(t, depth-1) + ").filter(" + v.name + ", " + in(cel.BoolType) + ")"
		case 1:
			return list() + ".map(" + v.name + ", " + in(cel.BoolType) + ", " + in(t.Parameters()[0]) + ")"
		case 2:
			w := variable{g.name() + "x", cel.IntType}
			return list() + ".transformList(" + w.name + ", " + v.name + ", " +
				g.with(w, func() string { return in(t.Parameters()[0]) }) + ")"
		case 3:
			v.typ = t.Parameters()[0]
			return "(" + g.expr(t, depth-1) + ").sortBy(" + v.name + ", " + in(pick(g, cel.IntType, cel.StringType)) + ")"
		}
		return list() + ".map(" + v.name + ", " + in(t.Parameters()[0]) + ")"
	case types.MapKind:
		w := variable{g.name() + "x", t.Parameters()[0]}
		return "(" + g.expr(cel.MapType(t.Parameters()[0], elem), depth-1) + ").transformMap(" + w.name + ", " + v.name + ", " +
			g.with(w, func() string { return in(t.Parameters()[1]) }) + ")"
	case types.OpaqueKind:
		if t.TypeName() == "optional_type" {
			return "(" + g.expr(cel.OptionalType(elem), depth-1) + ")." + pick(g, "optMap("+v.name+", "+in(t.Parameters()[0])+")",
				"optFlatMap("+v.name+", "+in(t)+")")
		}
	}
	return ""
}

var names = []string{"model", "idx", "ok", "ver", "ints", "bools", "strings", "versions", "text", "missing"}
var domains = []string{"gpu.example.com", "other.com", "nope"}

func (g *generator) domain(field string) string {
	return "device." + field + `["` + pick(g, domains...) + `"]`
}

// leaf writes an expression of type t without calls, if there is one.
func (g *generator) leaf(t *cel.Type) string {
	var fitting []string
	for _, v := range g.vars {
		if v.typ.IsExactType(t) || t.Kind() == types.DynKind {
			fitting = append(fitting, v.name)
		}
	}
	if len(fitting) > 0 && g.chance(60) {
		return pick(g, fitting...)
	}
	attribute := func() string { return g.domain("attributes") + "." + pick(g, names...) }
	switch t.Kind() {
	case types.BoolKind:
		return pick(g, "true", "false", "device.allowMultipleAllocations", g.domain("attributes")+".ok", `"`+pick(g, names...)+`" in `+g.domain("attributes"))
	case types.IntKind:
		return pick(g, "0", "1", "2", "-1", "7", "100", "9223372036854775807", "-9223372036854775808", "0x1F", g.domain("attributes")+".idx")
	case types.UintKind:
		return pick(g, "0u", "1u", "3u", "18446744073709551615u")
	case types.DoubleKind:
		return pick(g, "0.0", "1.5", "-2.25", "1e100", "3.0")
	case types.StringKind:
		return pick(g, `""`, `"a"`, `"gpu.example.com"`, `'A100-SXM4'`, `"ünï"`, `"1.2.3"`, `r"\d"`, "device.driver", g.domain("attributes")+".model", `"a,b,c"`)
	case types.BytesKind:
		return pick(g, `b""`, `b"abc"`, `b"\xff"`)
	case types.NullTypeKind:
		return "null"
	case types.DurationKind:
		return pick(g, `duration("1h")`, `duration("90.5s")`, `duration("-1ms")`)
	case types.TimestampKind:
		return pick(g, `timestamp("2024-02-29T12:30:00Z")`, `timestamp(0)`, `timestamp("2009-02-13T23:31:30.5+02:00")`)
	case types.ListKind:
		e := t.Parameters()[0]
		if e.Kind() == types.DynKind && g.chance(50) {
			return pick(g, g.domain("attributes")+".ints", g.domain("attributes")+".strings")
		}
		items := make([]string, g.rng.IntN(4))
		for i := range items {
			items[i] = g.leaf(e)
			if g.wild && g.chance(4) {
				items[i] = "?" + g.leaf(cel.OptionalType(e))
			}
		}
		return "[" + strings.Join(items, ", ") + "]"
	case types.MapKind:
		items := make([]string, g.rng.IntN(3))
		for i := range items {
			items[i] = g.leaf(t.Parameters()[0]) + ": " + g.leaf(t.Parameters()[1])
		}
		return "{" + strings.Join(items, ", ") + "}"
	case types.TypeKind:
		return pick(g, "int", "string", "type", "list", "google.protobuf.Duration", "kubernetes.Semver")
	case types.StructKind, types.OpaqueKind:
		switch {
		case t.TypeName() == "optional_type":
			return pick(g, "optional.none()", "optional.of("+g.leaf(t.Parameters()[0])+")", "device.attributes[?\""+pick(g, domains...)+"\"]."+pick(g, names...))
		case t.TypeName() == "kubernetes.Quantity":
			return pick(g, `quantity("2Gi")`, `quantity("1500m")`, g.domain("capacity")+"."+pick(g, "memory", "cores"))
		case t.TypeName() == "kubernetes.Semver":
			return pick(g, `semver("1.2.3")`, `semver("2.0.0-rc.1")`, g.domain("attributes")+".ver")
		case t.TypeName() == "net.IP":
			return pick(g, `ip("10.0.0.1")`, `ip("::1")`)
		case t.TypeName() == "net.CIDR":
			return pick(g, `cidr("10.0.0.0/8")`, `cidr("2001:db8::/32")`)
		case t.TypeName() == "kubernetes.URL":
			return `url("https://a.example.com:80/p?x=1#f")`
		case t.TypeName() == "kubernetes.NamedFormat":
			return "format." + pick(g, "dns1123Label", "dns1123Subdomain", "uuid", "byte", "date", "datetime", "labelValue", "uri", "qualifiedName") + "()"
		}
	}
	return attribute()
}

// selector writes an expression that is mostly a selector.
func (g *generator) selector(depth int) string {
	g.wild = g.chance(40)
	if g.chance(85) {
		// One overload after another, so that all are reached.
		o := g.overloads[g.rng.IntN(len(g.overloads))]
		s := g.callOf(o, nil, depth)
		if o.result.Kind() == types.BoolKind {
			return s
		}
		switch g.rng.IntN(4) {
		case 0:
			return "[" + s + "].exists(x, x == " + s + ")"
		case 1:
			return "type(" + s + ") == int || " + g.expr(cel.BoolType, 1)
		default:
			return s + " == " + g.expr(g.fill(o.result, map[string]*cel.Type{}), depth-1)
		}
	}
	if g.wild && g.chance(10) {
		return g.expr(g.any(), depth)
	}
	return g.expr(cel.BoolType, depth)
}

var fragments = []string{"(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "!", "-", "&&", "||", "==", "in", "true", "null", "'", "\"", "1", "x", "\\", "@", "#", "\n", "1e", "0x", "if", "as", ".?", "[?", "ü", "\x00", "`a`", "\"\"\"", "r'", "b", "u", "=", "&", "|", "%", "\t"}

// mutated damages an expression in one to three places.
func (g *generator) mutated(s string) string {
	for range 1 + g.rng.IntN(3) {
		runes := []rune(s)
		if len(runes) == 0 {
			return pick(g, fragments...)
		}
		i := g.rng.IntN(len(runes))
		switch g.rng.IntN(4) {
		case 0:
			s = string(runes[:i]) + string(runes[i+1:])
		case 1:
			s = string(runes[:i]) + pick(g, fragments...) + string(runes[i:])
		case 2:
			s = string(runes[:i]) + pick(g, fragments...) + string(runes[i+1:])
		case 3:
			s = string(runes[:i])
		}
	}
	return s
}
