package install

import (
	"net/url"
	"slices"
	"strings"
)

// A browser address holds the repository, a mark, and then branch and folder.
type hostForms struct {
	hosts []string
	repo  int      // parts of the path that name the repository; 0 = up to the mark
	marks []string // what stands between, in parts
}

// hosts lists the forms that browsers show. GitLab's mark is its own and is believed at
// any host; the others' are ordinary words.
var hosts = []hostForms{
	{hosts: []string{"github.com", "www.github.com", "gitee.com"}, repo: 2, marks: []string{"tree", "blob"}},
	{hosts: []string{"codeberg.org", "gitea.com"}, repo: 2, marks: []string{"src/branch", "src/tag", "src/commit", "tree", "blob"}},
	{hosts: []string{"bitbucket.org"}, repo: 2, marks: []string{"src"}},
	{hosts: nil, marks: []string{"-/tree", "-/blob"}},
}

// plainHosts have repositories at OWNER/REPO, also without a mark.
var plainHosts = []string{"github.com", "www.github.com", "gitee.com", "codeberg.org", "gitea.com", "bitbucket.org", "gitlab.com"}

// browser takes repository, branch and folder out of an address that a browser shows.
func (r *SourceRef) browser(u *url.URL) bool {
	parts := strings.FieldsFunc(u.Path, func(c rune) bool { return c == '/' })
	if u.Host == "dev.azure.com" {
		return r.azure(u, parts)
	}
	for _, h := range hosts {
		if h.hosts != nil && !slices.Contains(h.hosts, u.Host) {
			continue
		}
		for _, mark := range h.marks {
			if at := h.find(parts, strings.Split(mark, "/")); at > 0 {
				r.URL = u.Scheme + "://" + u.Host + "/" + strings.TrimSuffix(strings.Join(parts[:at], "/"), ".git")
				r.Rest = skillDir(strings.Join(parts[at+strings.Count(mark, "/")+1:], "/"))
				return true
			}
		}
	}
	if len(parts) < 2 || !slices.Contains(plainHosts, u.Host) || len(parts) > 2 && u.Host != "gitlab.com" {
		return false
	}
	r.URL = u.Scheme + "://" + u.Host + "/" + strings.TrimSuffix(strings.Join(parts, "/"), ".git")
	return true
}

// find returns how many parts stand before the mark, 0 where it is not.
func (h hostForms) find(parts, mark []string) int {
	for at := 1; at+len(mark) < len(parts); at++ {
		if (h.repo == 0 && at > 1 || at == h.repo) && slices.Equal(parts[at:at+len(mark)], mark) {
			return at
		}
	}
	return 0
}

// azure reads ORG/PROJECT/_git/REPO?path=D&version=GBR.
func (r *SourceRef) azure(u *url.URL, parts []string) bool {
	if len(parts) != 4 || parts[2] != "_git" {
		return false
	}
	q := u.Query()
	r.URL = u.Scheme + "://" + u.Host + "/" + strings.Join(parts, "/")
	r.Dir = skillDir(strings.Trim(q.Get("path"), "/"))
	if v := q.Get("version"); len(v) > 2 && slices.Contains([]string{"GB", "GT", "GC"}, v[:2]) {
		r.Ref = v[2:]
	}
	return true
}
