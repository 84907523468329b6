package responses

func (e *streamEncoder) thinkingPiece(text string) error {
	if text == "" {
		return nil
	}
	if e.summarizes && e.part.summaries == 0 && thoughtElsewhere(e.part.part) {
		e.part.asSummary = true
	}
	if e.part.asSummary {
		return e.summaryPiece(0, text)
	}
	if err := e.beginItem(e.part.part); err != nil {
		return err
	}
	e.closeSummary()
	if !e.part.thinking {
		e.part.thinking = true
		e.contentPart(eventPartAdded, []byte(`{"type":"reasoning_text","text":""}`))
	}
	e.beginAt(eventThinkingDelta)
	e.w.Str("delta", text)
	e.send(eventThinkingDelta)
	return nil
}

// summaryPiece writes a piece of a summary, which opens it and closes the last.
func (e *streamEncoder) summaryPiece(index int, text string) error {
	if err := e.beginItem(e.part.part); err != nil {
		return err
	}
	if index >= e.part.summaries {
		e.closeSummary()
		e.part.summaries = index + 1
		e.part.summaryOpen = true
		e.beginSummary(eventSummaryAdded, index)
		e.w.RawText("part", `{"type":"summary_text","text":""}`)
		e.send(eventSummaryAdded)
	}
	if text == "" {
		return nil
	}
	if index == e.part.summaries-1 {
		e.part.summary.WriteString(text)
	}
	e.beginSummary(eventSummaryDelta, index)
	e.w.Str("delta", text)
	e.send(eventSummaryDelta)
	return nil
}

func (e *streamEncoder) beginSummary(event string, index int) {
	e.beginItemEvent(event)
	e.w.Int("summary_index", int64(index))
}

func (e *streamEncoder) closeSummary() {
	p := e.part
	if !p.summaryOpen {
		return
	}
	p.summaryOpen = false
	text := p.summary.String()
	p.summary.Reset()
	e.beginSummary(eventSummaryText, p.summaries-1)
	e.w.Str("text", text)
	e.send(eventSummaryText)
	e.beginSummary(eventSummaryDone, p.summaries-1)
	e.w.Key("part")
	encodeLine(e.w, typeSummaryText, text)
	e.send(eventSummaryDone)
}
