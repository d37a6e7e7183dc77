// num writes the golden values of quantities and semantic versions: upstream's
// answers, one case a line, fields separated by tabs. See tests/num/README.md.
package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/api/resource"
)

var fixed = strings.Fields(`0 1 -1 +1 00 01 -0 +0 . + - 1. .5 -.5 +.5 0.5 1.5 1.500 1.50 5e 5e3 5E3 5e-3 1e0 1e+3 1e-10
1e9 1e21 1e100 1E 2E 9E 10E 9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809
1Ki 1023Ki 1024Ki 1025Ki 1.5Ki 1.5Gi 0.5Gi 0.1Gi 1Ei 7Ei 8Ei 9Ei -8Ei -9Ei 1Pi 1000Pi 16Gi 80Gi 81559Mi 0Ki .5Ki 0.0001Ki -0.0001Ki
1n 1u 1m 999m 1000m 1001m 1500m 0.1m 0.1u 0.1n 0.0000000001 -0.0000000001 1.0000000001 100k 1000k 1000000 1234567890 999999999999999999 1000000000000000000 1234567890123456789
12345678901234567890 1.234567890123456789 0.00000000000000000001 1M 1G 1T 1P 1.1M 1.1E 1.23E 123456789012345678k 3e1 30e2 300e1 1e1 1e2 1e5 12e6 1.e2 +1.5Mi 0001Ki 1K 1ki 1KI 1b Gi Ei e3 E3 1e1.5 1ee3 1Ee3 1E+3 1e99999999999999999999 --1 1-1 1_000 0x10 1,5 １ 1mm 1nn 1iK 1i 1u5 1m3 1k-3 5E-2 5e-9 5e-10
1e18 1e19 1e-9 1e-8 1e-7 123e-2 123e1 0e5 0.000 00.100 100.001Mi 1.999999999Ki 1048576 1073741824 1099511627776Ki 1024Pi 8191Ki`)

func random(r *rand.Rand) string {
	suffixes := []string{"", "", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "e-3", "E5", "e7", "e-12", "e15"}
	var b strings.Builder
	b.WriteString([]string{"", "", "", "-", "+"}[r.Intn(5)])
	digits := func(n int) {
		for ; n > 0; n-- {
			b.WriteByte("0123456789000"[r.Intn(13)])
		}
	}
	digits(r.Intn(r.Intn(24) + 1))
	if r.Intn(3) == 0 {
		b.WriteByte('.')
		digits(r.Intn(14))
	}
	b.WriteString(suffixes[r.Intn(len(suffixes))])
	if r.Intn(20) == 0 {
		s := []byte(b.String())
		if len(s) > 0 {
			s[r.Intn(len(s))] = "eEinumkKMGTP.+-0 x"[r.Intn(18)]
		}
		return strings.ReplaceAll(string(s), " ", "_")
	}
	return b.String()
}

// tooLarge: upstream has no suffix there and prints another number.
func tooLarge(q resource.Quantity) bool {
	again, err := resource.ParseQuantity(q.String())
	return err != nil || again.Cmp(q) != 0
}

func text(q resource.Quantity) string {
	if tooLarge(q) {
		return "-"
	}
	return q.String()
}

func int64Or(q resource.Quantity) string {
	if v, ok := q.AsInt64(); ok {
		return strconv.FormatInt(v, 10)
	}
	return "-"
}

func bits(f float64) string { return strconv.FormatUint(math.Float64bits(f), 16) }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func write(dir, name string, each func(line func(fields ...any))) {
	f, err := os.Create(filepath.Join(dir, name))
	check(err)
	w := bufio.NewWriter(f)
	each(func(fields ...any) {
		s := make([]string, len(fields))
		for i, x := range fields {
			s[i] = fmt.Sprint(x)
		}
		_, err := w.WriteString(strings.Join(s, "\t") + "\n")
		check(err)
	})
	check(w.Flush())
	check(f.Close())
}

