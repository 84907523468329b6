package generatecontent

import "github.com/genway/genway/codec/member"

// plain reads a frame without reflection, as the decoder would: streams are hundreds of
// them in a row, with a piece of text each. last is the frame before it, whose strings
// are mostly the same. False leaves the frame to the decoder.
func (w *response) plain(data []byte, last *response) bool {
	walk := member.Over(data)
	return walk.Members(func(name []byte) bool { return w.member(&walk, name, last) }) && walk.Done()
}

func (w *response) member(walk *member.Walk, name []byte, last *response) bool {
	if string(name) == "candidates" {
		return walk.Elements(func() bool {
			w.Candidates = append(w.Candidates, candidate{})
			return w.Candidates[len(w.Candidates)-1].plain(walk)
		})
	}
	v, ok := walk.Value()
	if !ok {
		return false
	}
	switch string(name) {
	case "modelVersion":
		return v.Like(&w.ModelVersion, last.ModelVersion)
	case "createTime":
		return v.Like(&w.CreateTime, last.CreateTime)
	case "responseId":
		return v.Like(&w.ResponseID, last.ResponseID)
	}
	return w.take(name, v)
}

func (w *candidate) plain(walk *member.Walk) bool {
	return walk.Members(func(name []byte) bool {
		if string(name) == "content" {
			w.Content = &content{}
			return w.Content.plain(walk)
		}
		v, ok := walk.Value()
		if !ok {
			return false
		}
		switch string(name) {
		case "finishReason":
			return v.Text(&w.FinishReason)
		case "finishMessage":
			return v.Text(&w.FinishMessage)
		case "index":
			return takeCount(v, &w.Index)
		case "logprobsResult":
			return v.Keep(&w.LogprobsResult)
		}
		return v.Extra(&w.Extra, name)
	})
}

func (c *content) plain(walk *member.Walk) bool {
	return walk.Members(func(name []byte) bool {
		switch string(name) {
		case "role":
			return walk.Like(&c.Role, "model")
		case "parts":
			return walk.Elements(func() bool {
				c.Parts = append(c.Parts, part{})
				return c.Parts[len(c.Parts)-1].plain(walk)
			})
		}
		v, ok := walk.Value()
		return ok && v.Extra(&c.Extra, name)
	})
}

// plain reads a part that is text.
func (w *part) plain(walk *member.Walk) bool {
	return walk.Members(func(name []byte) bool {
		v, ok := walk.Value()
		if !ok {
			return false
		}
		switch string(name) {
		case "text":
			if v.IsNull() {
				return true
			}
			w.Text = new(string)
			return v.Text(w.Text)
		case "thought":
			return v.Bool(&w.Thought)
		case "thoughtSignature":
			return v.Text(&w.ThoughtSignature)
		}
		return false
	})
}
