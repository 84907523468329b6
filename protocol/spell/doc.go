// Package spell gives members of the contract the names that a caller's protocol has for
// them. The core, the sandbox and the codecs of upstreams name a member at fault, or one
// that was lost, as the contract does (sampling.candidate_count, messages[1].parts[0]);
// the caller reads what it has sent (n, messages[1].content[0]).
//
// Settings are a table for each protocol. Positions in a conversation are traced: the
// caller's body is decoded once more, with a mark in each of its objects, and the marks
// say which object became which message, part or tool. A position that cannot be traced
// is given as the member that encloses it. Both cost nothing until somebody asks.
//
// It must not import net/http, grpc or any package of ours but codecs and the contract.
package spell
