package cli

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// straight is a scope of dialect claude-code: its skills go straight into that program's own
// folder. Other dialects have it as it is.
func (r *run) straight(s install.Scope) install.Scope {
	if skill.Dialect(r.globals.dialect) != skill.ClaudeCode {
		return s
	}
	return r.claudeScope(s)
}

func (r *run) claudeScope(s install.Scope) install.Scope {
	lock := filepath.Join(r.dirs.Data, string(skill.ClaudeCode)+"-"+install.LockFile)
	if s.Name == "project" {
		lock = filepath.Join(s.Root, ".claude", install.LockFile)
	}
	return s.In(filepath.Join(s.Root, ".claude", "skills"), lock)
}

// miniMaxScope is where dialect minimax installs: for one agent where --agent names it.
func (r *run) miniMaxScope(o installFlags) (install.Scope, error) {
	if len(o.agents) > 1 {
		return install.Scope{}, usage("in dialect minimax a skill is for all agents, or for one")
	}
	if r.miniMaxOf("").Root == "" {
		return install.Scope{}, usage("there is no home, and MINIMAX_DATA_DIR is not set")
	}
	agent := strings.Join(o.agents, "")
	if agent != "" {
		if err := install.CheckName(agent); err != nil {
			return install.Scope{}, err
		}
	}
	return r.miniMaxOf(agent), nil
}

func (r *run) miniMaxOf(agent string) install.Scope {
	lock := "minimax-"
	if agent != "" {
		lock += "agent-" + agent + "-"
	}
	env := r.sourceEnv()
	env.Format.Dialect = skill.MiniMax
	return install.MiniMax(source.DataDir(env), agent, filepath.Join(r.dirs.Data, lock+install.LockFile))
}

// miniMaxScopes are the places of dialect minimax that deft has installed to.
func (r *run) miniMaxScopes() []install.Scope {
	list := []install.Scope{r.miniMaxOf("")}
	if list[0].Root == "" {
		return nil // without a home there is no such place
	}
	files, err := filepath.Glob(filepath.Join(r.dirs.Data, "minimax-agent-*-"+install.LockFile))
	if err != nil {
		return list
	}
	for _, at := range files {
		agent := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(at), "minimax-agent-"), "-"+install.LockFile)
		list = append(list, r.miniMaxOf(agent))
	}
	return list
}

// removable holds names to the rules that a dialect has for removals.
func (r *run) removable(s install.Scope, names []string) error {
	for _, name := range names {
		err := s.Removable(name, builtinNames())
		if errors.Is(err, install.ErrLocation) {
			return installFailure(err).hinted("hint.hub_agent")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// The bounds that dialect minimax has for what is fetched, in bytes.
const (
	miniMaxArchive = 10 << 20
	miniMaxPage    = 1 << 20
)

// hubCode is a code of dialect minimax, with the status that goes with it.
type hubCode struct {
	Code   string `json:"code"`
	Status int    `json:"status"`
}

const hubPrefix = "LOCAL_SKILL_HUB_"

// hubCodes are the codes of dialect minimax by ours. What is not in it, of a source that
// was to be fetched, is that it can't be installed.
var hubCodes = map[string]hubCode{
	"source_unrecognised": {"REMOTE_INVALID_URL", 400}, "source_password": {"REMOTE_INVALID_URL", 400}, "source_bad_url": {"REMOTE_INVALID_URL", 400},
	"source_bad_ref": {"REMOTE_INVALID_URL", 400},
	"fetch_status":   {"REMOTE_DOWNLOAD_FAILED", 502}, "fetch_timeout": {"REMOTE_DOWNLOAD_FAILED", 502}, "source_unknown": {"REMOTE_DOWNLOAD_FAILED", 502},
	"fetch_private_address": {"REMOTE_DOWNLOAD_FAILED", 502}, "fetch_digest": {"REMOTE_DOWNLOAD_FAILED", 502}, "source_missing": {"REMOTE_DOWNLOAD_FAILED", 502},
	"source_no_such_ref": {"REMOTE_SHA_UNAVAILABLE", 502},
	"fetch_limit":        {"REMOTE_ARCHIVE_TOO_LARGE", 413}, "page_limit": {"REMOTE_MARKDOWN_TOO_LARGE", 413},
	"archive_bad_entry": {"REMOTE_ARCHIVE_INVALID", 422}, "archive_limit": {"REMOTE_ARCHIVE_INVALID", 422}, "archive_format": {"REMOTE_ARCHIVE_INVALID", 422},
	"source_no_such_folder": {"REMOTE_ARCHIVE_MISSING_SKILL", 422}, "install_no_skill": {"REMOTE_ARCHIVE_MISSING_SKILL", 422},
	"install_no_such_skill": {"REMOTE_ARCHIVE_MISSING_SKILL", 422}, "install_choose": {"REMOTE_ARCHIVE_AMBIGUOUS", 422}, "skill_empty": {"REMOTE_ARCHIVE_EMPTY_SKILL", 422},
}

// hub is the code of dialect minimax for one of ours.
func (a *app) hub(code string) *hubCode {
	if a.globals.dialect != string(skill.MiniMax) {
		return nil
	}
	out, ok := hubCodes[code]
	if !ok {
		out = hubCode{"REMOTE_INSTALL_UNAVAILABLE", 422}
	}
	out.Code = hubPrefix + out.Code
	return &out
}

// bounded gives a fetcher the bounds of dialect minimax.
func (r *run) bounded(f *install.Fetcher) {
	if skill.Dialect(r.globals.dialect) == skill.MiniMax {
		f.HTTP.Limits = fetch.Limits{Bytes: miniMaxArchive, Document: miniMaxPage}
	}
}

// pages holds what was fetched to the bounds of dialect minimax: a page of a skill is
// neither larger than it takes nor empty.
func (r *run) pages(got *install.Fetched) error {
	if skill.Dialect(r.globals.dialect) != skill.MiniMax {
		return nil
	}
	i := slices.IndexFunc(got.Files, func(f archive.File) bool {
		return filepath.Base(f.Path) == source.SkillFile && len(f.Data) > miniMaxPage
	})
	if i >= 0 {
		return fail(Network, "page_limit", "%s has %d bytes, at most %d", got.Files[i].Path, len(got.Files[i].Data), miniMaxPage)
	}
	if i = slices.IndexFunc(got.Files, func(f archive.File) bool {
		return filepath.Base(f.Path) == source.SkillFile && strings.TrimSpace(string(f.Data)) == ""
	}); i >= 0 {
		return fail(Negative, "skill_empty", "%s is empty", got.Files[i].Path)
	}
	return nil
}

// asPage tells a document that was too large from an archive that was.
func asPage(ref install.SourceRef, err error) error {
	if ref.Kind == install.File && errors.Is(err, fetch.ErrLimit) {
		f := fail(Network, "page_limit", "%s", strings.TrimPrefix(err.Error(), fetch.ErrLimit.Error()+": "))
		f.cause = err
		return f
	}
	return err
}
