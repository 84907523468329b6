// Package harness runs a whole gateway for the cases: the real edge on a real socket,
// the real core behind it in the same process, and behind that one remote adapter
// for each of the protocols, each in front of a fake upstream.
//
//	g := harness.New(t, harness.Config{})
//	g.Chat.Answer(fake.JSON(`{...}`))                       // what the chat upstream answers
//	a := g.Post(harness.Messages, "chat/m", `{"max_tokens":9,"messages":[...]}`)
//	a.Status; a.Header; a.JSON().At("content[0].type").Is(t, `"text"`)
//	g.Chat.Last(t).Body                                     // what it was asked
//
// The model's prefix chooses the upstream (chat/, responses/, messages/,
// generatecontent/, interactions/, images/); the upstream sees the name without it. Post asks for
// one answer, Stream for a stream and reads it to its end, Open for a stream that
// the test reads a frame at a time. They add "model" and "stream" to the body, or
// put the model into the path, as the protocol does. A caller's key fits its
// protocol.
package harness
