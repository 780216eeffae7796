package route

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

var update = flag.Bool("update", false, "write testdata/golden.json anew")

// golden is one turn and what comes of it.
type golden struct {
	Message string
	Hits    []RoutedCatalogEntry
	All     []string
	Hidden  []HiddenEntry
	Stages  StageSet
	Fit     Fit
	Winner  string
	Why     []ExplanationRow
}

// goldenLibrary has every kind of fact. It is drawn by a generator whose numbers are the
// same on every platform.
func goldenLibrary() *registry.Snapshot {
	rnd := rand.New(rand.NewPCG(7, 8))
	words := strings.Fields("buy sell swap risk review deploy monitor 买 风险 地板价 token stop-loss NFT估值 $BTC c++ ＢＴＣ")
	pick := func() string { return words[rnd.IntN(len(words))] }
	var recs []*registry.Record
	for i := range 60 {
		recs = append(recs, record(fmt.Sprintf("s%02d", i), func(s *skill.Skill) {
			s.Meta.Priority = uint8(rnd.IntN(5) * 25)
			r := routing(s)
			if i%4 > 0 {
				r.Keywords = []string{pick(), pick(), pick()}
			}
			r.Stages = []string{Stage(rnd.IntN(4)).String()}
			r.CoActivate = []string{fmt.Sprintf("s%02d", rnd.IntN(60))}
			switch i % 10 {
			case 0:
				r.NegativeKeywords = []string{pick()}
			case 1:
				r.AssetClasses = []string{"crypto"}
			case 2:
				r.SignalSources = []string{"cron"}
			case 3:
				s.Meta.Conditions = &skill.Conditions{RequiresEnv: []string{"KEY"}, Platforms: []string{"darwin"}}
			}
		}))
	}
	return snapshot(recs...)
}

// The bytes are the same on every platform and in every run.
func TestTheGoldenTurnsComeOutTheSame(t *testing.T) {
	t.Parallel()
	r, _ := Compile(goldenLibrary(), Options{})
	var list []golden
	for i, message := range []string{
		"should I buy a token", "看看地板价，要不要买ＢＴＣ", "stop-loss $BTC c++17", "deploy, monitor & review the NFT估值", "hello", "",
	} {
		in := TurnRoutingContext{
			Message: message, Env: skill.Environment{OS: "linux"}, Loaded: []string{"s05"}, Preload: []Preload{{"s07", "user"}},
			Retrieved: []Retrieved{{"s11", 900, 60, 50, 120}, {"s30", 777, 40, 20, 70}, {"s12", 3, 90, 2, 10}},
		}
		if i%2 == 1 {
			in.Assets, in.Signal = []Asset{{"BTC", "Crypto"}}, &Signal{Source: "cron", SuggestedStages: []string{"manage"}}
		}
		res, err := r.Route(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		g := golden{Message: message, Hits: res.Hits, All: names(res), Hidden: slices.Collect(res.Hidden()), Stages: res.Stages, Fit: res.Fit, Why: r.Explain(in, "s11").Rows}
		if w, ok := res.ClearWinner(); ok {
			g.Winner = w.Name
		}
		list = append(list, g)
	}
	got, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "golden.json")
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got)+"\n" {
		t.Errorf("the turns differ from %s; -update writes it anew\n%s", file, got)
	}
}

// Whatever a turn is: the order of registration has no influence, no removed skill is
// listed, every other one is, once, and points stay within their bounds.
func TestWhatHoldsForEveryTurn(t *testing.T) {
	t.Parallel()
	base := goldenLibrary()
	words := []string{"buy", "sell", "shortly", "买", "地板价", "stop-loss", "token", "c++17", "risk", "hello", "deploy"}
	dialects := []skill.Dialect{skill.Deft, skill.Minara, skill.Codex}
	rapid.Check(t, func(t *rapid.T) {
		opt := DialectOptions(rapid.SampledFrom(dialects).Draw(t, "dialect"))
		opt.StrictStage = rapid.Bool().Draw(t, "strict")
		if rapid.Bool().Draw(t, "additive") {
			opt.Fallback = Additive
		}
		in := TurnRoutingContext{Message: strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).Draw(t, "words"), " ")}
		for range rapid.IntRange(0, 4).Draw(t, "found") {
			in.Retrieved = append(in.Retrieved, Retrieved{Address: fmt.Sprintf("s%02d", rapid.IntRange(0, 61).Draw(t, "hit")), Score: rapid.Int64Range(-1, 1000).Draw(t, "score"), Coverage: rapid.IntRange(0, 100).Draw(t, "coverage")})
		}
		if rapid.Bool().Draw(t, "signal") {
			in.Signal = &Signal{Source: "cron"}
		}
		first := wholeOf(t, base, in, opt)
		shuffled := snapshot(rapid.Permutation(base.Winners).Draw(t, "order")...)
		if again := wholeOf(t, shuffled, in, opt); again != first {
			t.Fatalf("got\n%s\nthen\n%s", first, again)
		}
	})
}

func wholeOf(t *rapid.T, snap *registry.Snapshot, in TurnRoutingContext, opt Options) string {
	r, _ := Compile(snap, opt)
	res, err := r.Route(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	last := 1 << 20
	for e := range res.All() {
		bonus := 0
		if opt.Fallback == Additive {
			bonus = 100
		}
		if seen[e.Address] || e.Score > 170+bonus || e.Score < 0 || e.Score > last {
			t.Fatalf("entry %+v after %d", e, last)
		}
		seen[e.Address], last = true, e.Score
	}
	for h := range res.Hidden() {
		if seen[h.Address] {
			t.Fatalf("%s is removed and listed", h.Address)
		}
	}
	if len(seen) != res.Total-res.Removed {
		t.Fatalf("%d are listed of %d, %d removed", len(seen), res.Total, res.Removed)
	}
	out, err := json.Marshal([]any{res, slices.Collect(res.All()), slices.Collect(res.Hidden())})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
