package skill

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/fstest"
)

func lossText(loss []Loss) string {
	var lines []string
	for _, l := range loss {
		lines = append(lines, fmt.Sprintf("%s:%d %s: %s", l.Key, l.Line, l.Action, l.Effect))
	}
	return strings.Join(lines, "\n")
}

func TestExportForms(t *testing.T) {
	t.Parallel()
	const refused = "tools are not restricted by this host"
	cases := []struct {
		name     string
		p        Profile
		fix      bool
		sides    map[string]string
		in, out  string // header lines
		files    string // of agents/openai.yaml
		loss     string
		fileName string
	}{
		{
			name: "what the host reads stays as it is, byte for byte", p: ProfileAgentskills,
			in:  "name:   a-skill\ndescription: 'Drafts notes.' # short\n",
			out: "name:   a-skill\ndescription: 'Drafts notes.' # short\n",
		},
		{
			name: "deft's own form is the file", p: ProfileDeft,
			in: "descriptoin: x\nallowed_tools: [a]\n", out: "descriptoin: x\nallowed_tools: [a]\n",
		},
		{
			name: "keys of ours move below metadata", p: ProfileAgentskills,
			in: "name: a-skill\ndescription: Drafts notes.\nallowed-tools: [Read, Bash(git add *)]\n" +
				"disable-model-invocation: yes\narguments: [{name: to, required: true}]\nmetadata: {author: Me}\nlisted: true\n",
			out: "name: a-skill\ndescription: Drafts notes.\nallowed-tools: Read Bash(git add *)\nmetadata:\n  author: Me\n" +
				"  deft.disable-model-invocation: \"yes\"\n  deft.arguments: \"[{\\\"name\\\":\\\"to\\\",\\\"required\\\":true}]\"\n  deft.listed: \"true\"\n",
			loss: "allowed-tools:4 kept: " + refused + "\n" +
				"disable-model-invocation:5 moved: manual-only is not enforced by this host\n" +
				"arguments:6 moved: `$N` and `$name` are not replaced",
		},
		{
			name: "what was repaired is quoted, hyphens that would cut are escaped", p: ProfileAgentskills,
			in:  "name: a-skill\ndescription: Write notes: collect --- group\n",
			out: "name: a-skill\ndescription: \"Write notes: collect \\x2d-- group\"\n",
		},
		{
			name: "the trigger text joins the description", p: ProfileMastra,
			in:  "name: a-skill\ndescription: Drafts notes.\nwhen_to_use: Before a release.\n",
			out: "name: a-skill\ndescription: Drafts notes. Before a release.\nmetadata:\n  deft.when_to_use: Before a release.\n  deft.description: Drafts notes.\n",
		},
		{
			name: "a host's own key stays, typed", p: ProfileClaudeCode,
			in:   "name: a-skill\ndescription: Drafts notes.\nuserInvocable: false\neffort: 3\nscope: turn\n",
			out:  "name: a-skill\ndescription: Drafts notes.\nuser-invocable: false\neffort: 3\nmetadata:\n  deft.scope: turn\n",
			loss: "scope:6 moved: how long the skill stays active is up to this host",
		},
		{
			name: "codex is told by its sidecar", p: ProfileCodex,
			in:    "name: a-skill\ndescription: Drafts notes.\ntitle: Notes\ndisable-model-invocation: true\n",
			out:   "name: a-skill\ndescription: Drafts notes.\nmetadata:\n  deft.title: Notes\n  deft.disable-model-invocation: \"true\"\n",
			files: "policy:\n  allow_implicit_invocation: false\ninterface:\n  display_name: Notes\n",
			loss:  "title:4 moved: the title is not shown",
		},
		{
			name: "a sidecar that is there is extended", p: ProfileCodex,
			sides: map[string]string{SidecarOpenAI: "interface:\n  display_name: Shown\n  brand_color: \"#fff\"\npolicy: {products: [a]}\n"},
			in:    "name: a-skill\ndescription: Drafts notes.\ndisable-model-invocation: true\n",
			out:   "name: a-skill\ndescription: Drafts notes.\nmetadata:\n  deft.disable-model-invocation: \"true\"\n",
			files: "interface:\n  display_name: Shown\n  brand_color: \"#fff\"\npolicy:\n  products:\n    - a\n  allow_implicit_invocation: false\n",
		},
		{
			name: "a sidecar that cannot be read stays", p: ProfileCodex, sides: map[string]string{SidecarOpenAI: "a: ["},
			in:   "name: a-skill\ndescription: Drafts notes.\ndisable-model-invocation: true\n",
			out:  "name: a-skill\ndescription: Drafts notes.\nmetadata:\n  deft.disable-model-invocation: \"true\"\n",
			loss: "disable-model-invocation:4 moved: manual-only is not enforced by this host",
		},
		{
			name: "name and description are made valid on request", p: ProfileAgentskills, fix: true,
			in:   "name: My Skill\ndescription: " + strings.Repeat("word ", 300) + "\n",
			out:  "name: my-skill\ndescription: " + strings.TrimSpace(strings.Repeat("word ", 204)) + "…\nmetadata:\n  deft.description: " + strings.TrimSpace(strings.Repeat("word ", 300)) + "\n",
			loss: "description:3 emptied: the end of the description is not shown",
		},
		{
			name: "and are not without", p: ProfileAgentskills,
			in: "name: My Skill\n", out: "name: My Skill\n",
			loss: "name:2 kept: this host refuses the file: Skill name 'My Skill' must be lowercase\n" +
				"name:2 kept: this host refuses the file: Skill name 'My Skill' contains invalid characters. Only letters, digits, and hyphens are allowed.\n" +
				"description:1 kept: this host refuses the file: Missing required field in frontmatter: description",
		},
		{
			name: "a missing description is the first paragraph, on request", p: ProfileBlade, fix: true,
			in: "name: a-skill\n", out: "name: a-skill\ndescription: Text.\n",
		},
		{
			name: "blocks of ours are named", p: ProfileAgentskills,
			in:   "name: a-skill\ndescription: Drafts notes.\nmetadata:\n  minara:\n    priority: 3\n",
			out:  "name: a-skill\ndescription: Drafts notes.\nmetadata:\n  minara:\n    priority: 3\n",
			loss: "metadata.minara:5 kept: routing, tools and conditions there are not applied by this host",
		},
		{
			name: "conditions meet those of a block", p: ProfileMastra,
			in: "name: a-skill\ndescription: Drafts notes.\nconditions: {requires_env: [A], requires_bins: [git]}\n" +
				"metadata: {deft: {conditions: {requires_env: [B]}}, minara: {conditions: {requires_bins: [hg]}}}\n",
			out: "name: a-skill\ndescription: Drafts notes.\nmetadata:\n  minara:\n    conditions:\n      requires_bins:\n        - hg\n" +
				"  deft.conditions: \"{\\\"requires_env\\\":[\\\"B\\\"]}\"\n",
			loss: "metadata.deft:5 kept: routing, tools and conditions there are not applied by this host\n" +
				"metadata.minara:5 kept: routing, tools and conditions there are not applied by this host\n" +
				"conditions:4 moved: the skill is offered where its conditions fail",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const body = "---\r\n\r\nText. # not a comment\r\n"
			src := []byte("---\n" + c.in + strings.Replace(body, "\r\n", "\n", 1))
			sides := map[string][]byte{}
			for name, text := range c.sides {
				sides[name] = []byte(text)
			}
			s := Parse(src, ParseOptions{DirName: "a-skill", Sidecars: sides})
			out, files, loss, err := ExportWith(s, src, c.p, ExportOptions{Fix: c.fix, Sidecars: sides})
			if err != nil {
				t.Fatal(err)
			}
			want := "---\n" + strings.Replace(c.out, "description: Text.\n", "description: \"Text. # not a comment\"\n", 1) + strings.Replace(body, "\r\n", "\n", 1)
			if string(out) != want {
				t.Errorf("got\n%s\nwant\n%s", out, want)
			}
			if got := string(files[SidecarOpenAI]); got != c.files {
				t.Errorf("sidecar\n%s\nwant\n%s", got, c.files)
			}
			if got := lossText(loss); got != c.loss {
				t.Errorf("loss\n%s\nwant\n%s", got, c.loss)
			}
			if !c.fix {
				after := maps.Clone(sides)
				maps.Copy(after, files)
				sameFields(t, c.name, s, Parse(out, ParseOptions{DirName: "a-skill", Sidecars: after}))
			}
		})
	}
}

func TestExportRefusesWhatIsNotValid(t *testing.T) {
	t.Parallel()
	src := []byte("---\nname: [\n---\n")
	if _, _, _, err := Export(Parse(src, ParseOptions{DirName: "x"}), src, ProfileCodex); err == nil || !strings.Contains(err.Error(), `skill "x"`) {
		t.Error(err)
	}
}

func TestTreeErrorNamesPathAndCause(t *testing.T) {
	t.Parallel()
	_, _, err := TreeDigest(context.Background(), fstest.MapFS{"A": {}, "a": {}})
	if err == nil || err.Error() != `tree "a": same path as "A" where names are folded` {
		t.Error(err)
	}
}
