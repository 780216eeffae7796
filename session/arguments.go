package session

import "path/filepath"

// place puts the request's arguments into the body.
func (t *Turn) place(r Request, c *candidate) {
	c.content = c.body.Text
	if r.HasArgs && r.Args != "" {
		c.appended = "ARGUMENTS: " + r.Args
	}
}

// places are the values of placeholders that name a place or the session.
func (s *Session) places(a Activation) map[string]string {
	values := map[string]string{"SKILL_NAME": a.Name, "SESSION_ID": s.id, "CLAUDE_SESSION_ID": s.id}
	if a.Dir != "" {
		for _, name := range []string{"SKILL_DIR", "CLAUDE_SKILL_DIR", "DEFT_SKILL_DIR"} {
			values[name] = a.Dir
		}
	}
	if s.o.ProjectDir != "" {
		dir := filepath.ToSlash(s.o.ProjectDir)
		values["PROJECT_DIR"], values["CLAUDE_PROJECT_DIR"] = dir, dir
	}
	return values
}
