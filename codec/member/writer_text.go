package member

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// String writes a string; what is not UTF-8 in it becomes U+FFFD.
func (w *Writer) String(s string) {
	w.comma()
	w.buf = AppendQuote(w.buf, s)
}

// Str writes a string.
func (w *Writer) Str(name, s string) {
	w.Key(name)
	w.buf = AppendQuote(w.buf, s)
}

// StrOpt leaves out what is empty.
func (w *Writer) StrOpt(name, s string) {
	if s != "" {
		w.Str(name, s)
	}
}

// StrOrNull writes null for no string.
func (w *Writer) StrOrNull(name string, s *string) {
	if s == nil {
		w.Null(name)
		return
	}
	w.Str(name, *s)
}

// StrsOpt writes an array of strings unless it is empty.
func (w *Writer) StrsOpt(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.List(name)
	for _, s := range list {
		w.String(s)
	}
	w.EndList()
}

// Base64 writes bytes as standard base64.
func (w *Writer) Base64(name string, data []byte) {
	w.Key(name)
	w.buf = append(w.buf, '"')
	w.buf = append(AppendBase64(w.buf, data), '"')
}

// DataURL writes media as DataURL spells it.
func (w *Writer) DataURL(name string, m *genwayv1.Media) {
	data, ok := m.GetSource().(*genwayv1.Media_Data)
	if !ok {
		w.Str(name, m.GetUrl())
		return
	}
	mediaType := m.GetMediaType()
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	w.Str(name, "data:"+mediaType+";base64,")
	w.buf = append(AppendBase64(w.buf[:len(w.buf)-1], data.Data), '"')
}
