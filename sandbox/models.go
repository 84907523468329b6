package sandbox

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// model is what a name stands for.
type model struct {
	image  bool
	demand demand
	// amount is the number or duration in the name, where the demand takes one.
	amount amount
}

// The sandbox has no context window; these are what it states where a protocol asks.
const (
	inputTokenLimit  = 1 << 20
	outputTokenLimit = 1 << 17
)

// lookup finds a model by its name.
func (s *Sandbox) lookup(name string) (model, bool) {
	switch name {
	case s.config.TextModel:
		return model{}, true
	case s.config.ImageModel:
		return model{image: true}, true
	}
	rest, ok := strings.CutPrefix(name, s.config.DemandPrefix)
	if !ok {
		return model{}, false
	}
	for _, d := range demands() {
		if a, ok := d.matches(rest); ok {
			return model{demand: d, amount: a}, true
		}
	}
	return model{}, false
}

// find returns the model of a request. Behaviour on demand serves text and images
// alike, as far as it applies to both.
func (s *Sandbox) find(name string, image bool) (model, error) {
	m, ok := s.lookup(name)
	if !ok {
		return model{}, fault.ModelNotFound(clip(name, 200))
	}
	if m.image != image && m.demand.name == "" {
		does := map[bool]string{false: "text", true: "images"}
		return model{}, fault.Invalid("model", "the model `%s` produces %s, not %s", clip(name, 200), does[m.image], does[image])
	}
	return m, nil
}

// Models lists the two models. Models that fail or misbehave on demand are not
// listed: they do not belong into a menu.
func (s *Sandbox) Models() []*genwayv1.Model {
	names := []string{s.config.TextModel, s.config.ImageModel}
	slices.Sort(names)
	var list []*genwayv1.Model
	for _, name := range slices.Compact(names) {
		m, _ := s.lookup(name)
		entry := &genwayv1.Model{
			Name: name, DisplayName: name, OwnedBy: "genway",
			CreateTime:      timestamppb.New(s.started),
			InputTokenLimit: new(int64(inputTokenLimit)),
			GeneratesText:   !m.image,
			GeneratesImages: m.image,
			Description:     "Embedded test upstream that answers by fixed rules; not a language model.",
		}
		if m.image {
			entry.Description = "Embedded test upstream that draws by formulas; not an image model."
		} else {
			entry.OutputTokenLimit = new(int64(outputTokenLimit))
		}
		list = append(list, entry)
	}
	return list
}
