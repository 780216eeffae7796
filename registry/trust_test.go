package registry_test

import (
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

func TestFolderTrustDecidesPendingSourcesOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode registry.ProjectTrust
		info source.Info
		want source.Trust
	}{
		{"", source.Info{Kind: source.Project, Trust: source.Pending}, source.Pending},
		{registry.ProjectAsk, source.Info{Kind: source.Project, Trust: source.Pending}, source.Pending},
		{registry.ProjectAlways, source.Info{Kind: source.Project, Trust: source.Pending}, source.Workspace},
		{registry.ProjectAlways, source.Info{Kind: source.Package, Trust: source.Pending}, source.Untrusted},
		{registry.ProjectAlways, source.Info{Kind: source.Agent, Trust: source.Untrusted}, source.Untrusted},
		{registry.ProjectNever, source.Info{Kind: source.Project, Trust: source.Pending}, source.Denied},
		{registry.ProjectNever, source.Info{Kind: source.User, Trust: source.Trusted}, source.Trusted},
	} {
		got, why := c.mode.Trust(t.Context(), c.info, nil)
		if got != c.want || (got == source.Pending || got == source.Denied) != (why.Code == "untrusted" && why.Fix != "") {
			t.Errorf("%q of %+v = %s %+v, want %s", c.mode, c.info, got, why, c.want)
		}
	}
}
