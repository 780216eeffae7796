package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/install/scan"
)

const (
	configuredModel = "configured" // what --model without a name means
	readerTime      = 3 * time.Minute
	readerOutput    = 8 << 10 // tokens of one answer
)

// reader asks the model of the settings, or the named one, to read texts.
func (r *run) reader(ctx context.Context, name string) (scan.Ask, error) {
	if name == configuredModel {
		name = ""
	}
	m, err := r.chooseModel(ctx, askOptions{model: name})
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, usage("--model: no model is configured").hinted("hint.reader")
	}
	return func(ctx context.Context, system, text string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, readerTime)
		defer cancel()
		var b model.Builder
		for d, err := range m.Stream(ctx, model.Request{
			System: []model.Block{{Text: system}}, Messages: []model.Message{{Role: model.User, Text: text}}, MaxOutput: readerOutput,
		}) {
			if err == nil {
				err = b.Add(d)
			}
			if err != nil {
				r.note(Network)
				return "", err
			}
		}
		step, whole := b.Step()
		if !whole {
			r.note(Network)
			return "", fmt.Errorf("the answer was cut")
		}
		return step.Text, nil
	}, nil
}

// readToo adds what a model finds in the texts of a target.
func (r *run) readToo(ctx context.Context, s *scan.Scanner, ask scan.Ask, t scanTarget, res scan.Result) (scan.Result, error) {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return res, fmt.Errorf("%s: %s", t.shown, osReason(err))
	}
	defer root.Close()
	read, err := s.Read(ctx, ask, root.FS(), t.options)
	return res.With(read), err
}
