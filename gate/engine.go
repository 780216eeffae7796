package gate

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/skill"
)

// Mode says how freely a gate allows. There is no mode that allows all.
type Mode string

// The modes.
const (
	Default Mode = "default"  // by tier
	Plan    Mode = "plan"     // READ_ONLY alone
	DontAsk Mode = "dont_ask" // what would be asked is refused
)

// Options configures a gate. Tools and Audit are required.
type Options struct {
	Tools *Table
	Audit Sink

	// Answerable says that a person can be asked; false refuses every question.
	Answerable bool
	// Auto answers questions up to this tier for the life of the gate, in turns of a
	// person only; 0 = none, at most AlwaysConfirm.
	Auto Tier
	Mode Mode // "" = Default
	// StrictStages bounds every call by the stages of its turn: READ_ONLY for discover,
	// CONFIRM_ONCE for evaluate, any tier for decide and manage; the greatest counts.
	// Without a stage a person's turn has no bound and another one READ_ONLY.
	StrictStages bool
	// Dialect says whose manners count; "" = skill.Deft.
	Dialect skill.Dialect
	// Paths says which files are whose, for tools that name files.
	Paths PathPolicy
	// Rules is what the layers of configuration say of tools.
	Rules RuleSet
	// Redact takes secrets out of what is kept of a question, and tells which calls hold some.
	Redact Redactor
	// Grants and Confirms keep consent given in advance and open questions; nil = a Memory
	// that writes to Audit.
	Grants   GrantStore
	Confirms ConfirmStore

	Now  func() time.Time // nil = time.Now
	Rand io.Reader        // nonces; nil = crypto/rand
}

// policy is the part of the options that the decision table sees.
type policy struct {
	mode       Mode
	auto       Tier
	answerable bool
	strict     bool // stages bound every call
	loose      bool // stages bound none but by strict
}

