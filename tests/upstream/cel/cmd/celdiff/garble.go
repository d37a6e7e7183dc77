package main

import (
	"regexp"
	"strings"
)

// What garbled puts between tokens: all tokens of the language, broken ones, and characters that no
// token has.
var garbage = []string{
	"(", ")", "[", "]", "{", "}", ".", ",", "-", "!", "?", ":", "+", "*", "/", "%", "==", "!=", "in",
	"<", "<=", ">=", ">", "&&", "||", "true", "false", "null", "1", "2.5", "3u", "'s'", `"t"`, "b'x'",
	"x", "device", "has", "has(", "map(", "exists(", "`e`", "`a.b`", "as", "while", ".a", ".?b", "[?0", ".f(",
	"T{", "a.b{", "{'k':", "|", "&", "=", "#", "@", "$", "\x00", "ü", "'", `"`, "`", `"""`, "'''", `'\q'`,
	"\\", "\n", "\t", " ", "//", "// c\n", "0x", "1e", "1.", "--", "!!", "??", ",,", "()", "[]", "{}",
	"99999999999999999999", "1e999", "\r", "\u00a0", "🙂",
}

var tokens = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*|[0-9][0-9.eExXuU]*|"[^"]*"|'[^']*'|[<>=!]=|&&|\|\||\s+|.`)

// garbled damages an expression token by token, or makes one up that never was an expression.
func (g *generator) garbled(s string) string {
	if g.chance(20) {
		made := ""
		for range 1 + g.rng.IntN(pick(g, 6, 14, 60)) {
			made += pick(g, garbage...)
			if g.chance(30) {
				made += " "
			}
		}
		return made
	}
	parts := tokens.FindAllString(s, -1)
	for range 1 + g.rng.IntN(6) {
		if len(parts) == 0 {
			return pick(g, garbage...)
		}
		i, j := g.rng.IntN(len(parts)), g.rng.IntN(len(parts))
		switch g.rng.IntN(7) {
		case 0:
			parts = append(parts[:i:i], parts[i+1:]...)
		case 1:
			parts = append(parts[:i:i], append([]string{pick(g, garbage...)}, parts[i:]...)...)
		case 2:
			parts[i] = pick(g, garbage...)
		case 3:
			parts[i], parts[j] = parts[j], parts[i]
		case 4:
			parts = append(parts[:i:i], append([]string{parts[j]}, parts[i:]...)...)
		case 5: // A character many times over.
			parts[i] += strings.Repeat(pick(g, garbage...), 1+g.rng.IntN(40))
		case 6:
			if g.chance(50) {
				parts = parts[:i]
			} else {
				parts = parts[i:]
			}
		}
	}
	return strings.Join(parts, "")
}
