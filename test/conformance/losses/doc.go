// Package losses holds what streams say of their losses (a comment and a trailer) to the
// vendors' SDKs, unmodified: none may be disturbed by it.
package losses
