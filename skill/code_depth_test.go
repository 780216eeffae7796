package skill

import (
	"strings"
	"testing"
	"time"
)

func TestDeepContainersDoNotHang(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"> ", ">", "- ", "1. ", "> - ", "\t> ", "+ 1) "} {
		body := strings.Repeat(unit, (256<<10)/len(unit)) + "`code`\n\n`later`\n"
		start := time.Now()
		regions := CodeRegions([]byte(body))
		if d := time.Since(start); d > time.Second {
			t.Logf("%q took %v", unit, d)
		}
		last := regions[len(regions)-1]
		if got := body[last.Start:last.End]; got != "later" {
			t.Errorf("%q: last region %q", unit, got)
		}
	}
}

func TestShallowLeavesOrdinaryTextAlone(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "a\n> b\n", strings.Repeat("> ", 64) + "x\n", strings.Repeat("*", 200) + "\n", strings.Repeat("1", 300)} {
		if got := shallow([]byte(body)); string(got) != body {
			t.Errorf("%.40q changed", body)
		}
	}
}
