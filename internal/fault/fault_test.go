package fault

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Not parallel: an armed point is one for the process.
func TestArmedPointActsAtItsPassOnly(t *testing.T) {
	disarm, err := Arm("state.save=err:ENOSPC@2")
	if err != nil {
		t.Fatal(err)
	}
	got := []error{Err("state.save"), Err("trust.save"), Err("state.save"), Err("state.save")}
	for i, want := range []error{nil, nil, syscall.ENOSPC, nil} {
		if !errors.Is(got[i], want) || (want == nil) != (got[i] == nil) {
			t.Errorf("pass %d: %v, want %v", i, got[i], want)
		}
	}
	disarm()
	if disarm, err = Arm("trust.save=panic"); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		Point("trust.save")
	}()
	disarm()
	Point("trust.save")
	if disarm, err = Arm("*=err:EIO@2"); err != nil {
		t.Fatal(err)
	}
	Point("trust.save")
	if err := Err("state.save"); !errors.Is(err, syscall.EIO) {
		t.Errorf("the second pass of any point: %v", err)
	}
	disarm()
	for _, bad := range []string{"", "x", "x=", "x=stop", "x=sleep:soon", "x=err:EVIL", "x=kill@y"} {
		if _, err := Arm(bad); err == nil {
			t.Errorf("%q was armed", bad)
		}
	}
}

func TestNamesAreThePointsOfTheSource(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`fault\.(?:Point|Err)\("([a-z.]+)"\)|s\.(?:update|write)\(ctx, "([a-z.]+)"|s\.point\("([a-z.]+)"\)`)
	found := map[string]bool{}
	err := filepath.WalkDir("../..", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return err
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if strings.Contains(string(src), "fault.Arm(") {
			t.Errorf("%s arms a point outside a test", p)
		}
		for _, m := range call.FindAllStringSubmatch(string(src), -1) {
			found[m[1]+m[2]+m[3]] = true
			if !slices.Contains(Names(), m[1]+m[2]+m[3]) {
				t.Errorf("%s: point %q is not in Names", p, m[1]+m[2]+m[3])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		if !found[name] {
			t.Errorf("no call has the point %q", name)
		}
	}
}