// New returns a gate. It is safe for concurrent use.
func New(o Options) (Gate, error) {
	switch {
	case o.Tools == nil:
		return nil, errors.New("gate options: no tool table")
	case o.Audit == nil:
		return nil, errors.New("gate options: no record to write to")
	case o.Auto > AlwaysConfirm:
		return nil, fmt.Errorf("gate options: auto answers at most %s", AlwaysConfirm)
	}
	switch o.Mode {
	case "":
		o.Mode = Default
	case Default, Plan, DontAsk:
	default:
		return nil, fmt.Errorf("gate options: mode %q is none of %s, %s, %s", o.Mode, Default, Plan, DontAsk)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	own := NewMemory(o.Audit)
	if o.Grants == nil {
		o.Grants = own
	}
	if o.Confirms == nil {
		o.Confirms = own
	}
	o.Paths = o.Paths.fixed()
	e := &engine{o: o, rules: o.Rules.fixed(), pending: map[string]*question{}, sessions: map[string]*memory{}}
	return e, e.recordOverrides()
}

// recordOverrides notes which tiers the configuration sets, before one of them counts.
func (e *engine) recordOverrides() error {
	for _, r := range e.rules.Overrides {
		row := Row{
			Time: e.o.Now().UTC(), Tool: r.Tool, Tier: r.Tier, Ceiling: ManualOnly, Code: CodeOverride,
			Stages: []string{}, Skills: []string{}, Override: fmt.Sprintf("to %s: %s", r.Tier, r.Reason),
		}
		if err := e.o.Audit.Record(context.Background(), row); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return nil
}

// Mode returns how freely the gate allows.
func (e *engine) Mode() Mode { return e.o.Mode }

// Explain implements Gate. Without arguments it tells what holds for the tool
// whatever they are.
func (e *engine) Explain(c Call) Decision {
	d, f := e.decide(context.Background(), c, len(c.Args) == 0)
	if f.grantFault != nil {
		d, _ = unavailable(d, f.grantFault)
	}
	if d.Verdict == Ask && d.CallHash != "" {
		e.mu.Lock()
		defer e.mu.Unlock()
		if code, reason := e.barred(c, d.CallHash); code != "" {
			d.Verdict, d.Code, d.Reason = Deny, code, reason
		}
	}
	return d
}

// Check implements Gate. The error says why the gate was unavailable; the Decision
// stands with and without it.
func (e *engine) Check(ctx context.Context, c Call) (Decision, error) {
	d, f := e.decide(ctx, c, false)
	if err := cmp.Or(ctx.Err(), f.grantFault); err != nil {
		return unavailable(d, err)
	}
	return e.settle(ctx, d, f)
}

// settle writes what a decision leaves behind: a question, the use of a grant, a row.
func (e *engine) settle(ctx context.Context, d Decision, f *facts) (Decision, error) {
	switch {
	case d.Verdict == Ask:
		return e.ask(ctx, d, f)
	case d.Code == CodeGrant:
		return e.useGrant(ctx, d, f)
	}
	return e.record(ctx, f.call, d)
}

// record writes the row of a decision, which is refused if that fails.
func (e *engine) record(ctx context.Context, c Call, d Decision) (Decision, error) {
	if err := e.o.Audit.Record(ctx, e.row(c, d)); err != nil {
		return unavailable(d, err)
	}
	return d, nil
}

func unavailable(d Decision, cause error) (Decision, error) {
	return Decision{
		Verdict: Deny, Code: CodeUnavailable, Tier: d.Tier, CallHash: d.CallHash,
		Reason: "the decision could not be recorded",
	}, fmt.Errorf("%w: %w", ErrUnavailable, cause)
}

// decide gathers the facts of a call and puts them to the table.
func (e *engine) decide(ctx context.Context, c Call, anyArgs bool) (Decision, *facts) {
	d, f := e.decideNow(ctx, c, anyArgs)
	void := f.void()
	if len(void) == 0 {
		return d, f
	}
	c.Skills = slices.Clone(c.Skills)
	for i := range c.Skills {
		if slices.Contains(void, c.Skills[i].Name) {
			c.Skills[i].Granted = false
		}
	}
	d, f = e.decideNow(ctx, c, anyArgs)
	d.Reason += fmt.Sprintf("; skill %q is not what was granted any more (trust_drift)", clip(void[0]))
	return d, f
}

// void names the skills whose word was needed and does not count any more: their files are
// not those that a person granted.
func (f *facts) void() []string {
	var names []string
	for _, r := range f.leans {
		if r.skill != "" && !slices.Contains(names, r.skill) {
			names = append(names, r.skill)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(f.call.Skills, func(s ActiveSkill) bool { return s.Name == name && s.Still != nil && !s.Still() })
	})
}

func (e *engine) decideNow(ctx context.Context, c Call, anyArgs bool) (Decision, *facts) {
	f := &facts{
		call: c, tier: ManualOnly, ceiling: ManualOnly, autonomous: c.Origin.Autonomous(),
		policy: policy{e.o.Mode, e.o.Auto, e.o.Answerable, e.o.StrictStages, manners[e.o.Dialect].loose},
	}
	if c.Ceiling != 0 {
		f.ceiling = c.Ceiling.known()
	}
	tools, visible := e.o.Tools.now.Load(), c.Visible
	if visible == nil {
		visible = tools.names
	}
	f.tool, f.visible = tools.tools[c.Tool]
	f.visible = f.visible && slices.Contains(visible, c.Tool)
	if !f.visible {
		d := decide(f)
		if d.Suggestions = closeNames(c.Tool, visible); len(d.Suggestions) > 0 {
			d.Reason += "; close names: " + strings.Join(d.Suggestions, ", ")
		}
		return d, f
	}
	f.tier, f.raised, f.lowered = e.rules.tier(c.Tool, f.tool.Tier)
	var object map[string]any
	var args json.RawMessage
	if !anyArgs {
		object, args, f.argsFault = tools.checkArgs(c.Tool, c.Args)
		f.call.Args = args
	}
	dirs := e.touches(f, object)
	s := e.subject(f, object, anyArgs)
	e.raise(f, s, anyArgs)
	f.refusal = refusal(f, s)
	f.said = s.judge(append(e.rules.Rules[:len(e.rules.Rules):len(e.rules.Rules)], s.approved...))
	f.leans = s.leans(f.said)
	f.key = e.memoryKey(f, s.memoryParts(dirs))
	f.remembered = e.isRemembered(c.Session, f.key)
	f.subject, f.object, f.workspace = s, object, e.o.Paths.Workspace
	e.lookUp(ctx, f)
	return e.verdict(f), f
}

// verdict puts the facts to the table and names what the answer is about.
func (e *engine) verdict(f *facts) Decision {
	d := decide(f)
	d.Args = f.call.Args
	if f.object != nil {
		d.CallHash = f.callHash()
		_, d.Secret = e.o.Redact.value(f.object)
	}
	if f.tier != ConfirmOnce || d.Code == CodeRuleAsk || d.Code == CodeHookAsk {
		d.Key = ""
	}
	return d
}

// touches notes the paths that a call names, or why one of them is refused, and what they
// make of its tier. It returns the directories that the call touches.
func (e *engine) touches(f *facts, object map[string]any) (dirs []string) {
	if object == nil {
		return nil
	}
	for _, arg := range f.tool.Paths {
		path, why := arg.value(object, f.call.Dir)
		if why != "" {
			f.pathFault = &fault{CodeBadPath, why}
			return dirs
		}
		at, bad := e.o.Paths.judge(f.call.Dir, path, arg.Write, f.call.Skills)
		if bad != nil {
			f.pathFault = bad
			return dirs
		}
		dirs = append(dirs, at.dir)
		f.files = append(f.files, touched{arg.Write, filepath.ToSlash(at.plain), filepath.ToSlash(at.real)})
		f.up(at.tier, pathReason(at.tier, arg.Write))
	}
	return dirs
}

// up raises the tier; nothing lowers it.
func (f *facts) up(t Tier, why string) {
	if t.known() > f.tier && t != 0 {
		f.tier, f.raised = t.known(), why
	}
}

// raise lets what a shell command does and the tool's own look at the call raise the tier.
func (e *engine) raise(f *facts, s *subject, anyArgs bool) {
	if f.argsFault != nil {
		return
	}
	switch {
	case f.tool.Shell == "":
	case anyArgs:
		f.up(AlwaysConfirm, "a shell command may do anything")
	default:
		f.up(s.shell.tier())
	}
	if f.tool.Raise != nil {
		f.up(f.tool.Raise(f.call))
	}
}

func pathReason(t Tier, write bool) string {
	if !write {
		return "the path is outside the workspace"
	}
	if t == AlwaysConfirm {
		return "the path is outside the workspace, or what it holds runs later"
	}
	return "it changes a file of the workspace"
}

// memoryKey is what a person's "for this session" stands for: this tool as it is, in these
// directories of this workspace, with these skills active in these bytes.
func (e *engine) memoryKey(f *facts, parts []string) string {
	c := f.call
	if manners[e.o.Dialect].coarse && len(f.tool.Paths) == 0 && f.tool.Shell == "" && len(parts) == 0 {
		return c.Tool + "\x00" + f.tool.Mark
	}
	return strings.Join([]string{c.Tool, f.tool.Mark, strings.Join(parts, "|"), e.o.Paths.Workspace, strings.Join(skillMarks(c), "|")}, "\x00")
}

func skillMarks(c Call) []string {
	marks := make([]string, 0, len(c.Skills))
	for _, s := range c.Skills {
		marks = append(marks, s.Name+"@"+s.Source+"#"+string(s.hash()))
	}
	slices.Sort(marks)
	return marks
}

// callHash identifies what a person is shown and what then runs.
func (f *facts) callHash() string {
	c := f.call
	head, _ := json.Marshal(struct { // texts: it cannot fail
		Tool, Mark, Dir, Placement, Stdin string
		Skills, Env, Writes               []string
	}{c.Tool, f.tool.Mark, c.Dir, c.Placement, c.Stdin, skillMarks(c), slices.Sorted(slices.Values(c.Env)), f.writes()})
	sum := sha256.New()
	sum.Write(head)
	sum.Write([]byte{0}) // JSON holds no NUL: the two parts cannot run together
	sum.Write(c.Args)
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// writes are the files that a call would change, with links followed.
func (f *facts) writes() []string {
	var out []string
	for _, t := range f.files {
		if t.write {
			out = append(out, t.real)
		}
	}
	return out
}

func (e *engine) row(c Call, d Decision) Row {
	ceiling := ManualOnly
	if c.Ceiling != 0 {
		ceiling = c.Ceiling.known()
	}
	return Row{
		Time: e.o.Now().UTC(), Trace: c.Trace, Session: c.Session, Turn: c.Turn, Call: c.ID,
		Origin: c.Origin, Principal: c.Principal, Tool: c.Tool, Via: c.Via, Tier: d.Tier,
		Stages: append([]string{}, c.Stages...), Ceiling: ceiling, Verdict: d.Verdict, Code: d.Code,
		Rule: d.Rule, GrantID: d.GrantID, ConfirmID: d.ConfirmID, CallHash: d.CallHash, Skills: skillMarks(c), BypassedBy: d.BypassedBy,
		Override: d.Override, Secret: d.Secret,
	}
}
