package cli

import (
	"time"

	"github.com/deftskills/deft/search"
)

// vectorPatience is how long a verb that measures waits for a query's vector.
const vectorPatience = 30 * time.Second

// wantEmbedder makes what the settings say makes vectors, if they say anything.
func (r *run) wantEmbedder() error {
	c := r.config.Tuning.Search
	if c.Model == "" && c.BaseURL == "" {
		return nil
	}
	e, err := search.NewHTTPEmbedder(search.HTTPEmbedderOptions{
		BaseURL: c.BaseURL, Model: c.Model, APIKeyEnv: c.KeyEnv, Env: r.env, Dim: c.Dim, Clock: r.proc.Now,
	})
	if err != nil {
		return usage("skills.search: %s", err)
	}
	r.vectors = e
	return nil
}

// needEmbedder is wantEmbedder for a mode that cannot do without.
func (r *run) needEmbedder(mode, others string) error {
	if err := r.wantEmbedder(); err != nil || r.vectors != nil {
		return err
	}
	return usage("mode %q needs an embedder; none is configured", mode).hinted("hint.one_of", others)
}
