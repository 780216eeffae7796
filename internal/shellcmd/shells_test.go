package shellcmd

import "testing"

func TestALineIsJudgedAsItsShellReadsIt(t *testing.T) {
	t.Parallel()
	for line, same := range map[string]bool{
		`git log --oneline -3`: true, `a && b || echo "c $d" 'e' > f`: true, `for x in a b; do echo "$x"; done`: true,
		`echo 'it'\''s' "a\"b"`: true, `x=$(git log); echo "$x" # note`: true, `test 1 = 2 || exit 3`: true, "cat <<E\nx\nE": true,
		`echo $'a\'; touch pwned; echo \'b'`: false, `echo $"a"`: false, `cat <(id)`: false, `a &> f`: false, `[[ a < b ]]`: false,
		`a=(1 2)`: false, `cat <<< x`: false, `a |& b`: false, `x+=1 id`: false, `echo ${x//a/b}`: false, `function f { id; }`: false, `echo @(a|b)`: false, `a(`: false,
	} {
		for shell, want := range map[string]bool{"bash": true, "sh": same, "": same, "zsh": false, "pwsh": false, "powershell": false} {
			if got := Judged(shell, line); (got == line) != want {
				t.Errorf("%s: %q is judged as %q", shell, line, got)
			}
		}
	}
	if got := Judged("pwsh", `echo "a\"; rm 'x' #"`); got != `pwsh -c 'echo "a\"; rm '\''x'\'' #"'` {
		t.Errorf("judged as %s", got)
	}
}
