package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/skill"
)

// ScriptRequest is one script of a skill to run.
type ScriptRequest struct {
	Skill   SkillRef
	Tree    skill.Digest // that was approved; "" = the skill counts by its source, whatever is in it
	Script  string       // relative to the skill, slash-separated
	Args    []string
	Stdin   []byte // at most 1 MiB
	Dir     string
	Env     []string
	Timeout time.Duration // 0 = two minutes; at most ten
	Network bool          // the person lets this skill's commands reach the network
}

// maxStdin bounds what a script is given to read.
const maxStdin = 1 << 20

// interpreters start scripts that do not start themselves, by suffix; the first that is
// there counts.
var interpreters = map[string][]string{
	".py": {"python3"}, ".sh": {"bash"}, ".bash": {"bash"}, ".js": {"node"}, ".mjs": {"node"}, ".ts": {"deno", "tsx"},
	".rb": {"ruby"}, ".pl": {"perl"}, ".ps1": {"pwsh"},
}

// interpreterArgs stand between an interpreter and the script.
var interpreterArgs = map[string][]string{
	"deno": {"run", "--allow-all"}, "pwsh": {"-NoProfile", "-NonInteractive", "-File"}, "bash": {"--noprofile", "--norc"},
}

// RunScript runs one script from a private copy of the whole skill, made in the moment of
// the run and compared with the tree that was approved: what runs is what a person saw,
// and what lies beside it too. SKILL_DIR names the skill itself. The error is a
// [*ScriptError] where the script was not started for a reason that can be told.
func (r *Runner) RunScript(ctx context.Context, q ScriptRequest) (Result, error) {
	none := Result{Exit: -1}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if err := r.Able(ctx, 0); err != nil {
		return none, scriptErr(err)
	}
	if len(q.Stdin) > maxStdin {
		return none, &ScriptError{"script_input", fmt.Sprintf("input of %d bytes, limit %d", len(q.Stdin), maxStdin)}
	}
	copied, err := os.MkdirTemp(r.o.TempRoot, "deft-script-")
	if err != nil {
		return none, fmt.Errorf("copy of the skill: %w", err)
	}
	defer os.RemoveAll(copied) //nolint:errcheck // what stays lies in the folder for temporary files
	tree, err := copyTree(ctx, q.Skill.Dir, copied)
	if err != nil {
		return none, err
	}
	if q.Tree != "" && tree.Digest() != q.Tree {
		return none, &ScriptError{"script_drift", "the skill's files are not the ones that were approved"}
	}
	run := Request{Kind: KindScript, Dir: q.Dir, Env: q.Env, Stdin: q.Stdin, Timeout: q.Timeout, Skill: q.Skill, Network: q.Network}
	if run.Argv, err = r.start(tree, copied, q, r.environment(run)); err != nil {
		return none, err
	}
	with := *r
	with.o.Read = append(append([]string{}, r.o.Read...), copied)
	res, err := with.Run(ctx, run)
	return res, scriptErr(err)
}

// start is how a script is started: itself where it names its interpreter, else by suffix.
func (r *Runner) start(tree skill.Tree, copied string, q ScriptRequest, env []string) ([]string, error) {
	for _, f := range tree {
		if f.Path != q.Script {
			continue
		}
		file := filepath.Join(copied, filepath.FromSlash(f.Path))
		if f.Exec && names(file) {
			return append([]string{file}, q.Args...), nil
		}
		choices := interpreters[strings.ToLower(path.Ext(f.Path))]
		for _, name := range choices {
			if program, err := sandbox.LookPath(name, env); err == nil {
				return append(append(append([]string{program}, interpreterArgs[name]...), file), q.Args...), nil
			}
		}
		if len(choices) == 0 && f.Exec {
			return append([]string{file}, q.Args...), nil
		}
		if len(choices) == 0 {
			return nil, &ScriptError{"script_interpreter", "no interpreter is known for it, and it cannot be started by itself"}
		}
		return nil, &ScriptError{"script_interpreter", strings.Join(choices, " or ") + " not found"}
	}
	return nil, &ScriptError{"script_unknown", "the skill has no such file"}
}

// names reports whether a file names its interpreter in the first line.
func names(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [2]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) == "#!"
}

// copyTree copies the files of a skill that count and says what the copy holds.
func copyTree(ctx context.Context, from, to string) (skill.Tree, error) {
	root, err := os.OpenRoot(from)
	if err != nil {
		return nil, &ScriptError{"script_drift", "the skill's folder cannot be read"}
	}
	defer root.Close()
	_, tree, err := skill.TreeDigest(ctx, root.FS())
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &ScriptError{"script_drift", "the skill's files cannot be read: " + err.Error()}
	}
	dest, err := os.OpenRoot(to)
	if err != nil {
		return nil, fmt.Errorf("copy of the skill: %w", err)
	}
	defer dest.Close()
	for i := range tree {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := copyFile(root, dest, &tree[i]); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

// copyFile copies one file and notes the digest of what was copied: the entry's own may
// be of what lay there a moment before.
func copyFile(from, to *os.Root, e *skill.FileEntry) error {
	in, err := from.Open(filepath.FromSlash(e.Path))
	if err != nil {
		return &ScriptError{"script_drift", "a file of the skill went away"}
	}
	defer in.Close()
	name := filepath.FromSlash(e.Path)
	mode := os.FileMode(0o600)
	if e.Exec {
		mode = 0o700
		// A process that another goroutine starts now would have the file open for writing
		// for a moment, and the kernel runs no such file.
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
	}
	if dir := filepath.Dir(name); dir != "." {
		if err := to.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("copy of the skill: %w", err)
		}
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("copy of the skill: %w", err)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(in, e.Size+1))
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy of the skill: %w", err)
	}
	e.Size, e.Blob = n, skill.Digest("sha256:"+hex.EncodeToString(sum.Sum(nil)))
	return nil
}

// scriptErr names an error of the runner by the code that a model is told.
func scriptErr(err error) error {
	var missing *MissingError
	switch {
	case errors.Is(err, sandbox.ErrUnavailable):
		return &ScriptError{"sandbox_unavailable", err.Error()}
	case errors.Is(err, ErrDir):
		return &ScriptError{"command_dir", "the session's directory is outside the workspace"}
	case errors.As(err, &missing):
		return &ScriptError{"script_interpreter", "the interpreter that its first line names is not found"}
	}
	return err
}
