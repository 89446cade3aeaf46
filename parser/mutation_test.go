package parser

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weir-sql/weir/parser/ast"
)

var mutations = flag.Int("mutations", 20_000, "how many mutated texts TestMutations tries")

var seed = flag.Uint64("seed", 2, "the seed of TestMutations")

// TestMutations changes texts of the corpus token by token, which gets further
// into the grammar than the bytes of a fuzzer: the result is an error with a
// place, or a tree that survives printing.
func TestMutations(t *testing.T) {
	type word struct {
		text string
		kind tokenKind
	}
	var pool [][]word // each text as tokens
	var all []word
	byKind := map[tokenKind][]word{}
	for _, text := range allCorpus(t) {
		var words []word
		for _, tok := range lex(text, ast.Pos{Line: 1, Column: 1}, len(text)).toks {
			if tok.kind != tokEOF && tok.kind != tokBad {
				w := word{text[tok.pos.Offset:tok.end], tok.kind}
				words = append(words, w)
				byKind[tok.kind] = append(byKind[tok.kind], w)
			}
		}
		if len(words) > 0 {
			pool = append(pool, words)
			all = append(all, words...)
		}
	}
	rng := rand.New(rand.NewPCG(1, *seed))
	good := 0
	for range *mutations {
		src := pool[rng.IntN(len(pool))]
		from := 0
		if len(src) > 60 { // a piece of a script
			from = rng.IntN(len(src) - 40)
			src = src[from : from+40]
		}
		words := append([]word(nil), src...)
		for range 1 + rng.IntN(2) {
			i := rng.IntN(len(words))
			switch rng.IntN(8) {
			case 0:
				words[i] = all[rng.IntN(len(all))]
			case 1:
				words = append(words[:i], words[i+1:]...)
			case 2:
				words = append(words[:i], append([]word{all[rng.IntN(len(all))]}, words[i:]...)...)
			case 3: // a run of another text
				other := pool[rng.IntN(len(pool))]
				a := rng.IntN(len(other))
				b := min(len(other), a+1+rng.IntN(8))
				words = append(words[:i], append(append([]word(nil), other[a:b]...), words[i:]...)...)
			case 4, 5, 6: // another of its kind
				same := byKind[words[i].kind]
				words[i] = same[rng.IntN(len(same))]
			case 7: // parentheses around a run
				j := min(len(words), i+1+rng.IntN(6))
				words = append(words[:i], append(append(append([]word{{"(", tokOp}}, words[i:j]...), word{")", tokOp}), words[j:]...)...)
			}
			if len(words) == 0 {
				words = []word{{"SELECT", tokIdent}}
			}
		}
		var b strings.Builder
		for _, w := range words {
			b.WriteString(w.text + " ")
		}
		text := b.String()
		if _, err := Parse(text); err != nil {
			checkError(t, text, err)
			continue
		}
		good += roundTrip(t, text)
	}
	t.Logf("%d texts, %d statements among them parsed and survived printing", *mutations, good)
	if good < *mutations/20 {
		t.Error("too few of the mutated texts are SQL for this to test anything")
	}
}
