package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// threats are what may come in with a skill, each with the tests that provoke it: a story
// of testdata/script, or a function in a test file.
var threats = []struct {
	what  string
	tests []string
}{
	{"an address that is an option", []string{"install/fetch/git_test.go TestNothingOfARepositoryIsRun", "install/ref_test.go TestEachFormOfASourceIsTakenApart", "install.txtar --list -- -u./x"}},
	{"an address that runs a program", []string{"install/fetch/git_test.go TestNothingOfARepositoryIsRun", "install.txtar ext::sh", "threats.txtar ext::sh"}},
	{"a redirect to a private address", []string{"install/fetch/http_test.go TestADocumentComesWithItsDigest", "install/fetch/git_test.go TestARedirectOfARepositoryIsNotFollowed"}},
	{"a name that answers otherwise the second time", []string{"install/fetch/git_test.go TestGitDialsTheAddressThatWasLookedAt", "install/fetch/pack_internal_test.go TestPinnedAddressesAreDialledInTurn"}},
	{"an address inside another one", []string{"install/fetch/git_test.go ::ffff:127.0.0.1"}},
	{"an entry that leaves its archive", []string{"install/archive/archive_test.go TestABadEntryRefusesTheWholeArchiveByName", "case_061.txtar dotdot.zip"}},
	{"an archive that grows without bound", []string{"install/archive/archive_test.go TestAnArchiveThatHoldsTooMuchIsRefused", "install/fetch/git_test.go TestARepositoryThatIsTooLargeIsRefused"}},
	{"an archive that says two things", []string{"install/archive/archive_test.go TestAZipThatContradictsItselfIsRefused"}},
	{"a body that never ends", []string{"install/fetch/wellknown_test.go TestABodyThatNeverEndsIsGivenUp"}},
	{"a link out", []string{"threats.txtar odd/out", "install/archive/archive_test.go TestALinkInsideIsWhatItLeadsTo", "install/fetch/git_test.go outside"}},
	{"two names that are one elsewhere", []string{"threats.txtar clash", "install/archive/archive_test.go TestABadEntryRefusesTheWholeArchiveByName"}},
	{"a repository in a repository", []string{"install/fetch/git_test.go fetch_submodule", "threats.txtar sub"}},
	{"a hook or filter of a repository", []string{"install/fetch/git_test.go TestNothingOfARepositoryIsRun"}},
	{"a name that is a path", []string{"threats.txtar install_bad_name", "install/ref_test.go TestANameIsOneSafeComponent"}},
	{"a licence that contradicts itself", []string{"threats.txtar licence_contradiction", "install/licence/licence_test.go TestTheTextNearestToTheSkillDecides"}},
	{"an index that lies about a digest", []string{"install/fetch/wellknown_test.go TestAnIndexIsReadAndItsSkillsAreTheBytesThatItNames", "install/fetch/npm_test.go TestATarballIsTheOneThatTheRegistryAnnounces"}},
	{"a history that is rewritten", []string{"threats.txtar rewrite.sh"}},
	{"a lock file that comes with a clone", []string{"threats.txtar locks.sh"}},
	{"a clone whose folders lead out", []string{"threats.txtar install_outside"}},
	{"two installs at once", []string{"cmd/deft/installs_many_test.go TestR05MixedInstallsEndAsTheirHistorySays", "install/crash_test.go TestR05ManyAtOnceEndInSomeOrder"}},
	{"a kill at any point", []string{"cmd/deft/installs_kill_test.go TestR01KilledInstallsLeaveOldOrNew"}},
	{"a full disk, one that fails", []string{"install/crash_test.go TestR01R02AStoppedInstallLeavesOldOrNew"}},
	{"a target that is read-only", []string{"cmd/deft/installs_readonly_test.go TestR02ReadOnlyTargetsLeaveTheOldState"}},
	{"a bit that flips", []string{"install/damage_test.go TestR04AFlippedBitIsFound"}},
	{"a disk that loses its power", []string{"internal/atomicfile/powerloss_test.go TestR03PowerLoss", "install/torn_test.go TestR03ATornFolderIsTakenBack"}},
	{"something of a person's in the way", []string{"install/farm_test.go TestARemovalTouchesNothingForeign", "threats.txtar install_moved_aside"}},
}

// Each threat has a test that provokes it, under the name that the table has.
func TestEachThreatIsProvoked(t *testing.T) {
	t.Parallel()
	for _, threat := range threats {
		if len(threat.tests) == 0 {
			t.Errorf("%s: no test", threat.what)
		}
		for _, test := range threat.tests {
			file, want, _ := strings.Cut(test, " ")
			if strings.HasSuffix(file, ".txtar") {
				file = "testdata/script/" + file
			}
			src, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
			if err != nil || !strings.Contains(string(src), want) {
				t.Errorf("%s: %s has no %q: %v", threat.what, file, want, err)
			}
		}
	}
}
