package protocol

// SessionHeaders are the headers, in lower case, by which clients name the session that a
// request belongs to, in the order in which they are looked at: Claude Code's, opencode's and
// pi's, and those of Codex, which sent the last in older versions. They reach the core with the
// body, and no upstream.
var SessionHeaders = []string{"x-claude-code-session-id", "x-session-affinity", "x-session-id", "session-id", "session_id"}