func main() {
	dir := os.Args[1]
	r := rand.New(rand.NewSource(1))
	texts := append([]string{}, fixed...)
	for len(texts) < 2000 {
		if s := random(r); s != "" {
			texts = append(texts, s)
		}
	}
	var good []string
	write(dir, "quantity_parse.tsv", func(line func(...any)) {
		for _, s := range texts {
			q, err := resource.ParseQuantity(s)
			if err != nil {
				line(s, "error", err)
				continue
			}
			good = append(good, s)
			up := q.DeepCopy()
			exact := up.RoundUp(resource.Milli)
			canonical := resource.Quantity{Format: q.Format}
			canonical.Add(q)
			line(s, text(q), text(canonical), q.Format, q.Value(), q.MilliValue(), int64Or(q), bits(q.AsApproximateFloat64()), q.Sign(), text(up), exact)
		}
	})
	write(dir, "quantity_pairs.tsv", func(line func(...any)) {
		for i := 0; i < 2500; i++ {
			a, b := good[r.Intn(len(good))], good[r.Intn(len(good))]
			if i%4 == 0 {
				b = a
			}
			factor := []int64{0, 1, -1, 3, 10, 1000, 123456789, math.MaxInt64}[r.Intn(8)]
			sum, diff, prod := resource.MustParse(a), resource.MustParse(a), resource.MustParse(a)
			sum.Add(resource.MustParse(b))
			diff.Sub(resource.MustParse(b))
			ok := prod.Mul(factor)
			x := resource.MustParse(a)
			line(a, b, x.Cmp(resource.MustParse(b)), text(sum), text(diff), factor, text(prod), ok, resource.MustParse(a) == resource.MustParse(b))
		}
	})
	write(dir, "semver_parse.tsv", func(line func(...any)) {
		for _, s := range versions(r) {
			v, err := semver.Parse(s)
			if err != nil {
				line(s, "error", err)
				continue
			}
			line(s, v)
		}
	})
	write(dir, "semver_pairs.tsv", func(line func(...any)) {
		var ok []string
		for _, s := range versions(r) {
			if _, err := semver.Parse(s); err == nil {
				ok = append(ok, s)
			}
		}
		for i := 0; i < 1500; i++ {
			a, b := ok[r.Intn(len(ok))], ok[r.Intn(len(ok))]
			line(a, b, semver.MustParse(a).Compare(semver.MustParse(b)))
		}
	})
}

func versions(r *rand.Rand) []string {
	out := strings.Fields(`1.2.3 0.0.0 1.2 1 v1.2.3 1.2.3.4 01.2.3 1.02.3 1.2.03 1.2.3-alpha 1.2.3-alpha.1 1.2.3-alpha.01 1.2.3-1 1.2.3- 1.2.3+ 1.2.3+b 1.2.3+b.01 1.2.3+b..c 1.2.3-a..b 1.2.3-a+b-c
1.2.3+b-c 1.2.3-a_b 1.2.3+a_b a.b.c 1.x.3 18446744073709551615.0.0 18446744073709551616.0.0 1.0.0-18446744073709551616 1..3 .. 1.2.3-alpha.beta 1.2.3-rc.1+build.5 1.2.3--- 1.2."3 1.2.3-x.7.z.92 555.0.0-foo 10.0.0 9.0.0 1.10.0 1.9.0`)
	part := []string{"0", "1", "2", "10", "alpha", "beta", "rc", "x-y", "01", "", "-"}
	for i := 0; i < 400; i++ {
		s := fmt.Sprintf("%d.%d.%d", r.Intn(3), r.Intn(3), r.Intn(12))
		for j, sep := 0, "-"; j < r.Intn(4); j, sep = j+1, "." {
			s += sep + part[r.Intn(len(part))]
		}
		if r.Intn(3) == 0 {
			s += "+" + part[r.Intn(len(part))]
		}
		out = append(out, s)
	}
	return out
}
