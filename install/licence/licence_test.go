package licence_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/install/licence"
)

const mit = `MIT License

Copyright (c) 2025 The Pack

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`

const proprietary = `Copyright 2025 A Vendor. All rights reserved.

Use of these materials is governed by your agreement with A Vendor. You may not
extract these materials, retain copies of them outside the service, or make
derivative works of them.
`

func tree(files ...string) fstest.MapFS {
	t := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		t[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return t
}

func TestTheTextNearestToTheSkillDecides(t *testing.T) {
	t.Parallel()
	own, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	this := string(own)
	for _, c := range []struct {
		what   string
		tree   fstest.MapFS
		dir    string
		header string
		source string
		want   licence.Decision
		spdx   string
		file   string
	}{
		{what: "a permissive text beside the skill", tree: tree("s/LICENSE", mit), dir: "s", want: licence.Allow, spdx: "MIT", file: "s/LICENSE"},
		{what: "this project's own", tree: tree("s/LICENSE.txt", this), dir: "s", want: licence.Allow, file: "s/LICENSE.txt"},
		{what: "a text with the year of nobody and other line breaks", tree: tree("s/licence.md", strings.ReplaceAll(mit, "\n", "\r\n")), dir: "s", want: licence.Allow, spdx: "MIT", file: "s/licence.md"},
		{what: "a header", tree: tree(), dir: "s", header: "MIT", want: licence.Allow, spdx: "MIT"},
		{what: "a header by a usual name", tree: tree(), dir: "s", header: "Apache License 2.0", want: licence.Allow, spdx: "Apache-2.0"},
		{what: "a choice", tree: tree(), dir: "s", header: "MIT OR GPL-3.0-only", want: licence.Allow, spdx: "MIT OR GPL-3.0-only"},
		{what: "both", tree: tree(), dir: "s", header: "MIT AND GPL-3.0-only", want: licence.Warn, spdx: "MIT AND GPL-3.0-only"},
		{what: "with parentheses", tree: tree(), dir: "s", header: "(MIT AND (BUSL-1.1 OR ISC))", want: licence.Allow, spdx: "(MIT AND (BUSL-1.1 OR ISC))"},
		{what: "an exception", tree: tree(), dir: "s", header: "GPL-2.0-only WITH Classpath-exception-2.0", want: licence.Warn, spdx: "GPL-2.0-only WITH Classpath-exception-2.0"},
		{what: "a clause that takes away", tree: tree(), dir: "s", header: "MIT WITH Commons-Clause", want: licence.Refuse, spdx: "MIT WITH Commons-Clause"},
		{what: "no commerce", tree: tree(), dir: "s", header: "CC-BY-NC-SA-4.0", want: licence.Refuse, spdx: "CC-BY-NC-SA-4.0"},
		{what: "copyleft", tree: tree(), dir: "s", header: "AGPL-3.0-only", want: licence.Warn, spdx: "AGPL-3.0-only"},
		{what: "a pointer to a proprietary text", tree: tree("s/LICENSE.txt", proprietary), dir: "s", header: "Proprietary. LICENSE.txt has complete terms", want: licence.Refuse, file: "s/LICENSE.txt"},
		{what: "a neutral pointer to a proprietary text", tree: tree("s/LICENSE.txt", proprietary), dir: "s", header: "Complete terms in LICENSE.txt", want: licence.Refuse, file: "s/LICENSE.txt"},
		{what: "a pointer to a permissive text", tree: tree("s/LICENSE.txt", mit), dir: "s", header: "Complete terms in LICENSE.txt", want: licence.Allow, spdx: "MIT", file: "s/LICENSE.txt"},
		{what: "a pointer to a text above", tree: tree("LICENSE", mit), dir: "pack/s", header: "see LICENSE", want: licence.Allow, spdx: "MIT", file: "LICENSE"},
		{what: "a pointer to a text that is not there", tree: tree(), dir: "s", header: "Complete terms in LICENSE.txt", want: licence.None},
		{what: "proprietary without a text", tree: tree(), dir: "s", header: "Proprietary", want: licence.Refuse},
		{what: "a permissive name beside a refusing text", tree: tree("s/LICENSE", proprietary), dir: "s", header: "MIT", want: licence.Contradiction},
		{what: "a refusing header beside a permissive text", tree: tree("s/LICENSE.txt", mit), dir: "s", header: "Proprietary. LICENSE.txt has complete terms", want: licence.Contradiction},
		{what: "a permissive text with terms of its own behind it", tree: tree("s/LICENSE", mit+"\nYou may not redistribute this software.\n"), dir: "s", want: licence.Refuse, file: "s/LICENSE"},
		{what: "the repository's", tree: tree("LICENSE", mit, "skills/s/SKILL.md", ""), dir: "skills/s", want: licence.Allow, spdx: "MIT", file: "LICENSE"},
		{what: "the skill's own against the repository's", tree: tree("LICENSE", mit, "skills/s/LICENSE.txt", proprietary), dir: "skills/s", want: licence.Refuse, file: "skills/s/LICENSE.txt"},
		{what: "its sibling", tree: tree("LICENSE", mit, "skills/s/LICENSE.txt", proprietary), dir: "skills/other", want: licence.Allow, spdx: "MIT", file: "LICENSE"},
		{what: "a line in SKILL.md", tree: tree(), dir: "s", source: "<!-- SPDX-License-Identifier: ISC -->\n", want: licence.Allow, spdx: "ISC", file: "s/SKILL.md"},
		{what: "a package", tree: tree("package.json", `{"license":"BSD-2-Clause"}`), dir: "skills/s", want: licence.Allow, spdx: "BSD-2-Clause", file: "package.json"},
		{what: "a package that grants nothing", tree: tree("package.json", `{"license":"UNLICENSED"}`), dir: "s", want: licence.None},
		{what: "a choice of two files", tree: tree("s/LICENSE-MIT", mit, "s/LICENSE-APACHE", this), dir: "s", want: licence.Allow},
		{what: "only rights reserved", tree: tree("s/LICENSE", "Copyright 2025 Somebody. All rights reserved.\n"), dir: "s", want: licence.Refuse, file: "s/LICENSE"},
		{what: "nothing", tree: tree("s/SKILL.md", ""), dir: "s", want: licence.None},
		{what: "a name that nobody knows", tree: tree(), dir: "s", header: "Custom", want: licence.None},
		{what: "a name that nobody knows beside a text", tree: tree("s/LICENSE", mit), dir: "s", header: "Custom", want: licence.Allow, spdx: "MIT", file: "s/LICENSE"},
		{what: "a broken expression", tree: tree(), dir: "s", header: "MIT OR", want: licence.None},
		{what: "a notice alone", tree: tree("s/NOTICE", "This product includes software of others.\n", "LICENSE", mit), dir: "s", want: licence.Allow, spdx: "MIT", file: "LICENSE"},
	} {
		v, err := licence.Decide(c.tree, c.dir, c.header, []byte(c.source), licence.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if v.Decision != c.want || c.spdx != "" && v.SPDX != c.spdx || c.file != "" && v.File != c.file {
			t.Errorf("%s: got %+v", c.what, v)
		}
		if v.Evidence == "" {
			t.Errorf("%s: nothing says why", c.what)
		}
	}
}

func TestAPersonMayLetAnIdentifierPass(t *testing.T) {
	t.Parallel()
	v, err := licence.Decide(tree(), "s", "BUSL-1.1", nil, licence.Options{Allow: []string{"busl-1.1"}})
	if err != nil || v.Decision != licence.Allow {
		t.Errorf("%+v %v", v, err)
	}
}

// What an expression says is no worse for a choice more, and no better for a duty more.
func FuzzExpression(f *testing.F) {
	f.Add("MIT", "GPL-3.0-only")
	f.Add("(MIT OR ISC", ")")
	f.Add("MIT WITH", "Commons-Clause")
	order := map[licence.Decision]int{licence.Allow: 0, licence.Warn: 1, licence.None: 2, licence.Refuse: 3, licence.Contradiction: 4}
	of := func(s string) (licence.Decision, bool) {
		v, ok := licence.OfName(s, licence.Options{})
		return v.Decision, ok && v.SPDX != "LicenseRef-Proprietary" && v.SPDX != ""
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		da, oka := of(a)
		db, okb := of(b)
		if !oka || !okb {
			return
		}
		if d, ok := of("(" + a + ") OR (" + b + ")"); ok && order[d] > min(order[da], order[db]) {
			t.Errorf("%q OR %q: %s from %s and %s", a, b, d, da, db)
		}
		if d, ok := of("(" + a + ") AND (" + b + ")"); ok && order[d] < max(order[da], order[db]) {
			t.Errorf("%q AND %q: %s from %s and %s", a, b, d, da, db)
		}
	})
}
