package store

import (
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
)

// What must not be is refused by the database itself, whoever writes.
func TestDatabaseRefusesAPublishedSkillWithoutAVersion(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, db string) {
		s := openAt(t, Options{DB: db})
		for _, name := range []string{"pdf", "other"} {
			_, err := s.Versions().Publish(t.Context(), NewVersion{Name: name, Tree: skill.Tree{{Path: "SKILL.md", Blob: skill.FileDigest(nil)}}})
			must(t, err)
		}
		for _, statement := range []string{
			"UPDATE skills SET active_version = NULL WHERE key = 'pdf'",
			"UPDATE skills SET active_version = 'none' WHERE key = 'pdf'",
			"UPDATE skills SET active_version = (SELECT active_version FROM skills WHERE key = 'other') WHERE key = 'pdf'",
			"UPDATE skills SET status = 'other'",
			"UPDATE skills SET key = 'pdf'",
			"DELETE FROM skill_versions",
			"DELETE FROM trees",
			"DELETE FROM skills",
			"UPDATE skill_versions SET tree_digest = 'none'",
			"UPDATE skill_versions SET published_at = NULL, archived_at = 1",
			"UPDATE skill_versions SET number = 0",
		} {
			err := s.write(t.Context(), "publish.tx", func(tx *tx) error {
				_, err := tx.ExecContext(t.Context(), statement)
				return err
			})
			if text := strings.ToLower(errText(err)); !strings.Contains(text, "constraint") {
				t.Errorf("%s: %v", statement, err)
			}
		}
		if offers, err := s.Versions().Offers(t.Context()); err != nil || len(offers) != 2 {
			t.Error(offers, err)
		}
	})
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
