// Package contributing applies the examples of CONTRIBUTING.md and docs/extending.md to copies of the repository.
package contributing
